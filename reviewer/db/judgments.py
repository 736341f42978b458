"""Judgments in the store: written in batches with their journal entry, and read back.

A judgment is only ever added. What it means is not known here: a row is its narrow columns and the
bytes it travels as.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.db import journal
from reviewer.db.connection import transaction
from reviewer.db.proof import said_digest

ADDED = "judgments.added"


class JudgmentRow(NamedTuple):
    """One judgment. `suite` is the suite's digest, `body` the judgment as a line of a file of
    judgments."""

    uid: str
    request: str
    suite: str
    item: str
    order: str
    repeat: int
    judge_id: str
    model: str
    at: str
    body: bytes


class Stored(NamedTuple):
    """A judgment's place in the store, from 1, and its bytes."""

    id: int
    body: bytes


def record(
    connection: sqlite3.Connection, store: Path, judgments: Iterable[JudgmentRow], now: str
) -> tuple[str, ...]:
    """Add the judgments that are not there yet, as one durable transaction; returns their uids.

    Raises StoreError when nothing could be written.
    """
    with transaction(connection, store):
        return add(connection, judgments, now)


def add(
    connection: sqlite3.Connection, judgments: Iterable[JudgmentRow], now: str
) -> tuple[str, ...]:
    """As `record`, inside the caller's transaction."""
    distinct = {one.uid: one for one in judgments}
    known = {
        row[0]
        for row in connection.execute(
            "SELECT uid FROM judgment WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(list(distinct)),),
        ).fetchall()
    }
    fresh = [one for uid, one in distinct.items() if uid not in known]
    if not fresh:
        return ()
    first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM judgment").fetchone()[0]
    connection.executemany(
        'INSERT INTO judgment (id, uid, request, suite, item, "order", repeat, judge_id, model,'
        " at, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(key, *one) for key, one in enumerate(fresh, first)],
    )
    journal.append(
        connection,
        {
            "type": ADDED,
            "first": first,
            "added": len(fresh),
            "digest": said_digest(connection, "judgment", first, len(fresh)),
            "at": now,
        },
    )
    return tuple(one.uid for one in fresh)


def judgments_of(connection: sqlite3.Connection, suite_digest: str, after: int = 0) -> list[Stored]:
    """Every judgment of a suite behind the place `after`, oldest first."""
    rows = connection.execute(
        "SELECT id, body FROM judgment WHERE suite=? AND id>? ORDER BY id", (suite_digest, after)
    )
    return [Stored(*row) for row in rows.fetchall()]


def rows_of(connection: sqlite3.Connection, suite_digest: str) -> list[JudgmentRow]:
    """Every judgment of a suite with its columns, oldest first."""
    rows = connection.execute(
        'SELECT uid, request, suite, item, "order", repeat, judge_id, model, at, body'
        " FROM judgment WHERE suite=? ORDER BY id",
        (suite_digest,),
    )
    return [JudgmentRow(*row) for row in rows.fetchall()]


def suites_judged(connection: sqlite3.Connection) -> list[str]:
    """Digests of the suites that have a judgment."""
    rows = connection.execute("SELECT DISTINCT suite FROM judgment ORDER BY suite")
    return [row[0] for row in rows.fetchall()]


def answered(connection: sqlite3.Connection, requests: Sequence[str]) -> dict[str, list[bytes]]:
    """The judgments under each of these request digests, oldest first; those with none are
    absent."""
    found: dict[str, list[bytes]] = {}
    rows = connection.execute(
        "SELECT request, body FROM judgment WHERE request IN (SELECT value FROM json_each(?))"
        " ORDER BY id",
        (json.dumps(list(requests)),),
    )
    for request, body in rows.fetchall():
        found.setdefault(request, []).append(body)
    return found
