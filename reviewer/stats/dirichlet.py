"""One-sided bounds of a mean over episodes: the Dirichlet bound.

Each episode has one score, in [least, most]. With independent V ~ Exp(1) the lower bound is the (1
- confidence)-quantile of (least·V_0 + Σ x_e·V_e) / (V_0 + Σ V_e): the Bayesian bootstrap of the
mean with one more episode at the worst score (Gaffke 2005; Learned-Miller and Thomas 2019). Every V
is at least 0, so a lower score never raises the bound. For scores that are only `least` or `most`
it is the one-sided Clopper-Pearson bound; for others its soundness is a conjecture without a known
counterexample, tested by simulation in `docs/statistics.md`.

The quantile is exact: it solves P(Σ (x_e - t)·V_e <= 0) = 1 - confidence, and that probability is
an inverse Laplace transform along a vertical line through its saddle point (Imhof 1961 and Davies
1980 invert the same transform on the imaginary axis).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from reviewer.stats.checks import open_unit
from reviewer.stats.special import beta_quantile, normal_quantile

Score = int | float | Fraction
Scores = Iterable[tuple[Score, int]]
"""(score, how many episodes have it)."""

_NEGLIGIBLE = 1e-17
"""Share of the integrand's peak below which the rest of the integral is left out."""
_STEPS = 200
_SMALL = 0.15
"""Below this size, the logarithms of factors are summed together, from their power sums."""
_POWERS = 20


class Weight(NamedTuple):
    """A term of a sum: `value` times a Gamma(`times`, 1) variable; `times` may be real."""

    value: float
    times: float


def mean_lower_bound(scores: Scores, confidence: float = 0.95, least: Score = 0) -> float:
    """Return the lower bound of the mean of scores that are `least` or more; exact equality of
    scores decides which are merged. Raises ValueError without a score, or with one below `least`.
    """
    alpha = 1.0 - open_unit("confidence", confidence)
    alike = _alike(scores, least)
    if (bound := _of_two(alike, least, alpha)) is not None:
        return bound
    known = [(float(score), times) for score, times in alike.items()]
    return _lowest(known, float(least), float(max(alike)), alpha)


def mean_bound_reaches(
    scores: Scores, goal: float, confidence: float = 0.95, least: Score = 0
) -> bool:
    """Return whether `mean_lower_bound` is at least `goal`: this needs one probability, the bound
    itself about four."""
    alpha = 1.0 - open_unit("confidence", confidence)
    alike = _alike(scores, least)
    if (bound := _of_two(alike, least, alpha)) is not None:
        return bound >= goal
    if not least < goal < max(alike):
        return goal <= least
    weights = [Weight(float(score) - goal, times) for score, times in alike.items()]
    return below_zero([*weights, Weight(float(least) - goal, 1)]) <= alpha * (1.0 + 1e-12)


def _alike(scores: Scores, least: Score) -> dict[Score, int]:
    """Return how often each score occurs."""
    alike: dict[Score, int] = {}
    for score, times in scores:
        if score < least:
            raise ValueError(f"scores must be {float(least):g} or more, not {float(score):g}")
        if times:
            alike[score] = alike.get(score, 0) + times
    if not alike:
        raise ValueError("scores must hold at least one episode")
    return alike


def _of_two(alike: dict[Score, int], least: Score, alpha: float) -> float | None:
    """Return the bound where every score is `least` or one other value; None with more values."""
    best, episodes = max(alike), sum(alike.values())
    if best == least:
        return float(least)
    if alike.keys() <= {least, best}:
        share = beta_quantile(alpha, alike[best], episodes - alike[best] + 1)
        return float(least) + float(best - least) * share
    return None


def mean_upper_bound(
    scores: Scores, confidence: float = 0.95, least: Score = 0, most: Score = 1
) -> float:
    """Return the upper bound of the mean of scores in [least, most]: `most` + `least` minus the
    lower bound of the mirrored scores."""
    lacking = [(least + most - score, times) for score, times in scores]
    return float(least + most) - mean_lower_bound(lacking, confidence, least)


def _lowest(scores: list[tuple[float, int]], least: float, best: float, alpha: float) -> float:
    def tail(t: float) -> float:
        return below_zero([*(Weight(x - t, n) for x, n in scores), Weight(least - t, 1)])

    all_scores = [*scores, (least, 1)]
    n = sum(times for _, times in all_scores)
    mean = math.fsum(x * times for x, times in all_scores) / n
    spread = math.fsum((x - mean) ** 2 * times for x, times in all_scores) / n / (n + 1)
    scale = math.sqrt(spread)
    return solve(tail, alpha, least, best, mean + normal_quantile(alpha) * scale, scale)


def solve(
    rising: Callable[[float], float],
    level: float,
    low: float,
    high: float,
    start: float,
    scale: float,
) -> float:
    """Return where a rising probability meets `level` between `low`, where it is 0, and `high`,
    where it is above `level`: by the secant of its logarithm, kept inside the shrinking bracket.
    `scale` is about the standard deviation of the quantity whose probability it is."""
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
            # Near 1 in 20 the logarithm of a normal tail rises by about 2 per deviation.
            aside = x - 0.5 * (at - goal) * scale
            guess = aside if low < aside < high else guess
        before = (x, at) if math.isfinite(at) else None
        if guess in (low, high) or abs(guess - x) <= 2e-16 * abs(x):
            return guess
        x = guess
    return x


def below_zero(weights: Sequence[Weight]) -> float:
    """Return P(Σ value·G <= 0) for independent G ~ Gamma(times, 1), with values of either sign.

    With K(s) = -Σ times·log(1 - value·s), the probability is |I| for an abscissa c < 0 and 1 - |I|
    for c > 0, I = (1/π) ∫ Re[exp(K(c + iu)) / (c + iu)] du over u >= 0. The abscissa is on the side
    of zero opposite to the mean of the sum: there I is the smaller tail.
    """
    return _below_zero(tuple((w.value, w.times) for w in weights if w.value and w.times))


@lru_cache(maxsize=512)  # deriving a report again, to sign it or after a label, asks the same again
def _below_zero(terms: tuple[tuple[float, float], ...]) -> float:
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
        # The saddle only makes the integral easy and does not change its value: near is enough.
        if abs(guess - c) <= 1e-4 * abs(c):
            return guess
        c = guess
    return c


def _line(scaled: Sequence[tuple[float, float]], pull: float, width: float) -> float:
    """Return ∫ Re[Π (1 - iur)^-times / (1 + iu·pull)] du over u >= 0: trapezoids in v with
    u = width·sinh(v), halved until two sums agree."""
    integrand = _Integrand(scaled, pull, width)
    step = 0.2
    total = 0.5 * width + integrand.sum(step, step)
    whole = total * step
    for _ in range(8):
        total += integrand.sum(0.5 * step, step)
        step *= 0.5
        finer = total * step
        if abs(finer - whole) <= 1e-12 * abs(finer):
            return finer
        whole = finer
    return whole


class _Integrand:
    """The integrand of `_line` over v."""

    def __init__(self, scaled: Sequence[tuple[float, float]], pull: float, width: float) -> None:
        self._pull, self._width = pull, width
        # Nearly all of the integral is at u <= 9·width: beyond, small factors are no longer small.
        few = [(r, n) for r, n in scaled if abs(r) * 9.0 * width > _SMALL]
        many = [(r, n) for r, n in scaled if abs(r) * 9.0 * width <= _SMALL]
        if len(many) < 4 * _POWERS:
            few, many = list(scaled), []
        self._single = [r for r, n in few if n == 1]
        self._multiple = [(r, n) for r, n in few if n != 1]
        self._sums = _power_sums(many)
        self._least = max((abs(r) for r, _ in many), default=0.0)
        self._many = many

    def sum(self, start: float, step: float) -> float:
        """Return the sum over v = start, start + step, … until it is negligible."""
        total, k, width = 0.0, 0, self._width
        while True:
            v = start + k * step
            u = width * math.sinh(v)
            size, angle = self._log_sum(u)
            size = width * math.cosh(v) * math.exp(size)
            if size < _NEGLIGIBLE * width:
                return total
            product = complex(1.0, u * self._pull)
            for r in self._single:
                product *= complex(1.0, -u * r)
            # Every factor has modulus 1 or more, so no product underflows: at worst it is infinite.
            modulus = math.hypot(product.real, product.imag)
            if not size > _NEGLIGIBLE * width * modulus:
                return total
            total += size * (complex(math.cos(angle), math.sin(angle)) / product).real
            k += 1

    def _log_sum(self, u: float) -> tuple[float, float]:
        """Return real and imaginary part of -Σ times·log(1 - iur), without the single factors."""
        logs = angle = 0.0
        multiple = self._multiple
        if u * self._least > _SMALL:
            multiple = multiple + self._many
        elif self._sums:
            power = 1.0
            for k, total in enumerate(self._sums, start=1):  # Σ (iur)^k / k
                power *= u
                part = total * power / k
                if k % 2:
                    angle += part if k % 4 == 1 else -part
                else:
                    logs += part if k % 4 == 2 else -part
        for r, n in multiple:
            q = u * r
            logs += n * math.log1p(q * q) * 0.5
            angle += n * math.atan(q)
        return -logs, angle


def _power_sums(factors: Sequence[tuple[float, float]]) -> list[float]:
    """Return Σ times·r^k for k = 1, 2, …"""
    if not factors:
        return []
    powers = [n for _, n in factors]
    ratios = [r for r, _ in factors]
    found = []
    for _ in range(_POWERS):
        powers = [p * r for p, r in zip(powers, ratios, strict=True)]
        found.append(math.fsum(powers))
    return found
