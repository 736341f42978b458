"""The true rate behind a noisy judge, and how to spend labels on finding it."""

import math
from collections.abc import Sequence
from typing import NamedTuple, SupportsFloat, TypedDict

from reviewer.stats.checks import (
    clip,
    finites,
    mean,
    open_unit,
    proportion,
    same_length,
    whole,
)
from reviewer.stats.special import z_two_sided

MIN_INFORMATIVENESS = 1.2
MIN_LABELS_PER_SIDE = 20


class CorrectedRate(TypedDict):
    theta: float
    low: float
    high: float


class PredictionPowered(TypedDict):
    est: float
    low: float
    high: float


class Allocation(NamedTuple):
    """Labels to collect on items that truly fail (m0) and truly pass (m1)."""

    m0: int
    m1: int


def correction_is_sound(specificity: float, sensitivity: float, m0: int, m1: int) -> bool:
    """Our limits for showing a corrected rate: q0 + q1 > 1.2 and 20 labels on each side."""
    informative = proportion("specificity", specificity) + proportion("sensitivity", sensitivity)
    enough = min(whole("m0", m0), whole("m1", m1)) >= MIN_LABELS_PER_SIDE
    return informative > MIN_INFORMATIVENESS and enough


def judge_corrected_rate(
    judged_pass_rate: float,
    specificity: float,
    sensitivity: float,
    n: int,
    m0: int,
    m1: int,
    confidence: float = 0.95,
) -> CorrectedRate | None:
    """Rogan-Gladen rate θ = (p + q0 - 1)/(q0 + q1 - 1), clipped to [0, 1], with its interval.

    `n` items judged; specificity q0 from `m0` human failures, sensitivity q1 from `m1` human
    passes. Interval of Lee et al. (arXiv:2511.21140), with smoothed rates. None when the judge is
    no better than chance (q0 + q1 <= 1); see `correction_is_sound` for when to show it.
    """
    p, q0 = proportion("judged_pass_rate", judged_pass_rate), proportion("specificity", specificity)
    q1 = proportion("sensitivity", sensitivity)
    items, fails, passes = whole("n", n, 1), whole("m0", m0, 1), whole("m1", m1, 1)
    z = z_two_sided(confidence)
    s0, s1 = (fails * q0 + 1) / (fails + 2), (passes * q1 + 1) / (passes + 2)
    if q0 + q1 <= 1.0 or s0 + s1 <= 1.0:
        return None
    n_s = items + z * z
    p_s = (items * p + z * z / 2) / n_s
    gain = s0 + s1 - 1.0
    theta = (p_s + s0 - 1.0) / gain
    v0, v1 = s0 * (1.0 - s0) / (fails + 2), s1 * (1.0 - s1) / (passes + 2)
    centre = theta + 2 * z * z * (theta * v1 - (1.0 - theta) * v0)
    variance = p_s * (1.0 - p_s) / n_s + (1.0 - theta) ** 2 * v0 + theta**2 * v1
    half = z * math.sqrt(variance) / gain
    return CorrectedRate(
        theta=clip((p + q0 - 1.0) / (q0 + q1 - 1.0), 0.0, 1.0),
        low=clip(centre - half, 0.0, 1.0),
        high=clip(centre + half, 0.0, 1.0),
    )


def allocate_calibration(m: int, p: float, q0: float, q1: float, m_pilot: int = 0) -> Allocation:
    """Split `m` human labels between true failures and true passes (arXiv:2511.21140).

    m1 = m / (1 + (1/p - 1)·√κ) with κ = (m_pilot(1-q0) + 1)/(m_pilot(1-q1) + 1), or (1-q0)/(1-q1)
    without a pilot; each side keeps at least its `m_pilot` pilot labels.
    """
    total, pilot = whole("m", m, 1), whole("m_pilot", m_pilot)
    rate, spec, sens = proportion("p", p), proportion("q0", q0), proportion("q1", q1)
    if 2 * pilot > total:
        raise ValueError(f"m must cover the pilot of both sides: at least {2 * pilot}")
    tiny = 1e-6
    if rate < tiny:
        return Allocation(pilot, total - pilot)
    if pilot:
        kappa = (pilot * (1.0 - spec) + 1.0) / (pilot * (1.0 - sens) + 1.0)
    else:
        kappa = (1.0 - spec) / (1.0 - min(sens, 1.0 - tiny))
    passes = total / (1.0 + (1.0 / rate - 1.0) * math.sqrt(kappa))
    m1 = max(pilot, round(min(total - pilot, passes)))
    return Allocation(total - m1, m1)


def _variance(values: Sequence[float], ddof: int = 0) -> float:
    centre = mean(values)
    return math.fsum((x - centre) ** 2 for x in values) / (len(values) - ddof)


def ppi_mean(
    human: Sequence[SupportsFloat],
    judge_on_labeled: Sequence[SupportsFloat],
    judge_on_unlabeled: Sequence[SupportsFloat],
    confidence: float = 0.95,
    lam: float | None = None,
) -> PredictionPowered:
    """Prediction-powered mean: human labels plus the judge's marks on unlabelled items.

    θ = λ·mean(f_U) + mean(Y - λf), SE² = λ²var(f_U)/N + var(Y - λf)/n (Angelopoulos et al.).
    `lam` None tunes λ = clip(cov(Y, f)/((1 + n/N)·var(f)), 0, 1), var over all marks; 0 gives the
    human labels alone. Labels must be drawn at random from the same pool. Needs two labels and one
    unlabelled mark.
    """
    y, f = finites("human", human), finites("judge_on_labeled", judge_on_labeled)
    n = same_length("human", y, "judge_on_labeled", f)
    marks = finites("judge_on_unlabeled", judge_on_unlabeled)
    if n < 2:
        raise ValueError("human must hold at least two labels")
    if not marks:
        raise ValueError("judge_on_unlabeled must not be empty")
    weight = _tuned(y, f, marks) if lam is None else proportion("lam", lam)
    rest = [a - weight * b for a, b in zip(y, f, strict=True)]
    est = weight * mean(marks) + mean(rest)
    se = math.sqrt(weight**2 * _variance(marks) / len(marks) + _variance(rest) / n)
    half = z_two_sided(open_unit("confidence", confidence)) * se
    return PredictionPowered(est=est, low=est - half, high=est + half)


def _tuned(y: list[float], f: list[float], marks: list[float]) -> float:
    n, y_mean, f_mean = len(y), mean(y), mean(f)
    covariance = math.fsum((a - y_mean) * (b - f_mean) for a, b in zip(y, f, strict=True)) / n
    spread = _variance([*f, *marks], ddof=1)
    return clip(covariance / ((1 + n / len(marks)) * spread), 0.0, 1.0) if spread > 0 else 0.0
