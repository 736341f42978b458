"""Stored attempts in the place of which more of the same attempt comes to stand.

A result that was imported before its trajectory is an attempt without events, and a file that is
imported while it is being written holds the beginning of one. When the whole comes it takes their
row: the attempt is counted once, and the journal says that it changed and why.
"""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

from reviewer.db import changed, index
from reviewer.db.intake import NewTrace, trace_row, write_parts

WHY = "more of the same attempts was imported"


class Former(NamedTuple):
    """A stored attempt that may be replaced: where it stands and what it holds."""

    trace: int
    candidate: int
    episode: int
    attempt: int
    evidence: int


def former(connection: sqlite3.Connection, trace: int, evidence: int) -> Former | None:
    """The attempt, as long as it holds this evidence: once replaced it is another's."""
    row = connection.execute(
        "SELECT id, candidate, episode, attempt, evidence FROM trace WHERE id=? AND evidence=?",
        (trace, evidence),
    ).fetchone()
    return Former(*row) if row else None


def replace(
    connection: sqlite3.Connection,
    source: int,
    swaps: Mapping[int, NewTrace],
    first_pack: int,
    now: str,
    why: str = WHY,
) -> None:
    """Put new attempts in the place of stored ones, by row, inside the caller's transaction.
    `first_pack` is the store's id of the packs' first one."""
    if not swaps:
        return
    rows = list(swaps)
    before = changed.places(connection, rows)
    for trace, new in swaps.items():
        listed = index.unlisted(connection, trace)
        row = trace_row(trace, new, source, first_pack)
        names = [name for _, name, *_ in connection.execute("PRAGMA table_info(trace)")]
        settings = ", ".join(f"{name}=?" for name in names[1:])
        connection.execute(f"UPDATE trace SET {settings} WHERE id=?", (*row[1:], trace))
        for table in ("finding", "chunk", "source_verdict"):
            connection.execute(f"DELETE FROM {table} WHERE trace=?", (trace,))
        write_parts(connection, [(trace, new)])
        if listed:
            index.listed(connection, trace)
    changed.recount(connection, before | changed.places(connection, rows))
    changed.note(connection, rows, why, now)
