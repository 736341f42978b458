"""A suite's own checks, run in the sandbox of candidates."""
