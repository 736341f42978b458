"""The bookmarks and notes of the store."""

import sqlite3
from typing import Literal, NamedTuple

import msgspec

from reviewer.db.said import Table

RECORDED = "notes.recorded"


class NoteRow(NamedTuple):
    """One act on one event. `suite` and `trace` are ids, `body` what its uid is the digest of."""

    uid: str
    suite: str
    trace: str
    seq: int
    kind: str
    reviewer: str
    at: str
    body: bytes


NOTES: Table[NoteRow] = Table("note", NoteRow._fields, RECORDED)

record = NOTES.record

# Of the acts of one person on one event and kind the latest counts, in whichever order they came.
_LATEST = (
    "SELECT body FROM note AS one WHERE {} AND NOT EXISTS (SELECT 1 FROM note AS later"
    " WHERE later.trace=one.trace AND later.seq=one.seq AND later.kind=one.kind"
    " AND later.reviewer=one.reviewer AND (later.at, later.uid) > (one.at, one.uid))"
    " ORDER BY trace, seq, kind, reviewer"
)


class Standing(msgspec.Struct, frozen=True):
    """A bookmark or note as it stands now: of its row, what is read back."""

    trace_id: str
    trace_sha256: str
    seq: int
    kind: Literal["bookmark", "note"]
    text: str
    removed: bool
    reviewer: str
    at: str


_standing_of = msgspec.json.Decoder(Standing)


def of_trace(connection: sqlite3.Connection, trace_id: str) -> list[Standing]:
    """What stands on the events of one trace, by event."""
    return _standing(connection, "trace=?", trace_id)


def of_suite(connection: sqlite3.Connection, suite_id: str) -> list[Standing]:
    """What stands on the events of a suite's traces, by trace and event."""
    return _standing(connection, "suite=?", suite_id)


def _standing(connection: sqlite3.Connection, where: str, value: str) -> list[Standing]:
    rows = connection.execute(_LATEST.format(where), (value,)).fetchall()
    latest = [_standing_of.decode(body) for (body,) in rows]
    return [each for each in latest if not each.removed]


def last_act(
    connection: sqlite3.Connection, trace_id: str, seq: int, kind: str, reviewer: str
) -> str:
    """When this person last did something of this kind on this event; "" for never."""
    row = connection.execute(
        "SELECT max(at) FROM note WHERE trace=? AND seq=? AND kind=? AND reviewer=?",
        (trace_id, seq, kind, reviewer),
    ).fetchone()
    return row[0] or ""
