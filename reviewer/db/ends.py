"""The ends of the store: what every report looks at before it is made, at a cost that does not grow
with the store.

The whole proof (`journal`, `proof`, `decisions.faults`) reads every row. What is read here is the
first and the last journal entry, the last row of each table against the last entry that speaks of
it, and the newest decision. A store that is small is proved whole instead: `small` says so.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from reviewer.db import decisions, journal, proof

SMALL_ENTRIES, SMALL_TRACES = 1_000, 500
"""Proving as much as this whole takes a few milliseconds."""

_TABLES = (
    *("journal", "suite", "candidate", "episode", "trace"),
    *("roll", "first_set", "gate_count", "decision"),
)
_ADDED: dict[str, str] = {table: kind for kind, table in proof.SAID.items()}
_ADDED["trace"] = "traces.added"


def small(connection: sqlite3.Connection) -> bool:
    """Return whether the whole proof costs no more than a few milliseconds."""
    traces = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
    return bool(journal.head(connection).seq <= SMALL_ENTRIES and traces <= SMALL_TRACES)


def whole_faults(connection: sqlite3.Connection) -> list[str]:
    """The chain, the facts, the counts and the decisions, each against what the journal says. Reads
    every row. May raise any of DAMAGE."""
    if posing := _posing(connection):
        return [posing]
    _, fault = journal.verify(connection)
    if fault is not None:
        return [f"the journal is broken at entry {fault.seq}: {fault.reason}"]
    return [
        *proof.faults(connection),
        *(f"roll-ups: {wrong}" for wrong in proof.wrong_counts(connection)),
        *decisions.faults(connection),
    ]


def faults(connection: sqlite3.Connection) -> list[str]:
    """Return what contradicts itself at the ends of the store. May raise any of DAMAGE."""
    if posing := _posing(connection):
        return [posing]
    return [*_journal_faults(connection), *_row_faults(connection), *_decision_faults(connection)]


def _posing(connection: sqlite3.Connection) -> str | None:
    """A view that stands where a table should would say whatever it likes."""
    marks = ", ".join("?" * len(_TABLES))
    found = connection.execute(
        f"SELECT name FROM sqlite_master WHERE type='table' AND name IN ({marks})", _TABLES
    ).fetchall()
    missing = sorted(set(_TABLES) - {name for (name,) in found})
    return f"schema: {', '.join(missing)} is not the table that it should be" if missing else None


def _journal_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """The first entry, which names the journal, and the last two: each must follow and fit."""
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
        yield "journal: its first entry is gone"
    count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    if count != before.seq:
        yield f"journal: {count} entries where the last one is number {before.seq}"


def _row_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """The last row of each table against the last journal entry that speaks of it: a journal whose
    end was cut off, or rows that were put in or taken away at the end."""
    for table, kind in _ADDED.items():
        held = connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        if held is None and table != "trace":
            continue  # what was emptied is found by the whole proof
        told = _last(connection, kind)
        last = told["first"] + told["added"] - 1 if told is not None else None
        if held != last:
            yield f"{table}: the last row is number {held}, the journal tells of {last}"
    head = journal.head(connection).seq
    for table in ("suite", "candidate", "decision", "signature"):
        held = connection.execute(f"SELECT max(seq) FROM {table}").fetchone()[0]
        if held is not None and held > head:
            yield f"{table}: a row of journal entry {held}, and the journal ends at {head}"


def _last(connection: sqlite3.Connection, *kinds: str) -> dict[str, Any] | None:
    """The last journal entry of one of these types. Its body is in RFC 8785 bytes, in which no text
    can hold a bare quotation mark."""
    wanted = " OR ".join("instr(body, ?)" for _ in kinds)
    found = connection.execute(
        f"SELECT seq, body FROM journal WHERE {wanted} ORDER BY seq DESC LIMIT 1",
        [f'"type":"{kind}"'.encode() for kind in kinds],
    ).fetchone()
    return None if found is None else {**json.loads(found[1]), "seq": found[0]}


def _decision_faults(connection: sqlite3.Connection) -> Iterator[str]:
    """The newest decision: its row, what was signed, and the journal say the same."""
    told = _last(connection, decisions.SIGNED, decisions.TAKEN)
    newest = connection.execute("SELECT number FROM decision ORDER BY seq DESC LIMIT 1").fetchone()
    row = decisions.row(connection, newest[0]) if newest else None
    if told is None or row is None:
        if told is not None or row is not None:
            yield "decision: the newest one is not as the journal says"
        return
    said = (told["seq"], told["number"], told["decision"], told["payload_sha256"])
    payload = base64.b64decode(json.loads(row.envelope)["payload"])
    digest = hashlib.sha256(payload).hexdigest()
    if said != (row.seq, row.number, row.decision, digest) or row.payload_sha256 != digest:
        yield f"decision {row.number}: it is not as the journal says"
    elif told["type"] == decisions.SIGNED:
        audit = json.loads(payload)["predicate"]["audit"]
        if audit["seq"] and journal.hash_at(connection, audit["seq"]) != audit["head"]:
            yield f"decision {row.number}: the journal no longer holds the head it was signed under"
