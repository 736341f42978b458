"""Contradictions between the store and its journal, in every row.

A report on a store that is not small (`is_small`) checks only its ends: `reviewer.db.ends`.
"""

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from reviewer.db import contracts, decisions, journal, registry
from reviewer.db.count_blocks import wrong_count_blocks
from reviewer.db.counts import wrong_firsts, wrong_rolls
from reviewer.db.digests import (
    RECORD_TABLES,
    Names,
    RecordTable,
    batch_digests,
    batch_rows,
    quarantine_digest,
    rows_digest,
    slots_digest,
)
from reviewer.db.ends import missing_tables
from reviewer.db.figure_blocks import BlockCheck
from reviewer.db.payload_archives import ARCHIVED, RESTORED, archiving_faults


class WrongTraces(NamedTuple):
    """Batches whose facts, and whose slots, differ from the journal, and blocks of figures that
    differ from their traces."""

    facts: list[str]
    slots: list[str]
    blocks: list[int]


class _Added(msgspec.Struct):
    """The fields of a journal entry that say which traces it added, and the digests of batches."""

    type: str
    first: int = 0
    added: int = 0
    facts: str = ""
    slots: str | None = None
    batches: dict[str, str] = {}


_added = msgspec.json.Decoder(_Added)


def content_faults(connection: sqlite3.Connection) -> list[str]:
    """Return everything that differs from the journal; the chain itself is checked elsewhere.

    Reads every trace, but leaves what is derived from traces to `wrong_counts`. Raises ValueError,
    KeyError or TypeError for a journal body that is not a valid entry, sqlite3.Error for a file
    that cannot be read.
    """
    facts, slots = _wrong_batches(connection)
    return [*facts, *slots, *other_faults(connection)]


def other_faults(connection: sqlite3.Connection) -> list[str]:
    """Return what differs from the journal besides the batches of `wrong_traces`."""
    suites: dict[str, dict[str, Any]] = {}
    candidates: dict[tuple[str, str], tuple[int, str | None]] = {}
    quarantines: dict[int, str] = {}
    plans: dict[tuple[str, str], int] = {}
    archived: list[dict[str, Any]] = []
    said: dict[RecordTable, list[tuple[int, int, str]]] = {
        table: [] for table in RECORD_TABLES.values()
    }
    added = 0
    for seq, entry in enumerate(_entries(connection), 1):
        kind = entry["type"]
        if kind == "traces.added":
            added += entry["added"]
            if "quarantine" in entry:
                quarantines[entry["source"]] = entry["quarantine"]
        elif kind == "traces.revised":
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
    held = connection.execute("SELECT count(*) FROM trace").fetchone()[0]
    return [
        *([f"{held} traces where {added} were added"] if held != added else []),
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


def wrong_traces(
    connection: sqlite3.Connection, start: float = -math.inf, stop: float = math.inf
) -> WrongTraces:
    """Return what is wrong of the batches and blocks that begin with a trace from `start` to before
    `stop`. Reads every trace once."""
    blocks = BlockCheck(connection, start, stop)
    facts, slots = _wrong_batches(connection, start, stop, blocks)
    return WrongTraces(facts, slots, blocks.finish())


def _entries(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        yield json.loads(body)


def _wrong_batches(
    connection: sqlite3.Connection,
    start: float = -math.inf,
    stop: float = math.inf,
    blocks: BlockCheck | None = None,
) -> tuple[list[str], list[str]]:
    batches: dict[int, tuple[int, str]] = {}
    slots: dict[int, tuple[int, str]] = {}
    told = "SELECT body FROM journal WHERE instr(body, ?) ORDER BY seq"
    for (body,) in connection.execute(told, (b'"traces.',)).fetchall():
        entry = _added.decode(body)
        if entry.type == "traces.added":
            batches[entry.first] = entry.added, entry.facts
            if entry.slots is not None:
                slots[entry.first] = entry.added, entry.slots
        elif entry.type in ("traces.rescored", "traces.revised"):
            for number, facts in entry.batches.items():
                batches[int(number)] = batches[int(number)][0], facts
    faults: list[str] = []
    elsewhere: list[str] = []
    names = Names(connection)
    for first, (added, facts) in batches.items():
        if not start <= first < stop:
            continue
        placed = slots.get(first)
        together = placed is not None and placed[0] == added
        rows = batch_rows(connection, first, added)
        if blocks is not None:
            blocks.read(first, added, rows)
        digest, places = batch_digests(connection, first, added, together, rows, names=names)
        if digest != facts:
            faults.append(f"traces {first} to {first + added - 1}")
        if placed is not None and not together:
            places = slots_digest(connection, first, placed[0])
        if placed is not None and places != placed[1]:
            elsewhere.append(f"where traces {first} to {first + placed[0] - 1} are")
    return faults, elsewhere


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


def wrong_counts(connection: sqlite3.Connection) -> list[str]:
    """Return the roll-ups that differ from the counts of their traces; `reviewer score` counts
    again."""
    found = []
    for suite in registry.suites(connection):
        body = registry.suite_head(connection, suite.suite_id)
        for one in registry.candidates(connection, suite.id):
            planned = registry.plan_of(body, one.planned)
            if wrong := wrong_rolls(connection, one.id, planned):
                found.append(f"{wrong} of {one.candidate_id}")
            if wrong := wrong_firsts(connection, one.id, planned):
                found.append(f"{wrong} first sets of {one.candidate_id}")
    if blocks := wrong_count_blocks(connection):
        found.append(f"counts of {len(blocks)} blocks of episodes")
    for table in ("roll", "first_set", "gate_count", "figure_block", "count_block"):
        stray = f"SELECT 1 FROM {table} WHERE candidate NOT IN (SELECT id FROM candidate) LIMIT 1"
        if connection.execute(stray).fetchone():
            found.append("some of no candidate")
    return found


def wrong_figures(blocks: list[int]) -> list[str]:
    """Return the fault that these blocks of figures are; `reviewer score` computes them again."""
    return [f"figures of {len(blocks)} blocks of traces"] if blocks else []


SMALL_ENTRIES, SMALL_TRACES = 1_000, 500
"""Checking a store of this size whole takes a few milliseconds."""


def is_small(connection: sqlite3.Connection) -> bool:
    """Return whether checking the whole store takes no more than a few milliseconds."""
    traces = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
    return bool(journal.head(connection).seq <= SMALL_ENTRIES and traces <= SMALL_TRACES)


def whole_faults(connection: sqlite3.Connection) -> list[str]:
    """Check the chain, the facts, the counts and the decisions against the journal. Reads every
    row. May raise any of DAMAGE."""
    if posing := missing_tables(connection):
        return [posing]
    _, fault = journal.verify(connection)
    if fault is not None:
        return [f"the journal is broken at entry {fault.seq}: {fault.reason}"]
    traces = wrong_traces(connection)
    counts = wrong_counts(connection) + wrong_figures(traces.blocks)
    return [
        *traces.facts,
        *traces.slots,
        *other_faults(connection),
        *(f"roll-ups: {wrong}" for wrong in counts),
        *decisions.faults(connection),
    ]
