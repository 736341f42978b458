"""Latencies counted into bins: the shape of a distribution in a few numbers."""

import math
from bisect import bisect_left
from collections.abc import Sequence

MOST = 20


def latency_bins(latencies_ms: Sequence[float], p95: float | None) -> list[list[float]]:
    """[from, to, count] of bins of equal width in ms, from 0; the last reaches to the greatest
    latency and counts it. `latencies_ms` is sorted and `p95` its quantile; empty without any.

    The width is 1, 2 or 5 times a power of ten, so that 95 of 100 lie within the first 16.
    """
    if not latencies_ms or p95 is None:
        return []
    most, width = latencies_ms[-1], nice(p95 / (MOST - 4))
    found: list[list[float]] = []
    for n in range(MOST):
        start, end = n * width, (n + 1) * width
        below = bisect_left(latencies_ms, start)
        if end > most or n == MOST - 1:
            end = end if most < end < math.inf else most
            found.append([start, end, len(latencies_ms) - below])
            break
        found.append([start, end, bisect_left(latencies_ms, end) - below])
    return found


def nice(least: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is `least` or more; 1 for none."""
    if least <= 0:
        return 1.0
    exponent = math.floor(math.log10(least))
    steps = [step * 10.0**power for power in (exponent, exponent + 1) for step in (1, 2, 5)]
    return float(f"{next(s for s in steps if s >= least * (1 - 1e-9)):.12g}")
