"""Runs of candidates in this process: checks before the start, the run at work, its results."""
