"""How much people have labeled, and which high flags that leaves open."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reviewer.review.labels import counting
from reviewer.review.model import Item, Label
from reviewer.review.queue import OpenFlag, open_high
from reviewer.review.signals import Signals
from reviewer.suite.rubric import Rubric


class Counted(NamedTuple):
    """Pairs labeled as often as the rubric wants, pairs begun and not finished, messages labeled
    alone: by anybody, each item once."""

    pairs: int
    begun: int
    messages: int


def open_flags(
    own: Sequence[Item], signals: Mapping[str, Signals], labels: Iterable[Label]
) -> tuple[OpenFlag, ...]:
    """High flags of a candidate's traces that no label has closed. `own` are its messages: a flag
    is closed by a label of what the trace ended with, alone or in a pair."""
    said = shown_texts(counting(labels))
    closed = {x.item for x in own if (x.episode_id, x.messages[0].digest) in said}
    return open_high(own, signals, closed)


def shown_texts(labels: Iterable[Label]) -> set[tuple[str, str]]:
    """(episode, digest) of every message that stood before a reviewer."""
    return {
        (x.episode_id, digest)
        for x in labels
        for digest in (x.left, x.right, x.message)
        if digest is not None
    }


def counted(labels: Iterable[Label], rubric: Rubric) -> Counted:
    """How much is labeled. A pair is done when one person has answered it in each order, unless the
    rubric is content with one."""
    orders: dict[str, dict[tuple[str, str], set[int]]] = {}
    messages: set[str] = set()
    for label in counting(labels):
        if label.kind == "message":
            messages.add(label.item)
        else:
            who = label.reviewer, label.role
            orders.setdefault(label.item, {}).setdefault(who, set()).add(label.showing)
    wanted = 2 if rubric.both_orders else 1
    whole = sum(any(len(n) >= wanted for n in by.values()) for by in orders.values())
    return Counted(whole, len(orders) - whole, len(messages))
