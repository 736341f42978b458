"""The SQL queries of the desk: one module for each thing a screen reads."""
