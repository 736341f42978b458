"""Does a reviewer agree with himself when the sides are exchanged, and which slot does he favor?

It is a ceiling: a judge cannot be asked to agree with a person more often than the person does.
"""

from collections.abc import Iterable

from reviewer.review.agreement import share
from reviewer.review.labels import counting
from reviewer.review.model import Label
from reviewer.stats.figures import Share
from reviewer.suite.model import Value

ENOUGH = 20
"""Repeats below which self-consistency is rough."""


class SelfConsistency(Value, frozen=True):
    """One reviewer. `same` counts pairs judged alike in both orders, `left` the left slot among
    answers that chose a side. `needed` is how many more repeats make it readable; `flips` names the
    items judged otherwise the second time."""

    reviewer: str
    same: Share
    left: Share
    needed: int
    flips: tuple[str, ...]


def self_consistency(labels: Iterable[Label]) -> tuple[SelfConsistency, ...]:
    """Every rater who answered a pair, by name."""
    winners: dict[str, dict[str, list[str]]] = {}
    slots: dict[str, list[bool]] = {}
    for label in counting(labels):
        if label.role != "rater" or label.winner is None:
            continue
        winners.setdefault(label.reviewer, {}).setdefault(label.item, []).append(label.winner)
        chosen = slots.setdefault(label.reviewer, [])
        if label.answer in ("left", "right"):
            chosen.append(label.answer == "left")
    return tuple(
        _consistency(reviewer, winners[reviewer], slots[reviewer]) for reviewer in sorted(winners)
    )


def _consistency(
    reviewer: str, winners: dict[str, list[str]], slots: list[bool]
) -> SelfConsistency:
    repeated = {item: given for item, given in winners.items() if len(given) == 2}
    flips = tuple(sorted(item for item, (one, other) in repeated.items() if one != other))
    return SelfConsistency(
        reviewer=reviewer,
        same=share(len(repeated) - len(flips), len(repeated)),
        left=share(sum(slots), len(slots)),
        needed=max(0, ENOUGH - len(repeated)),
        flips=flips,
    )
