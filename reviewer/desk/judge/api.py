"""What a model judge says, and how far people agree with it."""

from __future__ import annotations  # what only types name is not loaded

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room

if TYPE_CHECKING:
    from reviewer.desk.judge.jobs import JudgeHandle
    from reviewer.desk.judge.judging import Judging
    from reviewer.desk.judge.views import JudgeDetail, JudgeOrder, JudgePlan, JudgeView
    from reviewer.desk.opened import Opened


class JudgeRoom(Room):
    """The API of `desk.judge`."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        self._begun: Judging | None = None
        self._beginning = Lock()

    def judging(self) -> Judging:
        """The judge of this workspace, loaded when something is first asked of it."""
        from reviewer.desk.judge.judging import Judging

        with self._beginning:
            if self._begun is None:
                opened = self._opened
                self._begun = Judging(opened.place, opened.finals, opened.reports.judgments)
            return self._begun

    def close(self) -> None:
        """Abandon the calls under way."""
        if self._begun is not None:
            self._begun.close()

    def view(self, suite_id: str, candidate_id: str, baseline_id: str | None = None) -> JudgeView:
        """What the suite's judge has earned. Pairs are called A and B by the baseline named and
        the candidate, else by the two candidates there are; those are listed that the reviewer has
        labeled himself. Raises DeskError for a suite without a judge."""
        try:
            me = self._opened.reviewer_name()
        except DeskError:
            me = ""  # the figures are for all; who has no name has no pairs of his own
        with self._opened.reading() as connection:
            return self.judging().view(connection, me, suite_id, candidate_id, baseline_id)

    def pair(
        self, suite_id: str, candidate_id: str, item: str, baseline_id: str | None = None
    ) -> JudgeDetail:
        """The messages of one labeled pair and the judge's words. Raises DeskError for a pair that
        the reviewer has not labeled: whoever labels it must not know them."""
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            return self.judging().detail(connection, me, suite_id, candidate_id, item, baseline_id)

    def plan(self, order: JudgeOrder) -> JudgePlan:
        """What an order would take; nothing is sent. Raises DeskError for one that asks nothing."""
        with self._opened.reading() as connection:
            return self.judging().plan(connection, order)

    def start(
        self, order: JudgeOrder, on_change: Callable[[JudgeHandle], None] | None = None
    ) -> JudgeHandle:
        """Ask the judge what it has not answered yet, in a thread of its own, which calls
        `on_change` when something happened. Raises DeskError when it cannot begin."""
        with self._opened.reading() as connection:
            prepared = self.judging().prepared(connection, order)
        return self.judging().start(prepared, on_change)

    def export(self, suite_id: str = "") -> bytes:
        """Every judgment of a suite, of all suites for "", as a file of JSON lines."""
        from reviewer.desk.judge.files import export_judgments

        if not self._opened.has_store():
            return b""
        with self._opened.reading() as connection:
            return export_judgments(connection, self._opened.reports.judgments, suite_id)

    def take(self, data: bytes, file: str) -> dict[str, int]:
        """Take in a file of judgments; counts of `added`, `known` and `refused` ones."""
        from reviewer.desk.judge.files import import_judgments

        try:
            taken = import_judgments(self._opened.place, data, file)
        except StoreError as error:
            raise DeskError(str(error)) from error
        return {"added": taken.added, "known": taken.known, "refused": taken.refused}
