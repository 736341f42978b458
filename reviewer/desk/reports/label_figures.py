"""The figures that are compared with a policy's limits on labels: those of people, and separately
those of a judge that may stand in. Loaded only where a policy sets such limits."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from reviewer.desk.labels.book import candidates_of
from reviewer.desk.suites import ReadySuite
from reviewer.review.items import TIE
from reviewer.review.judged import AnswerPair, PairRow, both_orders, made_by
from reviewer.review.label_shares import (
    agreement_shares,
    both_bad,
    by_criterion,
    judged_wins,
    pairs_with,
    self_consistency_shares,
    share_of,
    wins_or_ties,
)
from reviewer.review.labels import Label, counting
from reviewer.review.wins import Shown
from reviewer.stats.figures import JudgedPairs, LabelFigures
from reviewer.suite.rubric import Rubric

if TYPE_CHECKING:
    from reviewer.desk.judge.book import JudgeRecord


class OwnMessages(NamedTuple):
    """One candidate's messages, and the counting labels that show one of them; `unsigned` labels
    about them do not count, and `changed` ones were changed without a signature."""

    shown: Collection[Shown]
    labels: Sequence[Label]
    unsigned: int
    changed: int


def label_figures(
    held: ReadySuite,
    rubric: Rubric,
    candidate_id: str,
    against: str | None,
    own: OwnMessages,
    judged: JudgeRecord | None,
) -> LabelFigures:
    """Return the figures of one candidate: its pairs are those with `against`. `judged` is the
    record of the suite's judge if the policy lets it stand in for people."""
    labels = own.labels
    others: dict[str, set[str]] = {}
    for label in labels:
        others.setdefault(label.item, set()).update(candidates_of(label) - {candidate_id})
    limits = held.suite.policy.labels.criteria or {}
    pairs = pairs_with(labels, rubric, own.shown, others, against) if against else []
    judge = None
    if held.suite.policy.labels.judge_stands_in is True:
        counts = held.suite.policy.labels.wins_or_ties_min
        judge = _judged(against, own, judged, bool(counts))
    return LabelFigures(
        against=against,
        wins_or_ties=wins_or_ties(pairs),
        both_bad=both_bad(pairs),
        criteria=by_criterion(
            labels, {name: limit.passes for name, limit in limits.items()}, own.shown
        ),
        self_consistency=self_consistency_shares(labels, rubric),
        agreement=agreement_shares(labels, rubric),
        judge=judge,
        unsigned=own.unsigned,
        changed=own.changed or UNSET,
    )


def _judged(
    against: str | None, own: OwnMessages, judged: JudgeRecord | None, wins_count: bool
) -> JudgedPairs:
    """Count the pairs that nobody labeled by the answers of the suite's judge, if its calibration
    lets it score and, where wins count, it was right on half of the pairs that the candidate lost:
    one that always names the candidate can be right on nearly all others. A label that does not
    count still leaves its pair to the judge; otherwise such labels could remove the pairs that the
    candidate loses."""
    if judged is None or judged.calibration is None:
        return JudgedPairs(why="it was not asked about pairs")
    found = judged.calibration
    if found.role != "scoring":
        return JudgedPairs(why=f"{found.role} ({found.earned.why})")
    if wins_count:
        lost = [row for row in found.rows if _lost(row, own.shown)]
        right = sum(row.forward == row.people for row in lost)
        if not lost or 2 * right < len(lost):
            told = f"right on {right} of {len(lost)} labeled pairs that the candidate lost"
            return JudgedPairs(why=told)
    from reviewer.review.judgments import counting as counting_judgments

    labeled = {label.item for label in counting(judged.counted)}
    answers = both_orders(
        one
        for one in counting_judgments(judged.judgments)
        if one.kind == "pair" and made_by(one, found.key)
    )
    mine: dict[str, str] = {}
    for item, pair in answers.items():
        message = _own_side(pair, own.shown)
        if message and item not in labeled and against in candidates_of(pair.forward):
            mine[item] = message
    rows = judged_wins(answers, mine)
    return JudgedPairs(
        pairs=len(rows),
        flips=sum(winner is None for _, winner, _ in rows),
        wins_or_ties=share_of((episode, winner in (TIE, ours)) for episode, winner, ours in rows),
    )


def _lost(row: PairRow, shown: Collection[Shown]) -> bool:
    """Return whether people gave a pair to the other message than the candidate's."""
    sides = row.forward_left, row.forward_right
    own = [side for side in sides if (row.episode_id, side) in shown]
    return len(own) == 1 and row.wanted != TIE and row.people != own[0]


def _own_side(pair: AnswerPair, shown: Collection[Shown]) -> str | None:
    """Return the candidate's message of a pair that has exactly one of them."""
    forward = pair.forward
    sides = [side for side in (forward.left, forward.right) if side is not None]
    own = [side for side in sides if (forward.episode_id, side) in shown]
    return own[0] if len(own) == 1 else None
