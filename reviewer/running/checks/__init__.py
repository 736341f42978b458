"""A suite's own checks at work, in the sandbox of candidates."""
