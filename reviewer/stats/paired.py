"""Two candidates on the same episodes: the paired 2×2 table, and differences per episode.

The table (one attempt each) counts episodes: `both` pass, only one passes (`a_only`, `b_only`),
`neither` passes; diff = p_A - p_B. With several attempts, `a` and `b` hold the mean score of each
episode under either candidate, aligned. Put the candidate in `a` and the baseline in `b`: a
negative difference means worse.
"""

import math
from collections.abc import Callable, Sequence
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
from reviewer.stats.rates import wilson_interval
from reviewer.stats.special import binomial_cdf, z_two_sided


class Difference(TypedDict):
    """A difference of rates with its confidence limits, all in [-1, 1]."""

    diff: float
    low: float
    high: float


def _table(both: int, a_only: int, b_only: int, neither: int) -> tuple[int, int, int, int]:
    cells = (
        whole("both", both),
        whole("a_only", a_only),
        whole("b_only", b_only),
        whole("neither", neither),
    )
    if not sum(cells):
        raise ValueError("the paired table must hold at least one episode")
    return cells


def mcnemar_exact(both: int, a_only: int, b_only: int, neither: int) -> float:
    """Return the two-sided exact conditional McNemar p value; 1 when no episode changed."""
    _, b, c, _ = _table(both, a_only, b_only, neither)
    return min(1.0, 2.0 * binomial_cdf(min(b, c), b + c, 0.5))


def mcnemar_midp(both: int, a_only: int, b_only: int, neither: int) -> float:
    """Return the two-sided McNemar mid-p (Fagerland, Lydersen, Laake 2013), for most uses.

    With as many episodes gained as lost it is 1 - P(a_only)/2, so 0.5 when none changed: then
    report that nothing changed instead of this p.
    """
    _, b, c, _ = _table(both, a_only, b_only, neither)
    changed = b + c
    log_ways = math.lgamma(changed + 1) - math.lgamma(b + 1) - math.lgamma(c + 1)
    point = math.exp(log_ways - changed * math.log(2.0))
    if b == c:
        return 1.0 - point / 2
    return min(1.0, 2.0 * binomial_cdf(min(b, c), changed, 0.5)) - point


def newcombe_paired(
    both: int, a_only: int, b_only: int, neither: int, confidence: float = 0.95
) -> Difference:
    """Return Newcombe's square-and-add interval of the paired difference (1998, method 10)."""
    a, b, c, d = _table(both, a_only, b_only, neither)
    n = a + b + c + d
    p1, p2 = (a + b) / n, (a + c) / n
    l1, u1 = wilson_interval(a + b, n, confidence)
    l2, u2 = wilson_interval(a + c, n, confidence)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    phi = 0.0
    if margins:
        cross = a * d - b * c
        # Continuity correction for positive association only.
        phi = (max(cross - n / 2, 0.0) if cross > 0 else cross) / math.sqrt(margins)
    return Difference(
        diff=p1 - p2,
        low=p1 - p2 - _hypotenuse(p1 - l1, u2 - p2, phi),
        high=p1 - p2 + _hypotenuse(p2 - l2, u1 - p1, phi),
    )


def _hypotenuse(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x + y * y - 2.0 * phi * x * y))


def tango_paired(
    both: int, a_only: int, b_only: int, neither: int, confidence: float = 0.95
) -> Difference:
    """Return Tango's asymptotic score interval of the paired difference (1998), by bisection."""
    a, b, c, d = _table(both, a_only, b_only, neither)
    n, z = a + b + c + d, z_two_sided(confidence)
    low, high = tango_limits(n, b, c, z)
    return Difference(diff=(b - c) / n, low=low, high=high)


def tango_limits(n: int, b: float, c: float, z: float) -> Interval:
    """Return where Tango's score of a difference is z and -z; b and c, episodes gained and lost,
    may be real."""

    def score(delta: float) -> float:
        linear = (2 * n - b + c) * delta - b - c
        constant = -c * delta * (1.0 - delta)
        p21 = (math.sqrt(max(0.0, linear**2 - 8 * n * constant)) - linear) / (4 * n)
        variance = n * (2.0 * p21 + delta * (1.0 - delta))
        gap = b - c - n * delta
        if variance <= 0.0:
            return math.copysign(math.inf, gap) if gap else 0.0
        return gap / math.sqrt(variance)

    low = -1.0 if c == n else _crossing(score, z)
    return Interval(low, 1.0 if b == n else max(low, _crossing(score, -z)))


def _crossing(falling: Callable[[float], float], level: float) -> float:
    """Return where a falling function of a difference meets a level, within (-1, 1)."""
    low, high = -1.0, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > level else (low, middle)
    return 0.5 * (low + high)


def bonett_price_paired(
    both: int, a_only: int, b_only: int, neither: int, confidence: float = 0.95
) -> Difference:
    """Return Bonett and Price's adjusted Wald interval (2012): pseudo-episodes, one each way."""
    a, b, c, d = _table(both, a_only, b_only, neither)
    n, z = a + b + c + d, z_two_sided(confidence)
    p12, p21 = (b + 1) / (n + 2), (c + 1) / (n + 2)
    half = z * math.sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))
    return Difference(
        diff=(b - c) / n,
        low=clip(p12 - p21 - half, -1.0, 1.0),
        high=clip(p12 - p21 + half, -1.0, 1.0),
    )


def newcombe_independent(x1: int, n1: int, x2: int, n2: int, confidence: float = 0.95) -> Interval:
    """Return Newcombe's hybrid score interval of x1/n1 - x2/n2, unpaired suites (weaker
    evidence)."""
    level = open_unit("confidence", confidence)
    for name, hits, size in (("1", x1, n1), ("2", x2, n2)):
        if whole(f"x{name}", hits) > whole(f"n{name}", size, 1):
            raise ValueError(f"x{name} must be between 0 and n{name}")
    p1, p2 = x1 / n1, x2 / n2
    l1, u1 = wilson_interval(x1, n1, level)
    l2, u2 = wilson_interval(x2, n2, level)
    return Interval(p1 - p2 - math.hypot(p1 - l1, u2 - p2), p1 - p2 + math.hypot(u1 - p1, p2 - l2))


Scores = Sequence[SupportsFloat]

MIN_CHANGED_EPISODES = 6
"""Below this many changed episodes no exact two-sided test can reach p = 0.05 (2/2^5 > 0.05)."""

_MOST_SUMS = 250_000


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
    """Return the interval that the regression gate uses: mean difference with two pseudo-episodes.

    Appends one episode with d = +1 and one with d = -1, then mean(d) ± z·√(mean(d²) - mean(d)²) /
    √(E+2), clipped to [-1, 1]; `diff` is the raw mean. With one attempt each it is exactly
    `bonett_price_paired`. Scores lie in [0, 1]. For a one-sided 95% bound pass confidence 0.90.
    `times` is the number of episodes that each pair represents (default: one).
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


def paired_signflip_exact(a: Scores, b: Scores) -> SignFlip:
    """Return the exact sign-flip test over all 2^E patterns: twice the smaller tail, at most 1.

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
    """Return the percentile bootstrap interval of the mean difference over episodes. Uses numpy.

    For costs. Not for pass rates: without a changed episode its width is 0.
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
    """Return Holm's adjusted p values in the order given: for claims about many slices."""
    values = [proportion(f"p[{i}]", x) for i, x in enumerate(p)]
    adjusted, running = [0.0] * len(values), 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        running = max(running, min(1.0, values[i] * (len(values) - rank)))
        adjusted[i] = running
    return adjusted


def benjamini_hochberg_adjust(p: Scores) -> list[float]:
    """Return Benjamini-Hochberg adjusted p values in the order given: which slices to look at."""
    values = [proportion(f"p[{i}]", x) for i, x in enumerate(p)]
    adjusted, running = [0.0] * len(values), 1.0
    order = sorted(range(len(values)), key=values.__getitem__)
    for rank in range(len(order), 0, -1):
        i = order[rank - 1]
        running = min(running, values[i] * len(values) / rank)
        adjusted[i] = running
    return adjusted
