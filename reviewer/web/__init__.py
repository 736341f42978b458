"""The workstation in a browser: access, the page, and the program behind each page."""
