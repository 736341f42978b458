"""What to label next, and what the labels drawn say about everything."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple, SupportsFloat

from reviewer.stats.checks import clip, non_negative, open_unit, proportion, same_length
from reviewer.stats.rates import wilson_interval


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


def vote_entropy(counts: Sequence[SupportsFloat]) -> float | None:
    """Disagreement among votes in bits, 0 when all agree; None without votes."""
    votes = [non_negative(f"counts[{i}]", c) for i, c in enumerate(counts)]
    total = math.fsum(votes)
    if not total:
        return None
    return math.fsum(v / total * math.log2(total / v) for v in votes if v)
