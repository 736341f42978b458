"""Bookmarks and notes on events: masked, written durably, listed in the report, read by no gate.

A trace id names one trace for as long as a store exists, so a note refers to its trace by id; it
also contains the digest of the record, for readers of the report.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from reviewer.db import tables
from reviewer.db.connection import Connection, close_writer
from reviewer.db.tables import CurrentNote, last_note_time, notes_of_suite, notes_of_trace
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.traces.records import TracePlace
from reviewer.desk.traces.views import NoteKind, NoteView
from reviewer.exit_codes import ExitCode
from reviewer.review.records import MOST_TEXT, NOTES, Note
from reviewer.suite.model import Suite

if TYPE_CHECKING:
    from reviewer.report.evidence import Note as ReportedNote

_TICK = timedelta(microseconds=1)


def notes_of(connection: Connection, trace_id: str) -> list[NoteView]:
    """Return the current notes on the events of a trace, by event."""
    return [_view(row) for row in notes_of_trace(connection, trace_id)]


def all_notes(
    connection: Connection, suite_ids: Iterable[str], candidate_id: str = ""
) -> list[NoteView]:
    """Return the current notes on the traces of these suites, or of one candidate, by trace and
    event."""
    return [
        _view(row)
        for suite_id in suite_ids
        for row in notes_of_suite(connection, suite_id)
        if not candidate_id or row.trace_id.startswith(f"{suite_id}/{candidate_id}/")
    ]


def _view(row: CurrentNote) -> NoteView:
    return NoteView(
        trace_id=row.trace_id,
        seq=row.seq,
        kind=row.kind,
        text=row.text,
        reviewer=row.reviewer,
        at=row.at,
    )


def write_note(
    workspace: Workspace,
    suite: Suite,
    place: TracePlace,
    trace_id: str,
    seq: int,
    kind: NoteKind,
    text: str,
    reviewer: str,
    removed: bool,
) -> None:
    """Add the note or its removal to the store: durable when this returns.

    Raises DeskError for a note that is too long or empty and when there is none to remove,
    ContractError for a text that is not valid Unicode, StoreError when nothing could be written.
    """
    # Reading a trace needs no import code, so this is imported late.
    from reviewer.db.schema import open_writer
    from reviewer.desk.traces.note_files import row_of, stamp
    from reviewer.trace.redaction import redactor_of

    shown = "" if removed or kind == "bookmark" else text.strip()
    shown = redactor_of(suite.redaction).masked(shown)
    if len(shown) > MOST_TEXT:
        raise DeskError(
            f"a note can have at most {MOST_TEXT:,} characters; this one has {len(shown):,}",
            "shorten it",
        )
    if kind == "note" and not (shown or removed):
        way = "reviewer notes remove deletes yours"
        raise DeskError("the note is empty", way, exit_code=ExitCode.USAGE)
    connection = open_writer(workspace.store)
    try:
        mine = seq, kind, reviewer
        stands = notes_of_trace(connection, trace_id) if removed else []
        if removed and mine not in [(row.seq, row.kind, row.reviewer) for row in stands]:
            raise DeskError(
                f"{reviewer} has no {kind} on event {seq} of {trace_id}",
                "reviewer notes lists them",
            )
        # A clock may have been set back: a person's last record must still be the latest.
        now = stamp(datetime.now(UTC))
        last = last_note_time(connection, trace_id, seq, kind, reviewer)
        if last >= now:
            now = stamp(datetime.fromisoformat(last) + _TICK)
        note = NOTES.seal(
            Note(
                suite_id=place.suite.suite_id,
                candidate_id=place.candidate.candidate_id,
                trace_id=trace_id,
                trace_sha256=place.row.sha256.hex(),
                seq=seq,
                kind=kind,
                text=shown,
                removed=removed,
                reviewer=reviewer,
                at=now,
            )
        )
        tables.NOTES.record(connection, workspace.store, [row_of(note)], now)
    finally:
        close_writer(connection, workspace.store)


def note_evidence(
    connection: Connection, suite_id: str, candidate_id: str
) -> "tuple[ReportedNote, ...]":
    """Return the notes on a candidate's traces as a report lists them."""
    # Imported here: to show a trace needs nothing of a report.
    from reviewer.report.evidence import Note as ReportedNote

    head = f"{suite_id}/{candidate_id}/"
    return tuple(
        ReportedNote(
            trace_id=row.trace_id,
            trace_sha256=row.trace_sha256,
            seq=row.seq,
            kind=row.kind,
            text=row.text,
            reviewer=row.reviewer,
            at=row.at,
        )
        for row in notes_of_suite(connection, suite_id)
        if row.trace_id.startswith(head)
    )
