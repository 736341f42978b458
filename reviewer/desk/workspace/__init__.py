"""The contents of a workspace: suites, candidates, making suites, and joining another store."""
