"""Copies of a store: one whole file, without a write-ahead log."""

import sqlite3
from contextlib import closing
from pathlib import Path

from reviewer.db import journal
from reviewer.db.connection import StoreError, reader
from reviewer.db.journal import Head


class StoreInUse(StoreError):
    """Another process has the store open."""


def copy_whole(source: sqlite3.Connection, target: Path) -> Head:
    """Copy a store through SQLite's backup while other processes may write; return the head of the
    copy's journal. Raises sqlite3.Error."""
    with closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")
        return journal.head(copy)


RESTORED = "store.restored"
"""The journal entry of a backup that replaced a later store."""


def note_restored(copy: Path, lost: int, now: str) -> Head:
    """Record durably in the journal of a backup that it replaces a store with `lost` more entries,
    and return its new head. Otherwise their loss would leave no mark."""
    with closing(sqlite3.connect(copy)) as connection, connection:
        return journal.append(connection, {"type": RESTORED, "lost": lost, "at": now})


def fold_log(store: Path, head: Head) -> int | None:
    """Write a store's log into the store and remove it; return how many entries its journal has
    after `head`, None when it does not hold that entry. Raises StoreInUse when another process has
    the store open, any of DAMAGE when it cannot be read."""
    try:
        with closing(reader(store)) as connection:
            last = journal.head(connection).seq
            same = journal.hash_at(connection, head.seq) == head.hash.hex()
        with closing(sqlite3.connect(store, timeout=1, isolation_level=None)) as connection:
            mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
            raise StoreInUse(f"{store} is in use") from error
        raise
    if mode != "delete":
        raise StoreInUse(f"{store} is in use")
    return last - head.seq if same else None
