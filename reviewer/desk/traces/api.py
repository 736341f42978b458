"""One trace at a time, search across all of them, and notes on their events."""

from __future__ import annotations  # names used only in annotations are not imported

from typing import TYPE_CHECKING

from reviewer.db.connection import StoreError
from reviewer.desk.errors import DeskError, meant, refusal_of
from reviewer.desk.opened import Room
from reviewer.desk.traces.records import locate, position_of
from reviewer.suite.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewer.db.connection import Connection
    from reviewer.desk.traces.listing import Listing
    from reviewer.desk.traces.outline import Outline
    from reviewer.desk.traces.records import TracePlace
    from reviewer.desk.traces.views import (
        EventDetail,
        GroupRow,
        NoteKind,
        NoteView,
        SearchView,
        StateView,
    )
    from reviewer.desk.views import EventRow, TraceView
    from reviewer.suite.model import Suite


class TracesRoom(Room):
    """The API of `desk.traces`."""

    def view(self, trace_id: str) -> TraceView:
        """Return the header, verdict and contract of one trace."""
        from reviewer.desk.traces.verdict import trace_view

        with self._opened.reading() as connection:
            place, suite = self._place(connection, trace_id)
            return trace_view(connection, self._opened.records, place, suite)

    def events(self, trace_id: str, first: int, count: int) -> list[EventRow]:
        """Return the lines of the event list at positions first..first+count-1, from 0."""
        from reviewer.desk.traces.events import event_window

        with self._opened.reading() as connection:
            row = locate(connection, trace_id).row
            return event_window(connection, self._opened.records, row, first, count)

    def outline(self, trace_id: str) -> Outline:
        """Return the events of a trace in turns, and its agents. Reads the whole trace."""
        from reviewer.desk.traces.outlined import read_outline

        with self._opened.reading() as connection:
            row = locate(connection, trace_id).row
            return read_outline(connection, self._opened.records, row)

    def listed(
        self, trace_id: str, listing: Listing, keys: Sequence[int]
    ) -> list[EventRow | GroupRow]:
        """Return the lines with these keys of a listing of the trace."""
        from reviewer.desk.traces.outlined import listed_rows

        with self._opened.reading() as connection:
            row = locate(connection, trace_id).row
            return listed_rows(connection, self._opened.records, row, listing, keys)

    def event(self, trace_id: str, seq: int) -> EventDetail:
        """Return one complete event."""
        from reviewer.desk.traces.events import event_detail

        with self._opened.reading() as connection:
            place, suite = self._place(connection, trace_id)
            return event_detail(connection, self._opened.records, place, suite, seq)

    def search(self, text: str, suite_id: str = "", candidate_id: str = "") -> SearchView:
        """Return events across the traces of the store, or of a suite or candidate, with every
        word. Raises DeskError for a text without words."""
        from reviewer.desk.traces.search import search

        with self._opened.reading() as connection:
            return search(connection, self._opened.records, text, suite_id, candidate_id)

    def find(self, trace_id: str, text: str) -> list[int]:
        """Return the numbers of the events of one trace whose displayed text contains `text`,
        ignoring case."""
        from reviewer.desk.traces.text import holding

        with self._opened.reading() as connection:
            row = locate(connection, trace_id).row
            return [
                events[at].seq or first + at + 1
                for first, events in self._opened.records.each(connection, row)
                for at in holding(events, text)
            ]

    def state(self, trace_id: str, seq: int) -> StateView:
        """Return the state after event `seq`."""
        from reviewer.desk.traces.states import state_view

        with self._opened.reading() as connection:
            place, suite = self._place(connection, trace_id)
            position = position_of(connection, self._opened.records, place.row, seq)
            return state_view(connection, self._opened.records, place, suite, position)

    def notes(self, trace_id: str) -> list[NoteView]:
        """Return bookmarks and notes on the events of a trace, by event."""
        from reviewer.desk.traces.notes import notes_of

        with self._opened.reading() as connection:
            return notes_of(connection, trace_id)

    def all_notes(self, suite_id: str = "", candidate_id: str = "") -> list[NoteView]:
        """Return bookmarks and notes of the whole store, of a suite or of a candidate, by trace and
        event. Raises DeskError for a suite that the store does not know."""
        from reviewer.db import registry
        from reviewer.desk.traces.notes import all_notes

        if not self._opened.has_store():
            return []
        with self._opened.reading() as connection:
            known = [row.suite_id for row in registry.suites(connection)]
            if suite_id and suite_id not in known:
                near = meant(suite_id, known)
                raise DeskError(f"no suite {suite_id} in this store{near}", "reviewer suite list")
            return all_notes(connection, [suite_id] if suite_id else known, candidate_id)

    def export_notes(self, suite_id: str = "") -> bytes:
        """Return every record of a note of a suite, of all suites for "", as a file of JSON
        lines."""
        from reviewer.desk.traces.note_files import export_notes

        if not self._opened.has_store():
            return b""
        with self._opened.reading() as connection:
            return export_notes(connection, suite_id)

    def write_note(
        self, trace_id: str, seq: int, kind: NoteKind, text: str = "", *, removed: bool = False
    ) -> list[NoteView]:
        """Put a bookmark or a note on an event in the reviewer's name, or remove theirs: durable
        when this returns. Return the current notes of the trace. Raises DeskError for an event that
        the trace does not have, for a removal of a note that does not exist, and when nothing could
        be written."""
        from reviewer.desk.traces.notes import notes_of, write_note

        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            place, suite = self._place(connection, trace_id)
            position_of(connection, self._opened.records, place.row, seq)
        try:
            write_note(self._opened.place, suite, place, trace_id, seq, kind, text, me, removed)
        except (StoreError, ContractError) as error:
            raise refusal_of(error) from error
        with self._opened.reading() as connection:
            return notes_of(connection, trace_id)

    def _place(self, connection: Connection, trace_id: str) -> tuple[TracePlace, Suite]:
        """Return the place of a trace in the store, and its suite with only its episode."""
        place = locate(connection, trace_id)
        return place, self._opened.suite(connection, place.suite.suite_id, place.episode)
