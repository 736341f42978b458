"""Two candidates on the same episodes, several attempts each: per-episode differences.

`a` and `b` hold the mean score of each episode under either candidate, aligned. The difference is
a - b, so put the candidate in `a` and the baseline in `b`: negative means worse.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import SupportsFloat, TypedDict

from reviewer.stats.checks import (
    Interval,
    clip,
    finites,
    mean,
    open_unit,
    proportion,
    same_length,
    whole,
)
from reviewer.stats.paired import Difference
from reviewer.stats.special import t_p_value, t_two_sided, z_two_sided

Scores = Sequence[SupportsFloat]

MIN_CHANGED_EPISODES = 6
"""Below this many changed episodes no exact two-sided test can reach p = 0.05 (2/2^5 > 0.05)."""

_MOST_SUMS = 250_000


class PairedT(TypedDict):
    """t statistic, two-sided p and limits; null where the differences show no spread."""

    t: float | None
    p: float | None
    low: float | None
    high: float | None


class SignFlip(TypedDict):
    diff: float
    p: float


def _pairs(a: Scores, b: Scores) -> tuple[list[float], list[float]]:
    first, second = finites("a", a), finites("b", b)
    if not same_length("a", first, "b", second):
        raise ValueError("a and b must not be empty")
    return first, second


def adjusted_paired_interval(
    a: Scores, b: Scores, confidence: float = 0.95, times: Sequence[int] | None = None
) -> Difference:
    """The interval the regression gate stands on: mean difference with two pseudo-episodes.

    Appends one episode with d = +1 and one with d = -1, then mean(d) ± z·√(mean(d²) - mean(d)²) /
    √(E+2), clipped to [-1, 1]; `diff` is the raw mean. With one attempt each it is exactly
    `bonett_price_paired`. Scores lie in [0, 1]. For a one-sided 95% bound pass confidence 0.90.
    `times` says how many episodes each pair stands for (default: one).
    """
    first, second = _pairs(a, b)
    for i, (x, y) in enumerate(zip(first, second, strict=True)):
        proportion(f"a[{i}]", x)
        proportion(f"b[{i}]", y)
    raw = [x - y for x, y in zip(first, second, strict=True)]
    alike = [1] * len(raw) if times is None else [whole(f"times[{i}]", n, 1) for i, n in
                                                  enumerate(times)]  # fmt: skip
    same_length("a", raw, "times", alike)
    episodes = sum(alike)
    total = math.fsum(d * n for d, n in zip(raw, alike, strict=True))
    squares = math.fsum([2.0, *(d * d * n for d, n in zip(raw, alike, strict=True))])
    centre = total / (episodes + 2)
    spread = max(0.0, squares / (episodes + 2) - centre**2)
    half = z_two_sided(confidence) * math.sqrt(spread / (episodes + 2))
    return Difference(
        diff=total / episodes,
        low=clip(centre - half, -1.0, 1.0),
        high=clip(centre + half, -1.0, 1.0),
    )


def paired_t(a: Scores, b: Scores, confidence: float = 0.95) -> PairedT:
    """Paired t test of the mean difference (scipy.stats.ttest_rel).

    For comparison: its lower bound is useless when few episodes change. All null with one episode
    or when every difference is the same.
    """
    first, second = _pairs(a, b)
    level = open_unit("confidence", confidence)
    d = [x - y for x, y in zip(first, second, strict=True)]
    n, centre = len(d), mean(d)
    squares = math.fsum((x - centre) ** 2 for x in d)
    if n < 2 or squares <= 1e-30 * n:
        return PairedT(t=None, p=None, low=None, high=None)
    se = math.sqrt(squares / (n - 1) / n)
    half = t_two_sided(level, n - 1) * se
    return PairedT(
        t=centre / se, p=t_p_value(centre / se, n - 1), low=centre - half, high=centre + half
    )


def paired_signflip_exact(a: Scores, b: Scores) -> SignFlip:
    """Exact sign-flip test over all 2^E patterns, two-sided (twice the smaller tail, at most 1).

    Scores are read as fractions with denominators up to a million, so equal sums are equal
    whatever the rounding. Sums are merged, so pass counts of hundreds of episodes are cheap;
    raises ValueError when the differences have too many distinct sums to enumerate.
    """
    first, second = _pairs(a, b)
    exact = [_fraction(x) - _fraction(y) for x, y in zip(first, second, strict=True)]
    scale = math.lcm(*(d.denominator for d in exact))
    steps = [abs(int(d * scale)) for d in exact]
    observed = sum(int(d * scale) for d in exact)
    sums = {0: 1}
    for step in (s for s in steps if s):
        grown: dict[int, int] = {}
        for total, ways in sums.items():
            grown[total + step] = grown.get(total + step, 0) + ways
            grown[total - step] = grown.get(total - step, 0) + ways
        if len(grown) > _MOST_SUMS:
            raise ValueError(
                "a and b have too many distinct differences for an exact test; "
                "use adjusted_paired_interval"
            )
        sums = grown
    every = sum(sums.values())
    above = sum(ways for total, ways in sums.items() if total >= observed)
    below = sum(ways for total, ways in sums.items() if total <= observed)
    diff = mean([x - y for x, y in zip(first, second, strict=True)])
    return SignFlip(diff=diff, p=min(1.0, 2 * min(above, below) / every))


def _fraction(value: float) -> Fraction:
    return Fraction(value).limit_denominator(1_000_000)


def paired_bootstrap_percentile(
    a: Scores, b: Scores, confidence: float = 0.95, resamples: int = 9999, seed: int = 0
) -> Interval:
    """Percentile bootstrap of the mean difference, resampling whole episodes. Uses numpy.

    For costs. Not for pass rates: without a changed episode it has no width at all.
    """
    import numpy as np

    first, second = _pairs(a, b)
    level, count = open_unit("confidence", confidence), whole("resamples", resamples, 1)
    d = np.asarray(first) - np.asarray(second)
    rng = np.random.default_rng(seed)
    # In blocks, so that memory does not grow with episodes × resamples.
    block = max(1, 1_000_000 // len(d))
    means = np.concatenate(
        [
            d[rng.integers(0, len(d), (min(block, count - done), len(d)))].mean(axis=1)
            for done in range(0, count, block)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def holm_adjust(p: Scores) -> list[float]:
    """Holm's adjusted p values, in the order given: for claims of regression on many slices."""
    values = [proportion(f"p[{i}]", x) for i, x in enumerate(p)]
    adjusted, running = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        running = max(running, min(1.0, values[i] * (len(values) - rank)))
        adjusted[i] = running
    return adjusted


def benjamini_hochberg_adjust(p: Scores) -> list[float]:
    """Benjamini-Hochberg adjusted p values, in the order given: for which slices to look at."""
    values = [proportion(f"p[{i}]", x) for i, x in enumerate(p)]
    adjusted, running = [0.0] * len(values), 1.0
    order = sorted(range(len(values)), key=values.__getitem__)
    for rank in range(len(order), 0, -1):
        i = order[rank - 1]
        running = min(running, values[i] * len(values) / rank)
        adjusted[i] = running
    return adjusted
