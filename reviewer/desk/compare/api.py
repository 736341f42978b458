"""Two candidates of a suite, or two attempts of an episode, side by side."""

from __future__ import annotations  # names used only in annotations are not imported

from typing import TYPE_CHECKING

from reviewer.db import registry
from reviewer.db.connection import one_moment
from reviewer.db.queries.episodes import is_large
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room
from reviewer.desk.traces.records import locate

if TYPE_CHECKING:
    from reviewer.db.connection import Connection
    from reviewer.desk.compare.candidates import CandidatePair, Compared
    from reviewer.desk.compare.views import AttemptComparison, Comparison


class CompareRoom(Room):
    """The API of `desk.compare`."""

    def candidates(
        self, suite_id: str, candidate_id: str, baseline_id: str | None = None
    ) -> Comparison:
        """Compare a candidate with a baseline, episode by episode, by the report's own regression.

        Without a baseline: the last other promoted candidate, else the one registered before; for
        the first candidate, the next one, with the first as the baseline. Raises DeskError for the
        only candidate of a suite.
        """
        from reviewer.desk.compare.shelf import COMPARISONS

        with self._opened.reading() as connection:
            who = self._pair(connection, suite_id, candidate_id, baseline_id)
        if kept := self.kept(suite_id, who.candidate_id, who.baseline_id):
            return kept
        found = self._compared(suite_id, who)
        with self._opened.reading() as connection:
            large = is_large(
                connection, *self._opened.candidate(connection, suite_id, who.candidate_id)
            )
        if large and len(found.made_of) == len(found.comparison.hard_pass):
            about = suite_id, who.candidate_id, who.baseline_id
            COMPARISONS.keep(self._opened.place, about, found.comparison, found.made_of)
        return found.comparison

    def kept(self, suite_id: str, candidate_id: str, baseline_id: str) -> Comparison | None:
        """Return the comparison of these two if it was the last one computed on the suite and
        nothing has changed since; else None."""
        from reviewer.desk.compare.shelf import COMPARISONS

        about = suite_id, candidate_id, baseline_id
        if not COMPARISONS.has(self._opened.place, *about):
            return None
        with self._opened.reading() as connection:
            return self._opened.reports.kept(connection, COMPARISONS, about, about[1:])

    def worked_out(self, suite_id: str, candidate_id: str, baseline_id: str) -> Comparison:
        """Compute the same as `candidates`, ignoring the cache."""
        with self._opened.reading() as connection:
            who = self._pair(connection, suite_id, candidate_id, baseline_id)
        return self._compared(suite_id, who).comparison

    def _compared(self, suite_id: str, who: CandidatePair) -> Compared:
        from reviewer.desk.compare.candidates import compare_candidates

        with self._opened.reading() as connection, one_moment(connection):
            row = self._compared_suite(connection, suite_id)
            who = self._pair(connection, suite_id, who.candidate_id, who.baseline_id)
            info = self._opened.judged_info(connection, suite_id)
            return compare_candidates(connection, self._opened.reports, info, row.id, who)

    def _pair(
        self, connection: Connection, suite_id: str, candidate_id: str, baseline_id: str | None
    ) -> CandidatePair:
        from reviewer.desk.compare.candidates import candidate_pair

        row = self._compared_suite(connection, suite_id)
        return candidate_pair(connection, row.id, candidate_id, baseline_id)

    def episode(
        self, suite_id: str, candidate_id: str, baseline_id: str | None, episode_id: str
    ) -> AttemptComparison:
        """Compare one episode of two candidates, in the attempts that show the change best.

        Raises DeskError as `candidates`, and if either made no attempt of the episode.
        """
        from reviewer.desk.compare.attempts import attempts_to_show, compare_attempts

        with self._opened.reading() as connection:
            row = self._compared_suite(connection, suite_id)
            who = self._pair(connection, suite_id, candidate_id, baseline_id)
            places = attempts_to_show(connection, row, who, episode_id)
            suite = self._opened.suite(connection, suite_id, places[0].episode)
            return compare_attempts(connection, self._opened.records, places, suite)

    def attempts(self, trace_a: str, trace_b: str) -> AttemptComparison:
        """Compare two attempts of one episode, with `trace_a` as the baseline; of one candidate or
        of two.

        Raises DeskError for an unknown trace, and for traces of two episodes.
        """
        from reviewer.desk.compare.attempts import compare_attempts

        with self._opened.reading() as connection:
            places = locate(connection, trace_a), locate(connection, trace_b)
            suite = self._opened.suite(connection, places[0].suite.suite_id, places[0].episode)
            return compare_attempts(connection, self._opened.records, places, suite)

    @staticmethod
    def _compared_suite(connection: Connection, suite_id: str) -> registry.SuiteRow:
        row = registry.suite_row(connection, suite_id)
        if row is None:
            raise DeskError(f"no trace on {suite_id} is in this store", "reviewer import FILE")
        return row
