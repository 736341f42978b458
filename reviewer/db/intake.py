"""Write judged traces: one durable transaction per batch, with its roll-ups and journal entry."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from reviewer.db import figure_blocks, journal
from reviewer.db.codec import mask_of
from reviewer.db.counts import add_rolls, update_firsts
from reviewer.db.digests import Part, batch_digests, quarantine_digest
from reviewer.db.payload import Chunk, Pack
from reviewer.db.ran import RanTrace, write_ran
from reviewer.db.registry import Plan
from reviewer.gates.model import Finding, Verdict
from reviewer.judging import judging_version


class NewTrace(NamedTuple):
    """One judged record, as it is written once it has its slot. `record` is its number in its
    source, `pack` an index into the packs that are written with it; `pack`, `offset` and `length`
    are None when its payload may not be stored, or when it is in `chunks`. `ran` is what the runner
    measured of the code that ran."""

    candidate: int
    episode: int
    attempt: int
    record: int
    pack: int | None
    offset: int | None
    length: int | None
    gates: int
    passed: bool | None
    critical: bool
    infra: bool
    cost_usd: float | None
    latency_ms: float | None
    steps: int
    timeouts: int
    events: int
    termination: str | None
    final_state: str | None
    evidence: int
    sha256: bytes
    diagnostics: bytes | None
    findings: Sequence[Finding]
    chunks: Sequence[Chunk] = ()
    verdict: tuple[bool | None, float | None, str] | None = None
    ran: bytes | None = None

    @property
    def slot(self) -> tuple[int, int, int]:
        return self.candidate, self.episode, self.attempt

    def at(self, key: tuple[int, int], attempt: int, record: int, packs: int = 0) -> "NewTrace":
        """Return the trace placed in its slot. `packs` is the number of packs before those of its
        group."""
        pack = None if self.pack is None else packs + self.pack
        return NewTrace._make((*key, attempt, record, pack, *self[_FIRST_UNPLACED:]))


_FIRST_UNPLACED = NewTrace._fields.index("offset")


class NewRefusal(NamedTuple):
    """One record for the quarantine. Its texts no longer contain raw values."""

    record: int
    candidate_id: str | None
    episode_id: str | None
    suite_id: str | None
    attempt: int | None
    reasons: tuple[str, ...]


class Progress(NamedTuple):
    """The progress of one source."""

    records: int
    added: int
    known: int
    refused: int
    done: bool
    notes: tuple[str, ...] = ()


_TRACE = (
    "INSERT INTO trace (id, candidate, episode, attempt, gates, passed, critical, infra, cost_usd,"
    " latency_ms, steps, timeouts, events, termination, final_state, evidence, sha256, source,"
    " record, pack, offset, length, diagnostics)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)


def write_batch(
    connection: sqlite3.Connection,
    source: int,
    traces: Sequence[NewTrace],
    packs: Sequence[Pack],
    refused: Sequence[NewRefusal],
    progress: Progress,
    plans: Mapping[int, Plan],
    now: str,
    first_pack: int,
) -> list[int]:
    """Write one batch inside the caller's transaction; return the new trace ids. `plans` holds the
    plan of each candidate with a trace in it; `first_pack` is the result of `next_pack`."""
    first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM trace").fetchone()[0]
    pack_id = write_packs(connection, packs, first_pack)
    ids = list(range(first, first + len(traces)))
    rows = [trace_row(*one, source, pack_id) for one in zip(ids, traces, strict=True)]
    connection.executemany(_TRACE, rows)
    beside = write_parts(connection, zip(ids, traces, strict=True))
    ran = [
        RanTrace(key, trace.candidate, None if trace.infra else trace.ran)
        for key, trace in zip(ids, traces, strict=True)
        if trace.ran is not None
    ]
    if ran:
        write_ran(connection, ran)
        beside |= {"ran"}
    add_rolls(connection, traces, plans)
    update_firsts(connection, ((t.candidate, t.episode, t.attempt) for t in traces), plans)
    figure_blocks.make_finished(connection, first, ids[-1] if ids else first - 1)
    if refused:
        connection.executemany(
            "INSERT INTO quarantine"
            " (source, record, candidate_id, episode_id, suite_id, attempt, reasons)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reasons=excluded.reasons",
            [(source, *r[:5], msgspec.json.encode(r.reasons).decode()) for r in refused],
        )
    connection.execute(
        "UPDATE source SET state=?, records=?, added=?, known=?, refused=?, notes=? WHERE id=?",
        (
            "done" if progress.done else "reading",
            progress.records,
            progress.added,
            progress.known,
            progress.refused,
            msgspec.json.encode(progress.notes).decode(),
            source,
        ),
    )
    if traces or refused or progress.done:
        facts, slots = batch_digests(connection, first, len(traces), True, rows, beside)
        entry: dict[str, Any] = {
            "type": "traces.added",
            "source": source,
            "first": first,
            "added": len(traces),
            "refused": len(refused),
            "facts": facts,
            "slots": slots,
            "code": judging_version(),
            "at": now,
        }
        if progress.done:
            entry["quarantine"] = quarantine_digest(connection, source)
        journal.append(connection, entry)
    return ids


_FIRST_SUM = NewTrace._fields.index("cost_usd")
_BEHIND_DIGEST = NewTrace._fields.index("sha256") + 1


def next_pack(connection: sqlite3.Connection) -> int:
    """Return the id of the next pack, inside the caller's transaction."""
    found: int = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM pack").fetchone()[0]
    return found


def write_packs(
    connection: sqlite3.Connection, packs: Sequence[Pack], first: int | None = None
) -> int:
    """Write packs inside the caller's transaction; return the store's id of the first one, which is
    `first` where the caller has already asked for it."""
    first = next_pack(connection) if first is None else first
    connection.executemany(
        "INSERT INTO pack (id, size, sha256, frame) VALUES (?, ?, ?, ?)",
        [(first + n, *pack) for n, pack in enumerate(packs)],
    )
    return first


def trace_row(key: int, t: NewTrace, source: int, first_pack: int) -> tuple[Any, ...]:
    """Return the columns of a trace's row, in the table's order. `first_pack` is the store's id of
    the batch's first pack."""
    return (
        key,
        *t[:3],
        t.gates,
        None if t.passed is None else int(t.passed),
        int(t.critical),
        int(t.infra),
        *t[_FIRST_SUM:_BEHIND_DIGEST],
        source,
        t.record,
        None if t.pack is None else first_pack + t.pack,
        t.offset,
        t.length,
        t.diagnostics,
    )


def write_parts(
    connection: sqlite3.Connection, rows: Iterable[tuple[int, NewTrace]]
) -> frozenset[Part]:
    """Write the findings, chunks and source verdicts of new traces, given with their ids; return
    which of these parts exist."""
    findings, chunks, verdicts = [], [], []
    for key, trace in rows:
        for n, finding in enumerate(trace.findings):
            findings.append(
                (key, n, finding.gate, finding.code, finding.severity, finding.seq, finding.detail)
            )
        for n, chunk in enumerate(trace.chunks):
            chunks.append((key, n, *chunk))
        if trace.verdict is not None:
            passed, reward, detail = trace.verdict
            verdicts.append((key, passed, reward, detail))
    written: set[Part] = set()
    if findings:
        connection.executemany("INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?)", findings)
        written.add("findings")
    if chunks:
        connection.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?)", chunks)
        written.add("chunks")
    if verdicts:
        connection.executemany("INSERT INTO source_verdict VALUES (?, ?, ?, ?)", verdicts)
        written.add("verdicts")
    return frozenset(written)


def replace_verdict(
    connection: sqlite3.Connection, trace: int, verdict: Verdict, diagnostics: bytes | None
) -> None:
    """Replace the verdict of a trace, inside the caller's transaction."""
    connection.execute(
        "UPDATE trace SET gates=?, passed=?, critical=?, infra=?, steps=?, timeouts=?,"
        " diagnostics=? WHERE id=?",
        (
            mask_of(verdict),
            verdict.passed,
            verdict.critical,
            verdict.infrastructure,
            verdict.steps,
            verdict.timeouts,
            diagnostics,
            trace,
        ),
    )
    put_findings(connection, trace, verdict.findings)


def put_findings(connection: sqlite3.Connection, trace: int, found: Iterable[Finding]) -> None:
    """Replace the findings of a trace, inside the caller's transaction."""
    connection.execute("DELETE FROM finding WHERE trace=?", (trace,))
    connection.executemany(
        "INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(trace, n, f.gate, f.code, f.severity, f.seq, f.detail) for n, f in enumerate(found)],
    )
