"""Two candidates on the same episodes, one attempt each: the paired 2×2 table.

both: episodes both pass, a_only and b_only: one passes, neither: none does. diff = p_A - p_B.
"""

import math
from collections.abc import Callable
from typing import TypedDict

from reviewer.stats.checks import Interval, clip, open_unit, whole
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
    """Two-sided exact conditional McNemar p value; 1 when no episode changed."""
    _, b, c, _ = _table(both, a_only, b_only, neither)
    return min(1.0, 2.0 * binomial_cdf(min(b, c), b + c, 0.5))


def mcnemar_midp(both: int, a_only: int, b_only: int, neither: int) -> float:
    """Two-sided McNemar mid-p (Fagerland, Lydersen, Laake 2013): recommended over the exact.

    With as many gained as lost it is 1 - P(a_only)/2, so 0.5 when no episode changed: report that
    nothing changed instead of printing it.
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
    """Newcombe's square-and-add interval of the paired difference (1998, method 10)."""
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
    """Tango's asymptotic score interval of the paired difference (1998), by bisection."""
    a, b, c, d = _table(both, a_only, b_only, neither)
    n, z = a + b + c + d, z_two_sided(confidence)

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
    high = 1.0 if b == n else _crossing(score, -z)
    return Difference(diff=(b - c) / n, low=low, high=high)


def _crossing(falling: Callable[[float], float], level: float) -> float:
    """Where a falling function of a difference meets a level, within (-1, 1)."""
    low, high = -1.0, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if falling(middle) > level else (low, middle)
    return 0.5 * (low + high)


def bonett_price_paired(
    both: int, a_only: int, b_only: int, neither: int, confidence: float = 0.95
) -> Difference:
    """Bonett and Price's adjusted Wald interval (2012): one pseudo-episode gained, one lost."""
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
    """Newcombe's hybrid score interval of x1/n1 - x2/n2 for unpaired suites (weaker evidence)."""
    level = open_unit("confidence", confidence)
    for name, hits, size in (("1", x1, n1), ("2", x2, n2)):
        if whole(f"x{name}", hits) > whole(f"n{name}", size, 1):
            raise ValueError(f"x{name} must be between 0 and n{name}")
    p1, p2 = x1 / n1, x2 / n2
    l1, u1 = wilson_interval(x1, n1, level)
    l2, u2 = wilson_interval(x2, n2, level)
    return Interval(p1 - p2 - math.hypot(p1 - l1, u2 - p2), p1 - p2 + math.hypot(u1 - p1, p2 - l2))
