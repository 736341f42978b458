"""Search across traces."""
