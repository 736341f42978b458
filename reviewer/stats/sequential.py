"""Bounds that hold at every look: for evidence that was looked at while it grew.

An interval of fixed n misses the truth 1 - confidence of the time at one look, and ever more often
when looked at again and again. These limits miss it that often over all looks together; the price
is width: 984 runs without a failure show "below 1 %", where 299 do at a single look planned ahead.
"""

import math
from collections.abc import Callable
from typing import SupportsFloat

from reviewer.stats.checks import Interval, finite, open_unit


def confidence_sequence(
    successes: SupportsFloat, total: SupportsFloat, confidence: float = 0.95
) -> Interval:
    """Limits of successes/total that hold at every total at once, whenever one stops.

    {p : betaln(k+1, n-k+1) - k·ln p - (n-k)·ln(1-p) < ln(1/α)}, α = 1 - confidence: the mixture
    martingale of a uniform prior, with Ville's inequality (Robbins 1970; Howard et al. 2021).
    Both counts may be real (an effective sample size). Raises ValueError unless
    0 <= successes <= total, total > 0.
    """
    hits, n = finite("successes", successes), finite("total", total)
    if n <= 0:
        raise ValueError("total must be positive")
    if not 0 <= hits <= n:
        raise ValueError("successes must be between 0 and total")
    threshold = -math.log1p(-open_unit("confidence", confidence))
    log_beta = math.lgamma(hits + 1) + math.lgamma(n - hits + 1) - math.lgamma(n + 2)

    def outside(p: float) -> bool:
        gain = hits * math.log(p) if hits else 0.0
        loss = (n - hits) * math.log1p(-p) if hits < n else 0.0
        return log_beta - gain - loss >= threshold

    rate = hits / n
    return Interval(
        _edge(outside, 0.0, rate) if hits else 0.0, _edge(outside, 1.0, rate) if hits < n else 1.0
    )


def _edge(outside: Callable[[float], bool], far: float, near: float) -> float:
    """Where the set that `near` lies in ends toward `far`, on the far side of the rounding."""
    for _ in range(200):
        middle = 0.5 * (far + near)
        if middle in (far, near):
            break
        far, near = (middle, near) if outside(middle) else (far, middle)
    return far
