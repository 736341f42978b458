"""Labels, judgments, notes and looks for leaks in the store: written with their journal entry, and
read back.

They are only ever added. What a row means is not known here: it is its narrow columns and the bytes
it travels as.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from reviewer.db import journal
from reviewer.db.connection import transaction
from reviewer.db.proof import Said, said_digest

Row = TypeVar("Row", bound=tuple[Any, ...])


class Stored(NamedTuple):
    """A row's place in the store, from 1, and the bytes it travels as."""

    id: int
    body: bytes


class Table(Generic[Row]):
    """The table of one kind. `columns` are those of a row without its id, `uid` first; `entry` is
    the type of the journal entries that speak of it."""

    def __init__(
        self,
        name: Said,
        columns: Sequence[str],
        entry: str,
    ) -> None:
        self._name, self._entry = name, entry
        marks = ", ".join("?" * len(columns))
        named = ", ".join(f'"{column}"' for column in columns)
        self._insert = f"INSERT INTO {name} (id, {named}) VALUES (?, {marks})"

    def record(
        self, connection: sqlite3.Connection, store: Path, rows: Iterable[Row], now: str
    ) -> tuple[str, ...]:
        """Add the rows that are not there yet, as one durable transaction; returns their uids.

        Raises StoreError when nothing could be written.
        """
        with transaction(connection, store):
            return self._add(connection, rows, now)

    def _add(
        self, connection: sqlite3.Connection, rows: Iterable[Row], now: str
    ) -> tuple[str, ...]:
        distinct = {row[0]: row for row in rows}
        known = self._known(connection, list(distinct))
        fresh = [row for uid, row in distinct.items() if uid not in known]
        if not fresh:
            return ()
        last = connection.execute(f"SELECT coalesce(max(id), 0) FROM {self._name}").fetchone()[0]
        first = last + 1
        connection.executemany(self._insert, [(key, *row) for key, row in enumerate(fresh, first)])
        journal.append(
            connection,
            {
                "type": self._entry,
                "first": first,
                "added": len(fresh),
                "digest": said_digest(connection, self._name, first, len(fresh)),
                "at": now,
            },
        )
        return tuple(row[0] for row in fresh)

    def _known(self, connection: sqlite3.Connection, uids: Sequence[str]) -> set[str]:
        rows = connection.execute(
            f"SELECT uid FROM {self._name} WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(uids),),
        )
        return {row[0] for row in rows.fetchall()}

    def of_suite(
        self, connection: sqlite3.Connection, suite_digest: str, after: int = 0
    ) -> list[Stored]:
        """Every row of a suite behind the place `after`, oldest first."""
        rows = connection.execute(
            f"SELECT id, body FROM {self._name} WHERE suite=? AND id>? ORDER BY id",
            (suite_digest, after),
        )
        return [Stored(*row) for row in rows.fetchall()]

    def has(self, connection: sqlite3.Connection, suite: str) -> bool:
        """Whether the suite, as this table names it, has a row."""
        row = connection.execute(f"SELECT 1 FROM {self._name} WHERE suite=? LIMIT 1", (suite,))
        return row.fetchone() is not None

    def suites(self, connection: sqlite3.Connection) -> list[str]:
        """Digests of the suites that have a row."""
        rows = connection.execute(f"SELECT DISTINCT suite FROM {self._name} ORDER BY suite")
        return [row[0] for row in rows.fetchall()]
