"""The kept comparisons."""

from reviewer.desk.compare.views import Comparison
from reviewer.desk.kept import Shelf

COMPARISONS = Shelf(".compare", Comparison, apart=1, most=64 << 20)
"""Comparisons by suite, candidate and baseline. They are as large as the suite, so only the last
one of each suite is kept."""
