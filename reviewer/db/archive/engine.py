"""DuckDB, which writes archives and answers questions about them, opened so that it reads no file,
no variable and no network by itself. It comes with the extra `archive`; only this module imports
it, when it is needed."""

import importlib.util
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from reviewer.db.archive.tables import SCHEMA, WHOSE, Table

T = TypeVar("T")
INSTALL = "pip install 'release-reviewer[archive]'"
MEMORY = "1GB"
"""Memory that DuckDB may use; the excess goes to a file in its own temporary folder."""
_WRITING = "512MB"
_ROW_GROUP = 122_880


class ArchiveError(Exception):
    """An archive cannot be written or read in this way; the text says what is wrong, and where."""


@cache
def is_installed() -> bool:
    """Return whether DuckDB is installed."""
    return importlib.util.find_spec("duckdb") is not None


def connect(scratch: Path, memory: str = MEMORY) -> Any:
    """Return a connection to a database in memory. Data that does not fit goes below `scratch`, a
    private folder; the user's extensions and secrets are ignored."""
    import duckdb

    return duckdb.connect(
        ":memory:",
        config={
            "allow_persistent_secrets": "false",
            "allow_unsigned_extensions": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "extension_directory": str(scratch / "extensions"),
            "memory_limit": memory,
            "python_enable_replacements": "false",
            "temp_directory": str(scratch / "spill"),
            "threads": str(min(os.cpu_count() or 1, 8)),
        },
    )


def error_class() -> type[Exception]:
    """Return the class of DuckDB's errors."""
    import duckdb

    found: type[Exception] = duckdb.Error
    return found


def interruptible(base: Any, work: Callable[[], T]) -> T:
    """Return the result of `work`, which queries this connection. `work` runs in another thread,
    since DuckDB does not look for Ctrl-C while it computes: Ctrl-C interrupts the query here, and
    is raised again."""
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(work)
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():  # Ctrl-C may come just before the query begins
                base.interrupt()
                wait([running], 0.1)
            raise


def text(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + value.replace('"', '""') + '"'


def path(value: Path) -> str:
    """Return a path as a literal of SQL, in which no character is a wildcard."""
    return text(_MAGIC.sub(r"[\1]", str(value)))


_MAGIC = re.compile(r"([\[*?])")


class Writer:
    """Makes Parquet files of lines of JSON."""

    def __init__(self, scratch: Path) -> None:
        self._base = connect(scratch, _WRITING)

    def write(self, table: Table, lines: Path, longest: int, target: Path) -> int:
        """Write the rows in `lines`, the longest of which has `longest` bytes, to a new file and
        return how many there were. An absent member becomes null."""
        lists = table.columns[len(WHOSE) :] if table.listed else ()
        columns = ", ".join(
            f"{name(one.name)}: {text(one.type + '[]' if one in lists else one.type)}"
            for one in table.columns
        )
        shown = ", ".join(
            f"unnest({name(one.name)}) AS {name(one.name)}" if one in lists else name(one.name)
            for one in table.columns
        )
        source = (
            f"read_json({path(lines)}, format='newline_delimited', columns={{{columns}}},"
            f" maximum_object_size={max(longest + 1024, 1 << 16)})"
        )
        kept = f'KV_METADATA {{schema: {text(SCHEMA)}, "table": {text(table.name)}}}'
        try:
            (rows,) = self._base.execute(
                f"COPY (SELECT {shown} FROM {source}) TO {text(str(target))}"
                f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}, {kept})"
            ).fetchone()
        except error_class() as error:
            raise ArchiveError(f"{target}: {str(error).partition(chr(10))[0]}") from error
        return int(rows)

    def close(self) -> None:
        self._base.close()
