"""The figures of a suite's reports, candidate after candidate."""

from __future__ import annotations  # what only types name is not loaded

from typing import TYPE_CHECKING

from reviewer.desk import suite_infos
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from reviewer.desk.trends.views import Trends


class TrendsRoom(Room):
    """The API of `desk.trends`."""

    def figures(self, suite_id: str) -> Trends:
        """Each figure of the report for every candidate of a suite, in the order they came.

        A suite without traces has no candidates. Raises DeskError for an unknown suite, and for
        one that is not as it was frozen.
        """
        from reviewer.desk.trends import figures as trends
        from reviewer.desk.trends.views import Trends

        if not self._opened.has_store():
            for info in suite_infos.suite_infos(self._opened.place, None, suite_id):
                return Trends(suite=info, candidates=(), earlier=0, figures=(), clock=trends.CLOCK)
            raise DeskError(f"no suite {suite_id} in {self._opened.path}")
        with self._opened.reading() as connection:
            info = self._opened.info(connection, suite_id)
            return trends.trends(connection, self._opened.reports, self._opened.book, info)
