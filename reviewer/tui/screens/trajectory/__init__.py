"""The trajectory: what happened in one attempt."""
