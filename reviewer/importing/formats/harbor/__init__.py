"""Harbor jobs and trials, and the ATIF trajectories that stand in them or alone."""
