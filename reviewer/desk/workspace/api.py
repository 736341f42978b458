"""What a workspace holds: suites, candidates, where to begin, and joining another store."""

from __future__ import annotations  # what only types name is not loaded

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reviewer.db.connection import StoreError
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room, refused
from reviewer.desk.workspace import overview

if TYPE_CHECKING:
    from reviewer.desk.integrity.witness import Seen
    from reviewer.desk.reports.lineage import Met
    from reviewer.desk.suites import Held
    from reviewer.desk.views import CandidateInfo, SuiteInfo


class WorkspaceRoom(Room):
    """The API of `desk.workspace`."""

    def suites(self) -> list[SuiteInfo]:
        """Every suite of the workspace and every probe in the store."""
        if not self._opened.has_store():
            return suites.suite_infos(self._opened.place, None)
        with self._opened.reading() as connection:
            return suites.suite_infos(self._opened.place, connection)

    def hold(self, suite_id: str) -> Held:
        """A suite that may be used now, with the probe suites of the store."""
        with self._opened.reading() as connection:
            return suites.hold(self._opened.place, connection, suite_id)

    def candidates(self, suite_id: str) -> list[CandidateInfo]:
        """Candidates with traces on a suite, by id."""
        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return overview.candidate_infos(connection, self._opened.reports, suite_id)

    def releases(self) -> list[tuple[str, str]]:
        """(suite, candidate) of everything that has traces, by id."""
        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            return overview.releases(connection)

    def opening(self) -> tuple[str, str] | None:
        """What to show first: the newest candidate that is neither decided nor ready to promote,
        else the newest; None when the store holds no trace."""
        if not self._opened.has_store():
            return None
        with self._opened.reading() as connection:
            return overview.opening(connection, self._opened.reports)

    def schema(self, kind: str) -> dict[str, Any]:
        """JSON Schema of one of our file kinds. Raises DeskError for an unknown kind."""
        from reviewer.desk.workspace.schemas import schema

        return schema(kind)

    def merge(self, path: str) -> dict[str, int]:
        """Join another store's traces, labels, judgments and notes; counts by what they count."""
        from reviewer.desk.workspace.merge import merge_store

        try:
            merged = merge_store(self._opened.place, Path(path).expanduser())
        except StoreError as error:
            raise DeskError(str(error)) from error
        return {
            f"{what}_{word}": getattr(taken, word)
            for what, taken in (
                ("traces", merged),
                ("labels", merged.labels),
                ("judgments", merged.judgments),
                ("notes", merged.notes),
                ("costs", merged.costs),
            )
            for word in ("added", "known", "refused")
        }

    def witness(self) -> list[Seen]:
        """Begin the witness of this workspace, or bring it up to date; what was added."""
        from reviewer.desk.integrity import witness
        from reviewer.desk.integrity.standing import Standing

        if not self._opened.has_store():
            raise DeskError(
                f"{self._opened.place.store} is not there yet: there is nothing to witness"
            )
        with refused(), self._opened.reading() as connection:
            Standing(self._opened.place).hold(connection)
            return witness.look(self._opened.place, connection)

    def suites_met(self, suite_id: str) -> list[Met]:
        """The other suites that candidates of this one met, each with its reason or none."""
        from reviewer.desk.reports.lineage import listed

        with self._opened.reading() as connection:
            return listed(connection, suite_id)

    def explain_suite(self, suite_id: str, other_id: str, reason: str) -> None:
        """Say in the journal why two suites were both used."""
        from reviewer.desk.reports.lineage import explain

        with refused():
            explain(self._opened.place, suite_id, other_id, reason, self._opened.reviewer_name())
