"""The SQL queries of the desk: one module for each subject that a screen reads."""
