"""Event lists and the full-text index: derived from payloads, filled after an import.

`meta.indexed` is the last trace done; it moves in the same transaction as the rows, so a killed run
continues where it stopped and nothing is done twice.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.db.bulk import Packs
from reviewer.db.connection import one_moment, transaction
from reviewer.db.event_lists import (
    EventList,
    event_list,
    list_lengths,
    listed_events,
    put_event_lists,
    shapes_missing,
    stray_lists,
    take_event_list,
)
from reviewer.db.payload import LARGE, decode_record, frame_bytes, large_events
from reviewer.trace.record import ABSENT, Event

BATCH = 512
BATCH_BYTES = 8 << 20
"""Bytes of payloads after which a batch ends: what is derived from them is held in memory until it
is written."""
TEXT_PER_TRACE = 1 << 20
MOST_NAMED = 5
_TEXT = "INSERT INTO search (rowid, body) VALUES (?, ?)"

MOST_COUNTED = 10_000
"""Most traces that one search counts."""


class FoundTrace(NamedTuple):
    """A trace that holds the words of a search."""

    key: int
    suite_id: str
    candidate_id: str
    episode_id: str
    attempt: int

    @property
    def trace_id(self) -> str:
        return f"{self.suite_id}/{self.candidate_id}/{self.episode_id}/{self.attempt}"


def traces_holding(
    connection: sqlite3.Connection, words: Sequence[str], suite_id: str, candidate_id: str
) -> list[FoundTrace]:
    """Return the traces with a word that begins with each of `words`, newest first, one more than
    `MOST_COUNTED` at most. An empty suite or candidate id matches any; each word must be one for
    the index (`is_word`)."""
    query = " AND ".join(_term(word) for word in words)
    rows = connection.execute(
        "SELECT search.rowid, s.suite_id, c.candidate_id, e.episode_id, t.attempt"
        " FROM search JOIN trace t ON t.id = search.rowid"
        " JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
        " JOIN episode e ON e.id = t.episode"
        " WHERE search MATCH ? AND (? = '' OR s.suite_id = ?) AND (? = '' OR c.candidate_id = ?)"
        f" ORDER BY search.rowid DESC LIMIT {MOST_COUNTED + 1}",
        (query, suite_id, suite_id, candidate_id, candidate_id),
    )
    return [FoundTrace(*row) for row in rows]


def _term(word: str) -> str:
    return f'"{word}"*'


def is_word(connection: sqlite3.Connection, word: str) -> bool:
    """Return whether the index takes a text as one word: the index uses an older Unicode version
    than Python."""
    try:
        connection.execute("SELECT 1 FROM search WHERE search MATCH ? LIMIT 1", (_term(word),))
    except sqlite3.OperationalError:
        return False
    return True


def partly_indexed(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> int:
    """Return the number of traces in chunks, of which the index holds the first megabyte."""
    row = connection.execute(
        "SELECT count(*) FROM trace t JOIN candidate c ON c.id = t.candidate"
        " JOIN suite s ON s.id = c.suite WHERE t.pack IS NULL"
        " AND EXISTS (SELECT 1 FROM chunk WHERE trace = t.id)"
        " AND (? = '' OR s.suite_id = ?) AND (? = '' OR c.candidate_id = ?)",
        (suite_id, suite_id, candidate_id, candidate_id),
    ).fetchone()
    return int(row[0])


def unindexed_traces(connection: sqlite3.Connection, candidate: int) -> int:
    """Return the number of traces of a candidate whose events are not listed yet."""
    row = connection.execute(
        "SELECT count(*) FROM trace WHERE candidate=?"
        " AND id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')",
        (candidate,),
    ).fetchone()
    return int(row[0])


def pending_events(connection: sqlite3.Connection) -> int:
    """Return the number of events that are not listed yet."""
    row = connection.execute(
        "SELECT coalesce(sum(events), 0) FROM trace"
        " WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')"
    ).fetchone()
    return int(row[0])


def more_pending(connection: sqlite3.Connection, than: int = 0) -> bool:
    """Return whether more than `than` events are not listed yet. Counts only up to that number."""
    (last,) = connection.execute(
        "SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed'"
    ).fetchone()
    left = 0
    while last is not None:
        events, last = connection.execute(
            "SELECT coalesce(sum(events), 0), max(id) FROM"
            " (SELECT id, events FROM trace WHERE id > ? ORDER BY id LIMIT 1024)",
            (last,),
        ).fetchone()
        left += events
        if left > than:
            return True
    return False


def index_faults(connection: sqlite3.Connection) -> list[str]:
    """Return where event lists or full text differ from the payloads of the indexed traces: a
    search would miss what is absent there. Traces not indexed yet are no fault.

    Compares counts, and opens payloads only where counts differ. May raise any of DAMAGE.
    """
    (done,) = connection.execute(
        "SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed'"
    ).fetchone()
    traces, last = connection.execute(
        "SELECT count(*) FILTER (WHERE id <= ?), coalesce(max(id), 0) FROM trace", (done,)
    ).fetchone()
    if done > last:
        return [f"traces up to {done} are said to be indexed, and the last one is {last}"]
    (texts,) = connection.execute("SELECT count(*) FROM search_docsize").fetchone()
    wrong = (
        [] if texts == traces else [f"full text of {texts:,} traces where {traces:,} are indexed"]
    )
    (given,) = connection.execute(
        "SELECT coalesce(sum(events), 0) FROM trace WHERE id <= ?"
        " AND (pack IS NOT NULL OR EXISTS (SELECT 1 FROM chunk WHERE chunk.trace = trace.id))",
        (done,),
    ).fetchone()
    if listed_events(connection) != given and (missing := _wrong_events(connection, done)):
        wrong.append(f"event rows of trace {', '.join(map(str, missing))}")
    if lost := shapes_missing(connection):
        wrong.append(f"event rows without a tool: {lost:,} shapes are gone")
    return wrong


def _wrong_events(connection: sqlite3.Connection, done: int) -> list[int]:
    """Return the first traces whose event lists differ from their payloads."""
    wrong = stray_lists(connection, done, MOST_NAMED)
    for trace, _, held in list_lengths(connection, done):
        # Events with the same number in a trace are one event, and a refused payload has none.
        if held != len(event_list(trace, _stored_events(connection, trace)).shapes):
            wrong.append(trace)
        if len(wrong) >= MOST_NAMED:
            break
    return wrong


def catch_up(connection: sqlite3.Connection, store: Path) -> int:
    """Index every trace not yet indexed, a batch per transaction; returns how many."""
    done = 0
    while batch := index_batch(connection, store):
        done += batch
    return done


def index_batch(connection: sqlite3.Connection, store: Path) -> int:
    """Index the next batch; return the number of traces, 0 when there is nothing left. Others may
    write while payloads are read: traces that they changed are read again."""
    while True:
        lists, texts, size = list[EventList](), list[tuple[int, str]](), 0
        with one_moment(connection):
            traces, packs = _next_traces(connection), Packs(connection)
            for trace, pack, offset, length, count, _ in traces:
                size += length or LARGE
                raw = packs.record(pack, offset, length)
                events = _events(connection, trace, raw, count)
                lists.append(event_list(trace, events))
                texts.append((trace, searchable(events)))
                if size > BATCH_BYTES:
                    break
        if not traces:
            return 0
        with transaction(connection, store):
            if _next_traces(connection)[: len(texts)] != traces[: len(texts)]:
                continue
            put_event_lists(connection, lists)
            connection.executemany(_TEXT, texts)
            last = str(texts[-1][0])
            connection.execute("UPDATE meta SET value=? WHERE key='indexed'", (last,))
        return len(texts)


def _next_traces(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return (id, pack, offset, length, events, sha256) of the next traces to be indexed."""
    return connection.execute(
        "SELECT id, pack, offset, length, events, sha256 FROM trace"
        " WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')"
        " ORDER BY id LIMIT ?",
        (BATCH,),
    ).fetchall()


def _events(
    connection: sqlite3.Connection, trace: int, raw: bytes | None, count: int
) -> list[Event]:
    """Return the events of a trace: of its payload, or of its chunks when it has none."""
    if raw is None:
        return large_events(connection, trace, 0, count)
    return decode_record(raw).events


def unindex_trace(connection: sqlite3.Connection, trace: int) -> bool:
    """Remove a trace from the event lists and the full text before it is changed, inside the
    caller's transaction; return whether it was in them."""
    (done,) = connection.execute("SELECT value FROM meta WHERE key='indexed'").fetchone()
    if trace > int(done):
        return False
    take_event_list(connection, trace)
    # The full-text index does not store its words: to delete a row, FTS5 needs them again.
    text = searchable(_stored_events(connection, trace))
    connection.execute(
        "INSERT INTO search (search, rowid, body) VALUES ('delete', ?, ?)", (trace, text)
    )
    return True


def index_trace(connection: sqlite3.Connection, trace: int) -> None:
    """Index a changed trace again, inside the caller's transaction."""
    events = _stored_events(connection, trace)
    put_event_lists(connection, [event_list(trace, events)])
    connection.execute(_TEXT, (trace, searchable(events)))


def _stored_events(connection: sqlite3.Connection, trace: int) -> list[Event]:
    pack, offset, length, count = connection.execute(
        "SELECT pack, offset, length, events FROM trace WHERE id=?", (trace,)
    ).fetchone()
    raw = None if pack is None else frame_bytes(connection, pack)[offset : offset + length]
    return _events(connection, trace, raw, count)


def searchable(events: Sequence[Event]) -> str:
    """Return the words of a trace: tools, arguments, observations and messages, up to a megabyte.

    The index keeps neither positions nor frequencies, so each tool occurs once, in any order.
    """
    tools = " ".join(sorted({event.tool for event in events if event.tool is not None}))
    raws = [event.arguments for event in events]
    raws += [event.observation for event in events]
    raws += [event.message for event in events]
    joined = b" ".join(raws)
    if len(joined) + len(tools) >= TEXT_PER_TRACE:
        return searchable_in_order(events)
    if b"\\u" in joined:
        return f"{' '.join([_readable(bytes(raw)) for raw in raws])} {tools}"
    if b"\\" in joined:
        joined = joined.replace(b"\\n", b" ").replace(b"\\t", b" ")
    return f"{joined.decode('utf-8', 'replace')} {tools}"


def searchable_in_order(events: Sequence[Event]) -> str:
    """Return the same words in the order of the events, so that only the last events are cut off at
    a megabyte."""
    parts: list[str] = []
    size = 0
    for event in events:
        if event.tool is not None:
            parts.append(event.tool)
        for raw in (event.arguments, event.observation, event.message):
            if raw != ABSENT:
                text = _readable(bytes(raw))
                parts.append(text)
                size += len(text)
        if size > TEXT_PER_TRACE:
            break
    return " ".join(parts)[:TEXT_PER_TRACE]


def _readable(data: bytes) -> str:
    """JSON as text, with the letters that it writes as escapes."""
    if b"\\u" in data:
        with suppress(msgspec.MsgspecError):  # half of a surrogate pair is not valid text
            data = msgspec.json.encode(msgspec.json.decode(data))
    return data.decode("utf-8", "replace").replace("\\n", " ").replace("\\t", " ")
