"""Bookmarks and notes as files, and the rules for notes from elsewhere."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.tables import NOTES as TABLE
from reviewer.db.tables import NoteRow
from reviewer.desk.errors import DeskError
from reviewer.desk.imports import record_files
from reviewer.desk.imports.record_files import RecordKind, TakeResult
from reviewer.desk.place import Workspace
from reviewer.desk.traces import records
from reviewer.desk.traces.records import TracePlace
from reviewer.review.records import NOTES, Note
from reviewer.suite.errors import ContractError, Problem
from reviewer.trace.redaction import Redactor, redactor_of


class NoteBorder:
    """The rules for a note from elsewhere: this store has the same record with the event that the
    note is about, and the note contains no identifiers."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        self._connection = connection
        self._records = records.Records()
        self._rules: dict[str, Redactor] = {}

    def admitted(self, note: Note, place: str) -> Note:
        """Return the note itself. Raises ContractError with every reason to refuse it."""
        try:
            found = records.locate(self._connection, note.trace_id)
        except DeskError:
            reason = "is no trace of this store: import it, or merge the store it is in"
            raise ContractError(place, "$.trace_id", reason) from None
        problems = [Problem(place, where, why) for where, why in self._against(found, note)]
        if problems:
            raise ContractError.of(problems)
        return note

    def _against(self, found: TracePlace, note: Note) -> Iterator[tuple[str, str]]:
        names = found.suite.suite_id, found.candidate.candidate_id
        if names != (note.suite_id, note.candidate_id):
            yield "$.candidate_id", "is not the candidate of this trace"
        if found.row.sha256.hex() != note.trace_sha256:
            yield "$.trace_sha256", "is not the record that this trace has here"
        else:
            try:
                records.position_of(self._connection, self._records, found.row, note.seq)
            except DeskError as error:
                yield "$.seq", error.text
        texts = [("text", note.text), ("reviewer", note.reviewer)]
        yield from record_files.identifier_problems(
            self._redactor(found.suite.suite_id).masked, texts
        )

    def _redactor(self, suite_id: str) -> Redactor:
        if suite_id not in self._rules:
            suite = registry.suite_body(self._connection, suite_id)
            self._rules[suite_id] = redactor_of(suite.redaction)
        return self._rules[suite_id]


def stamp(at: datetime) -> str:
    """Return a time in UTC in the format of notes."""
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")


def row_of(note: Note) -> NoteRow:
    """Return a sealed note as a row of the store."""
    return NoteRow(
        note.uid,
        note.suite_id,
        note.trace_id,
        note.seq,
        note.kind,
        note.reviewer,
        note.at,
        NOTES.content(note),
    )


def placed(note: Note, trace_id: str, trace_sha256: str) -> Note:
    """Return the note on the same evidence under another trace id or another digest of the record:
    other content, and so another uid."""
    if (trace_id, trace_sha256) == (note.trace_id, note.trace_sha256):
        return note
    changes = {"trace_id": trace_id, "trace_sha256": trace_sha256}
    return NOTES.seal(msgspec.structs.replace(note, **changes))


KIND: RecordKind[Note, NoteRow] = RecordKind(
    "note", NOTES, TABLE, row_of, NoteBorder, lambda row: row.suite_id
)


class NoteBook:
    """Every note record of a suite, read each time: notes are few."""

    def of(self, connection: Connection, suite_id: str) -> Iterator[Note]:
        for row in TABLE.of_suite(connection, suite_id):
            note = NOTES.stored(row.body)
            yield msgspec.structs.replace(note, uid=NOTES.uid_of(note))


def export_notes(connection: Connection, suite_id: str) -> bytes:
    """Return every note record of a suite, of all suites for "", as `record_files.export` writes
    them."""
    return record_files.export(KIND, connection, NoteBook(), suite_id)


def import_notes(workspace: Workspace, data: bytes, file: str) -> TakeResult:
    """Take in the notes of a file, as `record_files.take` does."""
    return record_files.take(KIND, workspace, data, file)
