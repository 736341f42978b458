"""The version of the formulas that a recommendation rests on."""

FORMULAS = 2
"""1, which no report names: bounds on the effective number of attempts, and in point mode no
episode lost. 2: Dirichlet bounds of episode means, Tango's limit and the score test."""

UNNAMED = 1
"""The version of what names none."""
