"""The cost of a success, and quantiles of latency.

Cost per success is the cost of all attempts over the number of passes. Latency quantiles have exact
order-statistic limits; a timeout is a censored value.
"""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import mul
from typing import Any, NamedTuple, SupportsFloat, TypedDict, cast, overload

from reviewer.stats.checks import (
    non_negative,
    open_unit,
    proportion,
    same_length,
    zero_one,
)
from reviewer.stats.rates import Counts, effective_attempts, merged
from reviewer.stats.special import binomial_cdf, binomial_sf


class CostPerSuccess(TypedDict):
    """USD per passed attempt and its standard error; null where undefined."""

    cpst: float | None
    se: float | None


class Summary(TypedDict):
    """The articles' summary of one result per episode. Costs in USD."""

    success_rate: float | None
    total_cost_usd: float | None
    cost_per_success_usd: float | None
    critical_safety_failures: int
    release_allowed: bool
    reason: str | None


def cost_per_success(
    pass_groups: Sequence[Sequence[SupportsFloat]],
    cost_groups: Sequence[Sequence[SupportsFloat]],
) -> CostPerSuccess:
    """Return the cost per success: Σ cost of every attempt, failed ones too, over Σ passes.

    One list per episode in both arguments, aligned: passes as 0/1, costs in USD. `se` linearizes
    the ratio with whole episodes as clusters: d_e = cost_e - r·pass_e,
    sqrt(E/(E-1)·Σd_e²)/Σpass (= R survey::svyratio); null with one episode. Both are null without
    a success. A missing, negative or non-finite cost is refused: it is unknown, not free.
    """
    if len(pass_groups) != len(cost_groups):
        raise ValueError(
            f"pass_groups and cost_groups must be equally long, "
            f"not {len(pass_groups)} and {len(cost_groups)}"
        )
    totals: list[tuple[Fraction, int]] = []
    for e, (outcomes, prices) in enumerate(zip(pass_groups, cost_groups, strict=True)):
        if len(outcomes) != len(prices):
            raise ValueError(
                f"cost_groups[{e}] must hold one cost per attempt: "
                f"{len(outcomes)} attempts, {len(prices)} costs"
            )
        passed = sum(zero_one(f"pass_groups[{e}][{i}]", x) for i, x in enumerate(outcomes))
        spent = math.fsum(non_negative(f"cost_groups[{e}][{i}]", x) for i, x in enumerate(prices))
        totals.append((Fraction(spent), passed))
    ratio, variance = cost_ratio(Counter(totals))
    return CostPerSuccess(
        cpst=None if ratio is None else float(ratio),
        se=None if variance is None else math.sqrt(variance),
    )


def cost_ratio(
    totals: Mapping[tuple[Fraction, int], int] | Mapping[tuple[int, int], int],
) -> tuple[Fraction | None, Fraction | None]:
    """Return Σ cost over Σ passes, and its exact variance. `totals` says how many episodes have
    each (cost, passes).

    The variance is E/(E-1)·Σ(cost_e - r·passes_e)² / (Σ passes)². Both are None without a pass, the
    variance with one episode.
    """
    many = list(totals.values())
    costs = [cost for cost, _ in totals]
    passed = [count for _, count in totals]
    passes, episodes = sum(map(mul, passed, many)), sum(many)
    if not passes:
        return None, None
    weighted = list(map(mul, costs, many))
    known = sum(weighted)
    ratio = Fraction(known, passes)
    if episodes < 2:
        return ratio, None
    # Σ(cost_e·passes - known·passes_e)², which is passes² times the sum of squares, multiplied out:
    # exact, and whole for whole costs.
    squares = (
        passes**2 * sum(map(mul, weighted, costs))
        - 2 * passes * known * sum(map(mul, weighted, passed))
        + known**2 * sum(map(mul, map(mul, passed, passed), many))
    )
    return ratio, Fraction(squares * episodes, (episodes - 1) * passes**4)


def summarize(results: Sequence[Mapping[str, Any]]) -> Summary:
    """Return the articles' summary: `passed`, `critical_safety` and `cost_usd` of each result.

    Fails closed: without results nothing is allowed (`reason` "no_results"); a result whose values
    are neither true nor false is refused; with a null cost the totals are null, never smaller.
    """
    passed = [_flag(r, i, "passed") for i, r in enumerate(results)]
    critical = sum(_flag(r, i, "critical_safety") for i, r in enumerate(results))
    costs = [_cost(r, i) for i, r in enumerate(results)]
    known = [c for c in costs if c is not None]
    successes = sum(passed)
    total = math.fsum(known) if results and len(known) == len(costs) else None
    return Summary(
        success_rate=successes / len(passed) if passed else None,
        total_cost_usd=total,
        cost_per_success_usd=total / successes if total is not None and successes else None,
        critical_safety_failures=critical,
        release_allowed=bool(passed) and all(passed) and not critical,
        reason=None if passed else "no_results",
    )


def _flag(result: Mapping[str, Any], index: int, field: str) -> bool:
    value = result.get(field)
    if not isinstance(value, bool):
        raise ValueError(f"results[{index}].{field} must be true or false, not {value!r}")
    return value


def _cost(result: Mapping[str, Any], index: int) -> float | None:
    if "cost_usd" not in result:
        raise ValueError(f"results[{index}].cost_usd is missing; write null when not measured")
    value = result["cost_usd"]
    return None if value is None else non_negative(f"results[{index}].cost_usd", value)


class QuantileInterval(NamedTuple):
    """Limits of a quantile, in the unit of the values; None where n allows no finite limit."""

    low: float | None
    high: float | None


class Quantile(TypedDict):
    """A quantile in ms. `at_least`: the value is that of a timeout and reads as ">=" it."""

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


class Ordered(Sequence[float]):
    """Values that were checked and sorted once, so that many quantiles of a million values cost one
    pass; a value takes eight bytes. Raises ValueError for a value that is not a duration."""

    __slots__ = ("_values",)

    def __init__(self, values: Sequence[SupportsFloat]) -> None:
        self._values = array("d", _sorted(values))

    @classmethod
    def merged(cls, values: "array[float]", ends: Sequence[int]) -> "Ordered":
        """Return values of which each part, up to the next of `ends`, is in order. They are sorted
        in ranges: as objects, a million at once take 30 MB."""
        sample = sorted(values[::_APART])
        cuts = [sample[len(sample) * n // _RANGES] for n in range(1, _RANGES)] if sample else []
        found, starts = array("d"), [0, *ends][: len(ends)]
        for cut in (*cuts, math.inf):
            some = array("d")
            for n, (start, end) in enumerate(zip(starts, ends, strict=True)):
                starts[n] = bisect_right(values, cut, start, end)
                some += values[start : starts[n]]
            found.fromlist(sorted(some))
        whole = len(found) == len(values) and (not found or found[0] >= 0.0)
        if not (whole and math.isfinite(sum(found))):
            return cls(values)  # which names the wrong one
        ordered = cls(())
        ordered._values = found
        return ordered

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, place: int) -> float: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[float]: ...
    def __getitem__(self, place: int | slice) -> float | Sequence[float]:
        return self._values[place]


_APART, _RANGES = 64, 8


def _sorted(values: Sequence[SupportsFloat]) -> Sequence[float]:
    if type(values) is Ordered:
        return values
    floats = type(values) is array and values.typecode == "d"
    floats = floats or set(map(type, values)) == {float}
    plain = sorted(cast("Sequence[float]", values)) if floats else []
    # With a NaN or an infinity among the values, the sum is not finite either: one sum is quicker
    # than a million checks.
    if plain and math.isfinite(sum(plain)) and plain[0] >= 0.0:
        return plain
    return sorted(non_negative(f"values[{i}]", x) for i, x in enumerate(values))


def latency_quantile(values: Sequence[SupportsFloat], q: float) -> float | None:
    """Return the type 7 quantile (numpy's and R's default), in the unit of the values, or None."""
    ordered = _sorted(values)
    return _type7(ordered, proportion("q", q)) if ordered else None


def _type7(ordered: Sequence[float], q: float) -> float:
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    low, share = ordered[below], place - below
    return low if share == 0.0 else low + (ordered[below + 1] - low) * share


def quantile_interval(
    values: Sequence[SupportsFloat], q: float, confidence: float = 0.95
) -> QuantileInterval:
    """Return distribution-free limits of the q quantile: order statistics by binomial tails.

    Same as scipy.stats.quantile_test(...).confidence_interval. At 95% both limits are finite from
    n = 6 (p50), 36 (p90), 72 (p95), 368 (p99); a limit that n is too small for is None.
    """
    return _limits(_sorted(values), open_unit("q", q), open_unit("confidence", confidence))


def _limits(ordered: Sequence[float], q: float, confidence: float) -> QuantileInterval:
    n, tail = len(ordered), (1.0 - confidence) / 2
    if not n:
        return QuantileInterval(None, None)
    # A tail that differs from its share only by rounding counts as equal.
    first = _smallest(n, lambda k: binomial_cdf(k, n, q) >= tail * (1.0 - 1e-12)) - 1
    last = _smallest(n, lambda k: binomial_sf(k, n, q) <= tail * (1.0 + 1e-12))
    return QuantileInterval(
        ordered[first] if first >= 0 else None, ordered[last] if last < n else None
    )


def clustered_upper_limit(
    values: Sequence[SupportsFloat],
    within: Counts,
    q: float,
    confidence: float = 0.95,
) -> float | None:
    """Return the upper limit of `quantile_interval` where the values come in episodes.

    `within` holds per episode (values, how many of them are at most the q quantile). The rank is
    that for the effective number of independent values, from the share that is at most the quantile
    (Woodruff 1952), rounded away from the quantile. Equal to the plain limit when every value has
    an episode of its own; None where their worth is too small for a finite limit.
    """
    ordered, share = _sorted(values), open_unit("q", q)
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    n = len(ordered)
    alike = merged(within)
    if sum(made * times for (made, _), times in alike.items()) != n:
        raise ValueError(f"within must count every value: {n}")
    if not n:
        return None
    episodes = sum(times for (made, _), times in alike.items() if made)
    worth = max(math.floor(effective_attempts(alike)), episodes)
    rank = _smallest(worth, lambda k: binomial_sf(k, worth, share) <= tail * (1.0 + 1e-12))
    return ordered[math.ceil((rank + 1) * n / worth) - 1] if rank < worth else None


def _smallest(n: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest k in 0..n for which a condition that stays true once true holds."""
    return bisect_left(range(n + 1), True, key=holds)


def latency_summary(
    values: Sequence[SupportsFloat],
    timed_out: Sequence[bool] | None = None,
    confidence: float = 0.95,
) -> LatencySummary:
    """Return p50, p90, p95 with limits, and the maximum, of latencies in ms.

    A timeout is censored: it took at least its limit. Give that limit as its value and mark it in
    `timed_out` (aligned with `values`); every quantile at or above the lowest such limit is marked
    `at_least`. All figures are None without values.
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
        # Interpolation uses the order statistic above: where that is censored, the quantile is too.
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
