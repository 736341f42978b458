"""Chance-corrected agreement of people with each other and with themselves.

None means undefined: when only one category occurs, agreement beyond chance is not possible.
"""

import bisect
import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, SupportsFloat, TypedDict

from reviewer.stats.checks import (
    Interval,
    finite,
    mean,
    non_negative,
    open_unit,
    same_length,
    whole,
)
from reviewer.stats.special import z_two_sided

Ratings = Sequence[Sequence[Any]]


class Kappa(TypedDict):
    kappa: float
    se: float
    low: float
    high: float


def cohen_kappa(a: Sequence[Any], b: Sequence[Any], weights: str | None = None) -> float | None:
    """Return Cohen's kappa of two raters; `weights` None, "linear" or "quadratic" over labels.

    Source: sklearn.metrics.cohen_kappa_score.
    """
    if not same_length("a", a, "b", b):
        raise ValueError("a and b must not be empty")
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"weights must be null, linear or quadratic, not {weights!r}")
    labels = sorted(set(a) | set(b))
    place = {label: i for i, label in enumerate(labels)}

    def cost(x: int, y: int) -> float:
        gap = abs(x - y)
        return float(gap > 0) if weights is None else float(gap if weights == "linear" else gap**2)

    n = len(a)
    rows, columns = Counter(place[x] for x in a), Counter(place[y] for y in b)
    observed = math.fsum(cost(place[x], place[y]) for x, y in zip(a, b, strict=True)) / n
    by_chance = math.fsum(cost(x, y) * rows[x] * columns[y] for x in rows for y in columns) / (
        n * n
    )
    return None if by_chance == 0 else 1.0 - observed / by_chance


def _square(table: Sequence[Sequence[int]]) -> tuple[list[list[float]], list[float], list[float]]:
    """Return cell shares, row shares and column shares of a table of counts."""
    counts = [[whole(f"table[{i}][{j}]", x) for j, x in enumerate(r)] for i, r in enumerate(table)]
    if any(len(row) != len(counts) for row in counts):
        raise ValueError("table must be square: the same categories for both raters")
    n = sum(map(sum, counts))
    if not n:
        raise ValueError("table must hold at least one rated item")
    shares = [[x / n for x in row] for row in counts]
    return shares, [math.fsum(r) for r in shares], [math.fsum(c) for c in zip(*shares, strict=True)]


def cohen_kappa_table(table: Sequence[Sequence[int]], confidence: float = 0.95) -> Kappa | None:
    """Return Cohen's kappa of a square table of counts, SE of Fleiss, Cohen and Everitt (1969)."""
    p, rows, columns = _square(table)
    n, q = sum(map(sum, table)), range(len(p))
    agree = math.fsum(p[i][i] for i in q)
    chance = math.fsum(rows[i] * columns[i] for i in q)
    if chance >= 1.0:
        return None
    kappa = (agree - chance) / (1.0 - chance)
    rest = 1.0 - kappa
    on = math.fsum(p[i][i] * (1.0 - (rows[i] + columns[i]) * rest) ** 2 for i in q)
    off = math.fsum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in q for j in q if i != j)
    variance = on + rest**2 * off - (kappa - chance * rest) ** 2
    se = math.sqrt(max(0.0, variance) / n) / (1.0 - chance)
    half = z_two_sided(confidence) * se
    return Kappa(kappa=kappa, se=se, low=kappa - half, high=kappa + half)


def _items(ratings: Ratings) -> list[Counter[Hashable]]:
    """Return per item how many raters gave each value; rows are raters, None is not rated."""
    if len({len(row) for row in ratings}) > 1:
        raise ValueError("ratings must give every rater a row of the same length")
    columns = zip(*ratings, strict=True)
    items = [Counter(value for value in column if value is not None) for column in columns]
    for i, item in enumerate(items):
        if any(isinstance(v, float) and math.isnan(v) for v in item):
            raise ValueError(f"ratings of item {i} must not be NaN; write null for not rated")
    return items


def krippendorff_alpha(ratings: Ratings, level: str = "nominal") -> float | None:
    """Return Krippendorff's alpha, 1 - Do/De over pairable values: any raters, missing labels.

    Rows are raters, columns items, None not rated. `level`: nominal, ordinal, interval or ratio;
    all but nominal need numbers. None without two different pairable values.
    """
    return _alpha([(unit, 1) for unit in _pairable(ratings)], level)


def _pairable(ratings: Ratings) -> list[Counter[Hashable]]:
    return [item for item in _items(ratings) if item.total() > 1]


def _alpha(units: Sequence[tuple[Counter[Any], int]], level: str) -> float | None:
    """Return alpha of pairable items, each with how often it occurs."""
    totals: Counter[Any] = Counter()
    for unit, times in units:
        for value, count in unit.items():
            totals[value] += count * times
    distance = _distance(level, totals)
    n = totals.total()
    observed = math.fsum(
        times * unit[c] * unit[k] * distance(c, k) / (unit.total() - 1)
        for unit, times in units
        for c in unit
        for k in unit
        if c != k
    )
    expected = math.fsum(
        totals[c] * totals[k] * distance(c, k) for c in totals for k in totals if c != k
    )
    return None if expected == 0 else 1.0 - (n - 1) * observed / expected


def krippendorff_interval(
    ratings: Ratings,
    level: str = "nominal",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: str = "",
) -> Interval | None:
    """Return the percentile bootstrap interval of Krippendorff's alpha: items are redrawn.

    The same ratings in any order and the same seed give the same limits. Resamples in which alpha
    is undefined are left out. None where resampling says nothing: fewer than two items rated
    twice, nobody disagreed anywhere (every resample is 1), or most resamples undefined.
    """
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    draws = whole("resamples", resamples, 1)
    units = _pairable(ratings)
    if len(units) < 2 or all(len(unit) == 1 for unit in units):
        return None
    # However many items there are, few kinds occur: drawing kinds keeps a resample cheap.
    kinds = Counter(tuple(sorted(unit.items(), key=repr)) for unit in units)
    names = sorted(kinds, key=repr)
    ends = list(itertools.accumulate(kinds[name] for name in names))
    profiles = [Counter(dict(name)) for name in names]
    # Only random() gives the same numbers in every release of Python, so choices() is not used.
    draw, n = random.Random(seed).random, len(units)
    found = []
    known: dict[tuple[int, ...], float | None] = {}  # with few items, the same draws repeat
    for _ in range(draws):
        drawn = tuple(sorted([bisect.bisect_right(ends, draw() * n) for _ in range(n)]))
        if drawn not in known:
            times = sorted(Counter(drawn).items())
            known[drawn] = _alpha([(profiles[i], count) for i, count in times], level)
        alpha = known[drawn]
        if alpha is not None:
            found.append(alpha)
    if 2 * len(found) < draws:
        return None
    found.sort()
    last = len(found) - 1
    return Interval(found[round(tail * last)], found[round((1.0 - tail) * last)])


def _distance(level: str, totals: Counter[Any]) -> Callable[[Any, Any], float]:
    if level == "nominal":
        return lambda c, k: 1.0
    if level not in ("ordinal", "interval", "ratio"):
        raise ValueError(f"level must be nominal, ordinal, interval or ratio, not {level!r}")
    for value in totals:
        finite("ratings", value)
    if level == "interval":
        return lambda c, k: float(c - k) ** 2
    if level == "ratio":
        return lambda c, k: float((c - k) / (c + k)) ** 2 if c + k else 0.0
    # Ordinal: how many labels lie between two values, half of the ends included.
    midpoint, below = {}, 0
    for value in sorted(totals):
        midpoint[value] = below + totals[value] / 2
        below += totals[value]
    return lambda c, k: float(midpoint[c] - midpoint[k]) ** 2


def _ac1(agree: float, shares: Sequence[float]) -> float | None:
    if len(shares) < 2:
        return None
    chance = math.fsum(p * (1.0 - p) for p in shares) / (len(shares) - 1)
    return (agree - chance) / (1.0 - chance)


def gwet_ac1(ratings: Ratings) -> float | None:
    """Return Gwet's AC1 of any number of raters (rows), None not rated: robust at high prevalence.

    Categories are those that occur. None with one category or no item rated twice.
    """
    rated = [item for item in _items(ratings) if item]
    twice = [item for item in rated if item.total() > 1]
    if not twice:
        return None
    agree = mean(
        [
            sum(x * (x - 1) for x in item.values()) / (item.total() * (item.total() - 1))
            for item in twice
        ]
    )
    categories = {value for item in rated for value in item}
    return _ac1(agree, [mean([item[c] / item.total() for item in rated]) for c in categories])


def vote_entropy(counts: Sequence[SupportsFloat]) -> float | None:
    """Return the disagreement among votes in bits, 0 when all agree; None without votes."""
    votes = [non_negative(f"counts[{i}]", c) for i, c in enumerate(counts)]
    total = math.fsum(votes)
    if not total:
        return None
    return math.fsum(v / total * math.log2(total / v) for v in votes if v)
