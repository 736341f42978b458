"""Sessions that tools keep in SQLite databases, one module per tool.

A reader is chosen by the tables of a database. It assembles rows in the form that the same tool
exports, and passes them to the reader of that export, so that a session has the same facts from
both.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from reviewer.db.foreign import ForeignDatabase, Row
from reviewer.importing.database import database, journals, tables_in
from reviewer.importing.formats.sessions import MOST_BYTES, SessionFormat
from reviewer.importing.head import Head
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source

Needs = Mapping[str, tuple[str, ...]]


class DatabaseReader(SessionFormat, ABC):
    """A tool's database."""

    needs: ClassVar[Needs]
    """Tables by which it is recognized, with columns that each must have."""

    def sniff(self, head: Head) -> bool:
        there = tables_in(head)
        return all(set(columns) <= set(there.get(name, ())) for name, columns in self.needs.items())

    def companions(self, path: Path) -> tuple[Path, ...]:
        return journals(path)

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        with database(source.path) as held:
            if absent := next((name for name in self.needs if name not in held.tables), ""):
                raise Unreadable(f"a SQLite database without the table {absent}")
            yield from self.attempts(source, held)

    @abstractmethod
    def attempts(self, source: Source, held: ForeignDatabase) -> Iterator[Foreign | Broken]:
        """Yield every attempt, in a stable order. Raises DAMAGED, Unreadable."""


def families(above: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each session that no other one of the database started, with itself and all that it
    started, directly or not. `above` has the session that started each. Sessions in a cycle are
    below no such one: each is yielded once."""
    below: dict[str, list[str]] = {}
    for own, starter in above.items():
        below.setdefault(starter, []).append(own)
    done: set[str] = set()
    tops = [own for own, starter in above.items() if starter not in above]
    for top in (*tops, *above):
        family = list(_under(top, below, done))
        if family:
            yield top, family


def _under(top: str, below: Mapping[str, list[str]], done: set[str]) -> Iterator[str]:
    waiting = [top]
    while waiting:
        own = waiting.pop()
        if own not in done:
            done.add(own)
            yield own
            waiting += reversed(below.get(own, ()))


def grouped(rows: Iterator[Row], width: int) -> Iterator[tuple[Row, list[Row]]]:
    """Yield (the first `width` columns, rows) for rows that are ordered by those columns. Raises
    Unreadable for a group that is too large to be read together."""
    for key, group in groupby(rows, lambda row: row[:width]):
        yield key, list(bounded(group))


def bounded(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows that are read together, up to a limit. Raises Unreadable above it."""
    size = 0
    for row in rows:
        size += sum(len(one) for one in row if isinstance(one, bytes))
        if size > MOST_BYTES:
            raise Unreadable(f"a session of over {MOST_BYTES >> 20} MiB")
        yield row


def value_in(source: Source, raw: Any) -> Any:
    """Return the JSON value of a column; None when it is not JSON."""
    if not isinstance(raw, bytes):
        return None
    try:
        return source.value(raw)
    except (Rejected, RecursionError):
        return None
