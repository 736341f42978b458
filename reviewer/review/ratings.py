"""Labels as ratings: per question, what each reviewer says of each item.

A pair is rated once per reviewer, by both showings together: a winner counts only when both name
it, else the reviewer has no preference that survives the order, which is a tie.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from reviewer.review.labels import counting
from reviewer.review.model import TIE, Label, Role
from reviewer.suite.errors import shown
from reviewer.suite.model import Value
from reviewer.suite.rubric import Rubric

Question = Literal["winner", "decided", "mark"]
Level = Literal["nominal", "ordinal"]
Rating = str | int


class Subject(Value, frozen=True):
    """What is asked: the `winner` of pairs, the side a criterion `decided` for in pairs, or the
    `mark` a criterion gets on a message."""

    question: Question
    criterion_id: str | None = None


class Ratings(Value, frozen=True):
    """Item → reviewer → rating, with the level of measurement."""

    subject: Subject
    level: Level
    items: dict[str, dict[str, Rating]]

    @property
    def reviewers(self) -> tuple[str, ...]:
        return tuple(sorted({name for given in self.items.values() for name in given}))


def ratings(
    labels: Iterable[Label],
    rubric: Rubric | None = None,
    first: Mapping[str, str] | None = None,
    role: Role = "rater",
) -> tuple[Ratings, ...]:
    """The labels that count, as ratings: winners, then criteria of pairs, then of messages.

    The messages of a pair are rated as `first` and `second`. `first` names, by item, the digest
    that is the first one's (the baseline's message); for other items it is the lower digest, which
    knows nothing of candidates. Marks are ordinal unless the rubric calls their criterion binary.
    ValueError when the labels were made under different rubrics: they answer different questions.
    """
    named = first or {}
    answers: dict[Subject, dict[str, dict[str, list[Rating]]]] = {}
    rubrics: set[str] = set()
    for label in counting(labels):
        if label.role != role:
            continue
        rubrics.add(label.rubric_digest)
        for subject, rating in _answers(label, named.get(label.item)):
            given = answers.setdefault(subject, {}).setdefault(label.item, {})
            given.setdefault(label.reviewer, []).append(rating)
    if len(rubrics) > 1:
        which = ", ".join(shown(digest)[:12] for digest in sorted(rubrics))
        raise ValueError(f"labels of {len(rubrics)} rubrics ({which}); give those of one")
    criteria = {c.criterion_id: c.scale for c in rubric.criteria} if rubric else {}
    return tuple(
        Ratings(
            subject=subject,
            level=_level(subject, criteria),
            items={
                item: {reviewer: settled(given) for reviewer, given in by_reviewer.items()}
                for item, by_reviewer in answers[subject].items()
            },
        )
        for subject in sorted(answers, key=_place)
    )


def settled(given: Iterable[Rating]) -> Rating:
    """One reviewer's rating from the showings of an item: what all of them say, else a tie."""
    distinct = set(given)
    return distinct.pop() if len(distinct) == 1 else TIE


def _answers(label: Label, first: str | None) -> Iterator[tuple[Subject, Rating]]:
    if label.kind == "message":
        for criterion_id, level in label.marks.items():
            yield Subject(question="mark", criterion_id=criterion_id), level
        return
    if label.winner is not None:
        yield Subject(question="winner"), _named(label, label.winner, first)
    for criterion_id, side in label.decided.items():
        digest = label.side(side)
        assert digest is not None
        yield Subject(question="decided", criterion_id=criterion_id), _named(label, digest, first)


def _named(label: Label, winner: str, first: str | None) -> str:
    sides = [side for side in (label.left, label.right) if side is not None]
    if winner not in sides:
        return winner
    return "first" if winner == (first if first in sides else min(sides)) else "second"


def _level(subject: Subject, scales: Mapping[str, str]) -> Level:
    if subject.question == "mark" and scales.get(subject.criterion_id or "") != "binary":
        return "ordinal"
    return "nominal"


def _place(subject: Subject) -> tuple[int, str]:
    return ("winner", "decided", "mark").index(subject.question), subject.criterion_id or ""
