"""Compare two candidates, or two attempts."""
