"""The scorecard: home of the workstation."""
