"""What of labels and flags can hold a promotion back: all that a recommendation needs of them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.queries.reviewable import flaggable_traces, reviewable_traces_in
from reviewer.desk.labels.book import Book
from reviewer.desk.labels.items import Side, message_of, side_of, signals_of
from reviewer.desk.suites import Held
from reviewer.desk.traces.records import FinalMessages
from reviewer.report.opinions import ReviewEvidence
from reviewer.review.items import message_items
from reviewer.review.model import Item, Label
from reviewer.review.queue import (
    STRATUM_OF,
    OpenFlag,
    Signals,
    counted,
    open_flags,
    reasons_of,
    shown_texts,
)


class Looked(NamedTuple):
    """One candidate's messages on the episodes that have a label, the labels that one of them
    stands in, its traces with a high flag, and those that no label has closed."""

    own: tuple[Item, ...]
    about: list[Label]
    high: dict[str, Signals]
    flags: tuple[OpenFlag, ...]


def review_holds(
    connection: Connection, held: Held, candidate_id: str, finals: FinalMessages, book: Book
) -> ReviewEvidence | None:
    """What `assess` reads of labels and flags, and nothing else; None for a probe.

    Raises DeskError when the candidate has no trace, StoreError for a damaged payload.
    """
    if held.suite.probe:
        return None
    side = side_of(connection, held.suite.suite_id, candidate_id)
    high = high_flags(connection, side)
    if not high and not held.suite.policy.labels.min_pairs:
        return ReviewEvidence()
    looked = looked_at(connection, held, side, high, finals, book)
    pairs = counted(looked.about, held.rubric).pairs if held.rubric is not None else 0
    return ReviewEvidence(high=len(high), open_high=len(looked.flags), pairs=pairs)


def high_flags(connection: Connection, side: Side) -> dict[str, Signals]:
    """Traces with a high flag, by id."""
    signals = signals_of(connection, side, flaggable_traces(connection, side.key))
    return {
        trace: known
        for trace, known in signals.items()
        if any(STRATUM_OF[reason] == "high" for reason in reasons_of(known))
    }


def looked_at(
    connection: Connection,
    held: Held,
    side: Side,
    high: dict[str, Signals],
    finals: FinalMessages,
    book: Book,
) -> Looked:
    """Payloads are opened of the episodes that have labels alone."""
    labels = [
        x for x in book.of(connection, held.suite.digest) if x.rubric_digest == held.rubric_digest
    ]
    own = _own(connection, side, held, finals, labels)
    about = _about(labels, own)
    return Looked(own, about, high, open_flags(own, high, about))


def _own(
    connection: Connection,
    side: Side,
    held: Held,
    finals: FinalMessages,
    labels: Iterable[Label],
) -> tuple[Item, ...]:
    """The candidate's messages on the episodes that have a label."""
    keys = {name: key for key, name in side.names.items()}
    labeled = {keys[x.episode_id] for x in labels if x.episode_id in keys}
    traces = reviewable_traces_in(connection, side.key, sorted(labeled)) if labeled else []
    texts = finals.of(connection, traces)
    messages = [message_of(side, t, texts[t.id]) for t in traces if t.id in texts]
    return message_items(held.suite.digest, messages).items


def _about(labels: Iterable[Label], own: Sequence[Item]) -> list[Label]:
    """The labels that one of these messages stands in, whichever store they were made in."""
    mine = {(item.episode_id, item.messages[0].digest) for item in own}
    return [x for x in labels if not mine.isdisjoint(shown_texts([x]))]
