"""The append-only tables of records: labels, judgments, notes, leak checks, costs, signed records.

Rows are written with their journal entry, and read back. This module does not know what a row
means: it handles the columns and the bytes of the record.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from reviewer.db import journal
from reviewer.db.connection import transaction
from reviewer.db.digests import RecordTable, rows_digest

Row = TypeVar("Row", bound=tuple[Any, ...])


class StoredRecord(NamedTuple):
    """A row's place in the store, from 1, and the bytes of its record as they are exported."""

    id: int
    body: bytes


class Table(Generic[Row]):
    """The table of one kind of record. `columns` are those of a row without its id, `uid` first;
    `entry` is the type of its journal entries."""

    def __init__(
        self,
        name: RecordTable,
        columns: Sequence[str],
        entry: str,
    ) -> None:
        self._name, self._entry = name, entry
        marks = ", ".join("?" * len(columns))
        named = ", ".join(f'"{column}"' for column in columns)
        self._insert = f"INSERT INTO {name} (id, {named}) VALUES (?, {marks})"

    def record(
        self, connection: sqlite3.Connection, store: Path, rows: Iterable[Row], now: str
    ) -> tuple[str, ...]:
        """Add the rows that are not stored yet, as one durable transaction; return their uids.

        Raises StoreError when nothing could be written.
        """
        with transaction(connection, store):
            return self._add(connection, rows, now)

    def _add(
        self, connection: sqlite3.Connection, rows: Iterable[Row], now: str
    ) -> tuple[str, ...]:
        distinct = {row[0]: row for row in rows}
        known = self._known(connection, list(distinct))
        fresh = [row for uid, row in distinct.items() if uid not in known]
        if not fresh:
            return ()
        last = connection.execute(f"SELECT coalesce(max(id), 0) FROM {self._name}").fetchone()[0]
        first = last + 1
        connection.executemany(self._insert, [(key, *row) for key, row in enumerate(fresh, first)])
        journal.append(
            connection,
            {
                "type": self._entry,
                "first": first,
                "added": len(fresh),
                "digest": rows_digest(connection, self._name, first, len(fresh)),
                "at": now,
            },
        )
        return tuple(row[0] for row in fresh)

    def _known(self, connection: sqlite3.Connection, uids: Sequence[str]) -> set[str]:
        rows = connection.execute(
            f"SELECT uid FROM {self._name} WHERE uid IN (SELECT value FROM json_each(?))",
            (json.dumps(uids),),
        )
        return {row[0] for row in rows.fetchall()}

    def of_suite(
        self, connection: sqlite3.Connection, suite_digest: str, after: int = 0
    ) -> list[StoredRecord]:
        """Return every row of a suite after the place `after`, oldest first."""
        rows = connection.execute(
            f"SELECT id, body FROM {self._name} WHERE suite=? AND id>? ORDER BY id",
            (suite_digest, after),
        )
        return [StoredRecord(*row) for row in rows.fetchall()]

    def has(self, connection: sqlite3.Connection, suite: str) -> bool:
        """Return whether the suite, as this table names it, has a row."""
        row = connection.execute(f"SELECT 1 FROM {self._name} WHERE suite=? LIMIT 1", (suite,))
        return row.fetchone() is not None

    def suites(self, connection: sqlite3.Connection) -> list[str]:
        """Return the digests of the suites that have a row."""
        rows = connection.execute(f"SELECT DISTINCT suite FROM {self._name} ORDER BY suite")
        return [row[0] for row in rows.fetchall()]


LABELS_RECORDED = "labels.recorded"


class LabelRow(NamedTuple):
    """One label. `suite` is the suite's digest, `body` the label as a line of a file of labels."""

    uid: str
    suite: str
    item: str
    showing: int
    reviewer: str
    role: str
    at: str
    body: bytes


LABELS: Table[LabelRow] = Table("label", LabelRow._fields, LABELS_RECORDED)
JUDGMENTS_ADDED = "judgments.added"


class JudgmentRow(NamedTuple):
    """One judgment. `suite` is the suite's digest, `body` the judgment as a line of a file of
    judgments."""

    uid: str
    request: str
    suite: str
    item: str
    order: str
    repeat: int
    judge_id: str
    model: str
    at: str
    body: bytes


JUDGMENTS: Table[JudgmentRow] = Table("judgment", JudgmentRow._fields, JUDGMENTS_ADDED)


def judgments_by_request(
    connection: sqlite3.Connection, requests: Sequence[str]
) -> dict[str, list[bytes]]:
    """Return the judgments under each of these request digests, oldest first; a request without any
    is absent."""
    found: dict[str, list[bytes]] = {}
    rows = connection.execute(
        "SELECT request, body FROM judgment WHERE request IN (SELECT value FROM json_each(?))"
        " ORDER BY id",
        (json.dumps(list(requests)),),
    )
    for request, body in rows.fetchall():
        found.setdefault(request, []).append(body)
    return found


def judgments_about(connection: sqlite3.Connection, items: Sequence[str]) -> list[bytes]:
    """Return the judgments about any of these items, oldest first."""
    rows = connection.execute(
        "SELECT body FROM judgment WHERE item IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(list(items)),),
    ).fetchall()
    return [body for (body,) in rows]


NOTES_RECORDED = "notes.recorded"


class NoteRow(NamedTuple):
    """One bookmark or note on an event, or its removal. `suite` and `trace` are ids; the uid is the
    digest of the bytes in `body`."""

    uid: str
    suite: str
    trace: str
    seq: int
    kind: str
    reviewer: str
    at: str
    body: bytes


NOTES: Table[NoteRow] = Table("note", NoteRow._fields, NOTES_RECORDED)
# The latest record of one person on one event and kind counts, in any order of import.
_LATEST_NOTES = (
    "SELECT body FROM note AS one WHERE {} AND NOT EXISTS (SELECT 1 FROM note AS later"
    " WHERE later.trace=one.trace AND later.seq=one.seq AND later.kind=one.kind"
    " AND later.reviewer=one.reviewer AND (later.at, later.uid) > (one.at, one.uid))"
    " ORDER BY trace, seq, kind, reviewer"
)


class CurrentNote(msgspec.Struct, frozen=True):
    """A current bookmark or note, read from the body of its row."""

    trace_id: str
    trace_sha256: str
    seq: int
    kind: Literal["bookmark", "note"]
    text: str
    removed: bool
    reviewer: str
    at: str


_current_note = msgspec.json.Decoder(CurrentNote)


def notes_of_trace(connection: sqlite3.Connection, trace_id: str) -> list[CurrentNote]:
    """Return the current bookmarks and notes on the events of one trace, by event."""
    return _current_notes(connection, "trace=?", trace_id)


def notes_of_suite(connection: sqlite3.Connection, suite_id: str) -> list[CurrentNote]:
    """Return the current bookmarks and notes on a suite's traces, by trace and event."""
    return _current_notes(connection, "suite=?", suite_id)


def _current_notes(connection: sqlite3.Connection, where: str, value: str) -> list[CurrentNote]:
    rows = connection.execute(_LATEST_NOTES.format(where), (value,)).fetchall()
    latest = [_current_note.decode(body) for (body,) in rows]
    return [each for each in latest if not each.removed]


def last_note_time(
    connection: sqlite3.Connection, trace_id: str, seq: int, kind: str, reviewer: str
) -> str:
    """Return when this person last wrote or removed a note of this kind on this event; "" for
    never."""
    row = connection.execute(
        "SELECT max(at) FROM note WHERE trace=? AND seq=? AND kind=? AND reviewer=?",
        (trace_id, seq, kind, reviewer),
    ).fetchone()
    return row[0] or ""


LEAKS_CHECKED = "leaks.checked"


class LeakRow(NamedTuple):
    """One leak check or withdrawal. `suite` is the digest; the uid is the digest of the bytes in
    `body`."""

    uid: str
    suite: str
    at: str
    body: bytes


LEAKS: Table[LeakRow] = Table("leak", LeakRow._fields, LEAKS_CHECKED)
COSTS_RECORDED = "costs.recorded"


class CostRow(NamedTuple):
    """One entered cost. `suite` and `candidate` are ids, `body` the entry as exported."""

    uid: str
    suite: str
    candidate: str
    entry: str
    at: str
    body: bytes


COSTS: Table[CostRow] = Table("cost", CostRow._fields, COSTS_RECORDED)


def cost_entries(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> list[bytes]:
    """Return the bodies of a candidate's entries, oldest first."""
    rows = connection.execute(
        "SELECT body FROM cost WHERE suite=? AND candidate=? ORDER BY id", (suite_id, candidate_id)
    )
    return [row[0] for row in rows.fetchall()]


def cost_places(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return (suite id, candidate id) of everything that has an entry, by id."""
    return connection.execute(
        "SELECT DISTINCT suite, candidate FROM cost ORDER BY suite, candidate"
    ).fetchall()


class BreakGlassRow(NamedTuple):
    """One break-glass record; `uid` is the sha256 of its payload, the rest repeats fields for
    lists."""

    uid: str
    suite: str
    candidate: str
    agent: str
    environment: str
    principal: str
    reason: str
    at: str
    expires: str
    file: str
    envelope: bytes


class RunResultRow(NamedTuple):
    """One signed test result; `uid` is the sha256 of its payload, `evidence` of its verdicts."""

    uid: str
    suite: str
    candidate: str
    source: int
    result: str
    evidence: str
    principal: str
    at: str
    file: str
    envelope: bytes


class LossRow(NamedTuple):
    """One statement that a part of the journal was lost; `uid` is the sha256 of its payload,
    `decisions` a JSON array of the payloads signed on the lost part."""

    uid: str
    journal: str
    lost_seq: int
    kept_seq: int
    decisions: str
    principal: str
    reason: str
    at: str
    file: str
    envelope: bytes


BREAK_GLASS: Table[BreakGlassRow] = Table("break_glass", BreakGlassRow._fields, "breakglass.signed")
RUN_RESULTS: Table[RunResultRow] = Table("run_result", RunResultRow._fields, "run.attested")
LOSSES: Table[LossRow] = Table("loss", LossRow._fields, "journal.lost")
_LOSS_COLUMNS = ", ".join(LossRow._fields)
_BREAK_GLASS_COLUMNS = ", ".join(BreakGlassRow._fields)
_RUN_RESULT_COLUMNS = ", ".join(RunResultRow._fields)


def break_glass_rows(
    connection: sqlite3.Connection, agent: str | None = None
) -> list[BreakGlassRow]:
    """Return every break-glass record, of one agent or of all, in the order of signing."""
    found = connection.execute(
        f"SELECT {_BREAK_GLASS_COLUMNS} FROM break_glass WHERE ? IS NULL OR agent=? ORDER BY id",
        (agent, agent),
    ).fetchall()
    return [BreakGlassRow(*one) for one in found]


def journal_entry_of(
    connection: sqlite3.Connection, table: Literal["break_glass", "loss"], uid: str
) -> int:
    """Return the number of the journal entry about a row, 0 when there is none."""
    row = connection.execute(f"SELECT id FROM {table} WHERE uid=?", (uid,)).fetchone()
    kind = {"break_glass": "breakglass.signed", "loss": "journal.lost"}[table]
    for seq, body in connection.execute(
        "SELECT seq, body FROM journal WHERE instr(body, ?) ORDER BY seq DESC",
        (f'"type":"{kind}"'.encode(),),
    ).fetchall():
        entry = json.loads(body)
        if row and entry["first"] <= row[0] < entry["first"] + entry["added"]:
            return int(seq)
    return 0


def loss_rows(connection: sqlite3.Connection) -> list[LossRow]:
    """Return every statement that a part of the journal was lost, in order."""
    found = connection.execute(f"SELECT {_LOSS_COLUMNS} FROM loss ORDER BY id").fetchall()
    return [LossRow(*one) for one in found]


def run_result_rows(
    connection: sqlite3.Connection, suite_id: str | None = None, candidate_id: str | None = None
) -> list[RunResultRow]:
    """Return every signed test result, of a candidate on a suite or of all, in order."""
    found = connection.execute(
        f"SELECT {_RUN_RESULT_COLUMNS} FROM run_result "
        " WHERE ?1 IS NULL OR (suite=?1 AND candidate=?2) ORDER BY id",
        (suite_id, candidate_id),
    ).fetchall()
    return [RunResultRow(*one) for one in found]
