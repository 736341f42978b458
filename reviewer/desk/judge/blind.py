"""Which pairs of a judge one reviewer may see: those that he has nothing left to say about."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.review.labels import counting, done
from reviewer.review.model import Label

ORDERS = 2
"""In how many orders the queue shows a pair, whatever the rubric is content with."""


class Own(NamedTuple):
    """Pairs that one reviewer has labeled: `whole` ones he is not shown again, `begun` ones are
    still to come in their other order."""

    whole: frozenset[str]
    begun: frozenset[str]


def own_pairs(labels: Sequence[Label], reviewer: str) -> Own:
    """What this reviewer has said for himself: as a rater in both orders, or as the third person
    who settled it. An order that he skipped is done, but who skipped both has said nothing."""
    said = {(x.item, x.role) for x in counting(labels) if x.reviewer == reviewer}
    orders: dict[str, set[int]] = {}
    for label in done(labels, reviewer, "rater"):
        if (label.item, "rater") in said:
            orders.setdefault(label.item, set()).add(label.showing)
    whole = {item for item, seen in orders.items() if len(seen) >= ORDERS}
    whole.update(item for item, role in said if role == "adjudicator")
    return Own(frozenset(whole), frozenset(orders) - whole)
