"""What the desk shows of evidence: suites, candidates, the scorecard, traces."""

from __future__ import annotations  # what only types name is not loaded

from functools import cached_property
from typing import TYPE_CHECKING

from reviewer.db import facts, registry
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Opened
from reviewer.desk.scorecards.large import is_large
from reviewer.desk.workspace import overview

if TYPE_CHECKING:
    from reviewer.desk.suites import Held
    from reviewer.desk.traces.records import Records
    from reviewer.desk.traces.views import EventDetail
    from reviewer.desk.views import (
        CandidateInfo,
        CellLine,
        EventRow,
        Scorecard,
        SuiteInfo,
        TraceView,
    )


class Showing(Opened):
    """Reading, from any thread."""

    @cached_property
    def _records(self) -> Records:
        from reviewer.desk.traces.records import Records  # a scorecard does without

        return Records()

    def suites(self) -> list[SuiteInfo]:
        """Every suite of the workspace and every probe in the store."""
        if not self._has_store():
            return overview.suite_infos(self.place, None)
        with self._reading() as connection:
            return overview.suite_infos(self.place, connection)

    def hold(self, suite_id: str) -> Held:
        """A suite that may be used now, with the probe suites of the store."""
        with self._reading() as connection:
            return suites.hold(self.place, connection, suite_id)

    def candidates(self, suite_id: str) -> list[CandidateInfo]:
        """Candidates with traces on a suite, by id."""
        if not self._has_store():
            return []
        with self._reading() as connection:
            return overview.candidate_infos(connection, self._reports, suite_id)

    def releases(self) -> list[tuple[str, str]]:
        """(suite, candidate) of everything that has traces, by id."""
        if not self._has_store():
            return []
        with self._reading() as connection:
            return overview.releases(connection)

    def opening(self) -> tuple[str, str] | None:
        """What to show first: the newest candidate that is neither decided nor ready to promote,
        else the newest; None when the store holds no trace."""
        if not self._has_store():
            return None
        with self._reading() as connection:
            return overview.opening(connection, self._reports)

    def scorecard(self, suite_id: str, candidate_id: str) -> Scorecard:
        """Everything above the rows of the grid. What takes seconds is worked out aside."""
        with self._reading() as connection:
            large = is_large(connection, *self._candidate(connection, suite_id, candidate_id))
        if large:
            return self._aside.scorecard(suite_id, candidate_id)
        return self.scorecard_here(suite_id, candidate_id)

    def scorecard_here(self, suite_id: str, candidate_id: str) -> Scorecard:
        """The same in this process, however long it takes."""
        from reviewer.desk.scorecards import scorecard as scorecards
        from reviewer.report.render.banner import banner

        with self._reading() as connection:
            found = self._reports.assessed(connection, suite_id, candidate_id)
            key = self._candidate(connection, suite_id, candidate_id)[1]
            rev = connection.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()[0]
            return scorecards.scorecard_of(
                found.assessment,
                found.gathered,
                overview.held_info(connection, suite_id),
                overview.decided(connection, key),
                rev,
                banner(found.assessment),
            )

    def cell(self, suite_id: str, candidate_id: str, episode_id: str, gate: str) -> list[CellLine]:
        """What each attempt of an episode says on one gate, worst first."""
        from reviewer.desk.scorecards import scorecard as scorecards

        with self._reading() as connection:
            suite, candidate = self._candidate(connection, suite_id, candidate_id)
            key = registry.episode_key(connection, suite, episode_id)
            if key is None:
                raise DeskError(f"no episode {episode_id} in {suite_id}")
            return scorecards.cell_lines(
                connection,
                f"{suite_id}/{candidate_id}/{episode_id}",
                gate,
                facts.traces_of(connection, candidate, [key]),
            )

    def trace(self, trace_id: str) -> TraceView:
        """The header, verdict and contract of one trace."""
        from reviewer.desk.traces import records as traces
        from reviewer.desk.traces.verdict import trace_view

        with self._reading() as connection:
            place = traces.locate(connection, trace_id)
            suite = self._suite(connection, place.suite.suite_id, place.episode)
            return trace_view(connection, self._records, place, suite)

    def events(self, trace_id: str, first: int, count: int) -> list[EventRow]:
        """Lines of the event list at positions first..first+count-1, from 0."""
        from reviewer.desk.traces import records as traces
        from reviewer.desk.traces.events import event_window

        with self._reading() as connection:
            row = traces.locate(connection, trace_id).row
            return event_window(connection, self._records, row, first, count)

    def event(self, trace_id: str, seq: int) -> EventDetail:
        """One event whole."""
        from reviewer.desk.traces import records as traces
        from reviewer.desk.traces.events import event_detail

        with self._reading() as connection:
            place = traces.locate(connection, trace_id)
            suite = self._suite(connection, place.suite.suite_id, place.episode)
            return event_detail(connection, self._records, place, suite, seq)
