"""What a success costs: all attempts' money over the passes it bought."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, SupportsFloat, TypedDict

from reviewer.stats.checks import Interval, non_negative, open_unit, whole, zero_one
from reviewer.stats.special import t_two_sided


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
    """Cost per success: Σ cost of every attempt, failed ones too, over Σ passes.

    One list per episode in both arguments, aligned: passes as 0/1, costs in USD. `se` linearises
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
    ratio, variance = cost_ratio(totals)
    return CostPerSuccess(
        cpst=None if ratio is None else float(ratio),
        se=None if variance is None else math.sqrt(variance),
    )


def cost_ratio(
    totals: Sequence[tuple[Fraction | int, int]],
) -> tuple[Fraction | None, Fraction | None]:
    """Σ cost over Σ passes of (cost, passes) per episode, and the variance of that ratio, exactly.

    The variance is E/(E-1)·Σ(cost_e - r·passes_e)² / (Σ passes)². Both are None without a pass, the
    variance with one episode.
    """
    passes = sum(passed for _, passed in totals)
    if not passes:
        return None, None
    known = sum(cost for cost, _ in totals)
    ratio = Fraction(known, passes)
    if len(totals) < 2:
        return ratio, None
    # Σ(cost_e·passes - known·passes_e)² is passes² times the sum of squares: whole for whole costs.
    squares = sum((cost * passes - known * passed) ** 2 for cost, passed in totals)
    return ratio, Fraction(squares * len(totals), (len(totals) - 1) * passes**4)


def cost_limits(cpst: float, se: float, episodes: int, confidence: float = 0.95) -> Interval | None:
    """Limits of a cost per success from its clustered SE: cpst·exp(±t(E-1)·se/cpst).

    Symmetric in the logarithm, because a ratio with few successes is skewed to the dear side, and
    the delta method's SE of log(cpst) is se/cpst. None with fewer than two episodes: nothing is
    known of their spread. Infinite where the spread is beyond any number.
    """
    ratio, spread = non_negative("cpst", cpst), non_negative("se", se)
    level = open_unit("confidence", confidence)
    if whole("episodes", episodes) < 2:
        return None
    if not spread or not ratio:
        return Interval(ratio, ratio)
    reach = t_two_sided(level, episodes - 1) * spread / ratio
    return Interval(ratio * math.exp(-reach), ratio * math.exp(reach) if reach < 700 else math.inf)


def summarize(results: Sequence[Mapping[str, Any]]) -> Summary:
    """The articles' summary: `passed`, `critical_safety` and `cost_usd` of each result.

    Fails closed: without results nothing is allowed (`reason` "no_results"); a result that does
    not say true or false is refused; a null cost leaves the totals null, never smaller.
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
