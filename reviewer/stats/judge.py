"""May the judge score? Its agreement with people, in both orders, and which slot it favours.

A row is one pair of messages: the human's winner and the judge's in the order AB and in the order
BA, both named by identity ("A", "B" or "tie"), not by slot.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from reviewer.stats.checks import open_unit, proportion
from reviewer.stats.rates import failure_rate_upper_bound, rate_lower_bound

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
    """Which slot a judge favours when the order is swapped.

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
    With `confidence`, the strict policy too: one-sided Clopper-Pearson bounds, lower on both
    orders correct, upper on the flip rate. A null verdict is a judge failure: wrong in that order,
    and the pair counts as flipped. Without rows nothing is measured and nothing accepted.
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
    lower = rate_lower_bound(both, n, level) if level is not None and n else None
    upper = failure_rate_upper_bound(flips, n, level) if level is not None and n else None
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


def pairwise_winrate_conservative(votes: Sequence[Sequence[str]]) -> WinRate:
    """Wins of "model_1" over "model_2": a win counts only when both orders name it, else a tie.

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
