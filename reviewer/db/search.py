"""Rows per event and the full-text index: derived from payloads, filled after an import.

`meta.indexed` is the last trace done; it moves in the same transaction as the rows, so a killed run
continues where it stopped and nothing is done twice.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.db.connection import transaction
from reviewer.db.payload import decode_record, frame_bytes, large_events
from reviewer.trace.record import ABSENT, Event, kind_of

BATCH = 256
TEXT_PER_TRACE = 1 << 20
MOST_NAMED = 5
_EVENT = "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_TEXT = "INSERT INTO search (rowid, body) VALUES (?, ?)"

MOST_COUNTED = 10_000
"""Traces counted at most by one search."""


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
    """Return whether the index takes this for one word: its Unicode is older than Python's."""
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
    """Return the number of traces of a candidate without event rows yet."""
    row = connection.execute(
        "SELECT count(*) FROM trace WHERE candidate=?"
        " AND id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')",
        (candidate,),
    ).fetchone()
    return int(row[0])


def pending_events(connection: sqlite3.Connection) -> int:
    """Events still without a row."""
    row = connection.execute(
        "SELECT coalesce(sum(events), 0) FROM trace"
        " WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')"
    ).fetchone()
    return int(row[0])


def index_faults(connection: sqlite3.Connection) -> list[str]:
    """Return where event rows or full text differ from the payloads of the indexed traces: a search
    would miss what was removed there. Traces not indexed yet are no fault.

    Counts alone are compared, and payloads opened where they differ. May raise any of DAMAGE.
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
    (held,) = connection.execute("SELECT count(*) FROM event").fetchone()
    (given,) = connection.execute(
        "SELECT coalesce(sum(events), 0) FROM trace WHERE id <= ?"
        " AND (pack IS NOT NULL OR EXISTS (SELECT 1 FROM chunk WHERE chunk.trace = trace.id))",
        (done,),
    ).fetchone()
    if held != given and (missing := _wrong_events(connection, done)):
        wrong.append(f"event rows of trace {', '.join(map(str, missing))}")
    return wrong


def _wrong_events(connection: sqlite3.Connection, done: int) -> list[int]:
    """Return the first traces whose event rows differ from their payloads."""
    wrong = [
        trace
        for (trace,) in connection.execute(
            "SELECT DISTINCT trace FROM event WHERE trace > ?"
            " OR trace NOT IN (SELECT id FROM trace) LIMIT ?",
            (done, MOST_NAMED),
        ).fetchall()
    ]
    rows = connection.execute(
        "SELECT t.id, t.events, count(e.trace) AS held FROM trace t LEFT JOIN event e"
        " ON e.trace = t.id WHERE t.id <= ? GROUP BY t.id HAVING held <> t.events ORDER BY t.id",
        (done,),
    )
    for trace, _, held in rows:
        # A number that occurs twice in a trace is one row, and a refused payload has none.
        if held != len({row[1] for row in event_rows(trace, _stored_events(connection, trace))}):
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
    """Index the next batch; returns the number of traces, 0 when there is nothing left."""
    rows, texts, last = [], [], 0
    with transaction(connection, store):
        traces = connection.execute(
            "SELECT id, pack, offset, length, events FROM trace"
            " WHERE id > (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')"
            " ORDER BY id LIMIT ?",
            (BATCH,),
        ).fetchall()
        held, frame = -1, b""
        for trace, pack, offset, length, count in traces:
            last = trace
            if pack is not None and pack != held:
                held, frame = pack, frame_bytes(connection, pack)
            raw = None if pack is None else frame[offset : offset + length]
            events = _events(connection, trace, raw, count)
            rows += event_rows(trace, events)
            texts.append((trace, searchable(events)))
        if not traces:
            return 0
        connection.executemany(_EVENT, rows)
        connection.executemany(_TEXT, texts)
        connection.execute("UPDATE meta SET value=? WHERE key='indexed'", (str(last),))
    return len(traces)


def _events(
    connection: sqlite3.Connection, trace: int, raw: bytes | None, count: int
) -> list[Event]:
    """The events of a trace: of its payload, or of its chunks when it has none."""
    if raw is None:
        return large_events(connection, trace, 0, count)
    return decode_record(raw).events


def unindex_trace(connection: sqlite3.Connection, trace: int) -> bool:
    """Remove a trace from the event rows and the full text before it is changed, inside the
    caller's transaction; return whether it was there."""
    (done,) = connection.execute("SELECT value FROM meta WHERE key='indexed'").fetchone()
    if trace > int(done):
        return False
    connection.execute("DELETE FROM event WHERE trace=?", (trace,))
    # The full text does not store its words: to delete a row, FTS5 needs them again.
    text = searchable(_stored_events(connection, trace))
    connection.execute(
        "INSERT INTO search (search, rowid, body) VALUES ('delete', ?, ?)", (trace, text)
    )
    return True


def index_trace(connection: sqlite3.Connection, trace: int) -> None:
    """Put a changed trace back in, inside the caller's transaction."""
    events = _stored_events(connection, trace)
    connection.executemany(_EVENT, event_rows(trace, events))
    connection.execute(_TEXT, (trace, searchable(events)))


def _stored_events(connection: sqlite3.Connection, trace: int) -> list[Event]:
    pack, offset, length, count = connection.execute(
        "SELECT pack, offset, length, events FROM trace WHERE id=?", (trace,)
    ).fetchone()
    raw = None if pack is None else frame_bytes(connection, pack)[offset : offset + length]
    return _events(connection, trace, raw, count)


def event_rows(trace: int, events: list[Event]) -> list[tuple[object, ...]]:
    """Narrow facts of each event; the short form's missing status is ok."""
    rows: list[tuple[object, ...]] = []
    for position, event in enumerate(events, 1):
        status = event.status
        if status is None and event.kind is None and event.tool is not None:
            status = "ok"
        rows.append(
            (
                trace,
                event.seq or position,
                kind_of(event),
                event.tool,
                status,
                event.actor,
                event.latency_ms,
                event.cost_usd,
            )
        )
    return rows


def searchable(events: list[Event]) -> str:
    """The words of a trace: tools, arguments, observations and messages, up to a megabyte."""
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
        with suppress(msgspec.MsgspecError):  # half of a surrogate pair is no text
            data = msgspec.json.encode(msgspec.json.decode(data))
    return data.decode("utf-8", "replace").replace("\\n", " ").replace("\\t", " ")
