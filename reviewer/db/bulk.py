"""Read many stored records in the order of their packs, so that each pack is opened and checked
once.

Code that walks the store reads through this module: reading a single record costs a digest and a
decompression of its whole pack of up to 64 records.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from reviewer.db.payload import frame_bytes
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_from, traces_from


class Placed(Protocol):
    """Where a record is stored; all None when its payload was refused or is kept in chunks."""

    @property
    def pack(self) -> int | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def length(self) -> int | None: ...


P = TypeVar("P", bound=Placed)


class Packs:
    """Opens packs for one connection and keeps the last one, so that records of one pack are read
    together."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._held, self._frame = -1, b""

    def record(self, pack: int | None, offset: int | None, length: int | None) -> bytes | None:
        """Return the record at a place, None where the place is empty. Raises StoreError for a pack
        that does not match its digest."""
        if pack is None or offset is None or length is None:
            return None
        if pack != self._held:
            self._frame, self._held = frame_bytes(self._connection, pack), pack
        return self._frame[offset : offset + length]

    def records(self, rows: Sequence[P]) -> Iterator[tuple[P, bytes | None]]:
        """Yield each row with its record as stored, in the order of their packs; None for a row
        without a place in a pack. Raises StoreError."""
        for row in sorted(rows, key=_place):
            yield row, self.record(row.pack, row.offset, row.length)


def _place(row: Placed) -> tuple[int, int]:
    return row.pack or 0, row.offset or 0


class Page:
    """The traces of some candidates with ids in a range, with their findings and numbers of
    revisions."""

    def __init__(
        self, connection: sqlite3.Connection, candidates: Sequence[int], first: int, last: int
    ) -> None:
        self.rows: list[TraceRow] = traces_from(connection, candidates, first, last)
        self.findings: dict[int, list[FindingRow]] = {}
        for one in findings_from(connection, first, last):
            self.findings.setdefault(one.trace, []).append(one)
        self.kept: dict[int, int] = dict(
            connection.execute(
                "SELECT trace, count(*) FROM revision WHERE trace BETWEEN ? AND ? GROUP BY trace",
                (first, last),
            ).fetchall()
        )
        """Number of further records, by trace; traces without any are absent."""
