"""Inspect AI logs: `.eval` archives and `.json` documents of every version, read as one format."""
