"""Decisions: what may be signed, signing and cosigning, verifying, and break-glass records."""
