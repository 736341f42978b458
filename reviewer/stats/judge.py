"""Evaluation of a judge: agreement with people, the true rate behind it, and ranks from pairs.

A row of a calibration is one pair of messages: the human's winner and the judge's in the order AB
and in the order BA, all named by identity ("A", "B" or "tie"), not by slot. Pairs of one episode
are correlated, so every bound treats an episode as one cluster.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, SupportsFloat, TypedDict

from reviewer.stats.bounds import judge_accuracy_lower_bound, judge_flip_upper_bound
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

_SLOT_FORWARD = {"A": "A", "B": "B", "tie": "C"}
_SLOT_SWAPPED = {"A": "B", "B": "A", "tie": "C"}
_CONSISTENT = {("A", "B"), ("B", "A"), ("C", "C")}
_PRIMACY = {("A", "A"), ("A", "C"), ("C", "A")}


class PositionBias(TypedDict):
    """Slot preference over pairs; preference_score runs from -1 (first slot) to 1 (second)."""

    position_consistency: float | None
    primacy: int
    recency: int
    preference_score: float | None


class Calibration(TypedDict):
    """Agreement of a judge with human labels; rates null without labels, bounds when not asked.

    `judge_can_auto_accept` is the point policy, `judge_can_auto_accept_strict` the same limits on
    the bounds. `failures` counts pairs in which the judge gave no verdict in some order.
    """

    n: int
    forward_accuracy: float | None
    swapped_accuracy: float | None
    both_orders_correct: float | None
    order_flip_rate: float | None
    primacy: int
    recency: int
    failures: int
    judge_can_auto_accept: bool
    both_orders_lower: float | None
    flip_upper: float | None
    judge_can_auto_accept_strict: bool | None


class WinRate(TypedDict):
    """Pairs won, lost and tied by the first candidate; a tie is half a win when adjusted."""

    win: int
    loss: int
    tie: int
    win_rate_adjusted: float | None


def position_bias(choice_pairs: Sequence[Sequence[str]]) -> PositionBias:
    """Measure which slot a judge favors when the order is swapped.

    Each pair is the slot chosen [in the original order, in the swapped order]: A shown first, B
    shown second, C tie; AB, BA and CC are consistent. preference_score = (r·r/(r+p) - p·p/(r+p))/N
    (Shi et al., arXiv:2406.07791). Rates are null without pairs.
    """
    primacy = recency = consistent = 0
    for i, pair in enumerate(choice_pairs):
        if len(pair) != 2 or any(slot not in ("A", "B", "C") for slot in pair):
            raise ValueError(f"choice_pairs[{i}] must be two slots out of A, B, C, not {pair!r}")
        first, second = pair
        if (first, second) in _CONSISTENT:
            consistent += 1
        elif (first, second) in _PRIMACY:
            primacy += 1
        else:
            recency += 1
    total, biased = len(choice_pairs), primacy + recency
    score = (recency**2 - primacy**2) / biased / total if biased else 0.0
    return PositionBias(
        position_consistency=consistent / total if total else None,
        primacy=primacy,
        recency=recency,
        preference_score=score if total else None,
    )


def _verdicts(row: Mapping[str, str | None], index: int) -> tuple[str, str | None, str | None]:
    human = row.get("human")
    if human not in _SLOT_FORWARD:
        raise ValueError(f"rows[{index}].human must be A, B or tie, not {human!r}")
    forward, swapped = (
        _verdict(row, index, field) for field in ("judge_forward", "judge_swapped_normalized")
    )
    return human, forward, swapped


def _verdict(row: Mapping[str, str | None], index: int, field: str) -> str | None:
    if field not in row:
        raise ValueError(f"rows[{index}].{field} is missing; write null when the judge failed")
    verdict = row[field]
    if verdict is not None and verdict not in _SLOT_FORWARD:
        raise ValueError(f"rows[{index}].{field} must be A, B, tie or null, not {verdict!r}")
    return verdict


def calibrate_judge(
    rows: Sequence[Mapping[str, str | None]],
    min_accuracy: float = 0.90,
    max_flip_rate: float = 0.05,
    confidence: float | None = None,
) -> Calibration:
    """Compare a judge with human labels: `human`, `judge_forward`, `judge_swapped_normalized`.

    Point policy (the articles'): forward accuracy >= min_accuracy and flip rate <= max_flip_rate.
    With `confidence`, the strict policy too: one-sided bounds, lower on both orders correct, upper
    on the flip rate, of the mean over episodes. A row's `episode` names its own; without one it is
    an episode by itself. A null verdict is a judge failure: wrong in that order, and the pair
    counts as flipped. Without rows nothing is measured and nothing accepted.
    """
    least, most = proportion("min_accuracy", min_accuracy), proportion("max_flip", max_flip_rate)
    level = None if confidence is None else open_unit("confidence", confidence)
    triples = [_verdicts(row, i) for i, row in enumerate(rows)]
    n = len(triples)
    forward = sum(h == f for h, f, _ in triples)
    swapped = sum(h == s for h, _, s in triples)
    both = sum(h == f == s for h, f, s in triples)
    judged = [(f, s) for _, f, s in triples if f is not None and s is not None]
    flips = sum(f != s for f, s in judged) + n - len(judged)
    bias = position_bias([(_SLOT_FORWARD[f], _SLOT_SWAPPED[s]) for f, s in judged])
    lower = upper = None
    if level is not None and n:
        clusters = _by_episode(rows, triples)
        lower = judge_accuracy_lower_bound(clusters, level)
        upper = judge_flip_upper_bound(clusters, level)
    strict = None if level is None else False
    if lower is not None and upper is not None:
        strict = lower >= least and upper <= most
    return Calibration(
        n=n,
        forward_accuracy=forward / n if n else None,
        swapped_accuracy=swapped / n if n else None,
        both_orders_correct=both / n if n else None,
        order_flip_rate=flips / n if n else None,
        primacy=bias["primacy"],
        recency=bias["recency"],
        failures=n - len(judged),
        judge_can_auto_accept=n > 0 and forward / n >= least and flips / n <= most,
        both_orders_lower=lower,
        flip_upper=upper,
        judge_can_auto_accept_strict=strict,
    )


def _by_episode(
    rows: Sequence[Mapping[str, str | None]], triples: Sequence[tuple[str, str | None, str | None]]
) -> list[dict[str, int]]:
    """Return the pairs of each episode, how many are right in both orders, how many flipped."""
    found: dict[str | int, dict[str, int]] = {}
    for i, (row, (human, forward, swapped)) in enumerate(zip(rows, triples, strict=True)):
        name = row.get("episode")
        one = found.setdefault(i if name is None else name, {"pairs": 0, "right": 0, "flips": 0})
        one["pairs"] += 1
        one["right"] += human == forward == swapped
        one["flips"] += forward is None or forward != swapped
    return list(found.values())


def pairwise_winrate_conservative(votes: Sequence[Sequence[str]]) -> WinRate:
    """Count the wins of "model_1" over "model_2": both orders must name it, else it is a tie.

    Each vote is the winner by identity in [original, swapped] order, "tie" included (FastChat
    show_result). The rate is null without votes.
    """
    win = loss = 0
    for i, vote in enumerate(votes):
        if len(vote) != 2 or any(v not in ("model_1", "model_2", "tie") for v in vote):
            raise ValueError(f"votes[{i}] must be two of model_1, model_2, tie, not {vote!r}")
        win += vote[0] == vote[1] == "model_1"
        loss += vote[0] == vote[1] == "model_2"
    tie = len(votes) - win - loss
    rate = (win + 0.5 * tie) / len(votes) if votes else None
    return WinRate(win=win, loss=loss, tie=tie, win_rate_adjusted=rate)


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
    """Return whether a corrected rate may be shown: q0 + q1 > 1.2 and 20 labels on each side."""
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
    """Return the Rogan-Gladen rate θ = (p + q0 - 1)/(q0 + q1 - 1), in [0, 1], with its interval.

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
    """Return the prediction-powered mean: human labels plus the judge's marks on unlabeled items.

    θ = λ·mean(f_U) + mean(Y - λf), SE² = λ²var(f_U)/N + var(Y - λf)/n (Angelopoulos et al.).
    `lam` None tunes λ = clip(cov(Y, f)/((1 + n/N)·var(f)), 0, 1), var over all marks; 0 gives the
    human labels alone. Labels must be drawn at random from the same pool. Needs two labels and one
    unlabeled mark.
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


_ELO_SCALE = 400.0


def _strengths(score: list[list[float]]) -> list[float] | None:
    """Return maximum-likelihood log strengths; score[i][j] are wins of i over j (Zermelo's
    iteration).

    None without a finite estimate: some candidates never lost to the rest, or never met them.
    """
    n = len(score)
    if not (_reaches_all(score) and _reaches_all([list(c) for c in zip(*score, strict=True)])):
        return None
    wins = [math.fsum(row) for row in score]
    games = [[score[i][j] + score[j][i] for j in range(n)] for i in range(n)]
    strength = [1.0] * n
    for _ in range(100_000):
        previous = list(strength)
        for i in range(n):
            pull = math.fsum(
                games[i][j] / (strength[i] + strength[j]) for j in range(n) if games[i][j]
            )
            strength[i] = wins[i] / pull
        anchor = strength[0]
        strength = [s / anchor for s in strength]
        if all(abs(s - p) <= 1e-13 * s for s, p in zip(strength, previous, strict=True)):
            break
    return [math.log(s) for s in strength]


def _reaches_all(score: list[list[float]]) -> bool:
    seen, frontier = {0}, [0]
    while frontier:
        i = frontier.pop()
        new = [j for j, won in enumerate(score[i]) if won and j not in seen]
        seen.update(new)
        frontier.extend(new)
    return len(seen) == len(score)


def bradley_terry(battles: Sequence[Sequence[str]]) -> dict[str, float] | None:
    """Return rating differences in Elo points to the first candidate, as "<other>_minus_<first>".

    Each battle is [candidate, candidate, "model_a" | "model_b" | anything else for a tie]; a tie
    is half a win each (FastChat compute_bt). None when no finite estimate exists: show the win
    table. For two candidates prefer win/tie/loss.
    """
    place: dict[str, int] = {}
    for i, battle in enumerate(battles):
        if len(battle) != 3 or battle[0] == battle[1]:
            raise ValueError(f"battles[{i}] must be two different candidates and a winner")
        for name in battle[:2]:
            place.setdefault(name, len(place))
    if not place:
        raise ValueError("battles must not be empty")
    score = [[0.0] * len(place) for _ in place]
    for first, second, winner in battles:
        share = 1.0 if winner == "model_a" else 0.0 if winner == "model_b" else 0.5
        score[place[first]][place[second]] += share
        score[place[second]][place[first]] += 1.0 - share
    logs = _strengths(score)
    if logs is None:
        return None
    names, points = list(place), _ELO_SCALE / math.log(10.0)
    return {
        f"{name}_minus_{names[0]}": points * (log - logs[0])
        for name, log in zip(names[1:], logs[1:], strict=True)
    }
