"""Rates of a finite population that was sampled by stratum.

The limits of one stratum are exact: the numbers of hits in the population for which the hits in the
sample are not too rare (hypergeometric). With several strata, each is weighted by its size in the
population, and the distances to its limits add up as squares (MOVER; Zou, Huang & Zhang 2009). With
many small strata that alone is too narrow: the limits are at least those of Clopper and Pearson for
the number of draws that the sample is worth. Where the whole population was looked at, the limits
are the rate itself.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from reviewer.stats.checks import Interval, clip, integer, open_unit, whole
from reviewer.stats.rates import clopper_pearson

_LEAST = 1e-9
"""A sample worth more draws than one over this counts as the whole population."""

_ROUNDING = 1e-7
"""A chance that is below the tail by less than this share of it counts as equal to the tail,
because logarithms round: 1 of 40 is 0.025. Such a population stays within the limits, which makes
them wider."""


class Stratum(NamedTuple):
    """`size` in the population, `n` of them looked at, `hits` among those."""

    size: int
    n: int
    hits: int


class StratifiedRate(NamedTuple):
    """A share of the population with its two-sided limits, from `n` of its `size`."""

    value: float
    low: float
    high: float
    n: int
    size: int


def hypergeometric_interval(hits: int, n: int, size: int, confidence: float = 0.95) -> Interval:
    """Return the exact limits of the share of a population of `size`, of which `n` were drawn by
    lot without replacement and `hits` counted: Clopper-Pearson's for finite populations.

    Raises ValueError unless 0 <= hits <= n <= size and n > 0.
    """
    drawn, total = whole("n", n, 1), whole("size", size, 1)
    if drawn > total:
        raise ValueError("n must be at most size")
    if not 0 <= integer("hits", hits) <= drawn:
        raise ValueError("hits must be between 0 and n")
    return _exact(hits, drawn, total, open_unit("confidence", confidence))


@lru_cache(maxsize=4096)
def _exact(hits: int, n: int, size: int, confidence: float) -> Interval:
    tail = (1.0 - confidence) / 2 * (1.0 - _ROUNDING)
    least, most = hits, size - (n - hits)
    low = _first(least, most, lambda k: _at_least(hits, n, k, size) > tail)
    mirrored = _first(least, most, lambda k: _at_most(hits, n, least + most - k, size) > tail)
    return Interval(low / size, (least + most - mirrored) / size)


def stratified_rate(strata: Sequence[Stratum], confidence: float = 0.95) -> StratifiedRate | None:
    """Return the share of hits in the whole population; None while a stratum that is not empty was
    not looked at, because nothing is known of it. Raises ValueError for impossible counts, and for
    an empty population."""
    known = [one for one in strata if one.size]
    if not known:
        raise ValueError("strata must hold something")
    if not all(one.n for one in known):
        return None
    size = sum(one.size for one in known)
    value = float(sum(Fraction(one.size * one.hits, one.n) for one in known) / size)
    below = above = spread = 0.0
    for one in known:
        share, weight = one.hits / one.n, one.size / size
        limits = hypergeometric_interval(one.hits, one.n, one.size, confidence)
        below += (weight * (share - limits.low)) ** 2
        above += (weight * (limits.high - share)) ** 2
        spread += weight**2 * (one.size - one.n) / (max(1, one.size - 1) * one.n)
    low, high = value - math.sqrt(below), value + math.sqrt(above)
    if len(known) > 1 and spread > _LEAST:
        alone = clopper_pearson(clip(value / spread, 0.0, 1 / spread), 1 / spread, confidence)
        low, high = min(low, alone.low), max(high, alone.high)
    n = sum(one.n for one in known)
    return StratifiedRate(value, max(0.0, low), min(1.0, high), n, size)


def _first(least: int, most: int, holds: Callable[[int], bool]) -> int:
    """Return the first number for which `holds`, which stays true once true and is true for
    `most`."""
    while least < most:
        middle = (least + most) // 2
        if holds(middle):
            most = middle
        else:
            least = middle + 1
    return least


def _at_least(hits: int, n: int, marked: int, size: int) -> float:
    """Return the chance of `hits` or more in `n` drawn from `size`, of which `marked` are hits."""
    return math.fsum(_chance(k, n, marked, size) for k in range(hits, min(n, marked) + 1))


def _at_most(hits: int, n: int, marked: int, size: int) -> float:
    return math.fsum(
        _chance(k, n, marked, size) for k in range(max(0, n - (size - marked)), hits + 1)
    )


def _chance(hits: int, n: int, marked: int, size: int) -> float:
    """Return the chance of exactly `hits`."""
    if not (0 <= hits <= marked and 0 <= n - hits <= size - marked):
        return 0.0
    return math.exp(_ways(marked, hits) + _ways(size - marked, n - hits) - _ways(size, n))


def _ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
