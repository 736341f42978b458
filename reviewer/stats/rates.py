"""Intervals for one rate, without numpy or scipy.

Wilson for display; Clopper-Pearson and its one-sided bounds wherever a number permits something,
because they never under-cover. Wald is absent on purpose: it collapses at 0 and 1.
"""

import math
from typing import SupportsFloat

from reviewer.stats.checks import Interval, clip, finite, non_negative, open_unit, whole
from reviewer.stats.special import beta_quantile, z_two_sided

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
    return _posterior(successes, total, confidence, 0.5)


def bayes_uniform_interval(successes: int, total: int, confidence: float = 0.95) -> Interval:
    """Central interval of the Beta(k + 1, n - k + 1) posterior (Bowyer et al. 2025)."""
    return _posterior(successes, total, confidence, 1.0)


def _posterior(successes: int, total: int, confidence: float, prior: float) -> Interval:
    hits, n = _counts(successes, total)
    tail = (1.0 - open_unit("confidence", confidence)) / 2
    a, b = hits + prior, n - hits + prior
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
