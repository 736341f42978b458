"""What people enter beside what attempts cost."""

from __future__ import annotations  # what only types name is not loaded

from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Opened

if TYPE_CHECKING:
    from reviewer.desk.reports.costs import Entered, NewCost
    from reviewer.report.evidence import CostEntry


class CostsDesk(Opened):
    """Costs of human handling and of incidents: append-only, never inside the cost per success."""

    def enter_cost(self, new: NewCost) -> Entered:
        """Keep an entry: durable when this returns; the same entry again adds nothing."""
        from reviewer.desk.reports.costs import enter

        if not self._has_store():
            raise DeskError("there is no store yet: a cost is one of a candidate that was judged")
        try:
            return enter(self.place, new, self.reviewer_name())
        except StoreError as error:
            raise DeskError(str(error)) from error

    def costs(self, suite_id: str = "", candidate_id: str = "") -> list[tuple[str, str, CostEntry]]:
        """(suite, candidate, entry) of every entry, also of those that a later one corrects."""
        from reviewer.desk.reports.costs import entered

        if not self._has_store():
            return []
        with self._reading() as connection:
            return entered(connection, suite_id, candidate_id)
