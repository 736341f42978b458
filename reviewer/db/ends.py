"""Contradictions at the ends of the store: the first and the last journal entry, the last row of
each table against the last entry about it, and the newest decision. Finding them costs the same
however large the store is.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from reviewer.db import decisions, journal
from reviewer.db.digests import RECORD_TABLES

_TABLES = (
    *("journal", "suite", "candidate", "episode", "trace"),
    *("roll", "first_set", "gate_count", "figure_block", "count_block", "decision"),
)
_ENTRY_OF: dict[str, str] = {table: kind for kind, table in RECORD_TABLES.items()}
_ENTRY_OF["trace"] = "traces.added"


def end_faults(connection: sqlite3.Connection) -> list[str]:
    """Return the contradictions at the ends of the store. May raise any of DAMAGE."""
    if posing := missing_tables(connection):
        return [posing]
    return [*_journal_faults(connection), *_row_faults(connection), *_decision_faults(connection)]


def missing_tables(connection: sqlite3.Connection) -> str | None:
    """Return a fault when a table was replaced by a view, which could return anything."""
    marks = ", ".join("?" * len(_TABLES))
    found = connection.execute(
        f"SELECT name FROM sqlite_master WHERE type='table' AND name IN ({marks})", _TABLES
    ).fetchall()
    missing = sorted(set(_TABLES) - {name for (name,) in found})
    return f"schema: {', '.join(missing)} is not the expected table" if missing else None


def _journal_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield faults of the first entry, which names the journal, and of the last two: each must
    follow its predecessor and match its hash."""
    entries = connection.execute(
        "SELECT seq, body, prev, hash FROM journal WHERE seq=1 OR seq > ? ORDER BY seq",
        (journal.head(connection).seq - 2,),
    ).fetchall()
    before = journal.Head(0, journal.GENESIS)
    for seq, body, prev, digest in entries:
        if not all(isinstance(part, bytes) for part in (body, prev, digest)):
            yield f"journal: a column of entry {seq} changed its type"
            return
        follows = before.seq + 1 == seq
        if (follows and prev != before.hash) or digest != journal.link(seq, prev, body):
            yield f"journal: entry {seq} does not fit its hash or the entry before it"
        before = journal.Head(seq, digest)
    if entries and entries[0][0] != 1:
        yield "journal: its first entry is missing"
    count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    if count != before.seq:
        yield f"journal: {count} entries where the last one is number {before.seq}"


def _row_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Compare the last row of each table with the last journal entry about it: this finds a journal
    whose end was cut off, and rows added or removed at the end."""
    for table, kind in _ENTRY_OF.items():
        held = connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        if held is None and table != "trace":
            continue  # a table that was emptied is found by the whole check
        told = _last_entry(connection, kind)
        last = told["first"] + told["added"] - 1 if told is not None else None
        if held != last:
            yield f"{table}: the last row is number {held}, the journal tells of {last}"
    head = journal.head(connection).seq
    for table in ("suite", "candidate", "decision", "signature"):
        held = connection.execute(f"SELECT max(seq) FROM {table}").fetchone()[0]
        if held is not None and held > head:
            yield f"{table}: a row of journal entry {held}, and the journal ends at {head}"


def _last_entry(connection: sqlite3.Connection, *kinds: str) -> dict[str, Any] | None:
    """Return the last journal entry of one of these types. Its body is in RFC 8785 bytes, where
    quotation marks inside texts are escaped."""
    wanted = " OR ".join("instr(body, ?)" for _ in kinds)
    found = connection.execute(
        f"SELECT seq, body FROM journal WHERE {wanted} ORDER BY seq DESC LIMIT 1",
        [f'"type":"{kind}"'.encode() for kind in kinds],
    ).fetchone()
    return None if found is None else {**json.loads(found[1]), "seq": found[0]}


def _decision_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield where the newest decision's row, its signed payload and the journal differ."""
    told = _last_entry(connection, decisions.SIGNED, decisions.TAKEN)
    newest = connection.execute("SELECT number FROM decision ORDER BY seq DESC LIMIT 1").fetchone()
    row = decisions.row(connection, newest[0]) if newest else None
    if told is None or row is None:
        if told is not None or row is not None:
            yield "decision: the newest one does not match the journal"
        return
    said = (told["seq"], told["number"], told["decision"], told["payload_sha256"])
    payload = base64.b64decode(json.loads(row.envelope)["payload"])
    digest = hashlib.sha256(payload).hexdigest()
    if said != (row.seq, row.number, row.decision, digest) or row.payload_sha256 != digest:
        yield f"decision {row.number}: it does not match the journal"
    elif told["type"] == decisions.SIGNED:
        audit = json.loads(payload)["predicate"]["audit"]
        if audit["seq"] and journal.hash_at(connection, audit["seq"]) != audit["head"]:
            yield f"decision {row.number}: the journal no longer holds the head it was signed under"
