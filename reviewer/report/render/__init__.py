"""The forms of a report: HTML, Markdown, text, JUnit, SARIF and GitHub annotations."""
