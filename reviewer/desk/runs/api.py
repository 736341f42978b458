"""Runs of candidates in this process."""

from __future__ import annotations  # what only types name is not loaded

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from reviewer.desk.opened import Opened
    from reviewer.desk.runs.jobs import RunHandle, Runs
    from reviewer.desk.runs.views import Runnable, RunOrder, RunView


class RunsRoom(Room):
    """The API of `desk.runs`."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        self._begun: Runs | None = None
        self._beginning = Lock()

    def _jobs(self) -> Runs:
        from reviewer.desk.runs.jobs import Runs

        with self._beginning:
            if self._begun is None:
                self._begun = Runs(self._opened.place)
            return self._begun

    def close(self) -> None:
        """Abandon the runs at work."""
        if self._begun is not None:
            self._begun.close()

    def runnable(self, suite_id: str) -> list[Runnable]:
        """The candidates that a suite has manifests of, and whether they can be run."""
        from reviewer.desk.runs.checks import runnable

        if not self._opened.has_store():
            return runnable(self._opened.place, None, suite_id)
        with self._opened.reading() as connection:
            return runnable(self._opened.place, connection, suite_id)

    def start(
        self,
        order: RunOrder,
        on_change: Callable[[RunHandle], None] | None = None,
        keep: Callable[[list[bytes]], None] | None = None,
    ) -> RunHandle:
        """Begin a run; it goes on in a thread of its own, which calls `on_change` when something
        happened and gives `keep` the records that were stored. Raises DeskError when it cannot
        begin."""
        return self._jobs().start(order, on_change, keep)

    def views(self) -> list[RunView]:
        """The runs begun here, newest first."""
        return [] if self._begun is None else self._begun.views()

    def handle(self, number: int) -> RunHandle:
        """What steers a run. Raises DeskError for a number that no run has."""
        return self._jobs().handle(number)
