"""The scorecard of a candidate: totals, rows, groups, filters and saved views."""
