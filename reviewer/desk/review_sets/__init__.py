"""Review of production: sets drawn from recorded attempts, their rates, and patterns of failure."""
