"""Two candidates of a suite, or two attempts of an episode, side by side."""

from __future__ import annotations  # what only types name is not loaded

from typing import TYPE_CHECKING

from reviewer.db import registry
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room
from reviewer.desk.traces.records import locate

if TYPE_CHECKING:
    from reviewer.db.connection import Connection
    from reviewer.desk.compare.views import AttemptComparison, Comparison


class CompareRoom(Room):
    """The API of `desk.compare`."""

    def candidates(
        self, suite_id: str, candidate_id: str, baseline_id: str | None = None
    ) -> Comparison:
        """A candidate against a baseline, episode by episode, by the report's own regression.

        Without a baseline: the last other candidate promoted, else the one before this; the first
        of all is the baseline of the next. Raises DeskError for a candidate that is alone.
        """
        from reviewer.desk.compare.candidates import candidate_pair, compare_candidates

        with self._opened.reading() as connection:
            row = self._compared_suite(connection, suite_id)
            who = candidate_pair(connection, row.id, candidate_id, baseline_id)
            info = self._opened.info(connection, suite_id)
            return compare_candidates(connection, self._opened.reports, info, row.id, who)

    def episode(
        self, suite_id: str, candidate_id: str, baseline_id: str | None, episode_id: str
    ) -> AttemptComparison:
        """Compare one episode of two candidates, in the attempts that best show the change.

        Raises DeskError as `candidates`, and where either made no attempt of the episode.
        """
        from reviewer.desk.compare.attempts import attempts_to_show, compare_attempts
        from reviewer.desk.compare.candidates import candidate_pair

        with self._opened.reading() as connection:
            row = self._compared_suite(connection, suite_id)
            who = candidate_pair(connection, row.id, candidate_id, baseline_id)
            places = attempts_to_show(connection, row, who, episode_id)
            suite = self._opened.suite(connection, suite_id, places[0].episode)
            return compare_attempts(connection, self._opened.records, places, suite)

    def attempts(self, trace_a: str, trace_b: str) -> AttemptComparison:
        """Two attempts of one episode, `trace_a` as the baseline; of one candidate or of two.

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
