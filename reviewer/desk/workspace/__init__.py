"""What a workspace holds: suites, candidates, making suites, and joining another store."""
