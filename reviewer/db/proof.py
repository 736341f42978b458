"""Is what a report is made of still what the journal says was written?

Each batch enters the journal with a digest over its traces as the store then held them: every
column a report reads, the texts behind the keys, the findings. A changed byte of a verdict, a cost
or a name is thereby a contradiction, and a judging anew puts a new digest into the same chain.
"""

import hashlib
import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from reviewer.db import contracts, registry
from reviewer.db.firsts import wrong_firsts
from reviewer.db.rolls import wrong_rolls

_TRACES = "SELECT * FROM trace WHERE id >= ? AND id < ? ORDER BY id"
_SLOTS = "SELECT id, candidate, episode, attempt FROM trace WHERE id >= ? AND id < ? ORDER BY id"
# The texts behind the keys of those traces, once each: joined to every row they cost as much as
# writing it.
_NAMES = (
    "SELECT c.id, s.suite_id, c.candidate_id FROM candidate c JOIN suite s ON s.id = c.suite"
    " WHERE c.id IN (SELECT candidate FROM trace WHERE id >= ? AND id < ?) ORDER BY c.id",
    "SELECT id, episode_id FROM episode"
    " WHERE id IN (SELECT episode FROM trace WHERE id >= ? AND id < ?) ORDER BY id",
    "SELECT id, path, sha256 FROM source"
    " WHERE id IN (SELECT source FROM trace WHERE id >= ? AND id < ?) ORDER BY id",
)
_VERDICTS = (
    "SELECT trace, passed, reward FROM source_verdict WHERE trace >= ? AND trace < ? ORDER BY trace"
)
_FINDINGS = "SELECT * FROM finding WHERE trace >= ? AND trace < ? ORDER BY trace, n"
_CHUNKS = (
    "SELECT trace, n, first_seq, events, length(frame) FROM chunk WHERE trace >= ? AND trace < ?"
    " ORDER BY trace, n"
)

Said = Literal[
    "label",
    "judgment",
    "note",
    "leak",
    "break_glass",
    "run_result",
    "cost",
    "loss",
    "revision",
    "rescored",
]
SAID: dict[str, Said] = {
    "labels.recorded": "label",
    "judgments.added": "judgment",
    "notes.recorded": "note",
    "leaks.checked": "leak",
    "breakglass.signed": "break_glass",
    "run.attested": "run_result",
    "costs.recorded": "cost",
    "journal.lost": "loss",
    "traces.revised": "revision",
    "codes.changed": "rescored",
}
"""Journal entries on what people and judges said, and the table they speak of."""


def batch_digest(
    connection: sqlite3.Connection,
    first: int,
    count: int,
    traces: Sequence[tuple[Any, ...]] | None = None,
) -> str:
    """sha256 over `count` traces from id `first`, as the store holds them now.

    `traces` are their rows when the caller has just written them, in the table's own columns and
    types; reading them back would cost a fifth of the writing.
    """
    span = first, first + count
    if traces is None:
        traces = connection.execute(_TRACES, span).fetchall()
    digest = hashlib.sha256(msgspec.msgpack.encode(traces))
    for query in (*_NAMES, _VERDICTS, _FINDINGS, _CHUNKS):
        digest.update(msgspec.msgpack.encode(connection.execute(query, span).fetchall()))
    return digest.hexdigest()


def slots_digest(
    connection: sqlite3.Connection,
    first: int,
    count: int,
    traces: Sequence[tuple[Any, ...]] | None = None,
) -> str:
    """sha256 over where `count` attempts from id `first` stand: suite, candidate, episode, number.
    Judging anew and later records change the facts of a batch, and never this."""
    span = first, first + count
    if traces is None:
        traces = connection.execute(_SLOTS, span).fetchall()
    digest = hashlib.sha256(msgspec.msgpack.encode([one[:4] for one in traces]))
    for query in _NAMES[:2]:
        digest.update(msgspec.msgpack.encode(connection.execute(query, span).fetchall()))
    return digest.hexdigest()


def quarantine_digest(connection: sqlite3.Connection, source: int) -> str:
    """sha256 over the refused records of one source."""
    rows = connection.execute(
        "SELECT record, candidate_id, episode_id, suite_id, attempt, reasons FROM quarantine"
        " WHERE source=? ORDER BY record",
        (source,),
    ).fetchall()
    return hashlib.sha256(msgspec.msgpack.encode(rows)).hexdigest()


def said_digest(connection: sqlite3.Connection, table: Said, first: int, count: int) -> str:
    """sha256 over `count` labels or judgments from id `first`, as the store holds them now."""
    rows = connection.execute(
        f"SELECT * FROM {table} WHERE id >= ? AND id < ? ORDER BY id", (first, first + count)
    ).fetchall()
    return hashlib.sha256(msgspec.msgpack.encode(rows)).hexdigest()


def batches_of(connection: sqlite3.Connection, traces: list[int]) -> dict[int, int]:
    """first id → number of traces, of every batch that holds one of `traces`."""
    wanted, found = sorted(traces), {}
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        entry = _batch.decode(body)
        if entry.type == "traces.added":
            place = bisect_left(wanted, entry.first)
            if place < len(wanted) and wanted[place] < entry.first + entry.added:
                found[entry.first] = entry.added
    return found


class _Batch(msgspec.Struct):
    """As much of an entry as says whether it added traces, and which."""

    type: str
    first: int = 0
    added: int = 0


_batch = msgspec.json.Decoder(_Batch)


def faults(connection: sqlite3.Connection) -> list[str]:
    """Everything that is not as the journal says; the chain itself is checked elsewhere.

    Reads every trace, and leaves what is derived from traces to `wrong_counts`. Raises ValueError,
    KeyError or TypeError for a journal body that is no entry of ours, sqlite3.Error for a file
    that cannot be read.
    """
    batches: dict[int, tuple[int, str]] = {}
    slots: dict[int, tuple[int, str]] = {}
    suites: dict[str, dict[str, Any]] = {}
    candidates: dict[tuple[str, str], tuple[int, str | None]] = {}
    quarantines: dict[int, str] = {}
    plans: dict[tuple[str, str], int] = {}
    said: dict[Said, list[tuple[int, int, str]]] = {table: [] for table in SAID.values()}
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
        elif kind in SAID:
            said[SAID[kind]].append((entry["first"], entry["added"], entry["digest"]))
    return [
        *_wrong_batches(connection, batches),
        *(
            f"where traces {first} to {first + added - 1} stand"
            for first, (added, wanted) in slots.items()
            if slots_digest(connection, first, added) != wanted
        ),
        *_wrong_names(connection, suites, candidates, plans),
        *(
            f"quarantine of source {source}"
            for source, wanted in quarantines.items()
            if _finished(connection, source) and quarantine_digest(connection, source) != wanted
        ),
        *(
            fault
            for table, entries in said.items()
            for fault in _wrong_said(connection, table, entries)
        ),
    ]


def _entries(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        yield json.loads(body)


def _wrong_batches(
    connection: sqlite3.Connection, batches: dict[int, tuple[int, str]]
) -> Iterator[str]:
    for first, (added, facts) in batches.items():
        if batch_digest(connection, first, added) != facts:
            yield f"traces {first} to {first + added - 1}"
    total = sum(added for added, _ in batches.values())
    held = connection.execute("SELECT count(*) FROM trace").fetchone()[0]
    if held != total:
        yield f"{held} traces where {total} were added"


def _wrong_said(
    connection: sqlite3.Connection, table: Said, entries: list[tuple[int, int, str]]
) -> Iterator[str]:
    """Labels, or judgments, that were edited, taken away or put in by other means."""
    for first, added, digest in entries:
        if said_digest(connection, table, first, added) != digest:
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


def _finished(connection: sqlite3.Connection, source: int) -> bool:
    row = connection.execute("SELECT state FROM source WHERE id=?", (source,)).fetchone()
    return row is None or row[0] == "done"


def wrong_counts(connection: sqlite3.Connection) -> Iterator[str]:
    """Roll-ups that their traces do not give; `reviewer score` counts anew."""
    for suite in registry.suites(connection):
        body = registry.suite_head(connection, suite.suite_id)
        for one in registry.candidates(connection, suite.id):
            planned = registry.plan_of(body, one.planned)
            if wrong := wrong_rolls(connection, one.id, planned):
                yield f"{wrong} of {one.candidate_id}"
            if wrong := wrong_firsts(connection, one.id, planned):
                yield f"{wrong} first sets of {one.candidate_id}"
    for table in ("roll", "first_set", "gate_count"):
        stray = f"SELECT 1 FROM {table} WHERE candidate NOT IN (SELECT id FROM candidate) LIMIT 1"
        if connection.execute(stray).fetchone():
            yield "some of no candidate"
