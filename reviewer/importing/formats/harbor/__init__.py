"""Harbor jobs and trials, and the ATIF trajectories that are in them or alone."""
