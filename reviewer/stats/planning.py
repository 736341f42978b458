"""Sample sizes: those behind "not enough evidence", and those at which a gate could pass.

The numbers for gates are the exact smallest ones in the best case, in which every further episode
or attempt is clean. A smaller number can never be enough; attempts that fail raise the number.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from reviewer.stats.bounds import Spent, cost_is_within, episode_scores, lower_bound_reaches
from reviewer.stats.checks import finite, non_negative, open_unit, proportion, whole
from reviewer.stats.rates import Counts
from reviewer.stats.special import binomial_cdf, binomial_sf, normal_quantile, z_two_sided

_MOST = 1 << 34


def smallest_from(least: int, holds: Callable[[int], bool], what: str) -> int:
    """Return the smallest n >= least for which a condition that stays true once true holds."""
    low, top = least, max(least, 1)
    while not holds(top):
        low, top = top + 1, 2 * top
        if top > _MOST:
            raise ValueError(f"{what} needs more than {_MOST} units; choose a looser target")
    return bisect_left(range(top + 1), True, lo=low, key=holds)


def zero_failure_sample_size(max_rate: float, confidence: float = 0.95) -> int:
    """Return the smallest number of clean runs whose one-sided upper bound is below `max_rate`."""
    rate, level = open_unit("max_rate", max_rate), open_unit("confidence", confidence)
    alpha = 1.0 - level
    return smallest_from(1, lambda n: n * math.log1p(-rate) < math.log(alpha), "max_rate")


def labels_needed_for_accuracy(
    errors: int, target_lower_bound: float = 0.90, confidence: float = 0.95
) -> int:
    """Return the smallest n with `errors` errors whose one-sided lower bound reaches the target."""
    wrong = whole("errors", errors)
    target = open_unit("target_lower_bound", target_lower_bound)
    alpha = 1.0 - open_unit("confidence", confidence)
    # The lower bound reaches the target exactly when so few errors would be that improbable there.
    return smallest_from(
        wrong + 1, lambda n: binomial_cdf(wrong, n, 1.0 - target) <= alpha, "target_lower_bound"
    )


def runs_needed_for_max_rate(
    events: int, target_upper_bound: float = 0.05, confidence: float = 0.95
) -> int:
    """Return the smallest n with `events` events whose one-sided upper bound meets the target."""
    seen = whole("events", events)
    target = open_unit("target_upper_bound", target_upper_bound)
    alpha = 1.0 - open_unit("confidence", confidence)
    return smallest_from(
        seen + 1, lambda n: binomial_cdf(seen, n, target) <= alpha, "target_upper_bound"
    )


def sample_size_half_width(p: float, half_width: float, confidence: float = 0.95) -> int:
    """Return the runs for a normal interval of p ± `half_width`: ceil(z² p(1-p)/h²)."""
    rate, half = proportion("p", p), open_unit("half_width", half_width)
    return max(1, math.ceil(z_two_sided(confidence) ** 2 * rate * (1.0 - rate) / half**2))


def power_two_proportions(p1: float, p2: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the episodes per candidate, unpaired, that distinguish p1 from p2 (R
    power.prop.test)."""
    a, b = proportion("p1", p1), proportion("p2", p2)
    if a == b:
        raise ValueError("p1 and p2 must differ: no sample tells equal rates apart")
    z_alpha = normal_quantile(1.0 - open_unit("alpha", alpha) / 2)
    z_power = normal_quantile(open_unit("power", power))
    pooled = z_alpha * math.sqrt((a + b) * (1.0 - (a + b) / 2))
    apart = z_power * math.sqrt(a * (1.0 - a) + b * (1.0 - b))
    return math.ceil(((pooled + apart) / (a - b)) ** 2)


def power_paired_t(delta: float, sd_diff: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the episodes with which a paired t test finds a difference `delta` (R power.t.test).

    `sd_diff` is the standard deviation of the per-episode mean differences. Uses scipy's
    noncentral t.
    """
    from scipy.stats import nct, t

    effect, sd = abs(finite("delta", delta)), non_negative("sd_diff", sd_diff)
    if effect == 0 or sd == 0:
        raise ValueError("delta and sd_diff must not be 0")
    target, tail = open_unit("power", power), open_unit("alpha", alpha) / 2

    def enough(n: int) -> bool:
        limit = t.isf(tail, n - 1)
        return bool(nct.sf(limit, n - 1, math.sqrt(n) * effect / sd) >= target)

    return smallest_from(2, enough, "power")


def episodes_needed(
    delta: float,
    difference_variance: float,
    within_variance: float,
    baseline_within_variance: float,
    attempts: int,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Return the episodes, with `attempts` by both candidates, needed to find a difference `delta`.

    E = (z₁₋α/₂ + z₁₋β)² (ω² + σ²_A/K + σ²_B/K)/δ² (Miller, arXiv:2411.00640 §5): ω² is the variance
    of true per-episode differences, σ² the variance of attempts within an episode.
    """
    effect = finite("delta", delta)
    if effect == 0:
        raise ValueError("delta must not be 0")
    k = whole("attempts", attempts, 1)
    omega = non_negative("difference_variance", difference_variance)
    within = non_negative("within_variance", within_variance)
    within += non_negative("baseline_within_variance", baseline_within_variance)
    z = normal_quantile(1.0 - open_unit("alpha", alpha) / 2)
    z += normal_quantile(open_unit("power", power))
    return max(1, math.ceil(z * z * (omega + within / k) / effect**2))


def clean_episodes_needed(
    counts: Counts, target: float, confidence: float = 0.95, live: bool = False, k: int = 1
) -> int:
    """Return how many more episodes whose attempts all pass lift the lower bound of pass^k (k = 1:
    of the pass rate) to `target`; with `live` the bound of `confidence_sequence` instead.

    `counts` holds (attempts, passes) per episode. Raises ValueError when no number does.
    """
    scores = episode_scores(counts, k) if any(made for made, _ in counts) else []
    goal = open_unit("target", target)

    def enough(more: int) -> bool:
        clean = [*scores, (Fraction(1), more)] if more else scores
        return bool(clean) and lower_bound_reaches(clean, goal, confidence, live)

    return smallest_from(0, enough, "target")


def attempts_needed_for_quantile(
    above: int, attempts: int, quantile: float, confidence: float = 0.95
) -> int:
    """Return how many more attempts, none of them above a limit, bring the upper limit of
    `quantile_interval` down to it, when `above` of `attempts` independent ones are above it. If
    none is above, 72 attempts in all are needed for the 0.95 quantile at 95%."""
    over, n = whole("above", above), whole("attempts", attempts, above)
    q, tail = open_unit("quantile", quantile), (1.0 - open_unit("confidence", confidence)) / 2

    def enough(total: int) -> bool:
        rank = total - over - 1
        return rank >= 0 and binomial_sf(rank, total, q) <= tail * (1.0 + 1e-12)

    return smallest_from(n, enough, "quantile") - n


def episodes_needed_for_cost(
    spent: Spent, budget: float, confidence: float = 0.975, most: float | None = None
) -> int | None:
    """Return how many more episodes like these bring the upper bound of `bounds.cost_upper` down to
    `budget`; None when none do, because the estimate itself is not below it."""
    limit = non_negative("budget", budget)
    n = sum(times for _, _, times in spent)
    passes = math.fsum(passed * times for _, passed, times in spent)
    cost = math.fsum(each * times for each, _, times in spent)
    if not passes or cost / passes > limit:
        return None

    def enough(total: int) -> bool:
        grown = [(each, passed, times * total / n) for each, passed, times in spent]
        return cost_is_within(grown, limit, confidence, most)

    try:
        return smallest_from(max(math.ceil(n), 2), enough, "budget") - math.ceil(n)
    except ValueError:
        return None
