"""What people settled on, and what a third person must still decide.

Raters settle an item by saying the same; where they differ, or one contradicts himself when the
sides are exchanged, an adjudicator's label does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from reviewer.review.labels import counting
from reviewer.review.model import Kind, Label
from reviewer.suite.model import Value

Said = TypeVar("Said", int, str)


class Settled(Value, frozen=True):
    """What holds for an item. `winner` is a digest, `tie` or `both_bad`; `marks` hold the criteria
    that are settled, of a pair `decided` those that spoke for one message, its digest. `by` is who
    settled the winner, or all of the marks; None while some is open.
    """

    item: str
    kind: Kind
    episode_id: str
    winner: str | None
    marks: dict[str, int]
    decided: dict[str, str]
    by: Literal["raters", "adjudicator"] | None


class Disagreement(Value, frozen=True):
    """An item for a third person to label, blind. `winner` when that is what is open (a pair);
    `criteria` on which raters differ; `contradicts` are raters whose two showings differ."""

    item: str
    kind: Kind
    episode_id: str
    winner: bool
    criteria: tuple[str, ...]
    reviewers: tuple[str, ...]
    contradicts: tuple[str, ...]


def settled(labels: Iterable[Label]) -> tuple[Settled, ...]:
    """Every item with a label that counts, by name; one rater alone settles what he says."""
    return tuple(_settled(item, same) for item, same in _by_item(labels))


def to_adjudicate(labels: Iterable[Label]) -> tuple[Disagreement, ...]:
    """Items that raters left open and no adjudicator has settled, by name."""
    found = []
    for item, same in _by_item(labels):
        known = _settled(item, same)
        if known.by is not None:
            continue
        raters = [label for label in same if label.role == "rater"]
        found.append(
            Disagreement(
                item=item,
                kind=known.kind,
                episode_id=known.episode_id,
                winner=known.kind == "pair",
                criteria=_open_criteria(raters),
                reviewers=tuple(sorted({label.reviewer for label in raters})),
                contradicts=_contradicting(raters),
            )
        )
    return tuple(found)


def _by_item(labels: Iterable[Label]) -> list[tuple[str, list[Label]]]:
    items: dict[str, list[Label]] = {}
    for label in counting(labels):
        items.setdefault(label.item, []).append(label)
    return sorted(items.items())


def _settled(item: str, same: Sequence[Label]) -> Settled:
    third = [label for label in same if label.role == "adjudicator"]
    who: Literal["raters", "adjudicator"] = "adjudicator" if third else "raters"
    winner: str | None = None
    marks: dict[str, int] = {}
    decided: dict[str, str] = {}
    if same[0].kind == "pair":
        winner = _agreed(label.winner for label in third or same)
        decided = _alike(_decided, same) | _alike(_decided, third)
        is_open = winner is None
    else:
        # A criterion the adjudicator left out stays as the raters have it.
        marks = _alike(_marks, same) | _alike(_marks, third)
        is_open = any(label.marks.keys() - marks.keys() for label in same)
    return Settled(
        item=item,
        kind=same[0].kind,
        episode_id=same[0].episode_id,
        winner=winner,
        marks=marks,
        by=None if is_open else who,
        decided=decided,
    )


def _alike(said: Callable[[Label], Mapping[str, Said]], labels: Iterable[Label]) -> dict[str, Said]:
    """What each criterion was given, where it was given one thing only."""
    given: dict[str, set[Said]] = {}
    for label in labels:
        for criterion_id, value in said(label).items():
            given.setdefault(criterion_id, set()).add(value)
    return {name: values.pop() for name, values in sorted(given.items()) if len(values) == 1}


def _marks(label: Label) -> dict[str, int]:
    return label.marks


def _decided(label: Label) -> dict[str, str]:
    sides = {name: label.side(side) for name, side in label.decided.items()}
    return {name: digest for name, digest in sides.items() if digest is not None}


def _agreed(winners: Iterable[str | None]) -> str | None:
    distinct = set(winners)
    return distinct.pop() if len(distinct) == 1 else None


def _open_criteria(raters: Sequence[Label]) -> tuple[str, ...]:
    """Criteria that raters mark, or in a pair decide, differently."""
    given: dict[str, set[object]] = {}
    for label in raters:
        for criterion_id, level in label.marks.items():
            given.setdefault(criterion_id, set()).add(level)
        for criterion_id, side in label.decided.items():
            given.setdefault(criterion_id, set()).add(label.side(side))
    return tuple(sorted(name for name, values in given.items() if len(values) > 1))


def _contradicting(raters: Sequence[Label]) -> tuple[str, ...]:
    winners: dict[str, set[str | None]] = {}
    for label in raters:
        winners.setdefault(label.reviewer, set()).add(label.winner)
    return tuple(sorted(name for name, given in winners.items() if len(given) > 1))
