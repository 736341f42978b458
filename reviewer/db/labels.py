"""Labels in the store: written durably with their journal entry, and read back.

A label is only ever added. What it means is not known here: a row is its narrow columns and the
bytes it travels as.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.db import journal
from reviewer.db.connection import transaction
from reviewer.db.proof import said_digest

RECORDED = "labels.recorded"


class LabelRow(NamedTuple):
    """One label. `suite` is the suite's digest, `body` the label as a line of a file of labels."""

    uid: str
    suite: str
    item: str
    showing: int
    reviewer: str
    role: str
    at: str
    body: bytes


class Stored(NamedTuple):
    """A label's place in the store, from 1, and its bytes."""

    id: int
    body: bytes


def record(
    connection: sqlite3.Connection, store: Path, labels: Iterable[LabelRow], now: str
) -> tuple[str, ...]:
    """Add the labels that are not there yet, as one durable transaction; returns their uids.

    Raises StoreError when nothing could be written.
    """
    with transaction(connection, store):
        return add(connection, labels, now)


def add(connection: sqlite3.Connection, labels: Iterable[LabelRow], now: str) -> tuple[str, ...]:
    """As `record`, inside the caller's transaction."""
    distinct = {label.uid: label for label in labels}
    known = known_uids(connection, list(distinct))
    fresh = [label for uid, label in distinct.items() if uid not in known]
    if not fresh:
        return ()
    first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM label").fetchone()[0]
    connection.executemany(
        "INSERT INTO label (id, uid, suite, item, showing, reviewer, role, at, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(key, *label) for key, label in enumerate(fresh, first)],
    )
    journal.append(
        connection,
        {
            "type": RECORDED,
            "first": first,
            "added": len(fresh),
            "digest": said_digest(connection, "label", first, len(fresh)),
            "at": now,
        },
    )
    return tuple(label.uid for label in fresh)


def known_uids(connection: sqlite3.Connection, uids: Sequence[str]) -> set[str]:
    """Those of `uids` that stand in the store."""
    found: set[str] = set()
    for start in range(0, len(uids), 500):
        some = uids[start : start + 500]
        marks = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT uid FROM label WHERE uid IN ({marks})", some)
        found.update(row[0] for row in rows.fetchall())
    return found


def labels_of(connection: sqlite3.Connection, suite_digest: str, after: int = 0) -> list[Stored]:
    """Every label of a suite behind the place `after`, oldest first."""
    rows = connection.execute(
        "SELECT id, body FROM label WHERE suite=? AND id>? ORDER BY id", (suite_digest, after)
    )
    return [Stored(*row) for row in rows.fetchall()]


def rows_of(connection: sqlite3.Connection, suite_digest: str) -> list[LabelRow]:
    """Every label of a suite with its columns, oldest first."""
    rows = connection.execute(
        "SELECT uid, suite, item, showing, reviewer, role, at, body FROM label WHERE suite=?"
        " ORDER BY id",
        (suite_digest,),
    )
    return [LabelRow(*row) for row in rows.fetchall()]


def suites_labeled(connection: sqlite3.Connection) -> list[str]:
    """Digests of the suites that have a label."""
    rows = connection.execute("SELECT DISTINCT suite FROM label ORDER BY suite")
    return [row[0] for row in rows.fetchall()]
