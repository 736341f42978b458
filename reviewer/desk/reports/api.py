"""The report of a candidate: building it, writing it out, and the costs entered for it."""

from __future__ import annotations  # what only types name is not loaded

from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.db import decisions
from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room
from reviewer.desk.reports import renderings

if TYPE_CHECKING:
    from reviewer.desk.reports import reports
    from reviewer.desk.reports.costs import Entered, NewCost
    from reviewer.desk.views import Exported
    from reviewer.report.evidence import CostEntry


class ReportsRoom(Room):
    """The API of `desk.reports`."""

    def build(self, suite_id: str, candidate_id: str, baseline: str | None = None) -> reports.Built:
        """The report itself; what every other answer about a release is drawn from."""
        with self._opened.reading() as connection:
            return self._opened.reports.build(connection, suite_id, candidate_id, baseline)

    def shown(
        self,
        suite_id: str,
        candidate_id: str,
        baseline: str | None = None,
        formats: tuple[str, ...] = renderings.USUAL,
    ) -> reports.Shown:
        """The report with what its renderings show beside it."""
        with self._opened.reading() as connection:
            return self._opened.reports.shown(connection, suite_id, candidate_id, baseline, formats)

    def export(
        self,
        suite_id: str,
        candidate_id: str,
        out: str,
        formats: tuple[str, ...] = renderings.USUAL,
        baseline: str | None = None,
    ) -> Exported:
        """Write the report, and the newest signed decision on it, into a folder."""
        from reviewer.desk.views import Exported

        formats = renderings.known(formats)
        shown = self.shown(suite_id, candidate_id, baseline, formats)
        built, folder = shown.built, Path(out).expanduser()
        files = renderings.write(shown, folder, formats)
        with self._opened.reading() as connection:
            key = self._opened.candidate(connection, suite_id, candidate_id)[1]
            signed = decisions.envelope_on(connection, key, built.digest)
        if signed is not None:
            files += renderings.put(folder, {"decision.dsse.json": signed})
        return Exported(files=tuple(files), exit_code=built.exit_code)

    def enter_cost(self, new: NewCost) -> Entered:
        """Keep an entry: durable when this returns; the same entry again adds nothing."""
        from reviewer.desk.reports.costs import enter

        if not self._opened.has_store():
            raise DeskError("there is no store yet: a cost is one of a candidate that was judged")
        try:
            return enter(self._opened.place, new, self._opened.reviewer_name())
        except StoreError as error:
            raise DeskError(str(error)) from error

    def costs(self, suite_id: str = "", candidate_id: str = "") -> list[tuple[str, str, CostEntry]]:
        """(suite, candidate, entry) of every entry, also of those that a later one corrects."""
        from reviewer.desk.reports.costs import entered

        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return entered(connection, suite_id, candidate_id)
