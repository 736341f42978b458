"""The decision: the report as it would be signed, and the sign dialog."""
