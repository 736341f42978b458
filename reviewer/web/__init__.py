"""The workstation in a browser: who is let in, the page, and the program behind each page."""
