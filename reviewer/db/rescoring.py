"""Write the results of judging again, a page of traces per transaction.

A transaction holds the write lock no longer than its page takes: counts are adjusted by the
changes, and of the journal only new entries are read. A batch that contradicts the journal is
refused, since a new digest would hide the contradiction.
"""

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from reviewer.db import figure_blocks, journal
from reviewer.db.codec import mask_of
from reviewer.db.connection import StoreError, data_version
from reviewer.db.counts import (
    StoredTrace,
    firsts_touched,
    move_rolls,
    recount_firsts,
    stored_trace,
)
from reviewer.db.digests import batch_digest, rows_digest
from reviewer.db.intake import replace_verdict
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_by_id
from reviewer.db.registry import Plan
from reviewer.gates.model import Verdict
from reviewer.judging import judging_version

Codes = tuple[str, ...]


class ChangedElsewhere(StoreError):
    """Rows contradict the journal."""


class Differs(NamedTuple):
    """A trace whose stored verdict differs from the one it gets now: as it was read (`row`, its
    findings, and how many further `records` it has), the new verdict, and the codes of both.
    `other` says that codes or gates differ, and not only notes."""

    row: TraceRow
    stated: list[FindingRow]
    records: int
    verdict: Verdict
    diagnostics: bytes | None
    before: Codes
    after: Codes
    other: bool

    @property
    def slot(self) -> tuple[int, int, int]:
        return self.row.candidate, self.row.episode, self.row.attempt


class _Entry(msgspec.Struct):
    """The fields of an entry on batches of traces."""

    type: str
    first: int = 0
    added: int = 0
    facts: str = ""
    code: str = ""
    batches: dict[str, str] = {}


_entry = msgspec.json.Decoder(_Entry)
_TOLD = ("traces.added", "traces.rescored", "traces.revised")
_BATCHES = (
    "SELECT body FROM journal WHERE seq > ? AND ("
    + " OR ".join(f"instr(body, CAST('\"{name}\"' AS BLOB))" for name in _TOLD)
    + ") ORDER BY seq"
)


class Batches:
    """The batches of a store according to its journal; each refresh reads only new entries."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._added: dict[int, tuple[int, str]] = {}
        self._facts: dict[int, str] = {}
        self._read = 0
        self._version, self._proved = -1, set[int]()

    def refresh(self, connection: sqlite3.Connection) -> None:
        head = journal.head(connection).seq
        for (body,) in connection.execute(_BATCHES, (self._read,)).fetchall():
            one = _entry.decode(body)
            if one.type == "traces.added" and one.added:
                self._firsts.append(one.first)
                self._added[one.first] = one.added, one.code
                self._facts[one.first] = one.facts
            for first, facts in one.batches.items():
                self._facts[int(first)] = facts
        self._read = head

    def of(self, traces: Iterable[int]) -> dict[int, int]:
        """Return first id → number of traces of every batch that holds one of these traces."""
        firsts = {self._first(trace) for trace in traces}
        return {first: self._added[first][0] for first in sorted(firsts)}

    def code(self, trace: int) -> str:
        """Return the version of the code that judged the batch of a trace; empty if not known."""
        return self._added[self._first(trace)][1]

    def _first(self, trace: int) -> int:
        place = bisect_right(self._firsts, trace)
        if not place:
            raise ChangedElsewhere(f"trace {trace} is of no batch")
        return self._firsts[place - 1]

    def prove(self, connection: sqlite3.Connection, of: Mapping[int, int]) -> None:
        """Raise ChangedElsewhere for a batch that contradicts the journal. A batch whose digest was
        computed here is read again only after another connection has written."""
        version = data_version(connection)
        if version != self._version:
            self._version, self._proved = version, set()
        for first, added in of.items():
            if first not in self._proved and self.digest(connection, first) != self._facts[first]:
                raise ChangedElsewhere(f"traces {first} to {first + added - 1}")

    def digest(self, connection: sqlite3.Connection, first: int) -> str:
        """Return the digest of a batch as the store holds it now."""
        self._proved.add(first)
        return batch_digest(connection, first, self._added[first][0])


def still_so(
    connection: sqlite3.Connection, some: Sequence[Differs]
) -> tuple[list[Differs], list[int]]:
    """Return those that the store still holds as they were read, and the ids of the others, which
    were changed meanwhile."""
    keys = [one.row.id for one in some]
    rows = {row.id: row for row in traces_by_id(connection, keys)}
    stated: dict[int, list[FindingRow]] = {}
    for finding in findings_of(connection, keys):
        stated.setdefault(finding.trace, []).append(finding)
    records = dict(
        connection.execute(
            "SELECT trace, count(*) FROM revision WHERE trace IN (SELECT value FROM json_each(?))"
            " GROUP BY trace",
            (json.dumps(keys),),
        ).fetchall()
    )
    same: list[Differs] = []
    changed: list[int] = []
    for one in some:
        now = rows.get(one.row.id), stated.get(one.row.id, []), records.get(one.row.id, 0)
        if now == (one.row, one.stated, one.records):
            same.append(one)
        else:
            changed.append(one.row.id)
    return same, changed


def write_verdicts(
    connection: sqlite3.Connection,
    suite_id: str,
    some: Sequence[Differs],
    plans: Mapping[int, Plan],
    batches: Batches,
    now: str,
) -> list[tuple[str, str]]:
    """Replace stored verdicts, inside the caller's transaction, with their counts and journal
    entries. Return, for each verdict whose codes changed, the versions of the code that judged
    before and now. Raises ChangedElsewhere."""
    batches.refresh(connection)
    of = batches.of(one.row.id for one in some)
    batches.prove(connection, of)
    for one in some:
        replace_verdict(connection, one.row.id, one.verdict, one.diagnostics)
    counted = [(_counted(one, None), _counted(one, one.verdict)) for one in some]
    move_rolls(connection, counted, plans)
    for candidate, episodes in firsts_touched(connection, counted).items():
        recount_firsts(connection, candidate, episodes, plans[candidate])
    figure_blocks.make_again(connection, (one.row.id for one in some))
    versions = record_rescored(
        connection, [(one.row.id, one.before, one.after) for one in some if one.other], batches, now
    )
    journal.append(
        connection,
        {
            "type": "traces.rescored",
            "suite_id": suite_id,
            "changed": len(some),
            "batches": {str(first): batches.digest(connection, first) for first in of},
            "at": now,
        },
    )
    return versions


def _counted(one: Differs, verdict: Verdict | None) -> StoredTrace:
    """Return the counted fields of a trace as it was, or under another verdict."""
    row = one.row
    was = stored_trace(
        (
            *one.slot,
            row.gates,
            row.passed,
            bool(row.critical),
            bool(row.infra),
            row.cost_usd,
            row.steps,
        )
    )
    if verdict is None:
        return was
    return was._replace(
        gates=mask_of(verdict),
        passed=verdict.passed,
        critical=verdict.critical,
        infra=verdict.infrastructure,
        steps=verdict.steps,
    )


def record_rescored(
    connection: sqlite3.Connection,
    changes: Sequence[tuple[int, Codes, Codes]],
    batches: Batches,
    now: str,
) -> list[tuple[str, str]]:
    """Store (trace, codes before, codes after) of every verdict that changed, inside the caller's
    transaction. Return, for each, the versions of the code that judged before and now; the first is
    empty where it is not known."""
    if not changes:
        return []
    first = next_rescored(connection)
    rows, now_by = [], judging_version()
    for key, (trace, before, after) in enumerate(changes, first):
        last = connection.execute(
            "SELECT code_after FROM rescored WHERE trace=? ORDER BY id DESC LIMIT 1", (trace,)
        ).fetchone()
        old = last[0] if last else batches.code(trace)
        rows.append((key, trace, json.dumps(before), json.dumps(after), old, now_by, now))
    connection.executemany("INSERT INTO rescored VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    journal.append(
        connection,
        {
            "type": "codes.changed",
            "first": first,
            "added": len(rows),
            "digest": rows_digest(connection, "rescored", first, len(rows)),
            "before": sorted({row[4] for row in rows}),
            "after": now_by,
            "at": now,
        },
    )
    return [(row[4], row[5]) for row in rows]


def next_rescored(connection: sqlite3.Connection) -> int:
    """Return the id of the next change of codes to be recorded."""
    (first,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM rescored").fetchone()
    return int(first)


class Recorded(NamedTuple):
    """A change of codes as it was recorded, with its trace's names."""

    suite_id: str
    candidate_id: str
    episode_id: str
    slot: tuple[int, int, int]
    before: Codes
    after: Codes
    code_before: str
    code_after: str


def recorded_since(connection: sqlite3.Connection, first: int) -> list[Recorded]:
    """Return the changes of codes from id `first` on, in order."""
    rows = connection.execute(
        "SELECT s.suite_id, c.candidate_id, e.episode_id, t.candidate, t.episode, t.attempt,"
        " r.before, r.after, r.code_before, r.code_after FROM rescored r"
        " JOIN trace t ON t.id = r.trace JOIN candidate c ON c.id = t.candidate"
        " JOIN suite s ON s.id = c.suite JOIN episode e ON e.id = t.episode"
        " WHERE r.id >= ? ORDER BY r.id",
        (first,),
    ).fetchall()
    return [
        Recorded(
            suite_id,
            candidate_id,
            episode_id,
            (candidate, episode, attempt),
            tuple(json.loads(before)),
            tuple(json.loads(after)),
            code_before,
            code_after,
        )
        for suite_id, candidate_id, episode_id, candidate, episode, attempt, before, after,
        code_before, code_after in rows
    ]  # fmt: skip


# Progress of a walk ------------------------------------------------------------------------------


class Reached(msgspec.Struct, frozen=True):
    """The progress of a walk that was cut off: the code that judged, what was asked for, the digest
    of each suite, the suite and the trace reached, how many were scored, the first change of codes
    that it recorded, and the journal entry after which others may have written."""

    code: str
    asked: str
    suites: dict[str, str]
    suite: str
    trace: int
    scored: int
    first: int
    seq: int


_KEY = "scoring"


def reached(
    connection: sqlite3.Connection, code: str, asked: str, suites: dict[str, str]
) -> Reached | None:
    """Return how far the same walk came before it was cut off; None when there was none. Where
    others revised or judged records since, the walk starts over but keeps the changes it
    recorded."""
    row = connection.execute("SELECT value FROM meta WHERE key=?", (_KEY,)).fetchone()
    try:
        held = None if row is None else msgspec.json.decode(row[0], type=Reached)
    except msgspec.MsgspecError:
        return None
    if held is None or (held.code, held.asked, held.suites) != (code, asked, suites):
        return None
    others = journal.entries_after(connection, held.seq, ("traces.revised", "traces.rescored"))
    if any(one.matches for one in others):
        return msgspec.structs.replace(held, suite="", trace=0, scored=0)
    return held


def put_reached(connection: sqlite3.Connection, held: Reached | None) -> None:
    """Record how far the walk is, or that it has ended; inside the caller's transaction."""
    if held is None:
        connection.execute("DELETE FROM meta WHERE key=?", (_KEY,))
        return
    held = msgspec.structs.replace(held, seq=journal.head(connection).seq)
    text = msgspec.json.encode(held).decode()
    connection.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value=excluded.value",
        (_KEY, text),
    )


def span_of(connection: sqlite3.Connection, candidates: Iterable[int]) -> tuple[int, int, int]:
    """Return the first and the last trace of some candidates, and the number of their traces."""
    least, most, count = 0, -1, 0
    for candidate in candidates:
        first, last, some = connection.execute(
            "SELECT min(id), max(id), count(*) FROM trace WHERE candidate=?", (candidate,)
        ).fetchone()
        if some:
            least = min(least, first) if count else first
            most, count = max(most, last), count + some
    return least, most, count
