"""The share of pairs that a candidate wins, with the judge's mistakes taken out, where that may be
done at all. A diagnostic: it decides nothing."""

from collections.abc import Collection, Mapping, Sequence

from reviewer.review.calibration_rows import PairRow
from reviewer.review.model import BOTH_BAD, TIE
from reviewer.stats.judge import (
    MIN_INFORMATIVENESS,
    MIN_LABELS_PER_SIDE,
    correction_is_sound,
    judge_corrected_rate,
    ppi_mean,
)
from reviewer.suite.model import Value

LEAST_RANDOM = 20
"""Labeled pairs of the random part below which no corrected share is shown."""


class Corrected(Value, frozen=True):
    """A share with its 95 % limits, or `why` there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


class WinRate(Value, frozen=True):
    """How often a candidate's message is the better one. `judged` is what the judge says of the
    `n` pairs that no person labeled; a win counts only when both orders name it.

    `rogan_gladen` is the share won outright, `ppi` counts a tie as half a win.
    """

    n: int
    judged: float | None
    rogan_gladen: Corrected
    ppi: Corrected


def win_rate(
    rows: Sequence[PairRow],
    unlabeled: Mapping[str, str],
    wins: Mapping[str, str],
    random: Collection[str],
    expired: str = "",
) -> WinRate:
    """`rows` are labeled and judged. `unlabeled` is the judge's winner of pairs that nobody
    labeled: by both orders, `tie` for an answer that could not be used. `wins` is the candidate's
    message; all by item, and items that `wins` does not hold are left out. `random` names the
    items of the random part of the queue."""
    known = [row for row in rows if row.item in wins]
    marks = [
        _mark(winner, wins[item]) for item, winner in sorted(unlabeled.items()) if item in wins
    ]
    return WinRate(
        n=len(marks),
        judged=sum(mark == 1.0 for mark in marks) / len(marks) if marks else None,
        rogan_gladen=_refused(expired, marks) or _rogan_gladen(known, marks, wins),
        ppi=_refused(expired, marks)
        or _ppi([row for row in known if row.item in random], marks, wins),
    )


def _refused(expired: str, marks: Sequence[float]) -> Corrected | None:
    if expired:
        return Corrected(why="the calibration has expired")
    return None if marks else Corrected(why="the judge has answered no pair without a label")


def _rogan_gladen(
    rows: Sequence[PairRow], marks: Sequence[float], wins: Mapping[str, str]
) -> Corrected:
    won = [row for row in rows if row.people == wins[row.item]]
    other = [row for row in rows if row.people != wins[row.item]]
    if min(len(won), len(other)) < MIN_LABELS_PER_SIDE:
        return Corrected(
            why=f"{len(won)} labeled wins and {len(other)} others; {MIN_LABELS_PER_SIDE} of each "
            "are needed"
        )
    sensitivity = sum(row.winner == wins[row.item] for row in won) / len(won)
    specificity = sum(row.winner != wins[row.item] for row in other) / len(other)
    sound = correction_is_sound(specificity, sensitivity, len(other), len(won))
    passed = sum(mark == 1.0 for mark in marks) / len(marks)
    rate = judge_corrected_rate(passed, specificity, sensitivity, len(marks), len(other), len(won))
    if not sound or rate is None:
        told = f"{specificity:.2f} + {sensitivity:.2f}"
        return Corrected(
            why=f"the judge tells too little: specificity + sensitivity {told} is not above "
            f"{MIN_INFORMATIVENESS:g}"
        )
    return Corrected(value=rate["theta"], low=rate["low"], high=rate["high"])


def _ppi(rows: Sequence[PairRow], marks: Sequence[float], wins: Mapping[str, str]) -> Corrected:
    if len(rows) < LEAST_RANDOM:
        return Corrected(
            why=f"{len(rows)} labeled pairs of the random part; {LEAST_RANDOM} are needed"
        )
    human = [_mark(row.people, wins[row.item]) for row in rows]
    judge = [_mark(row.winner or TIE, wins[row.item]) for row in rows]
    rate = ppi_mean(human, judge, marks)
    low, high = max(0.0, rate["low"]), min(1.0, rate["high"])
    return Corrected(value=min(1.0, max(0.0, rate["est"])), low=low, high=high)


def _mark(winner: str, candidate: str) -> float:
    """1 for a win, 0 for a loss, a half when no side wins."""
    if winner == candidate:
        return 1.0
    return 0.5 if winner in (TIE, BOTH_BAD) else 0.0
