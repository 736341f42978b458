"""One-sided bounds of a mean over episodes: the Dirichlet bound.

Each episode has one score, in [least, most]. With independent V ~ Exp(1) the lower bound is the
(1 - confidence)-quantile of (least·V_0 + Σ x_e·V_e) / (V_0 + Σ V_e): the Bayesian bootstrap of the
mean with one more episode at the worst score (Gaffke 2005; Learned-Miller and Thomas 2019). Every
V is at least 0, so a lower score never raises the bound. For scores that are only `least` or `most`
it is the one-sided Clopper-Pearson bound; for others its soundness is a conjecture that no
counterexample is known to, and that `docs/statistics.md` shows by simulation.

The quantile is exact: it solves P(Σ (x_e - t)·V_e <= 0) = 1 - confidence, and that probability is
an inverse transform along a vertical line through its saddle point (Imhof 1961 and Davies 1980
invert the same transform on the imaginary axis).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from reviewer.stats.checks import open_unit
from reviewer.stats.special import beta_quantile, normal_quantile

Score = int | float | Fraction
Scores = Iterable[tuple[Score, int]]
"""(score, how many episodes have it)."""

_NEGLIGIBLE = 1e-17
"""Share of the integrand's peak below which the rest of the integral is left out."""
_STEPS = 200


class Weight(NamedTuple):
    """A term of a sum: `value` times a Gamma(`times`, 1) variable; `times` may be real."""

    value: float
    times: float


def mean_lower_bound(scores: Scores, confidence: float = 0.95, least: Score = 0) -> float:
    """Return the lower bound of the mean of scores that are `least` or more; exact equality of
    scores decides which are merged. Raises ValueError without a score, or with one below `least`.
    """
    alpha = 1.0 - open_unit("confidence", confidence)
    alike: dict[Score, int] = {}
    for score, times in scores:
        if score < least:
            raise ValueError(f"scores must be {float(least):g} or more, not {float(score):g}")
        if times:
            alike[score] = alike.get(score, 0) + times
    if not alike:
        raise ValueError("scores must hold at least one episode")
    best, episodes = max(alike), sum(alike.values())
    if best == least:
        return float(least)
    if alike.keys() <= {least, best}:
        share = beta_quantile(alpha, alike[best], episodes - alike[best] + 1)
        return float(least) + float(best - least) * share
    known = [(float(score), times) for score, times in alike.items()]
    return _lowest(known, float(least), float(best), alpha)


def mean_upper_bound(
    scores: Scores, confidence: float = 0.95, least: Score = 0, most: Score = 1
) -> float:
    """Return the upper bound of the mean of scores in [least, most]: the lower bound of what they
    lack."""
    lacking = [(least + most - score, times) for score, times in scores]
    return float(least + most) - mean_lower_bound(lacking, confidence, least)


def _lowest(scores: list[tuple[float, int]], least: float, best: float, alpha: float) -> float:
    def tail(t: float) -> float:
        return below_zero([*(Weight(x - t, n) for x, n in scores), Weight(least - t, 1)])

    all_scores = [*scores, (least, 1)]
    n = sum(times for _, times in all_scores)
    mean = math.fsum(x * times for x, times in all_scores) / n
    spread = math.fsum((x - mean) ** 2 * times for x, times in all_scores) / n / (n + 1)
    return solve(tail, alpha, least, best, mean + normal_quantile(alpha) * math.sqrt(spread))


def solve(
    rising: Callable[[float], float], level: float, low: float, high: float, start: float
) -> float:
    """Return where a rising probability meets `level` between `low`, where it is 0, and `high`,
    where it is 1: the secant of its logarithm, kept inside the shrinking bracket."""
    goal = math.log(level)
    x = start if low < start < high else 0.5 * (low + high)
    before: tuple[float, float] | None = None
    for _ in range(_STEPS):
        found = rising(x)
        if abs(found - level) <= 1e-12 * level:
            return x
        low, high = (low, x) if found > level else (x, high)
        guess = 0.5 * (low + high)
        at = math.log(found) if found > 0.0 else -math.inf
        if before is not None and math.isfinite(at) and before[1] != at:
            secant = x + (goal - at) * (before[0] - x) / (before[1] - at)
            if low < secant < high:
                guess = secant
        elif before is None and found > 0.0:
            # One step aside, toward the level, gives the secant its second point.
            aside = x - 0.02 * (at - goal) * (high - low)
            guess = aside if low < aside < high else guess
        before = (x, at) if math.isfinite(at) else None
        if guess in (low, high) or abs(guess - x) <= 2e-16 * abs(x):
            return guess
        x = guess
    return x


def below_zero(weights: Sequence[Weight]) -> float:
    """Return P(Σ value·G <= 0) for independent G ~ Gamma(times, 1), with values of either sign.

    With K(s) = -Σ times·log(1 - value·s), the probability is |I| for an abscissa c < 0 and 1 - |I|
    for c > 0, I = (1/π) ∫ Re[exp(K(c + iu)) / (c + iu)] du over u >= 0. Whichever side the mean of
    the sum is not on is taken: there I is the smaller tail.
    """
    terms = [(w.value, w.times) for w in weights if w.value and w.times]
    lowest, highest = min(v for v, _ in terms), max(v for v, _ in terms)
    if lowest >= 0.0 or highest <= 0.0:
        return 0.0 if lowest >= 0.0 else 1.0
    upward = math.fsum(v * n for v, n in terms) > 0.0
    c = _saddle(terms, 1.0 / lowest if upward else 1.0 / highest)
    scaled = [(v / (1.0 - v * c), n) for v, n in terms]
    height = -math.fsum(n * math.log1p(-v * c) for v, n in terms) - math.log(abs(c))
    width = 1.0 / math.sqrt(math.fsum(n * r * r for r, n in scaled) + 1.0 / (c * c))
    tail = math.exp(height) * _line(scaled, 1.0 / c, width) / math.pi
    return min(1.0, max(0.0, tail if upward else 1.0 - tail))


def _saddle(terms: Sequence[tuple[float, float]], pole: float) -> float:
    """Return where K(s) - log|s| is least between 0 and the pole: Newton's method inside a
    bracket."""
    low, high = (pole, 0.0) if pole < 0.0 else (0.0, pole)
    c = 0.5 * pole
    for _ in range(_STEPS):
        slope, bend = -1.0 / c, 1.0 / (c * c)
        for v, n in terms:
            r = v / (1.0 - v * c)
            slope += n * r
            bend += n * r * r
        low, high = (low, c) if slope > 0.0 else (c, high)
        guess = c - slope / bend
        if not low < guess < high:
            guess = 0.5 * (low + high)
        # The saddle is where the integral is easiest, not what it depends on: near is enough.
        if abs(guess - c) <= 1e-4 * abs(c):
            return guess
        c = guess
    return c


def _line(scaled: Sequence[tuple[float, float]], pull: float, width: float) -> float:
    """Return ∫ Re[Π (1 - iur)^-times / (1 + iu·pull)] du over u >= 0: trapezoids in v with
    u = width·sinh(v), halved until two sums agree."""
    step = 0.2
    total = 0.5 * width
    total += _trapezoids(scaled, pull, width, step, step)
    whole = total * step
    for _ in range(8):
        total += _trapezoids(scaled, pull, width, 0.5 * step, step)
        step *= 0.5
        finer = total * step
        if abs(finer - whole) <= 1e-12 * abs(finer):
            return finer
        whole = finer
    return whole


def _trapezoids(
    scaled: Sequence[tuple[float, float]], pull: float, width: float, start: float, step: float
) -> float:
    total, k = 0.0, 0
    single = [r for r, n in scaled if n == 1]
    multiple = [(r, n) for r, n in scaled if n > 1]
    while True:
        v = start + k * step
        u = width * math.sinh(v)
        logs = angle = 0.0
        for r, n in multiple:
            q = u * r
            logs += n * math.log1p(q * q)
            angle += n * math.atan(q)
        size = width * math.cosh(v) * math.exp(-0.5 * logs)
        if size < _NEGLIGIBLE * width:
            return total
        product = complex(1.0, u * pull)
        for r in single:
            product *= complex(1.0, -u * r)
        # Every factor is 1 or more in size, so no product is lost: at worst it is infinite.
        modulus = math.hypot(product.real, product.imag)
        if not size > _NEGLIGIBLE * width * modulus:
            return total
        total += size * (complex(math.cos(angle), math.sin(angle)) / product).real
        k += 1
