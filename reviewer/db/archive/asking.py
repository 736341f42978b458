"""Ask archives in SQL: only their tables and the ready views can be read, nothing else of this
machine."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db.archive import guard
from reviewer.db.archive.engine import (
    MEMORY,
    ArchiveError,
    connect,
    error_class,
    interruptible,
    name,
    path,
    text,
)
from reviewer.db.archive.manifest import Manifest
from reviewer.db.archive.tables import TABLES, Table
from reviewer.db.archive.views import MACROS, VIEWS

MOST_SPILL = "20GB"
_BLOCK = 10_000


class Origin(NamedTuple):
    """An archive that is asked, by the name that is shown with its rows."""

    name: str
    folder: Path
    manifest: Manifest


class QueryError(Exception):
    """A question that failed. `line` and `column` count from 1, where DuckDB knows the place."""

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what)
        self.text, self.line, self.column = what, line, column


class Answer(NamedTuple):
    """The rows of an answer, with (name, type) of each column; `more` says whether others are."""

    columns: list[tuple[str, str]]
    rows: list[tuple[Any, ...]]
    more: bool


class Asked:
    """Several archives open for questions. A question can read their tables, but no file,
    variable or network: DuckDB is configured so, and its settings are locked. Use an instance in
    one thread."""

    def __init__(self, origins: Sequence[Origin], scratch: Path, memory: str = MEMORY) -> None:
        self._base = connect(scratch, memory)
        self.views: list[str] = []
        for macro in MACROS:
            self._base.execute(macro)
        for table in TABLES.values():
            if all(table.name in one.manifest.tables for one in origins):
                self._view(table.name, _union(table, origins))
        for view in VIEWS:
            if set(view.needs) <= set(self.views):
                self._view(view.name, view.sql)
        files = [text(str(one)) for one in _paths(origins)]
        files += [path(one) for one in _paths(origins)]
        for setting in (
            f"allowed_paths = [{', '.join(files)}]",
            f"max_temp_directory_size = '{MOST_SPILL}'",
            "ieee_floating_point_ops = false",
            "error_on_division_by_zero = false",  # a share of nothing is null: not known
            "errors_as_json = true",
            "parquet_metadata_cache = true",  # a file's footer is read once for all questions
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            self._base.execute(f"SET {setting}")

    def _view(self, called: str, sql: str) -> None:
        try:
            self._base.execute(f"CREATE VIEW {name(called)} AS {sql}")
        except error_class() as error:  # not a Parquet file
            raise ArchiveError(f"table {called}: {str(error).partition(chr(10))[0]}") from error
        self.views.append(called)

    def ask(self, sql: str, limit: int) -> Answer:
        """Return the answer to a question, at most `limit` rows (0: all). Raises Refused for a
        question that could do more than read, QueryError for one that fails."""
        try:
            columns, rows = interruptible(self._base, lambda: self._read(sql, limit))
        except error_class() as error:
            raise _failure(str(error), sql) from error
        more = bool(limit) and len(rows) > limit
        return Answer(columns, rows[:limit] if limit else rows, more)

    def _read(self, sql: str, limit: int) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        statements = self._base.extract_statements(sql)
        kinds = [str(one.type).rpartition(".")[2] for one in statements]
        read = self._base.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql])
        guard.check(kinds, read.fetchone()[0])
        done = self._base.execute(sql)
        columns = [(str(one[0]), str(one[1])) for one in done.description or ()]
        return columns, done.fetchmany(limit + 1) if limit else done.fetchall()

    def rows(self, sql: str, bound: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a question of our own."""
        found: list[tuple[Any, ...]] = self._base.execute(sql, list(bound)).fetchall()
        return found

    def values(self, sql: str, bound: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the first value of each row of a question of our own, without holding all rows.
        Nothing else may be asked meanwhile."""
        done = self._base.execute(sql, list(bound))
        while block := done.fetchmany(_BLOCK):
            for row in block:
                yield row[0]

    def close(self) -> None:
        self._base.close()


def _paths(origins: Iterable[Origin]) -> list[Path]:
    return [one.folder / file.path for one in origins for file in one.manifest.files]


def _union(table: Table, origins: Sequence[Origin]) -> str:
    """Return the SQL of one table over all archives. A column that an older archive lacks is null
    there, and so is every column of an archive without rows."""
    parts = []
    for one in origins:
        held = one.manifest.tables[table.name].columns
        files = [path(one.folder / f.path) for f in one.manifest.files if f.table == table.name]
        shown = [
            f"CAST({name(c.name) if files and c.name in held else 'NULL'} AS {c.type})"
            f" AS {name(c.name)}"
            for c in table.columns
        ]
        source = f"read_parquet([{', '.join(files)}], hive_partitioning = false)"
        whole = f"SELECT {text(one.name)} AS origin, {', '.join(shown)}"
        parts.append(f"{whole} FROM {source}" if files else f"{whole} WHERE false")
    return " UNION ALL ".join(parts)


def _failure(said: str, sql: str) -> QueryError:
    """Return DuckDB's message about a question as an error, with the place in the question."""
    head, _, told = said.partition(": ")
    try:
        found = json.loads(told)
        what, place = str(found["exception_message"]), found.get("position")
    except (ValueError, KeyError, TypeError):
        return QueryError(said)
    if place is None:
        return QueryError(f"{head}: {what}")
    before = sql.encode()[: int(place)].decode("utf-8", "replace")
    line = before.count("\n") + 1
    return QueryError(f"{head}: {what}", line, len(before) - before.rfind("\n"))
