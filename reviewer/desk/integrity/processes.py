"""Processes that each read one store, and answer questions about it.

Each has a connection of its own and reads at a moment of its own, so a question must have the same
answer at every moment of an intact store.
"""

import os
import signal
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TypeVar

from reviewer.db.connection import Connection, one_moment, reader
from reviewer.importing import processes

T = TypeVar("T")

_store: Path | None = None
_connection: Connection | None = None


class Processes:
    """The processes of one examination. Start them before a connection to the store is opened here:
    SQLite's connections must not be carried into forked processes."""

    def __init__(self, store: Path) -> None:
        self._pool = processes.pool(processes.start_method(), _begin, (store,))
        self._pool.submit(os.getpid)  # forks all of them

    @property
    def parts(self) -> int:
        return 2 * processes.workers()

    def ask(self, question: Callable[[Connection], T], here: Connection) -> Callable[[], T]:
        """Ask a question; return a function that waits for the answer, or raises what the question
        raised. A question whose process was ended from outside is answered by `here`."""
        try:
            future = self._pool.submit(_answer, question)
        except BrokenProcessPool:
            return partial(question, here)

        def answer() -> T:
            try:
                return future.result()
            except BrokenProcessPool:
                return question(here)

        return answer

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _begin(parent: int, store: Path) -> None:
    global _store  # each process keeps its own
    processes.begin(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt does not wait for the answer
    _store = store


def _answer(question: Callable[[Connection], T]) -> T:
    global _connection
    if _connection is None:
        assert _store is not None  # set by _begin before any question
        _connection = reader(_store)
    with one_moment(_connection):
        return question(_connection)
