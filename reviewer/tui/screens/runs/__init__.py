"""Runs and imports: jobs, sources and refusals."""
