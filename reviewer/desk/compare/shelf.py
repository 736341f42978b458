"""The comparisons that are kept."""

from reviewer.desk.compare.views import Comparison
from reviewer.desk.kept import Shelf

COMPARISONS = Shelf(".compare", Comparison, apart=1, most=64 << 20)
"""About a suite, a candidate and its baseline. They are as large as the suite, so that only the
last one of each suite is kept."""
