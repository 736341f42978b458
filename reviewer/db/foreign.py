"""Databases that other tools made: rows of their tables, in order, bounded. Nothing in such a file
is executed: only ordinary tables are read, by this module's own SELECTs; views, triggers, virtual
tables and functions are denied."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

MOST_STEPS = 2_000_000_000
"""Instructions of SQLite's virtual machine that may be spent on one file."""
_EVERY = 1_000_000
MOST_TABLES = 1000
MOST_VALUE = 64 << 20
_HARDENED = ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0")
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
_NAMES = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    f" ORDER BY rowid LIMIT {MOST_TABLES}"
)
_UNSAFE = "unsafe use of"
ROWID = "rowid"
"""An order: as the rows were written."""

Row = tuple[Any, ...]
DAMAGED = (sqlite3.Error, UnicodeError)
"""The errors that reading a damaged database raises."""


class ForeignDatabase:
    """A database that is open for reading. `copy` says that the file is a copy, so that SQLite may
    roll back or apply its journal; any other file is opened as immutable, and is never written to.
    Raises DAMAGED."""

    def __init__(self, path: Path, *, copy: bool = False) -> None:
        how = "mode=rw" if copy else "mode=ro&immutable=1"
        uri = f"file:{quote(str(path))}?{how}"
        self._steps = 0
        self._connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            self.tables = self._prepared()
            """Columns by table, without those that are computed."""
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def _prepared(self) -> dict[str, tuple[str, ...]]:
        connection = self._connection
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(self._step, _EVERY)
        for pragma in _HARDENED:
            connection.execute(f"PRAGMA {pragma}")
        try:
            names = connection.execute(_NAMES).fetchall()
        except sqlite3.DatabaseError as error:
            if _UNSAFE not in str(error):
                raise
            # An index on an expression: older SQLite does not read such a schema unless it is
            # trusted. Nothing evaluates the expression: no row is written, and from below on no
            # statement may use a function.
            connection.execute("PRAGMA trusted_schema=ON")
            names = connection.execute(_NAMES).fetchall()
        found: dict[str, tuple[str, ...]] = {}
        for (raw,) in names:
            name = as_text(raw)
            columns = connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
            found[name] = tuple(as_text(column[1]) for column in columns)
        connection.set_authorizer(_authorized)  # from here on, only tables can be read
        return found

    def _step(self) -> bool:
        self._steps += _EVERY
        return self._steps > MOST_STEPS

    def rows(
        self,
        table: str,
        columns: Sequence[str],
        order: Sequence[str] = (),
        where: str = "",
        value: Any = None,
    ) -> Iterator[Row]:
        """Yield rows of a table; texts are bytes. A column that the table lacks is None, and no row
        has a value in it. Raises KeyError for a table that does not exist, DAMAGED."""
        there = self.tables[table]
        if where and where not in there:
            return  # a computed column would run its expression
        wanted = ", ".join(_quoted(name) if name in there else "NULL" for name in columns)
        by = ", ".join(_quoted(name) for name in order if name in there or name == ROWID)
        text = f"SELECT {wanted} FROM {_quoted(table)}"
        text += f" WHERE {_quoted(where)} = ?" if where else ""
        text += f" ORDER BY {by}" if by else ""
        yield from self._connection.execute(text, (value,) if where else ())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _authorized(action: int, *about: str | None) -> int:
    """Return whether SQLite may do this; the last of `about` names the view or trigger that asks
    for it."""
    return sqlite3.SQLITE_OK if action in _ALLOWED and not about[-1] else sqlite3.SQLITE_DENY


def as_text(value: Any) -> str:
    """Return a value as text; empty for NULL."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def said(error: Exception) -> str:
    """Return what is wrong with a database, without quoting its values."""
    return getattr(error, "sqlite_errorname", "") or type(error).__name__
