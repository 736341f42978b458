"""Rates and their limits: of single attempts, of attempts in episodes, at every look.

Wilson is for display; Clopper-Pearson and its one-sided bounds are for every number that permits
something, because they never under-cover. Wald is absent on purpose: it collapses at 0 and 1. The
episode is the sampling unit, never the attempt: more attempts sharpen one episode's rate, only
more episodes support a claim about the field. `groups` holds one list of scores per episode.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple, SupportsFloat

from reviewer.stats.checks import (
    Interval,
    clip,
    finite,
    float_groups,
    mean,
    non_negative,
    open_unit,
    proportion,
    same_length,
    whole,
)
from reviewer.stats.special import beta_quantile, t_two_sided, z_two_sided

_MOST = 1e9


def _counts(successes: SupportsFloat, total: SupportsFloat) -> tuple[float, float]:
    hits, size = finite("successes", successes), finite("total", total)
    if size <= 0:
        raise ValueError("total must be positive")
    if not 0 <= hits <= size:
        raise ValueError("successes must be between 0 and total")
    return hits, size


def wilson_interval(
    successes: SupportsFloat,
    total: SupportsFloat,
    confidence: float = 0.95,
    z: float | None = None,
) -> Interval:
    """Wilson score interval of successes/total, both possibly real (an effective sample size).

    (p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), with the exact normal quantile unless `z`
    is given (the articles use 1.96). Raises ValueError unless 0 <= successes <= total, total > 0.
    """
    hits, n = _counts(successes, total)
    score = z_two_sided(confidence) if z is None else non_negative("z", z)
    p, z2 = hits / n, score * score
    # The same formula times n, which stays finite for the smallest effective n.
    centre = (hits + z2 / 2) / (n + z2)
    half = score * math.sqrt(hits * (1 - p) + z2 / 4) / (n + z2)
    # At the ends the formula gives 0 and 1 exactly; rounding would miss them.
    low = 0.0 if hits == 0 else clip(centre - half, 0.0, p)
    high = 1.0 if hits == n else clip(centre + half, p, 1.0)
    return Interval(low, high)


def _beta_limits(hits: float, n: float, tail: float) -> Interval:
    if n > _MOST:
        raise ValueError(f"total must be at most {_MOST:g} for an exact bound, not {n:g}")
    low = 0.0 if hits == 0 else beta_quantile(tail, hits, n - hits + 1)
    high = 1.0 if hits == n else beta_quantile(1.0 - tail, hits + 1, n - hits)
    return Interval(low, high)


def clopper_pearson(
    successes: SupportsFloat, total: SupportsFloat, confidence: float = 0.95
) -> Interval:
    """Exact two-sided interval of successes/total; accepts a real effective sample size."""
    hits, n = _counts(successes, total)
    return _beta_limits(hits, n, (1.0 - open_unit("confidence", confidence)) / 2)


def jeffreys_interval(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Central interval of the Beta(k + 1/2, n - k + 1/2) posterior."""
    hits, n = _counts(successes, total)
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    a, b = hits + 0.5, n - hits + 0.5
    return Interval(beta_quantile(tail, a, b), beta_quantile(1.0 - tail, a, b))


def rate_lower_bound(successes: int, total: int, confidence: float = 0.95) -> float:
    """One-sided Clopper-Pearson lower bound of successes/total."""
    hits, n = _counts(successes, total)
    return _beta_limits(hits, n, 1.0 - open_unit("confidence", confidence)).low


def failure_rate_upper_bound(
    failures: SupportsFloat, runs: SupportsFloat, confidence: float = 0.95
) -> float:
    """Highest failure rate still compatible with `failures` in `runs`, one-sided Clopper-Pearson.

    With no failure it is 1 - (1 - confidence)**(1/runs), about 3/runs at 95%. `runs` may be a real
    effective sample size, see `effective_runs`.
    """
    bad, n = finite("failures", failures), finite("runs", runs)
    if n <= 0:
        raise ValueError("runs must be positive")
    if not 0 <= bad <= n:
        raise ValueError("failures must be between 0 and runs")
    level = open_unit("confidence", confidence)
    if bad == 0:
        return -math.expm1(math.log1p(-level) / n)
    return _beta_limits(bad, n, 1.0 - level).high


def effective_runs(episodes: int, attempts: int, icc: float) -> float:
    """Independent runs that episodes × attempts are worth: N / (1 + (attempts - 1)·ICC).

    ICC outside [0, 1] is clipped: reruns can be worth no more than themselves.
    """
    e, r = whole("episodes", episodes, 1), whole("attempts", attempts, 1)
    return e * r / (1 + (r - 1) * clip(finite("icc", icc), 0.0, 1.0))


Groups = Sequence[Sequence[SupportsFloat]]
Counts = Sequence[tuple[int, int]]
"""(attempts, passes) per episode."""


class EffectiveRate(NamedTuple):
    """A rate over all attempts, its Wilson limits, and the number of attempts they are worth."""

    value: float
    low: float
    high: float
    n_eff: float


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


class WeightedRate(NamedTuple):
    """A rate from labels drawn with unequal chances, its Wilson limits, and how many labels drawn
    with the same chance, each from an episode of its own, they are worth."""

    value: float
    low: float
    high: float
    n_eff: float


def stratified_review_rate(
    ok: Sequence[SupportsFloat], weight: Sequence[SupportsFloat]
) -> float | None:
    """Share of all traces that are fine, from labels drawn with unequal chances (Hajek).

    `weight` is one over each label's inclusion probability. None without a weighted label.
    """
    marks, weights = _weighted(ok, weight)
    total = math.fsum(weights)
    if not total:
        return None
    return math.fsum(m * w for m, w in zip(marks, weights, strict=True)) / total


def weighted_rate(
    ok: Sequence[SupportsFloat],
    weight: Sequence[SupportsFloat],
    episode: Sequence[Hashable],
    confidence: float = 0.95,
) -> WeightedRate | None:
    """`stratified_review_rate` with limits: Wilson on effective n.

    n_eff = p(1-p)/SE², clipped to [1, labels]; SE is that of the ratio Σwy/Σw, linearized and
    clustered by episode, √(C/(C-1) · Σ_c (Σ_i w_ci (y_ci - p))²) / Σw, as R's survey::svymean has
    it. n_eff is the number of episodes when p is 0 or 1 or SE is 0 or undefined. With equal weights
    this is `wilson_effective`. None without a weighted label.
    """
    level = open_unit("confidence", confidence)
    same_length("ok", ok, "episode", episode)
    rate = stratified_review_rate(ok, weight)
    if rate is None:
        return None
    marks, weights = _weighted(ok, weight)
    clusters: dict[Hashable, list[float]] = {}
    for mark, w, name in zip(marks, weights, episode, strict=True):
        if w:
            clusters.setdefault(name, []).append(w * (mark - rate))
    count = len(clusters)
    n_eff = float(count)
    if count > 1 and 0.0 < rate < 1.0:
        squares = math.fsum(math.fsum(off) ** 2 for off in clusters.values())
        variance = count / (count - 1) * squares / math.fsum(weights) ** 2
        if variance > 1e-30:  # below this the spread is rounding, not evidence
            drawn = sum(map(len, clusters.values()))
            n_eff = clip(rate * (1.0 - rate) / variance, 1.0, drawn)
    low, high = wilson_interval(rate * n_eff, n_eff, level)
    return WeightedRate(rate, low, high, n_eff)


def _weighted(
    ok: Sequence[SupportsFloat], weight: Sequence[SupportsFloat]
) -> tuple[list[float], list[float]]:
    same_length("ok", ok, "weight", weight)
    marks = [proportion(f"ok[{i}]", x) for i, x in enumerate(ok)]
    return marks, [non_negative(f"weight[{i}]", w) for i, w in enumerate(weight)]


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
