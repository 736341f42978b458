"""Contradictions between the store and its journal: in every row, or at the ends of the store.

`whole_faults` reads every row. `end_faults` costs the same however large the store is: it reads the
first and the last journal entry, the last row of each table against the last entry about it, and
the newest decision. A small store (`is_small`) is checked whole instead.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from reviewer.db import contracts, decisions, journal, registry
from reviewer.db.count_blocks import wrong_count_blocks
from reviewer.db.counts import wrong_firsts, wrong_rolls
from reviewer.db.digests import (
    RECORD_TABLES,
    RecordTable,
    batch_digests,
    quarantine_digest,
    rows_digest,
    slots_digest,
)
from reviewer.db.figure_blocks import wrong_blocks
from reviewer.db.payload_archives import ARCHIVED, RESTORED, archiving_faults


def content_faults(connection: sqlite3.Connection) -> list[str]:
    """Return everything that differs from the journal; the chain itself is checked elsewhere.

    Reads every trace, but leaves counts derived from traces to `wrong_counts`. Raises ValueError,
    KeyError or TypeError for a journal body that is not a valid entry, sqlite3.Error for a file
    that cannot be read.
    """
    batches: dict[int, tuple[int, str]] = {}
    slots: dict[int, tuple[int, str]] = {}
    suites: dict[str, dict[str, Any]] = {}
    candidates: dict[tuple[str, str], tuple[int, str | None]] = {}
    quarantines: dict[int, str] = {}
    plans: dict[tuple[str, str], int] = {}
    archived: list[dict[str, Any]] = []
    said: dict[RecordTable, list[tuple[int, int, str]]] = {
        table: [] for table in RECORD_TABLES.values()
    }
    for seq, entry in enumerate(_entries(connection), 1):
        kind = entry["type"]
        if kind == "traces.added":
            batches[entry["first"]] = entry["added"], entry["facts"]
            if "slots" in entry:
                slots[entry["first"]] = entry["added"], entry["slots"]
            if "quarantine" in entry:
                quarantines[entry["source"]] = entry["quarantine"]
        elif kind in ("traces.rescored", "traces.revised"):
            for first, facts in entry["batches"].items():
                batches[int(first)] = batches[int(first)][0], facts
            if kind == "traces.revised":
                said["revision"].append((entry["first"], entry["added"], entry["digest"]))
        elif kind == "suite.frozen":
            suites[entry["suite_id"]] = {**entry, "seq": seq}
        elif kind == "candidate.registered":
            key = entry["suite_id"], entry["candidate_id"]
            candidates[key] = candidates.get(key, (seq, None))[0], entry["digest"]
        elif kind == "run.started" and entry["declared"] is not None:
            plans[entry["suite_id"], entry["candidate_id"]] = entry["declared"]
        elif kind == "store.merged":
            for one in entry["declared"]:
                plans[one["suite_id"], one["candidate_id"]] = one["attempts"]
        elif kind in (ARCHIVED, RESTORED):
            archived.append(entry)
        elif kind in RECORD_TABLES:
            said[RECORD_TABLES[kind]].append((entry["first"], entry["added"], entry["digest"]))
    return [
        *_wrong_batches(connection, batches, slots),
        *_wrong_names(connection, suites, candidates, plans),
        *(
            f"quarantine of source {source}"
            for source, wanted in quarantines.items()
            if _finished(connection, source) and quarantine_digest(connection, source) != wanted
        ),
        *(
            fault
            for table, entries in said.items()
            for fault in _wrong_rows(connection, table, entries)
        ),
        *archiving_faults(connection, archived),
        *_unreadable_notes(connection),
    ]


def _entries(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        yield json.loads(body)


def _wrong_batches(
    connection: sqlite3.Connection,
    batches: dict[int, tuple[int, str]],
    slots: dict[int, tuple[int, str]],
) -> Iterator[str]:
    elsewhere: list[str] = []
    for first, (added, facts) in batches.items():
        told = slots.get(first)
        together = told is not None and told[0] == added
        digest, places = batch_digests(connection, first, added, together)
        if digest != facts:
            yield f"traces {first} to {first + added - 1}"
        if told is not None and not together:
            places = slots_digest(connection, first, told[0])
        if told is not None and places != told[1]:
            elsewhere.append(f"where traces {first} to {first + told[0] - 1} are")
    total = sum(added for added, _ in batches.values())
    held = connection.execute("SELECT count(*) FROM trace").fetchone()[0]
    if held != total:
        yield f"{held} traces where {total} were added"
    yield from elsewhere


def _wrong_rows(
    connection: sqlite3.Connection, table: RecordTable, entries: list[tuple[int, int, str]]
) -> Iterator[str]:
    """Yield labels, or judgments, that were edited, removed or added by other means."""
    for first, added, digest in entries:
        if rows_digest(connection, table, first, added) != digest:
            last = first + added - 1
            yield f"{table} {first}" if added == 1 else f"{table}s {first} to {last}"
    total = sum(added for _, added, _ in entries)
    held = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if held != total:
        yield f"{held} {table}s where {total} were added"


def _wrong_names(
    connection: sqlite3.Connection,
    suites: dict[str, dict[str, Any]],
    candidates: dict[tuple[str, str], tuple[int, str | None]],
    plans: dict[tuple[str, str], int],
) -> Iterator[str]:
    for row in registry.suites(connection):
        entry = suites.pop(row.suite_id, None)
        said = (
            None if entry is None else (entry["digest"], entry["probe"], entry["at"], entry["seq"])
        )
        if said != (row.digest, row.probe, row.frozen_at, row.seq) or entry is None:
            yield f"suite {row.suite_id}"
            continue
        if contracts.digest(connection, row.id) != entry["body"]:
            yield f"the contract of {row.suite_id}"
        elif not row.probe and contracts.wrong_outlines(connection, row.id):
            yield f"the episodes of {row.suite_id}"
        for one in registry.candidates(connection, row.id, emptied=True):
            wanted = candidates.pop((row.suite_id, one.candidate_id), None)
            manifest = None if one.manifest is None else hashlib.sha256(one.manifest).hexdigest()
            if wanted != (one.seq, one.digest) or manifest != one.digest:
                yield f"candidate {one.candidate_id} of {row.suite_id}"
            if plans.get((row.suite_id, one.candidate_id)) != one.planned:
                yield f"the attempts planned for {one.candidate_id} of {row.suite_id}"
    yield from (f"suite {name} is gone" for name in suites)
    yield from (f"candidate {name} of {suite} is gone" for suite, name in candidates)


def _unreadable_notes(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield sources whose notes are no list of texts. No entry holds them: they say what an import
    told, and grow while a file is read."""
    for source, notes in connection.execute("SELECT id, notes FROM source ORDER BY id"):
        try:
            told = json.loads(notes)
        except (TypeError, ValueError):
            told = None
        if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
            yield f"the notes on source {source} cannot be read"


def _finished(connection: sqlite3.Connection, source: int) -> bool:
    row = connection.execute("SELECT state FROM source WHERE id=?", (source,)).fetchone()
    return row is None or row[0] == "done"


def wrong_counts(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield the roll-ups that differ from the counts of their traces; `reviewer score` counts
    again."""
    for suite in registry.suites(connection):
        body = registry.suite_head(connection, suite.suite_id)
        for one in registry.candidates(connection, suite.id):
            planned = registry.plan_of(body, one.planned)
            if wrong := wrong_rolls(connection, one.id, planned):
                yield f"{wrong} of {one.candidate_id}"
            if wrong := wrong_firsts(connection, one.id, planned):
                yield f"{wrong} first sets of {one.candidate_id}"
    if blocks := wrong_count_blocks(connection):
        yield f"counts of {len(blocks)} blocks of episodes"
    if blocks := wrong_blocks(connection):
        yield f"latencies and diagnostics of {len(blocks)} blocks of traces"
    for table in ("roll", "first_set", "gate_count", "figure_block", "count_block"):
        stray = f"SELECT 1 FROM {table} WHERE candidate NOT IN (SELECT id FROM candidate) LIMIT 1"
        if connection.execute(stray).fetchone():
            yield "some of no candidate"


SMALL_ENTRIES, SMALL_TRACES = 1_000, 500
"""Checking a store of this size whole takes a few milliseconds."""
_TABLES = (
    *("journal", "suite", "candidate", "episode", "trace"),
    *("roll", "first_set", "gate_count", "figure_block", "count_block", "decision"),
)
_ENTRY_OF: dict[str, str] = {table: kind for kind, table in RECORD_TABLES.items()}
_ENTRY_OF["trace"] = "traces.added"


def is_small(connection: sqlite3.Connection) -> bool:
    """Return whether checking the whole store takes no more than a few milliseconds."""
    traces = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
    return bool(journal.head(connection).seq <= SMALL_ENTRIES and traces <= SMALL_TRACES)


def whole_faults(connection: sqlite3.Connection) -> list[str]:
    """Check the chain, the facts, the counts and the decisions against the journal. Reads every
    row. May raise any of DAMAGE."""
    if posing := _missing_tables(connection):
        return [posing]
    _, fault = journal.verify(connection)
    if fault is not None:
        return [f"the journal is broken at entry {fault.seq}: {fault.reason}"]
    return [
        *content_faults(connection),
        *(f"roll-ups: {wrong}" for wrong in wrong_counts(connection)),
        *decisions.faults(connection),
    ]


def end_faults(connection: sqlite3.Connection) -> list[str]:
    """Return the contradictions at the ends of the store. May raise any of DAMAGE."""
    if posing := _missing_tables(connection):
        return [posing]
    return [*_journal_faults(connection), *_row_faults(connection), *_decision_faults(connection)]


def _missing_tables(connection: sqlite3.Connection) -> str | None:
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
