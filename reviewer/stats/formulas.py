"""The version of the formulas that a recommendation is based on."""

FORMULAS = 2
"""Version 1, which no report names: bounds on the effective number of attempts, and in point mode
no episode lost. Version 2: Dirichlet bounds of episode means, Tango's limit and the score test."""

UNNAMED = 1
"""The version of a report that names none."""
