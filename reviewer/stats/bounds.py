"""One-sided bounds for everything that a limit is compared with; the unit is the episode.

All of them are the Dirichlet bound of `dirichlet` for one score per episode: its pass rate, the
chance that k of its attempts all pass, the share of its pairs that a judge gets right. A pass that
becomes a failure never raises a lower bound. The bounds are of the mean over episodes, in which an
episode with few attempts weighs as much as one with many.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import SupportsFloat, overload

from reviewer.stats.checks import Interval, integer, non_negative, open_unit, same_length, whole
from reviewer.stats.dirichlet import (
    Weight,
    below_zero,
    mean_bound_reaches,
    mean_lower_bound,
    mean_upper_bound,
    solve,
)
from reviewer.stats.rates import Counts, confidence_sequence, merged
from reviewer.stats.special import normal_quantile

Scores = list[tuple[Fraction, int]]
"""(score, how many episodes have it)."""


def episode_scores(counts: Counts, k: int = 1) -> Scores:
    """Return C(passes, k)/C(attempts, k) of (attempts, passes) per episode; k = 1 is the rate.

    Episodes without attempts are left out. Raises ValueError when an episode has fewer than k
    attempts or more passes than attempts, or when none has an attempt.
    """
    least = whole("k", k, 1)
    alike = {pair: times for pair, times in merged(counts).items() if pair[0]}
    if not alike:
        raise ValueError("counts must hold at least one episode with attempts")
    found = []
    for (made, passed), times in alike.items():
        if not 0 <= integer("passes", passed) <= whole("attempts", made):
            raise ValueError(f"an episode has {passed} passes of {made} attempts")
        if made < least:
            raise ValueError(f"an episode has {made} attempts, fewer than k = {least}")
        found.append((Fraction(math.comb(passed, least), math.comb(made, least)), times))
    return found


def bounds_of(scores: Scores, confidence: float = 0.95, live: bool = False) -> Interval:
    """Return both one-sided bounds of the mean of scores in [0, 1], each at `confidence`; with
    `live` the bounds that hold at every look."""
    if live:
        return bounds_at_every_look(scores, confidence)
    low = mean_lower_bound(scores, confidence)
    return Interval(low, max(low, mean_upper_bound(scores, confidence)))


def lower_bound_of(scores: Scores, confidence: float = 0.95, live: bool = False) -> float:
    """Return only the lower bound of `bounds_of`."""
    if live:
        return bounds_at_every_look(scores, confidence).low
    return mean_lower_bound(scores, confidence)


def lower_bound_reaches(
    scores: Scores, goal: float, confidence: float = 0.95, live: bool = False
) -> bool:
    """Return whether `lower_bound_of` is at least `goal`: cheaper than computing the bound."""
    if live:
        return lower_bound_of(scores, confidence, live) >= goal
    return mean_bound_reaches(scores, goal, confidence)


def bounds_at_every_look(scores: Scores, confidence: float = 0.95) -> Interval:
    """Return `confidence_sequence` of (Σ scores, episodes), valid for scores in [0, 1]: the
    logarithm is concave, so a fractional score counts for no more than its share of a success."""
    total = sum((score * times for score, times in scores), Fraction(0))
    return confidence_sequence(total, sum(times for _, times in scores), confidence)


@overload
def rate_lower_bound(counts: Counts, confidence: float = ...) -> float: ...


@overload
def rate_lower_bound(*, successes: int, total: int, confidence: float = ...) -> float: ...


def rate_lower_bound(
    counts: Counts | None = None,
    confidence: float = 0.95,
    *,
    successes: int | None = None,
    total: int | None = None,
) -> float:
    """Return the lower bound of a pass rate, the mean over episodes of passes/attempts.

    `counts` holds (attempts, passes) per episode; `successes` of `total` stand for as many episodes
    of one attempt each, where it is the one-sided Clopper-Pearson bound.
    """
    if counts is None:
        if successes is None or total is None:
            raise ValueError("rate_lower_bound takes counts, or successes and total")
        n = whole("total", total, 1)
        if not 0 <= integer("successes", successes) <= n:
            raise ValueError("successes must be between 0 and total")
        scores = [(Fraction(1), successes), (Fraction(0), n - successes)]
        return mean_lower_bound(scores, confidence)
    return mean_lower_bound(episode_scores(counts), confidence)


def rate_upper_bound(counts: Counts, confidence: float = 0.95) -> float:
    """Return the upper bound of a pass rate, as `rate_lower_bound` does the lower one."""
    return mean_upper_bound(episode_scores(counts), confidence)


def pass_hat_lower_bound(counts: Counts, k: int, confidence: float = 0.95) -> float:
    """Return the lower bound of pass^k, the mean over episodes of C(passes, k)/C(attempts, k); with
    k attempts in each episode it is the Clopper-Pearson bound over stable episodes."""
    return mean_lower_bound(episode_scores(counts, k), confidence)


def pass_hat_upper_bound(counts: Counts, k: int, confidence: float = 0.95) -> float:
    """Return the upper bound of pass^k, as `pass_hat_lower_bound` does the lower one."""
    return mean_upper_bound(episode_scores(counts, k), confidence)


def judge_accuracy_lower_bound(
    episodes: Sequence[Mapping[str, int]], confidence: float = 0.95
) -> float:
    """Return the lower bound of a judge's accuracy, the mean over episodes of `right`/`pairs`."""
    return mean_lower_bound(episode_scores(_shares(episodes, "right")), confidence)


def judge_flip_upper_bound(
    episodes: Sequence[Mapping[str, int]], confidence: float = 0.95
) -> float:
    """Return the upper bound of a judge's flip rate, the mean over episodes of `flips`/`pairs`."""
    return mean_upper_bound(episode_scores(_shares(episodes, "flips")), confidence)


def _shares(episodes: Sequence[Mapping[str, int]], field: str) -> list[tuple[int, int]]:
    for i, one in enumerate(episodes):
        for name in ("pairs", field):
            if name not in one:
                raise ValueError(f"episodes[{i}].{name} is missing")
    return [(one["pairs"], one[field]) for one in episodes]


# cost per success ---------------------------------------------------------------------------------

Spent = Sequence[tuple[float, int, float]]
"""(cost, passes, how many episodes have both)."""

MOST_DISTINCT = 2000
"""Above this number of different episodes, costs are rounded to eight binary digits, in the
direction that widens a bound: by 0.4 % at most."""


def cost_per_success_upper_bound(
    passes: Sequence[int],
    costs: Sequence[SupportsFloat],
    confidence_one_sided: float = 0.975,
    most: float | None = None,
) -> float:
    """Return the upper bound of Σ cost over Σ passes, both per episode: the confidence-quantile of
    (Σ cost_e·V_e + C*·V_0) / Σ passes_e·V_e, V ~ Exp(1).

    C* is `most`, the most that an episode can cost where runs are stopped at a cap; with it the
    bound is as sound as the bound of a rate. Without `most`, C* is the cost of the most expensive
    episode times 1 + 10/E, because a sample may lack an expensive episode. Infinite without a pass
    or with one episode.
    """
    level, spent = open_unit("confidence_one_sided", confidence_one_sided), _spent(passes, costs)
    return cost_upper(spent, level, most)


def cost_per_success_lower_bound(
    passes: Sequence[int],
    costs: Sequence[SupportsFloat],
    attempts: int,
    confidence_one_sided: float = 0.975,
) -> float:
    """Return the lower bound of Σ cost over Σ passes: the (1 - confidence)-quantile of Σ cost_e·V_e
    / (Σ passes_e·V_e + attempts·V_0): one more episode that costs nothing and whose `attempts` all
    pass. It needs no cap."""
    level, spent = open_unit("confidence_one_sided", confidence_one_sided), _spent(passes, costs)
    return cost_lower(spent, whole("attempts", attempts, 1), level)


def _spent(passes: Sequence[int], costs: Sequence[SupportsFloat]) -> Spent:
    same_length("passes", passes, "costs", costs)
    alike = Counter(
        (non_negative(f"costs[{i}]", cost), whole(f"passes[{i}]", passed))
        for i, (passed, cost) in enumerate(zip(passes, costs, strict=True))
    )
    return [(cost, passed, times) for (cost, passed), times in alike.items()]


def cost_upper(spent: Spent, confidence: float, most: float | None = None) -> float:
    """Return `cost_per_success_upper_bound` of episodes of which equal ones are merged."""
    worst = _worst(spent, most)
    if worst in (0.0, math.inf):
        return worst
    passes, total = _sums(spent)
    rounded = _rounded(spent, math.ceil)
    start = _likely([*rounded, (worst, 0, 1)], confidence)
    even = passes / (total + worst)
    return 1.0 / _crossing(_cost_tail(rounded, worst), 1.0 - confidence, even, start)


def cost_is_within(
    spent: Spent, budget: float, confidence: float, most: float | None = None
) -> bool:
    """Return whether `cost_upper` is at most `budget`: one probability instead of about eight."""
    worst = _worst(spent, most)
    if worst in (0.0, math.inf) or not budget:
        return worst <= budget
    return _cost_tail(_rounded(spent, math.ceil), worst)(1.0 / budget) <= 1.0 - confidence


def _worst(spent: Spent, most: float | None) -> float:
    """Return the cost that the unseen episode is given; `inf` where nothing bounds the cost per
    success, 0 where no episode costs anything."""
    dearest = max((cost for cost, _, _ in spent), default=0.0)
    episodes = math.fsum(times for _, _, times in spent)
    if most is not None and most < dearest:
        raise ValueError(f"most must be at least the dearest episode's cost, {dearest:g}")
    if episodes < 2 or not any(passed and times for _, passed, times in spent):
        return math.inf
    return dearest * (1.0 + 10.0 / episodes) if most is None else most


def _cost_tail(rounded: Spent, worst: float) -> Callable[[float], float]:
    """Return the probability that a unit of cost buys at most a number of successes, as a function
    of that number."""

    def tail(successes: float) -> float:
        weights = [Weight(n - successes * cost, times) for cost, n, times in rounded]
        return below_zero([*weights, Weight(-successes * worst, 1)])

    return tail


def cost_lower(spent: Spent, attempts: int, confidence: float) -> float:
    """Return `cost_per_success_lower_bound` of episodes of which equal ones are merged."""
    passes, total = _sums(spent)
    if not total:
        return 0.0
    spent = _rounded(spent, math.floor)

    def tail(price: float) -> float:
        weights = [Weight(cost - price * n, times) for cost, n, times in spent]
        return below_zero([*weights, Weight(-price * attempts, 1)])

    swapped = [(float(n), cost, times) for cost, n, times in spent]
    start = _likely([*swapped, (float(attempts), 0, 1)], confidence)
    return _crossing(tail, 1.0 - confidence, total / (passes + attempts), start)


def _rounded(spent: Spent, to: Callable[[float], int]) -> Spent:
    if len(spent) <= MOST_DISTINCT:
        return spent
    alike: dict[tuple[float, int], float] = {}
    for cost, passed, times in spent:
        digits, exponent = math.frexp(cost)
        near = math.ldexp(to(digits * 256), exponent - 8), passed
        alike[near] = alike.get(near, 0) + times
    return [(cost, passed, times) for (cost, passed), times in alike.items()]


def _sums(spent: Spent) -> tuple[float, float]:
    """Return the passes and the cost of all episodes."""
    return (
        math.fsum(n * times for _, n, times in spent),
        math.fsum(cost * times for cost, _, times in spent),
    )


def _likely(terms: Sequence[tuple[float, float, float]], confidence: float) -> float:
    """Return the x at which the lower tail P(Σ (b - xa)·G <= 0) equals 1 - confidence, if the sum
    is taken as normal; terms are (a, b, times)."""
    a, b = (math.fsum(t[i] * t[2] for t in terms) for i in (0, 1))
    aa, ab, bb = (math.fsum(t[i] * t[j] * t[2] for t in terms) for i, j in ((0, 0), (0, 1), (1, 1)))
    z2 = normal_quantile(confidence) ** 2
    # (b - xa)² = z²·(bb - 2x·ab + x²·aa), its smaller root
    square, linear, constant = a * a - z2 * aa, a * b - z2 * ab, b * b - z2 * bb
    root = linear * linear - square * constant
    if square <= 0.0 or constant <= 0.0 or root < 0.0:
        return 0.7 * b / a
    return (linear - math.sqrt(root)) / square


def _crossing(tail: Callable[[float], float], level: float, even: float, start: float) -> float:
    """Return where a probability that is 0 at 0 rises to `level`; `even` is the point at which the
    mean of the sum is 0."""
    high = even
    while tail(high) <= level:
        high *= 2.0
    x = min(start, even)
    return solve(tail, level, 0.0, high, x, 0.5 * max(even - x, 0.1 * even))
