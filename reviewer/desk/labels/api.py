"""Labels that people give: labeling, the queue, and labels as files."""

from __future__ import annotations  # what only types name is not loaded

from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room, late

if TYPE_CHECKING:
    from reviewer.desk.labels.labeling import Labeling
    from reviewer.desk.labels.views import (
        Drafted,
        EstimateView,
        LabelItem,
        LabelKind,
        LabelRole,
        QueueView,
        SavedLabel,
        Session,
    )


class LabelsRoom(Room):
    """The API of `desk.labels`."""

    @late
    def _labeling(self) -> Labeling:
        from reviewer.desk.labels.labeling import Labeling

        return Labeling(self._opened.place, self._opened.finals, self._opened.book)

    def reviewer_name(self) -> str:
        """The name under which labels are kept here. Raises DeskError for a name that was asked
        for and identifies a person."""
        return self._opened.reviewer_name()

    def session(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
        role: LabelRole = "rater",
    ) -> Session:
        """Sit down to label. Pairs are of the candidate and a baseline: the one named, else the
        only other candidate there is, else its own attempts. Raises DeskError when there is nothing
        to label, with the ways out."""
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            return self._labeling.session(
                connection, me, suite_id, candidate_id, baseline_id, kind, role
            )

    def next_item(
        self,
        session: Session,
        handed_back: tuple[tuple[str, int], ...] = (),
        reason: str | None = None,
        item: str | None = None,
    ) -> LabelItem | None:
        """What to label next; None when nothing is left, or nothing for that reason (a stratum, or
        OPEN_FLAG), or the item named is not to be labeled by this person. `handed_back` are (item,
        showing) that left the screen unsaved: they come again later."""
        with self._opened.reading() as connection:
            return self._labeling.next_item(connection, session, handed_back, reason, item)

    def record(self, session: Session, drafted: Drafted) -> SavedLabel:
        """Keep a label: durable when this returns. A second one of a showing revises the first."""
        with self._opened.reading() as connection:
            return self._labeling.record(connection, session, drafted)

    def undo(self, session: Session) -> LabelItem:
        """Take back the label saved last (both are kept), and show its item again."""
        with self._opened.reading() as connection:
            return self._labeling.undo(connection, session)

    def own_end(self, session: Session) -> tuple[EstimateView, ...]:
        """The person's agreement with himself and share of left slots; nothing before the end."""
        with self._opened.reading() as connection:
            return self._labeling.own_end(connection, session)

    def queue(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
    ) -> QueueView:
        """What is to be labeled, as counts, with agreement and what is to be adjudicated."""
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            return self._labeling.queue(connection, me, suite_id, candidate_id, baseline_id, kind)

    def export(self, suite_id: str = "") -> bytes:
        """Every label of a suite, of all suites for "", as a file of JSON lines."""
        from reviewer.desk.labels.files import export_labels

        if not self._opened.has_store():
            return b""
        with self._opened.reading() as connection:
            return export_labels(connection, self._opened.book, suite_id)

    def take(self, data: bytes, file: str) -> dict[str, int]:
        """Take in a file of labels; counts of `added`, `known` and `refused` ones."""
        from reviewer.desk.labels.files import import_labels

        try:
            taken = import_labels(self._opened.place, data, file)
        except StoreError as error:
            raise DeskError(str(error)) from error
        return {"added": taken.added, "known": taken.known, "refused": taken.refused}
