"""The contents of a workspace: suites, candidates, making suites, and merging another store."""
