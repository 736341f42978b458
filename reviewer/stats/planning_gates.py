"""How many more until the bound that a gate stands on could pass.

Each answer is the exact smallest number for the kindest course of things: every further episode or
attempt is clean. Fewer can never be enough; what is not clean asks for more.
"""

import math
from collections.abc import Sequence
from typing import SupportsFloat

from reviewer.stats.checks import finite, non_negative, open_unit, same_length, whole
from reviewer.stats.clusters import Counts, effective_from_sums, exact_bounds
from reviewer.stats.cost import cost_limits
from reviewer.stats.planning import smallest_from
from reviewer.stats.sequential import confidence_sequence
from reviewer.stats.special import binomial_sf, normal_quantile


def clean_episodes_needed(
    counts: Counts, attempts: int, target: float, confidence: float = 0.95, live: bool = False
) -> int:
    """How many more episodes, each passing all of its `attempts`, lift the lower bound of
    `clusters.effective_bounds` to `target`; with `live` the bound of `confidence_sequence` instead.

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
    """How many more episodes, all stable, lift the lower bound of stable/episodes to `target`:
    one-sided Clopper-Pearson, or with `live` that of `confidence_sequence`. Raises ValueError when
    no number does."""
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
    """How many more episodes with no difference lift the lower one-sided bound of
    `compare.adjusted_paired_interval` above -margin; None when no number does (margin 0).

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
    """How many more attempts, none of them above a limit, bring the upper limit of
    `latency.quantile_interval` down to it, when `above` of `attempts` independent ones are above.
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
    """How many more episodes like these bring the upper limit of `cost.cost_limits` down to
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
