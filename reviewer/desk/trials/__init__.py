"""A suite tried with agents that it must let pass or stop (docs/trial.md)."""
