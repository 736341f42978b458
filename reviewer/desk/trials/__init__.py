"""The trial of a suite with agents that it must let pass or stop (docs/trial.md)."""
