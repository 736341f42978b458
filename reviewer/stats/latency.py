"""How slow: quantiles with exact order-statistic limits, and what timeouts do to them."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsFloat, TypedDict

from reviewer.stats.checks import non_negative, open_unit, proportion, same_length
from reviewer.stats.rates import effective_attempts
from reviewer.stats.special import binomial_cdf, binomial_sf


class QuantileInterval(NamedTuple):
    """Limits of a quantile, in the unit of the values; None where n allows no finite limit."""

    low: float | None
    high: float | None


class Quantile(TypedDict):
    """A quantile in ms. `at_least`: the value stands on a timeout and reads as ">=" it."""

    value: float | None
    low: float | None
    high: float | None
    at_least: bool


class LatencySummary(TypedDict):
    """Latencies in ms: `n` attempts, of which `censored` were cut off by a timeout."""

    n: int
    censored: int
    p50: Quantile
    p90: Quantile
    p95: Quantile
    max: float | None


def _sorted(values: Sequence[SupportsFloat]) -> list[float]:
    plain = sorted(values) if set(map(type, values)) == {float} else []  # type: ignore[type-var]
    # With a NaN among them, or an infinity, the sum is none either; of a million that is quicker.
    if plain and math.isfinite(sum(plain)) and plain[0] >= 0.0:  # type: ignore[operator, arg-type]
        return plain  # type: ignore[return-value]
    return sorted(non_negative(f"values[{i}]", x) for i, x in enumerate(values))


def latency_quantile(values: Sequence[SupportsFloat], q: float) -> float | None:
    """Type 7 quantile (numpy's and R's default), in the unit of the values; None when empty."""
    ordered = _sorted(values)
    return _type7(ordered, proportion("q", q)) if ordered else None


def _type7(ordered: list[float], q: float) -> float:
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    low, share = ordered[below], place - below
    return low if share == 0.0 else low + (ordered[below + 1] - low) * share


def quantile_interval(
    values: Sequence[SupportsFloat], q: float, confidence: float = 0.95
) -> QuantileInterval:
    """Two-sided distribution-free limits of the q quantile: order statistics by binomial tails.

    Same as scipy.stats.quantile_test(...).confidence_interval. At 95% both limits are finite from
    n = 6 (p50), 36 (p90), 72 (p95), 368 (p99); a limit that n is too small for is None.
    """
    return _limits(_sorted(values), open_unit("q", q), open_unit("confidence", confidence))


def _limits(ordered: list[float], q: float, confidence: float) -> QuantileInterval:
    n, tail = len(ordered), (1.0 - confidence) / 2
    if not n:
        return QuantileInterval(None, None)
    # A tail that equals its share but for rounding counts as equal.
    first = _smallest(n, lambda k: binomial_cdf(k, n, q) >= tail * (1.0 - 1e-12)) - 1
    last = _smallest(n, lambda k: binomial_sf(k, n, q) <= tail * (1.0 + 1e-12))
    return QuantileInterval(
        ordered[first] if first >= 0 else None, ordered[last] if last < n else None
    )


def clustered_upper_limit(
    values: Sequence[SupportsFloat],
    within: Sequence[tuple[int, int]],
    q: float,
    confidence: float = 0.95,
) -> float | None:
    """The upper limit of `quantile_interval` where the values come in episodes.

    `within` holds per episode (values, how many of them are at most the q quantile). The rank is
    that of as many independent values as they are worth, for the share at most the quantile
    (Woodruff 1952), rounded to the far side. Equal to the plain limit when every value stands for
    itself; None where their worth is too small for a finite limit.
    """
    ordered, share = _sorted(values), open_unit("q", q)
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    n = len(ordered)
    if sum(made for made, _ in within) != n:
        raise ValueError(f"within must count every value: {n}")
    if not n:
        return None
    episodes = sum(1 for made, _ in within if made)
    worth = max(math.floor(effective_attempts(within)), episodes)
    rank = _smallest(worth, lambda k: binomial_sf(k, worth, share) <= tail * (1.0 + 1e-12))
    return ordered[math.ceil((rank + 1) * n / worth) - 1] if rank < worth else None


def _smallest(n: int, holds: Callable[[int], bool]) -> int:
    """The smallest k in 0..n for which a condition that stays true once true holds."""
    return bisect_left(range(n + 1), True, key=holds)


def latency_summary(
    values: Sequence[SupportsFloat],
    timed_out: Sequence[bool] | None = None,
    confidence: float = 0.95,
) -> LatencySummary:
    """p50, p90, p95 with limits, and the maximum, of latencies in ms.

    A timeout is censored: it took at least its limit. Give that limit as its value and mark it in
    `timed_out` (aligned with `values`); every quantile that stands on or above the lowest such
    limit is marked `at_least`. All figures are None without values.
    """
    ordered = _sorted(values)
    flags = [] if timed_out is None else list(timed_out)
    cut = math.inf
    if timed_out is not None:
        same_length("values", values, "timed_out", flags)
        late = (float(v) for v, late in zip(values, flags, strict=True) if late)
        cut = min(late, default=math.inf)
    level = open_unit("confidence", confidence)

    def at(q: float) -> Quantile:
        if not ordered:
            return Quantile(value=None, low=None, high=None, at_least=False)
        low, high = _limits(ordered, q, level)
        # Interpolation leans on the order statistic above: censored there, censored here.
        above = ordered[math.ceil((len(ordered) - 1) * q)]
        return Quantile(value=_type7(ordered, q), low=low, high=high, at_least=above >= cut)

    return LatencySummary(
        n=len(ordered),
        censored=sum(flags),
        p50=at(0.50),
        p90=at(0.90),
        p95=at(0.95),
        max=ordered[-1] if ordered else None,
    )
