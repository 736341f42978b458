"""Distribution functions in plain Python, so that a release report needs neither numpy nor scipy.

The regularized incomplete beta function is Lentz's continued fraction (Numerical Recipes 6.4);
binomial tails, Student's t and all quantiles used here follow from it. Checked against scipy.
"""

import math
from statistics import NormalDist

from reviewer.stats.checks import open_unit

_TINY = 1e-300
_NORMAL = NormalDist()


def z_two_sided(confidence: float) -> float:
    """Return the normal quantile that leaves (1 - confidence) / 2 in each tail."""
    return _NORMAL.inv_cdf(0.5 + open_unit("confidence", confidence) / 2)


def normal_quantile(probability: float) -> float:
    return _NORMAL.inv_cdf(probability)


def _continued_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    result = d
    # Converges in about sqrt(max(a, b)) steps on the side of the mean where it is called.
    for m in range(1, 1_000_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + numerator / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            result *= change
        if abs(change - 1.0) < 1e-15:
            return result
    raise ArithmeticError(f"incomplete beta function did not converge at x={x}, a={a}, b={b}")


def _stirling_rest(x: float) -> float:
    """Return lgamma(x) minus Stirling's (x - 1/2)·log x - x + log(2π)/2, for x >= 10."""
    w = 1.0 / (x * x)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / x


def _log_density_factor(x: float, y: float, a: float, b: float) -> float:
    """Return the log of x^a y^b / B(a, b) with y = 1 - x.

    Large parameters use Stirling's series: the plain difference of lgamma values would lose as many
    digits as they have before the decimal point.
    """
    if a < b:
        x, y, a, b = y, x, b, a
    if a < 10.0:
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        return a * math.log(x) + b * math.log(y) - log_beta
    n = a + b
    rest = _stirling_rest(a) - _stirling_rest(n)
    if b < 10.0:
        growth = (a - 0.5) * math.log1p(b / a) + b * math.log(n) - b
        log_x = math.log1p(-y) if y < 0.5 else math.log(x)
        return a * log_x + b * math.log(y) - math.lgamma(b) + growth - rest
    log_x = math.log1p((b * x - a * y) / a) if b * x - a * y > -a / 2 else math.log(x * n / a)
    log_y = math.log1p((a * y - b * x) / b) if a * y - b * x > -b / 2 else math.log(y * n / b)
    spread = 0.5 * math.log(2 * math.pi * n / (a * b))
    return a * log_x + b * log_y - spread - rest - _stirling_rest(b)


def _incomplete(x: float, y: float, a: float, b: float) -> float:
    """Return I_x(a, b); y = 1 - x is given separately, to keep the digits near either end."""
    if x <= 0.0:
        return 0.0
    if y <= 0.0:
        return 1.0
    factor = math.exp(_log_density_factor(x, y, a, b))
    if x < (a + 1.0) / (a + b + 2.0):
        return factor * _continued_fraction(x, a, b) / a
    return 1.0 - factor * _continued_fraction(y, b, a) / b


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b) for a, b > 0."""
    return _incomplete(x, 1.0 - x, a, b)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = probability: in closed form where a or b is 1 (I_x(a, 1) =
    x^a), else by Newton's method kept inside a shrinking bracket."""
    if b == 1.0:
        return math.pow(probability, 1.0 / a)
    if a == 1.0:
        return 1.0 if probability >= 1.0 else -math.expm1(math.log1p(-probability) / b)
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(200):
        error = beta_cdf(x, a, b) - probability
        if error == 0.0:
            return x
        low, high = (low, x) if error > 0.0 else (x, high)
        guess = 0.5 * (low + high)
        if 0.0 < x < 1.0:
            log_slope = _log_density_factor(x, 1.0 - x, a, b) - math.log(x) - math.log1p(-x)
            if log_slope > -600.0:
                newton = x - error * math.exp(-min(log_slope, 600.0))
                # A step out of the bracket shows that the density is a bad guide here.
                if low < newton < high:
                    guess = newton
        if abs(guess - x) <= 1e-16 * x or guess in (low, high):
            return guess
        x = guess
    return x


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Return P(X <= k) for X binomial(n, p)."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _incomplete(1.0 - p, p, n - k, k + 1)


def binomial_sf(k: int, n: int, p: float) -> float:
    """Return P(X > k) for X binomial(n, p)."""
    if k < 0:
        return 1.0
    return 0.0 if k >= n else _incomplete(p, 1.0 - p, k + 1, n - k)


def t_two_sided(confidence: float, df: float) -> float:
    """Return Student's t quantile that leaves (1 - confidence) / 2 in each tail."""
    x = beta_quantile(1.0 - open_unit("confidence", confidence), df / 2, 0.5)
    return math.sqrt(df * (1.0 - x) / x)
