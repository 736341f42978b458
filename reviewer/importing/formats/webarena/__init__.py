"""WebArena render pages and WebArena-Verified task folders."""
