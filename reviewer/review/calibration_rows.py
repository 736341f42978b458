"""The pairs that a calibration is made of: what people settled beside what the judge answered."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from reviewer.review.adjudication import Settled, settled
from reviewer.review.judging.model import Judgment
from reviewer.review.model import BOTH_BAD, TIE, Label
from reviewer.suite.model import Value

Outcome = Literal["agrees", "flips", "differs", "error"]
Slot = Literal["first", "last", ""]


class JudgeKey(Value, frozen=True):
    """For what a calibration holds. `family` is what the candidates have in common: their agent."""

    judge_id: str
    model: str
    prompt_digest: str
    rubric_digest: str | None
    family: str


class PairRow(Value, frozen=True):
    """One pair, its winners as digests, `tie` or (people alone) `both_bad`; None is an answer that
    could not be used. `forward_left` is the message that stood left in forward order; `decided`
    maps the criteria that spoke, for people, to the message they spoke for; `slot` is the one a
    flip favors."""

    item: str
    episode_id: str
    forward_left: str
    forward_right: str
    people: str
    forward: str | None
    swapped: str | None
    decided: dict[str, str]
    outcome: Outcome
    slot: Slot = ""

    @property
    def wanted(self) -> str:
        """What the judge is right to say: a judge knows no `both_bad`, so that is a tie."""
        return TIE if self.people == BOTH_BAD else self.people

    @property
    def winner(self) -> str | None:
        """What the judge says in both orders, else `tie`; None when an answer is missing."""
        if self.forward is None or self.swapped is None:
            return None
        return self.forward if self.forward == self.swapped else TIE


class Left(Value, frozen=True):
    """Pairs that make no row: people differ on them (`unsettled`), the judge has not answered both
    orders (`unjudged`), nobody has labeled them (`unlabeled`), or they show other candidates
    (`other_family`)."""

    unsettled: int = 0
    unjudged: int = 0
    unlabeled: int = 0
    other_family: int = 0


def settled_under(labels: Sequence[Label], rubric: str | None) -> dict[str, Settled]:
    """What people settled on under the rubric in force."""
    same = [label for label in labels if rubric is None or label.rubric_digest == rubric]
    return {one.item: one for one in settled(same)}


def made_by(judgment: Judgment, key: JudgeKey) -> bool:
    """Whether this is an answer of the judge that `key` names, whatever candidates it shows."""
    return (judgment.judge_id, judgment.model, judgment.prompt_digest, judgment.rubric_digest) == (
        key.judge_id, key.model, key.prompt_digest, key.rubric_digest,
    )  # fmt: skip


class Both(NamedTuple):
    """The first answer to a pair in either order."""

    forward: Judgment
    swapped: Judgment


def both_orders(judgments: Iterable[Judgment]) -> dict[str, Both]:
    """The first answer in each order, of the items that have both."""
    first = {(one.item, one.order): one for one in judgments if one.repeat == 1}
    return {
        item: Both(one, first[item, "swapped"])
        for (item, order), one in first.items()
        if order == "forward" and (item, "swapped") in first
    }


def pair_rows(
    people: Mapping[str, Settled],
    answers: Mapping[str, Both],
    family: str,
    families: Mapping[str, frozenset[str]],
) -> tuple[tuple[PairRow, ...], Left]:
    """The rows, by episode and item, and how many pairs make none. `families` are those of the
    candidates behind each item."""
    rows = []
    unsettled = unjudged = other_family = 0
    for item, one in people.items():
        if family not in families.get(item, frozenset()):
            other_family += 1
        elif one.winner is None:
            unsettled += 1
        elif item not in answers:
            unjudged += 1
        else:
            rows.append(_row(one, one.winner, answers[item]))
    unlabeled = sum(
        item not in people and family in families.get(item, frozenset()) for item in answers
    )
    rows.sort(key=lambda row: (row.episode_id, row.item))
    left = Left(
        unsettled=unsettled, unjudged=unjudged, unlabeled=unlabeled, other_family=other_family
    )
    return tuple(rows), left


def _row(one: Settled, winner: str, both: Both) -> PairRow:
    forward, swapped = both
    assert forward.left is not None  # the forward judgment is that of a pair
    assert forward.right is not None
    a, b = forward.winner, swapped.winner
    outcome: Outcome = "agrees"
    slot: Slot = ""
    if a is None or b is None:
        outcome = "error"
    elif a != b:
        outcome = "flips"
        slot = "first" if "left" in (forward.answer, swapped.answer) else "last"
    elif a != (TIE if winner == BOTH_BAD else winner):
        outcome = "differs"
    return PairRow(
        item=one.item,
        episode_id=one.episode_id,
        forward_left=forward.left,
        forward_right=forward.right,
        people=winner,
        forward=a,
        swapped=b,
        decided=one.decided,
        outcome=outcome,
        slot=slot,
    )
