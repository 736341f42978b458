"""Numbers as a report writes them: limits exactly, estimates to bits that every machine shares."""

from collections.abc import Sequence
from fractions import Fraction

NANO = 1_000_000_000
"""Nano-dollars in a dollar."""
MOST_NAMES = 5


def stable_bits(value: float | None) -> float | None:
    """An estimate to twelve significant digits."""
    return None if value is None else float(f"{value:.12g}")


def exact(limit: float) -> Fraction:
    """A limit as its author wrote it: 0.95 is 95/100, not the nearest binary fraction."""
    return Fraction(repr(limit))


def named(names: Sequence[str]) -> str:
    """Up to five names and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
