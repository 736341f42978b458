"""What the desk says of a suite's candidates over time."""

from __future__ import annotations  # what only types name is not loaded

from typing import TYPE_CHECKING

from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Opened
from reviewer.desk.workspace import overview

if TYPE_CHECKING:
    from reviewer.desk.trends.views import Trends


class Trending(Opened):
    """Reading, from any thread."""

    def trends(self, suite_id: str) -> Trends:
        """Each figure of the report for every candidate of a suite, in the order they came.

        A suite without traces has no candidates. Raises DeskError for an unknown suite, and for
        one that is not as it was frozen.
        """
        from reviewer.desk.trends import figures as trends
        from reviewer.desk.trends.views import Trends

        if not self._has_store():
            for info in overview.suite_infos(self.place, None, suite_id):
                return Trends(suite=info, candidates=(), earlier=0, figures=(), clock=trends.CLOCK)
            raise DeskError(f"no suite {suite_id} in {self.workspace}")
        with self._reading() as connection:
            info = self._info(connection, suite_id)
            return trends.trends(connection, self._reports, self._book, info)
