"""What goes on in threads of its own: runs of candidates, and imports."""

from __future__ import annotations  # what only types name is not loaded

from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewer.desk.opened import Opened

if TYPE_CHECKING:
    from reviewer.desk.imports.jobs import ImportHandle, ImportJobs
    from reviewer.desk.imports.views import ImportOrder, ImportView
    from reviewer.desk.runs.jobs import RunHandle, Runs
    from reviewer.desk.runs.views import Runnable, RunOrder, RunView


class Beginning(Opened):
    """Beginning, watching and steering."""

    def runnable(self, suite_id: str) -> list[Runnable]:
        """The candidates that a suite has manifests of, and whether they can be run."""
        from reviewer.desk.runs.checks import runnable

        if not self._has_store():
            return runnable(self.place, None, suite_id)
        with self._reading() as connection:
            return runnable(self.place, connection, suite_id)

    def start_run(
        self,
        order: RunOrder,
        on_change: Callable[[RunHandle], None] | None = None,
        keep: Callable[[list[bytes]], None] | None = None,
    ) -> RunHandle:
        """Begin a run; it goes on in a thread of its own, which calls `on_change` when something
        happened and gives `keep` the records that were stored. Raises DeskError when it cannot
        begin."""
        return self._runs().start(order, on_change, keep)

    def runs(self) -> list[RunView]:
        """The runs begun here, newest first."""
        return [] if self._begun is None else self._begun.views()

    def run_handle(self, number: int) -> RunHandle:
        """What steers a run. Raises DeskError for a number that no run has."""
        return self._runs().handle(number)

    def _runs(self) -> Runs:
        from reviewer.desk.runs.jobs import Runs

        with self._beginning:
            if self._begun is None:
                self._begun = Runs(self.place)
            return self._begun

    def start_import(
        self, order: ImportOrder, on_change: Callable[[ImportHandle], None] | None = None
    ) -> ImportHandle:
        """Begin an import (or a dry one) in a process of its own; `on_change` is called from
        another thread when something happened. Raises DeskError when it cannot begin."""
        return self._imports().start(order, on_change)

    def imports(self) -> list[ImportView]:
        """The imports begun here, newest first."""
        return [] if self._importing is None else self._importing.views()

    def import_handle(self, number: int) -> ImportHandle:
        """What steers an import. Raises DeskError for a number that none has."""
        return self._imports().handle(number)

    def _imports(self) -> ImportJobs:
        from reviewer.desk.imports.jobs import ImportJobs

        with self._beginning:
            if self._importing is None:
                self._importing = ImportJobs(self.place)
            return self._importing
