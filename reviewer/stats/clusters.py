"""Rates whose attempts come in episodes: the episode is the sampling unit, never the attempt.

`groups` is one list of scores per episode. More attempts sharpen one episode's rate; only more
episodes support a claim about the field.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, SupportsFloat

from reviewer.stats.checks import Interval, clip, finites, float_groups, mean, open_unit
from reviewer.stats.rates import clopper_pearson, wilson_interval
from reviewer.stats.special import beta_quantile, t_two_sided

Groups = Sequence[Sequence[SupportsFloat]]
Counts = Sequence[tuple[int, int]]
"""(attempts, passes) per episode."""


class EffectiveRate(NamedTuple):
    """A rate over all attempts, its Wilson limits, and the number of attempts they are worth."""

    value: float
    low: float
    high: float
    n_eff: float


def naive_se(values: Sequence[SupportsFloat]) -> float | None:
    """sd/sqrt(n), as if attempts were independent; None with fewer than two values."""
    numbers = finites("values", values)
    if len(numbers) < 2:
        return None
    centre = mean(numbers)
    squares = math.fsum((x - centre) ** 2 for x in numbers)
    return math.sqrt(squares / (len(numbers) - 1) / len(numbers))


def clustered_se(groups: Groups) -> float | None:
    """Standard error of the mean over all attempts, clustered by episode.

    sqrt(C/(C-1) · Σ_c (Σ_i (s_ci - mean))²) / N (Miller, arXiv:2411.00640, with inspect_ai's
    finite-cluster factor). None with a single episode: it says nothing about other episodes.
    """
    return _clustered_se(float_groups("groups", groups))


def _clustered_se(scores: list[list[float]]) -> float | None:
    clusters = len(scores)
    if clusters < 2:
        return None
    flat = [x for group in scores for x in group]
    centre = mean(flat)
    squares = math.fsum(math.fsum(x - centre for x in group) ** 2 for group in scores)
    se = math.sqrt(clusters / (clusters - 1) * squares) / len(flat)
    # Below this the spread is rounding, not evidence.
    return 0.0 if se < 1e-15 * max(abs(centre), 1e-300) else se


def _rate_groups(groups: Groups) -> tuple[list[list[float]], float, int]:
    scores = float_groups("groups", groups)
    for i, group in enumerate(scores):
        if any(not 0.0 <= x <= 1.0 for x in group):
            raise ValueError(f"groups[{i}] must hold scores between 0 and 1")
    flat = [x for group in scores for x in group]
    return scores, mean(flat), len(flat)


def wilson_effective(groups: Groups, confidence: float = 0.95) -> EffectiveRate:
    """The default interval of a rate over episodes × attempts: Wilson on effective n.

    n_eff = p(1-p)/SE², SE clustered by episode, clipped to [1, attempts]; the number of episodes
    when p is 0 or 1 or SE is 0 or undefined. Scores lie in [0, 1].
    """
    scores, rate, total = _rate_groups(groups)
    se = _clustered_se(scores)
    if rate in (0.0, 1.0) or not se:
        n_eff = float(len(scores))
    else:
        n_eff = clip(rate * (1.0 - rate) / se**2, 1.0, total)
    low, high = wilson_interval(rate * n_eff, n_eff, confidence)
    return EffectiveRate(rate, low, high, n_eff)


def effective_attempts(counts: Counts) -> float:
    """The n_eff of `wilson_effective` from counts, exactly: a million attempts need no million
    items.

    Raises ValueError without an attempt, or with more passes than attempts.
    """
    alike = Counter((made, passed) for made, passed in counts if made or passed)
    if not alike or any(not 0 <= passed <= made for made, passed in alike):
        raise ValueError("counts must hold attempts, and per episode no more passes than attempts")
    n = sum(made * times for (made, _), times in alike.items())
    passes = sum(passed * times for (_, passed), times in alike.items())
    # Σ_e (passes_e - p·attempts_e)², times n²: whole numbers, so no spread is exactly none.
    squares = sum((passed * n - passes * made) ** 2 * times
                  for (made, passed), times in alike.items())  # fmt: skip
    return effective_from_sums(alike.total(), n, passes, squares)


def effective_from_sums(episodes: int, n: int, passes: int, squares: int) -> float:
    """`effective_attempts` from sums over episodes; `squares` is Σ_e (passes_e·n - passes·n_e)²."""
    if episodes < 2 or not squares or passes in (0, n):
        return float(episodes)
    # p(1-p)/SE² with SE² = E/(E-1) · squares/n² / n²
    worth = Fraction(passes * (n - passes) * n * n * (episodes - 1), episodes * squares)
    return float(max(Fraction(1), min(worth, Fraction(n))))


def effective_bounds(counts: Counts, confidence: float = 0.95) -> Interval:
    """One-sided lower and upper bounds of a rate, each at `confidence`: Clopper-Pearson on
    `effective_attempts`. For a limit that permits something; raises like `effective_attempts`."""
    n_eff = effective_attempts(counts)
    n, passes = sum(made for made, _ in counts), sum(passed for _, passed in counts)
    return exact_bounds(passes / n * n_eff, n_eff, confidence)


def exact_bounds(hits: float, total: float, confidence: float = 0.95) -> Interval:
    """One-sided Clopper-Pearson bounds of hits/total, each at `confidence`; both may be real."""
    return clopper_pearson(hits, total, 2.0 * open_unit("confidence", confidence) - 1.0)


def clustered_t_interval(groups: Groups, confidence: float = 0.95) -> Interval | None:
    """mean ± t(C-1)·clustered SE, not clipped to [0, 1] (inspect_ai's); None with one episode.

    For comparison only: it collapses to a point when every attempt agrees.
    """
    scores = float_groups("groups", groups)
    se = _clustered_se(scores)
    open_unit("confidence", confidence)
    if se is None:
        return None
    centre = mean([x for group in scores for x in group])
    half = t_two_sided(confidence, len(scores) - 1) * se
    return Interval(centre - half, centre + half)


def korn_graubard_interval(groups: Groups, confidence: float = 0.95) -> Interval | None:
    """Clopper-Pearson on the design-adjusted effective n (R survey::svyciprop, method "beta").

    n_eff = p(1-p)/SE² · (t(N-1)/t(C-1))², at most N; the number of episodes when p is 0 or 1 or SE
    is 0. None with one episode. More conservative than `wilson_effective`.
    """
    scores, rate, total = _rate_groups(groups)
    clusters = len(scores)
    level = open_unit("confidence", confidence)
    se = _clustered_se(scores)
    if se is None:
        return None
    if rate in (0.0, 1.0):
        return clopper_pearson(rate * clusters, clusters, level)
    n_eff = float(clusters)
    if se:
        shrink = t_two_sided(level, total - 1) / t_two_sided(level, clusters - 1)
        n_eff = min(rate * (1.0 - rate) / se**2 * shrink**2, float(total))
    hits, tail = n_eff * rate, (1.0 - level) / 2
    return Interval(
        beta_quantile(tail, hits, n_eff - hits + 1),
        beta_quantile(1.0 - tail, hits + 1, n_eff - hits),
    )


def icc1(groups: Groups) -> float | None:
    """How alike the attempts of one episode are: ICC(1), (MSB-MSW)/(MSB+(R-1)MSW).

    R is the common number of attempts, or with unequal numbers the ANOVA average
    (N - Σn²/N)/(C-1). May be negative (clip on screen). None without two episodes, without
    an episode tried twice, or without any spread. Call it rough below five attempts.
    """
    scores = float_groups("groups", groups)
    clusters, total = len(scores), sum(len(g) for g in scores)
    if clusters < 2 or total == clusters:
        return None
    grand = mean([x for group in scores for x in group])
    between = math.fsum(len(g) * (mean(g) - grand) ** 2 for g in scores) / (clusters - 1)
    within = math.fsum((x - mean(g)) ** 2 for g in scores for x in g) / (total - clusters)
    size = (total - math.fsum(len(g) ** 2 for g in scores) / total) / (clusters - 1)
    spread = between + (size - 1) * within
    return None if spread <= 0.0 else (between - within) / spread
