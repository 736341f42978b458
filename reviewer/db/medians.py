"""Median latency of each episode of one candidate, for orders and filters: kept in memory, brought
up by what was written since, and lent to a connection as a table of its own."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import count, groupby
from operator import itemgetter

_STAMPS = count(1)
_BLOCK = 2_000
_TABLE = (
    "PRAGMA temp_store=MEMORY",
    "PRAGMA query_only=OFF",
    "BEGIN",
    "DROP TABLE IF EXISTS temp.latency",
    "CREATE TABLE temp.latency (episode INTEGER PRIMARY KEY, ms REAL NOT NULL)",
)


class Medians:
    """In ms, over every attempt that has a latency (type 7). Traces are never changed or taken
    away, so what came behind is all there is to read anew."""

    def __init__(self, candidate: int) -> None:
        self._candidate = candidate
        self._ms: dict[int, float] = {}
        self._last = 0
        self._stamp = 0

    def lend(self, connection: sqlite3.Connection) -> None:
        """Bring up what is known, and put it into `temp.latency` of this connection. The store is
        open for reading alone, whatever is said of the connection's own tables."""
        self._bring_up(connection)
        if connection.execute("PRAGMA temp.user_version").fetchone()[0] == self._stamp:
            return
        try:
            for statement in _TABLE:
                connection.execute(statement)
            connection.executemany("INSERT INTO temp.latency VALUES (?, ?)", self._ms.items())
            connection.execute(f"PRAGMA temp.user_version={self._stamp}")
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("PRAGMA query_only=ON")

    def _bring_up(self, connection: sqlite3.Connection) -> None:
        last = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
        if last == self._last and self._stamp:
            return
        only = ""
        if self._last:
            only = (
                " AND episode IN (SELECT episode FROM trace WHERE id > :last"
                " AND candidate = :candidate)"
            )
        rows = connection.execute(
            "SELECT episode, latency_ms FROM trace WHERE candidate = :candidate"
            f" AND latency_ms IS NOT NULL{only} ORDER BY episode",
            {"candidate": self._candidate, "last": self._last},
        )
        found = {episode: _median(values) for episode, values in _by_episode(rows)}
        if found or not self._stamp:
            self._ms.update(found)
            self._stamp = next(_STAMPS)
        self._last = last


def _by_episode(
    rows: sqlite3.Cursor,
) -> Iterator[tuple[int, list[float]]]:
    """A million rows are not held at once."""
    for episode, group in groupby(_each(rows), key=itemgetter(0)):
        yield episode, [row[1] for row in group]


def _each(rows: sqlite3.Cursor) -> Iterator[tuple[int, float]]:
    while block := rows.fetchmany(_BLOCK):
        yield from block


def _median(found: Iterable[float]) -> float:
    values = sorted(found)
    half, odd = divmod(len(values), 2)
    if odd:
        return values[half]
    low = values[half - 1]
    return low + (values[half] - low) * 0.5
