"""Measurements of the code that ran: written with each batch of attempts, read by candidate."""

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple


class RanTrace(NamedTuple):
    """A new trace with its measurement; None when nothing was measured."""

    trace: int
    candidate: int
    body: bytes | None


class RanRow(NamedTuple):
    """One measurement, and the number of a candidate's traces that it applies to."""

    uid: str
    body: bytes
    traces: int


def write_ran(connection: sqlite3.Connection, made: Sequence[RanTrace]) -> None:
    """Write the measurements of a batch's traces (by rising id) inside the caller's transaction."""
    spans: list[tuple[int, int, int, int]] = []
    for one in made:
        if one.body is None:
            continue
        ran = _ran_id(connection, one.body)
        if spans:
            first, traces, candidate, last_ran = spans[-1]
            if (first + traces, candidate, last_ran) == (one.trace, one.candidate, ran):
                spans[-1] = first, traces + 1, candidate, ran
                continue
        spans.append((one.trace, 1, one.candidate, ran))
    connection.executemany("INSERT INTO ran_traces VALUES (?, ?, ?, ?)", spans)


def put_ran(connection: sqlite3.Connection, trace: int, candidate: int, body: bytes | None) -> None:
    """Write the measurement of a stored trace whose record was replaced, in place of the one of the
    replaced record. Inside the caller's transaction."""
    row = connection.execute(
        "SELECT first, traces, candidate, ran FROM ran_traces WHERE first <= ?"
        " ORDER BY first DESC LIMIT 1",
        (trace,),
    ).fetchone()
    if row is not None and trace < row[0] + row[1]:
        first, traces, candidate, ran = row
        connection.execute("DELETE FROM ran_traces WHERE first=?", (first,))
        for start, end in ((first, trace), (trace + 1, first + traces)):
            if start < end:
                span = start, end - start, candidate, ran
                connection.execute("INSERT INTO ran_traces VALUES (?, ?, ?, ?)", span)
    write_ran(connection, [RanTrace(trace, candidate, body)])


def _ran_id(connection: sqlite3.Connection, body: bytes) -> int:
    uid = hashlib.sha256(body).hexdigest()
    row = connection.execute("SELECT id FROM ran WHERE uid=?", (uid,)).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO ran (uid, body) VALUES (?, ?) RETURNING id", (uid, body)
        ).fetchone()
    return int(row[0])


def ran_of_candidate(connection: sqlite3.Connection, candidate: int) -> list[RanRow]:
    """Return the measurements of a candidate's traces, in the order in which they came. Traces that
    infrastructure ended are left out, as wherever attempts are counted."""
    rows = connection.execute(
        "SELECT r.uid, r.body, count(*) FROM ran_traces t JOIN ran r ON r.id = t.ran"
        " JOIN trace x ON x.id >= t.first AND x.id < t.first + t.traces AND x.infra = 0"
        " WHERE t.candidate=? GROUP BY r.id ORDER BY min(t.first)",
        (candidate,),
    )
    return [RanRow(*row) for row in rows.fetchall()]


def any_ran(connection: sqlite3.Connection, traces: Sequence[int]) -> bool:
    """Return whether any of these traces has a measurement."""
    row = connection.execute(
        "SELECT 1 FROM ran_traces WHERE first <= ? AND first + traces > ? LIMIT 1",
        (max(traces, default=0), min(traces, default=0)),
    ).fetchone()
    return row is not None


def ran_of_trace(connection: sqlite3.Connection, trace: int) -> bytes | None:
    """Return the measurement of one trace, None when nothing was measured."""
    row = connection.execute(
        "SELECT t.first + t.traces, r.body FROM ran_traces t JOIN ran r ON r.id = t.ran"
        " WHERE t.first <= ? ORDER BY t.first DESC LIMIT 1",
        (trace,),
    ).fetchone()
    return None if row is None or row[0] <= trace else row[1]
