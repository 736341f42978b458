"""Runs of candidates in this process: checks before the start, the running run, its results."""
