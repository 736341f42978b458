"""Full-text search across traces: the store's index finds the traces, their payloads the events.

The index keeps no positions, so it answers for a whole trace; a word of the query matches every
word that begins with it. A query consists of words only: it cannot contain operators of the index.
"""

from collections.abc import Iterator, Sequence

from reviewer.db.connection import Connection
from reviewer.db.queries.traces import trace_of_id
from reviewer.db.search import (
    TEXT_PER_TRACE,
    FoundTrace,
    is_word,
    partly_indexed,
    pending_events,
    traces_holding,
)
from reviewer.desk.errors import DeskError
from reviewer.desk.traces.events import title_of
from reviewer.desk.traces.records import Records
from reviewer.desk.traces.text import excerpt, how_many, plain_text, typed, words_of
from reviewer.desk.traces.views import SearchHit, SearchView
from reviewer.exit_codes import ExitCode
from reviewer.trace.record import Event, kind_of

MOST_TRACES = 50
"""Most traces that are opened for one answer."""
PER_TRACE = 4
MOST_WORDS = 16
WINDOW = 500


def search(
    connection: Connection,
    records: Records,
    text: str,
    suite_id: str = "",
    candidate_id: str = "",
) -> SearchView:
    """Return the events of the traces with every word of `text`, newest traces first.

    Raises DeskError when the text has no word.
    """
    words = words_of(text)[:MOST_WORDS]
    if not words:
        raise DeskError(
            "nothing to search for: give a word of letters or digits",
            "for example, reviewer search refund finds refund, refunds, refunded",
            exit_code=ExitCode.USAGE,
        )
    asked = [word for word in typed(text)[:MOST_WORDS] if is_word(connection, word)]
    found = traces_holding(connection, asked, suite_id, candidate_id) if asked else []
    hits: list[SearchHit] = []
    for one in found[:MOST_TRACES]:
        hits += _hits(connection, records, one, words)
    return SearchView(
        words=words,
        hits=tuple(hits),
        traces=len(found),
        shown=len({hit.trace_id for hit in hits}),
        waiting=pending_events(connection),
        partial=partly_indexed(connection, suite_id, candidate_id),
    )


def _hits(
    connection: Connection, records: Records, one: FoundTrace, words: Sequence[str]
) -> list[SearchHit]:
    """Return the events that contain most of the words; none where only the index finds them."""
    best, held = 1, list[tuple[int, Event]]()
    for position, event in _indexed(connection, records, one.key):
        count = how_many(plain_text(event), words)
        if count > best:
            best, held = count, []
        if count == best:
            held.append((position, event))
    over = len(held) - PER_TRACE
    return [
        _hit(one, event, at, words, over if n == PER_TRACE else 0)
        for n, (at, event) in enumerate(held[:PER_TRACE], 1)
    ]


def _indexed(connection: Connection, records: Records, key: int) -> Iterator[tuple[int, Event]]:
    """Yield (position from 1, event) of a trace, up to where the index ends."""
    row = trace_of_id(connection, key)
    position = size = 0
    while row is not None and position < row.events and size <= TEXT_PER_TRACE:
        for event in records.events(connection, row, position, WINDOW):
            position += 1
            size += sum(len(bytes(raw)) for raw in (event.arguments, event.observation))
            size += len(bytes(event.message))
            yield position, event
            if size > TEXT_PER_TRACE:
                return


def _hit(
    one: FoundTrace, event: Event, position: int, words: Sequence[str], more: int
) -> SearchHit:
    kind = kind_of(event)
    return SearchHit(
        trace_id=one.trace_id,
        suite_id=one.suite_id,
        candidate_id=one.candidate_id,
        episode_id=one.episode_id,
        attempt=one.attempt,
        seq=event.seq or position,
        kind=kind,
        title=title_of(event, kind),
        text=excerpt(plain_text(event), words),
        more=max(0, more),
    )
