"""Sample sizes: those behind "not enough evidence", and those until a gate could pass.

The numbers for gates are the exact smallest ones in the best case: every further episode or attempt
is clean. Fewer can never be enough; attempts that fail raise the number.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import SupportsFloat

from reviewer.stats.checks import finite, non_negative, open_unit, proportion, same_length, whole
from reviewer.stats.cost_latency import cost_limits
from reviewer.stats.rates import Counts, confidence_sequence, effective_from_sums, exact_bounds
from reviewer.stats.special import binomial_cdf, binomial_sf, normal_quantile, z_two_sided

_MOST = 1 << 34


def smallest_from(least: int, holds: Callable[[int], bool], what: str) -> int:
    """Return the smallest n >= least for which a condition that stays true once true holds."""
    top = max(least, 1)
    while not holds(top):
        top *= 2
        if top > _MOST:
            raise ValueError(f"{what} needs more than {_MOST} units; choose a looser target")
    return bisect_left(range(top + 1), True, lo=least, key=holds)


def zero_failure_sample_size(max_rate: float, confidence: float = 0.95) -> int:
    """Smallest number of clean runs whose one-sided upper bound is below `max_rate`."""
    rate, level = open_unit("max_rate", max_rate), open_unit("confidence", confidence)
    alpha = 1.0 - level
    return smallest_from(1, lambda n: n * math.log1p(-rate) < math.log(alpha), "max_rate")


def labels_needed_for_accuracy(
    errors: int, target_lower_bound: float = 0.90, confidence: float = 0.95
) -> int:
    """Smallest n with `errors` errors whose one-sided lower bound reaches the target accuracy."""
    wrong = whole("errors", errors)
    target = open_unit("target_lower_bound", target_lower_bound)
    alpha = 1.0 - open_unit("confidence", confidence)
    # The lower bound reaches the target exactly when so few errors would be that unlikely at it.
    return smallest_from(
        wrong + 1, lambda n: binomial_cdf(wrong, n, 1.0 - target) <= alpha, "target_lower_bound"
    )


def runs_needed_for_max_rate(
    events: int, target_upper_bound: float = 0.05, confidence: float = 0.95
) -> int:
    """Smallest n with `events` events whose one-sided upper bound is at most the target rate."""
    seen = whole("events", events)
    target = open_unit("target_upper_bound", target_upper_bound)
    alpha = 1.0 - open_unit("confidence", confidence)
    return smallest_from(
        seen + 1, lambda n: binomial_cdf(seen, n, target) <= alpha, "target_upper_bound"
    )


def sample_size_half_width(p: float, half_width: float, confidence: float = 0.95) -> int:
    """Runs for a normal interval of ± `half_width` around a rate of p: ceil(z² p(1-p)/h²)."""
    rate, half = proportion("p", p), open_unit("half_width", half_width)
    return max(1, math.ceil(z_two_sided(confidence) ** 2 * rate * (1.0 - rate) / half**2))


def power_two_proportions(p1: float, p2: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Episodes per candidate, unpaired, to tell p1 from p2 (R power.prop.test, two-sided)."""
    a, b = proportion("p1", p1), proportion("p2", p2)
    if a == b:
        raise ValueError("p1 and p2 must differ: no sample tells equal rates apart")
    z_alpha = normal_quantile(1.0 - open_unit("alpha", alpha) / 2)
    z_power = normal_quantile(open_unit("power", power))
    pooled = z_alpha * math.sqrt((a + b) * (1.0 - (a + b) / 2))
    apart = z_power * math.sqrt(a * (1.0 - a) + b * (1.0 - b))
    return math.ceil(((pooled + apart) / (a - b)) ** 2)


def power_paired_t(delta: float, sd_diff: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Episodes for a paired t test to find a mean difference `delta` (R power.t.test, paired).

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
    """Episodes, each tried `attempts` times by both candidates, to find a difference `delta`.

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
    counts: Counts, attempts: int, target: float, confidence: float = 0.95, live: bool = False
) -> int:
    """Return how many more episodes, each passing all of its `attempts`, lift the lower bound of
    `rates.effective_bounds` to `target`; with `live` the bound of `confidence_sequence` instead.

    `counts` holds (attempts, passes) per episode. Raises ValueError when no number does.
    """
    tried = [(made, passed) for made, passed in counts if made]
    n, passes = sum(made for made, _ in tried), sum(passed for _, passed in tried)
    passed_squared = sum(passed * passed for _, passed in tried)
    products = sum(made * passed for made, passed in tried)
    made_squared = sum(made * made for made, _ in tried)
    each, goal = whole("attempts", attempts, 1), open_unit("target", target)

    def enough(more: int) -> bool:
        total, good, added = n + more * each, passes + more * each, more * each * each
        if not total:
            return False
        squares = (
            (passed_squared + added) * total * total
            - 2 * total * good * (products + added)
            + good * good * (made_squared + added)
        )
        worth = effective_from_sums(len(tried) + more, total, good, squares)
        bounds = confidence_sequence if live else exact_bounds
        return bounds(good / total * worth, worth, confidence).low >= goal

    return smallest_from(0, enough, "target")


def stable_episodes_needed(
    stable: int, episodes: int, target: float, confidence: float = 0.95, live: bool = False
) -> int:
    """Return how many more episodes, all stable, lift the lower bound of stable/episodes to
    `target`: one-sided Clopper-Pearson, or with `live` that of `confidence_sequence`. Raises
    ValueError when no number does."""
    good, n = whole("stable", stable), whole("episodes", episodes, stable)
    goal = open_unit("target", target)
    bounds = confidence_sequence if live else exact_bounds

    def enough(more: int) -> bool:
        return n + more > 0 and bounds(good + more, n + more, confidence).low >= goal

    return smallest_from(0, enough, "target")


def unchanged_episodes_needed(
    differences: Sequence[SupportsFloat],
    margin: float,
    confidence: float = 0.95,
    times: Sequence[int] | None = None,
) -> int | None:
    """Return how many more episodes with no difference lift the lower one-sided bound of
    `paired.adjusted_paired_interval` above -margin; None when no number does (margin 0).

    `differences` are candidate minus baseline, per episode, or each for `times` of them. With none
    at all it is the number of unchanged episodes at which non-inferiority can be shown: 45 for a
    margin of 0.05.
    """
    d = [finite(f"differences[{i}]", x) for i, x in enumerate(differences)]
    limit = non_negative("margin", margin)
    z2 = normal_quantile(open_unit("confidence", confidence)) ** 2
    alike = [1] * len(d) if times is None else list(times)
    same_length("differences", d, "times", alike)
    total = math.fsum(x * n for x, n in zip(d, alike, strict=True))
    squares = math.fsum(x * x * n for x, n in zip(d, alike, strict=True)) + 2.0
    episodes = sum(alike)

    def enough(more: int) -> bool:
        n = episodes + more + 2  # the two pseudo-episodes with +1 and -1
        gap = total / n + limit
        return gap > 0 and gap * gap > z2 * (squares / n - (total / n) ** 2) / n

    least = 0 if d else 1
    if enough(least):
        return least
    if not limit:
        return None  # further episodes without a difference only dilute a gain
    # From here on it stays true once true: mean + margin - bound, times n, is convex in n.
    try:
        return smallest_from(least, enough, "margin")
    except ValueError:
        return None


def attempts_needed_for_quantile(
    above: int, attempts: int, quantile: float, confidence: float = 0.95
) -> int:
    """Return how many more attempts, none of them above a limit, bring the upper limit of
    `quantile_interval` down to it, when `above` of `attempts` independent ones are above.
    Without any above, 72 attempts in all are needed for the 0.95 quantile at 95%."""
    over, n = whole("above", above), whole("attempts", attempts, above)
    q, tail = open_unit("quantile", quantile), (1.0 - open_unit("confidence", confidence)) / 2

    def enough(total: int) -> bool:
        rank = total - over - 1
        return rank >= 0 and binomial_sf(rank, total, q) <= tail * (1.0 + 1e-12)

    return smallest_from(n, enough, "quantile") - n


def episodes_needed_for_cost(
    cpst: float, se: float, episodes: int, budget: float, confidence: float = 0.95
) -> int | None:
    """Return how many more episodes like these bring the upper limit of `cost_limits` down to
    `budget`; None when none do, because the estimate itself is not below it."""
    ratio, spread = non_negative("cpst", cpst), non_negative("se", se)
    most, n = non_negative("budget", budget), whole("episodes", episodes, 2)
    if ratio > most or (ratio == most and spread):
        return None

    def enough(total: int) -> bool:
        # The same spread over more episodes: SE² falls as 1/(E - 1).
        less = spread * math.sqrt((n - 1) / (total - 1))
        limits = cost_limits(ratio, less, total, confidence)
        return limits is not None and limits.high <= most

    return smallest_from(n, enough, "budget") - n
