"""Give back the free pages of a store."""

import sqlite3
import time
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import StoreError, close_writer, unwritten, write_lock
from reviewer.db.queries.sizes import FilePages, file_pages
from reviewer.db.schema import open_writer

STEPS = 1_000
"""Instructions of SQLite's virtual machine between two checks of the time."""


class TooLong(StoreError):
    """Other processes would have waited too long; nothing was changed."""


class VacuumResult(NamedTuple):
    """The pages before and after. `later` says that another process still reads the store as it
    was: the file becomes smaller when that process has finished."""

    before: FilePages
    after: FilePages
    later: bool


def vacuum(path: Path, seconds: float) -> VacuumResult:
    """Rewrite the store without its free pages, in one transaction: no fact, number or journal
    entry changes. Others can read meanwhile but must wait to write, so a rewrite that takes longer
    than `seconds` is rolled back. Raises TooLong, StoreError."""
    connection = open_writer(path)
    try:
        with write_lock(path):
            before = file_pages(connection)
            if not before.free:
                return VacuumResult(before, before, False)
            _within(connection, path, seconds)
            after = file_pages(connection)
            connection.execute("PRAGMA busy_timeout=100")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            return VacuumResult(before, after, bool(busy))
    except sqlite3.Error as error:
        raise StoreError(unwritten(path, error)) from error
    finally:
        close_writer(connection, path)


def _within(connection: sqlite3.Connection, path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() >= end, STEPS)
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
            raise
        raise TooLong(
            f"{path}: not finished within {seconds:g} s, during which others could not write; "
            "nothing was changed"
        ) from error
    finally:
        connection.set_progress_handler(None, 0)
