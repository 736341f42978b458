"""What people say: labeling, the queue, and bringing together what several said."""

from __future__ import annotations  # what only types name is not loaded

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Opened

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


class People(Opened):
    """Labels, and other people's stores."""

    @cached_property
    def _labeling(self) -> Labeling:
        from reviewer.desk.labels.labeling import Labeling

        return Labeling(self.place, self._finals, self._book)

    def label_session(
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
        me = self.reviewer_name()
        with self._reading() as connection:
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
        with self._reading() as connection:
            return self._labeling.next_item(connection, session, handed_back, reason, item)

    def record_label(self, session: Session, drafted: Drafted) -> SavedLabel:
        """Keep a label: durable when this returns. A second one of a showing revises the first."""
        with self._reading() as connection:
            return self._labeling.record(connection, session, drafted)

    def undo_label(self, session: Session) -> LabelItem:
        """Take back the label saved last (both are kept), and show its item again."""
        with self._reading() as connection:
            return self._labeling.undo(connection, session)

    def own_end(self, session: Session) -> tuple[EstimateView, ...]:
        """The person's agreement with himself and share of left slots; nothing before the end."""
        with self._reading() as connection:
            return self._labeling.own_end(connection, session)

    def queue(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        kind: LabelKind = "pair",
    ) -> QueueView:
        """What is to be labeled, as counts, with agreement and what is to be adjudicated."""
        me = self.reviewer_name()
        with self._reading() as connection:
            return self._labeling.queue(connection, me, suite_id, candidate_id, baseline_id, kind)

    def export_labels(self, suite_id: str = "") -> bytes:
        """Every label of a suite, of all suites for "", as a file of JSON lines."""
        from reviewer.desk.labels.files import export_labels

        if not self._has_store():
            return b""
        with self._reading() as connection:
            return export_labels(connection, self._book, suite_id)

    def import_labels(self, data: bytes, file: str) -> dict[str, int]:
        """Take in a file of labels; counts of `added`, `known` and `refused` ones."""
        from reviewer.desk.labels.files import import_labels

        try:
            taken = import_labels(self.place, data, file)
        except StoreError as error:
            raise DeskError(str(error)) from error
        return {"added": taken.added, "known": taken.known, "refused": taken.refused}

    def merge_store(self, path: str) -> dict[str, int]:
        """Join another store's traces, labels, judgments and notes; counts by what they count."""
        from reviewer.desk.workspace.merge import merge_store

        try:
            merged = merge_store(self.place, Path(path).expanduser())
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
