"""Digests of stored rows, as the journal has them.

Each batch enters the journal with a digest over its traces as the store then held them: every
column that a report reads, the texts behind the keys, the findings, and what the runner measured of
the code that ran. A changed byte of a verdict, a cost or a name contradicts the digest, and judging
again adds a new digest to the same chain.
"""

import hashlib
import sqlite3
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from reviewer.db import journal
from reviewer.db.codec import json_ints
from reviewer.db.payload_archives import chunk_lengths

_TRACES = "SELECT * FROM trace WHERE id >= ? AND id < ? ORDER BY id"
_SLOTS = "SELECT id, candidate, episode, attempt FROM trace WHERE id >= ? AND id < ? ORDER BY id"
# The texts behind the keys of those traces, once each, with the place of the key in a trace's row:
# joining them to every row would cost as much as writing the rows.
_NAMES = (
    (
        1,
        "SELECT c.id, s.suite_id, c.candidate_id FROM candidate c JOIN suite s ON s.id = c.suite"
        " WHERE c.id IN (SELECT value FROM json_each(?))",
    ),
    (
        2,
        "SELECT id, episode_id FROM episode WHERE id IN (SELECT value FROM json_each(?))",
    ),
    (
        17,
        "SELECT id, path, sha256 FROM source WHERE id IN (SELECT value FROM json_each(?))",
    ),
)
_VERDICTS = (
    "SELECT trace, passed, reward FROM source_verdict WHERE trace >= ? AND trace < ? ORDER BY trace"
)
_FINDINGS = "SELECT * FROM finding WHERE trace >= ? AND trace < ? ORDER BY trace, n"
_CHUNKS = (
    "SELECT trace, n, first_seq, events, length(frame) FROM chunk WHERE trace >= ? AND trace < ?"
    " ORDER BY trace, n"
)
# Older batches have no such measurement, and their digest covers none.
_RAN = (
    "SELECT t.first, t.traces, t.candidate, r.uid, r.body FROM ran_traces t"
    " JOIN ran r ON r.id = t.ran WHERE t.first >= ? AND t.first < ? ORDER BY t.first"
)
Part = Literal["verdicts", "findings", "chunks", "ran"]
"""The rows that a store has of a trace besides its row in `trace`."""
EVERY_PART: frozenset[Part] = frozenset(("verdicts", "findings", "chunks", "ran"))
RecordTable = Literal[
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
    "review_set",
    "pattern_name",
]
RECORD_TABLES: dict[str, RecordTable] = {
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
    "reviewset.made": "review_set",
    "patterns.named": "pattern_name",
}
"""Types of journal entries about records of people and judges, each with its table."""


class Names:
    """The texts behind the keys of traces, each read once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: list[dict[int, tuple[Any, ...]]] = [{} for _ in _NAMES]

    def of(self, traces: Sequence[tuple[Any, ...]]) -> list[bytes]:
        """Return the names of candidates and episodes of some traces, and of their sources where
        the rows have them, each encoded."""
        found = []
        for known, (place, query) in zip(self._known, _NAMES, strict=True):
            if traces and place >= len(traces[0]):
                break
            keys = {one[place] for one in traces}
            if new := keys.difference(known):
                rows = self._connection.execute(query, (json_ints(new),)).fetchall()
                known.update((row[0], row) for row in rows)
            found.append(
                msgspec.msgpack.encode([known[one] for one in sorted(keys) if one in known])
            )
        return found


def batch_rows(connection: sqlite3.Connection, first: int, count: int) -> list[tuple[Any, ...]]:
    """Return the rows of `count` traces from id `first`, in the table's own columns and types."""
    return connection.execute(_TRACES, (first, first + count)).fetchall()


def batch_digests(
    connection: sqlite3.Connection,
    first: int,
    count: int,
    slots: bool,
    traces: Sequence[tuple[Any, ...]] | None = None,
    beside: frozenset[Part] = EVERY_PART,
    names: Names | None = None,
) -> tuple[str, str]:
    """Return `batch_digest`, and with `slots` the `slots_digest` of the same traces (else ""),
    reading them and their names once. `traces` are their rows when the caller has just read or
    written them; reading them back would cost a fifth of the writing.
    `beside` says which other parts were written with them, `names` what was read for other batches
    at the same moment."""
    span = first, first + count
    rows = batch_rows(connection, first, count) if traces is None else traces
    named = (names or Names(connection)).of(rows)
    facts = _of_facts(connection, span, rows, named, beside)
    return facts, _of_slots(rows, named) if slots else ""


def batch_digest(connection: sqlite3.Connection, first: int, count: int) -> str:
    """Return the sha256 over `count` traces from id `first`, as the store holds them now."""
    return batch_digests(connection, first, count, slots=False)[0]


_Rows = Sequence[tuple[Any, ...]]


def _of_slots(traces: _Rows, names: Sequence[bytes]) -> str:
    digest = hashlib.sha256(msgspec.msgpack.encode([one[:4] for one in traces]))
    for name in names[:2]:
        digest.update(name)
    return digest.hexdigest()


def _of_facts(
    connection: sqlite3.Connection,
    span: tuple[int, int],
    traces: _Rows,
    names: Sequence[bytes],
    beside: frozenset[Part],
) -> str:
    digest = hashlib.sha256(msgspec.msgpack.encode(traces))
    for name in names:
        digest.update(name)
    for part, query in (("verdicts", _VERDICTS), ("findings", _FINDINGS)):
        rows = connection.execute(query, span).fetchall() if part in beside else ()
        digest.update(msgspec.msgpack.encode(rows))
    digest.update(msgspec.msgpack.encode(_chunks(connection, span) if "chunks" in beside else ()))
    if "ran" in beside and (ran := connection.execute(_RAN, span).fetchall()):
        digest.update(msgspec.msgpack.encode(ran))
    return digest.hexdigest()


def _chunks(connection: sqlite3.Connection, span: tuple[int, int]) -> list[tuple[int, ...]]:
    """Return the chunks of some traces, each with the length of its frame, whether in the store or
    archived."""
    rows: list[tuple[int, ...]] = connection.execute(_CHUNKS, span).fetchall()
    if all(row[-1] for row in rows):
        return rows
    lengths = chunk_lengths(connection, *span)
    return [(*row[:-1], row[-1] or lengths.get((row[0], row[1]), 0)) for row in rows]


def slots_digest(connection: sqlite3.Connection, first: int, count: int) -> str:
    """Return the sha256 over the slots of `count` attempts from id `first`: suite, candidate,
    episode, number. Judging again and later records change the facts of a batch, but never this
    digest."""
    span = first, first + count
    rows = connection.execute(_SLOTS, span).fetchall()
    return _of_slots(rows, Names(connection).of(rows))


def quarantine_digest(connection: sqlite3.Connection, source: int) -> str:
    """Return the sha256 over the refused records of one source."""
    rows = connection.execute(
        "SELECT record, candidate_id, episode_id, suite_id, attempt, reasons FROM quarantine"
        " WHERE source=? ORDER BY record",
        (source,),
    ).fetchall()
    return hashlib.sha256(msgspec.msgpack.encode(rows)).hexdigest()


def rows_digest(connection: sqlite3.Connection, table: RecordTable, first: int, count: int) -> str:
    """Return the sha256 over `count` labels or judgments from id `first`, as the store holds them
    now."""
    rows = connection.execute(
        f"SELECT * FROM {table} WHERE id >= ? AND id < ? ORDER BY id", (first, first + count)
    ).fetchall()
    return hashlib.sha256(msgspec.msgpack.encode(rows)).hexdigest()


def batches_of(connection: sqlite3.Connection, traces: list[int]) -> dict[int, int]:
    """Return first id → number of traces, of every batch that holds one of `traces`."""
    wanted, found = sorted(traces), {}
    for (body,) in connection.execute("SELECT body FROM journal ORDER BY seq").fetchall():
        entry = _batch.decode(body)
        if entry.type == "traces.added":
            place = bisect_left(wanted, entry.first)
            if place < len(wanted) and wanted[place] < entry.first + entry.added:
                found[entry.first] = entry.added
    return found


class _Batch(msgspec.Struct):
    """The fields of an entry that say whether it added traces, and which."""

    type: str
    first: int = 0
    added: int = 0


_batch = msgspec.json.Decoder(_Batch)


def journal_rescored(
    connection: sqlite3.Connection, traces: Sequence[int], why: str, now: str
) -> None:
    """Enter in the journal, by suite, new digests of the batches of these traces."""
    by_suite: dict[str, list[int]] = {}
    for trace in traces:
        (suite_id,) = connection.execute(
            "SELECT s.suite_id FROM trace t JOIN candidate c ON c.id = t.candidate"
            " JOIN suite s ON s.id = c.suite WHERE t.id=?",
            (trace,),
        ).fetchone()
        by_suite.setdefault(suite_id, []).append(trace)
    for suite_id, some in by_suite.items():
        batches = batches_of(connection, some)
        journal.append(
            connection,
            {
                "type": "traces.rescored",
                "suite_id": suite_id,
                "changed": len(some),
                "why": why,
                "batches": {
                    str(first): batch_digest(connection, first, count)
                    for first, count in batches.items()
                },
                "at": now,
            },
        )
