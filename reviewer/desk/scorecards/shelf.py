"""The cached scorecards."""

from reviewer.desk.kept import Shelf
from reviewer.desk.views import Scorecard

CARDS = Shelf(".card", Scorecard, apart=2, most=16 << 20)
"""Scorecards by suite and candidate."""
