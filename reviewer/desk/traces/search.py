"""Full text across traces: the index of the store says which traces, their payloads which events.

The index keeps no positions, so it answers for a whole trace; a word of the query stands for every
word that begins with it. What is typed is words and nothing else: no operator of the index can be
reached from a query.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reviewer.db.queries.traces import trace_of_id
from reviewer.db.search import TEXT_PER_TRACE, pending_events
from reviewer.desk.errors import DeskError
from reviewer.desk.traces.events import title_of
from reviewer.desk.traces.records import Records
from reviewer.desk.traces.text import excerpt, how_many, plain_text, typed, words_of
from reviewer.desk.traces.views import SearchHit, SearchView
from reviewer.exit_codes import ExitCode
from reviewer.trace.record import Event, kind_of

MOST_TRACES = 50
"""Traces opened for one answer."""
PER_TRACE = 4
MOST_WORDS = 16
WINDOW = 500
COUNTED = 10_000
"""Traces counted at most."""
_TRACES = (
    "SELECT search.rowid, s.suite_id, c.candidate_id, e.episode_id, t.attempt"
    " FROM search JOIN trace t ON t.id = search.rowid"
    " JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
    " JOIN episode e ON e.id = t.episode"
    " WHERE search MATCH ? AND (? = '' OR s.suite_id = ?) AND (? = '' OR c.candidate_id = ?)"
    f" ORDER BY search.rowid DESC LIMIT {COUNTED + 1}"
)
_LARGE = (
    "SELECT count(*) FROM trace t JOIN candidate c ON c.id = t.candidate"
    " JOIN suite s ON s.id = c.suite WHERE t.pack IS NULL"
    " AND EXISTS (SELECT 1 FROM chunk WHERE trace = t.id)"
    " AND (? = '' OR s.suite_id = ?) AND (? = '' OR c.candidate_id = ?)"
)


class _Found(NamedTuple):
    key: int
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int

    @property
    def trace_id(self) -> str:
        return f"{self.suite_id}/{self.candidate_id}/{self.episode_id}/{self.attempt}"


def search(
    connection: sqlite3.Connection,
    records: Records,
    text: str,
    suite_id: str = "",
    candidate_id: str = "",
) -> SearchView:
    """Events of the traces that hold every word of `text`, newest traces first.

    Raises DeskError when the text holds no word.
    """
    words = words_of(text)[:MOST_WORDS]
    if not words:
        raise DeskError(
            "nothing to search for: give a word of letters or digits", exit_code=ExitCode.USAGE
        )
    scope = (suite_id, suite_id, candidate_id, candidate_id)
    asked = [word for word in typed(text)[:MOST_WORDS] if _known(connection, word)]
    query = " AND ".join(_term(word) for word in asked)
    found = [_Found(*row) for row in connection.execute(_TRACES, (query, *scope))] if asked else []
    hits: list[SearchHit] = []
    for one in found[:MOST_TRACES]:
        hits += _hits(connection, records, one, words)
    return SearchView(
        words=words,
        hits=tuple(hits),
        traces=len(found),
        shown=len({hit.trace_id for hit in hits}),
        waiting=pending_events(connection),
        partial=connection.execute(_LARGE, scope).fetchone()[0],
    )


def _term(word: str) -> str:
    return f'"{word}"*'


def _known(connection: sqlite3.Connection, word: str) -> bool:
    """Whether the index takes this for one word: its Unicode is older than Python's."""
    try:
        connection.execute("SELECT 1 FROM search WHERE search MATCH ? LIMIT 1", (_term(word),))
    except sqlite3.OperationalError:
        return False
    return True


def _hits(
    connection: sqlite3.Connection, records: Records, one: _Found, words: Sequence[str]
) -> list[SearchHit]:
    """The events that hold most of the words; none where only the index sees them."""
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


def _indexed(
    connection: sqlite3.Connection, records: Records, key: int
) -> Iterator[tuple[int, Event]]:
    """(position from 1, event) of a trace, as far as the index goes."""
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


def _hit(one: _Found, event: Event, position: int, words: Sequence[str], more: int) -> SearchHit:
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
