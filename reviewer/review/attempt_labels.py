"""What people said of attempts in other tools: their agreement, and the mark of each attempt.

These labels are counted separately from those given in this program. No pair, flag, limit or
calibration reads them: their raters were not blind, and it is unknown how the attempts were
selected.
"""

from collections.abc import Collection, Iterable, Sequence

from reviewer.review.agreement import Agreement, Level, Rating, Ratings, Subject, measured
from reviewer.review.labels import Label, counting
from reviewer.suite.rubric import Rubric, good_levels
from reviewer.suite.value import Value


class AttemptMarks(Value, frozen=True):
    """The marks of attempts on one criterion, as item → whether people find it good: None where
    marks disagree. `agreement` is that of the raters."""

    criterion_id: str
    good: dict[str, bool | None]
    agreement: Agreement


def of_attempts(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels of attempts that count, by time."""
    return tuple(label for label in counting(labels) if label.kind == "attempt")


def attempt_marks(labels: Sequence[Label], rubric: Rubric, seed: str) -> tuple[AttemptMarks, ...]:
    """Return the marks on each criterion that a label names, in the rubric's order. A person who
    marked an attempt twice with different marks counts as two raters, so that the disagreement is
    kept."""
    found = []
    for criterion in rubric.criteria:
        name = criterion.criterion_id
        items: dict[str, dict[str, Rating]] = {}
        for label in labels:
            if name in label.marks:
                _rate(items.setdefault(label.item, {}), label.reviewer, label.marks[name])
        if not items:
            continue
        level: Level = "nominal" if criterion.scale == "binary" else "ordinal"
        subject = Subject(question="attempt", criterion_id=name)
        sides = {
            item: _side(given.values(), good_levels(criterion)) for item, given in items.items()
        }
        table = Ratings(subject=subject, level=level, items=items)
        found.append(AttemptMarks(criterion_id=name, good=sides, agreement=measured(table, seed)))
    return tuple(found)


def _rate(given: dict[str, Rating], reviewer: str, level: int) -> None:
    """Add a mark of a person; a further mark of the same person gets its own name."""
    own = [name for name in given if name == reviewer or name.startswith(f"{reviewer} again ")]
    if any(given[name] == level for name in own):
        return
    given[reviewer if not own else f"{reviewer} again {len(own)}"] = level


def _side(levels: Collection[Rating], good: frozenset[int]) -> bool | None:
    sides = {level in good for level in levels}
    return sides.pop() if len(sides) == 1 else None
