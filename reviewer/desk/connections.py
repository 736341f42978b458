"""Read-only connections to the store, lent out and taken back: any thread may ask at any time."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from reviewer.db.connection import StoreError, reader, scripts
from reviewer.db.schema import bring_up_to_date, version_of

IDLE = 4


class Readers:
    """Connections of one store. A connection serves one question at a time."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._lock = Lock()
        self._idle: list[sqlite3.Connection] = []
        self._lent: set[sqlite3.Connection] = set()
        self._watch: sqlite3.Connection | None = None

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """A connection for the length of one question. Raises StoreError without a store."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._open()
        with self._lock:
            self._lent.add(connection)
        try:
            yield connection
        finally:
            self._take_back(connection)

    def _open(self) -> sqlite3.Connection:
        """A new connection; a store of an older reviewer is brought up to date first."""
        connection = reader(self._store)
        if version_of(connection) < len(scripts()):
            connection.close()
            bring_up_to_date(self._store)
            connection = reader(self._store)
        return connection

    def _take_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._lent.discard(connection)
            keep = len(self._idle) < IDLE and not connection.in_transaction
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def version(self) -> int:
        """A number that changes when anything was committed, by whichever process; 0 without a
        store. Only ever compared with itself: it belongs to one connection."""
        with self._lock:
            try:
                if self._watch is None:
                    self._watch = reader(self._store)
                return int(self._watch.execute("PRAGMA data_version").fetchone()[0])
            except (StoreError, sqlite3.Error):
                self._watch = None
                return 0

    def interrupt(self) -> None:
        """Stop the questions at work."""
        with self._lock:
            for connection in self._lent:
                connection.interrupt()

    def close(self) -> None:
        """Let every connection go; those lent out are stopped and closed by who has them."""
        self.interrupt()
        with self._lock:
            idle, self._idle = self._idle, []
            watch, self._watch = self._watch, None
        for connection in (*idle, *([watch] if watch else [])):
            connection.close()
