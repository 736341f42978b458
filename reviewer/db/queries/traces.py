"""Traces and their findings, read by key or by index.

Most queries fetch all rows at once, since an open read transaction would hide what others write.
The exceptions yield rows; a report on many traces reads them within one transaction.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reviewer.db.codec import gate_results
from reviewer.gates.model import Finding, Severity, Verdict


class TraceRow(NamedTuple):
    """The narrow facts of one trace."""

    id: int
    candidate: int
    episode: int
    attempt: int
    gates: int
    passed: int | None
    critical: int
    infra: int
    cost_usd: float | None
    latency_ms: float | None
    steps: int
    timeouts: int
    events: int
    termination: str | None
    final_state: str | None
    sha256: bytes
    source: int
    record: int
    pack: int | None
    offset: int | None
    length: int | None


class FindingRow(NamedTuple):
    trace: int
    gate: str
    code: str
    severity: Severity
    seq: int | None
    detail: str


_TRACE = (
    "SELECT id, candidate, episode, attempt, gates, passed, critical, infra, cost_usd, latency_ms,"
    " steps, timeouts, events, termination, final_state, sha256, source, record, pack, offset,"
    " length FROM trace"
)


def traces_of(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int]
) -> list[TraceRow]:
    """Return every attempt of some episodes (a page of the grid), by episode and attempt."""
    keys = ",".join(str(int(key)) for key in episodes)
    rows = connection.execute(
        f"{_TRACE} WHERE candidate=? AND episode IN ({keys}) ORDER BY episode, attempt",
        (candidate,),
    )
    return [TraceRow(*row) for row in rows.fetchall()]


def traces_by_id(connection: sqlite3.Connection, traces: Sequence[int]) -> list[TraceRow]:
    """Return some traces by their keys, in ascending order of the keys."""
    keys = ",".join(str(int(key)) for key in traces)
    rows = connection.execute(f"{_TRACE} WHERE id IN ({keys}) ORDER BY id")
    return [TraceRow(*row) for row in rows.fetchall()]


def traces_from(
    connection: sqlite3.Connection, candidates: Iterable[int], first: int, last: int
) -> list[TraceRow]:
    """Return the traces of some candidates with keys from `first` to `last`, by key."""
    keys = ",".join(str(int(key)) for key in candidates)
    rows = connection.execute(
        f"{_TRACE} WHERE id BETWEEN ? AND ? AND +candidate IN ({keys}) ORDER BY id", (first, last)
    )
    return [TraceRow(*row) for row in rows.fetchall()]


def trace_at(
    connection: sqlite3.Connection, candidate: int, episode: int, attempt: int
) -> TraceRow | None:
    row = connection.execute(
        f"{_TRACE} WHERE candidate=? AND episode=? AND attempt=?", (candidate, episode, attempt)
    ).fetchone()
    return TraceRow(*row) if row else None


def trace_of_id(connection: sqlite3.Connection, key: int) -> TraceRow | None:
    """Return the trace with this key in the store."""
    row = connection.execute(f"{_TRACE} WHERE id=?", (key,)).fetchone()
    return TraceRow(*row) if row else None


def findings_of(connection: sqlite3.Connection, traces: Sequence[int]) -> list[FindingRow]:
    """Return the findings of some traces, in printed order within each."""
    found: list[FindingRow] = []
    for start in range(0, len(traces), 500):
        keys = ",".join(str(int(key)) for key in traces[start : start + 500])
        rows = connection.execute(
            "SELECT trace, gate, code, severity, seq, detail FROM finding"
            f" WHERE trace IN ({keys}) ORDER BY trace, n"
        )
        found.extend(FindingRow(*row) for row in rows.fetchall())
    return found


def findings_on(
    connection: sqlite3.Connection, trace: int, seqs: Sequence[int]
) -> list[FindingRow]:
    """Return the findings of a trace on the events with these numbers, in printed order."""
    numbers = ",".join(str(int(seq)) for seq in seqs)
    rows = connection.execute(
        "SELECT trace, gate, code, severity, seq, detail FROM finding"
        f" WHERE trace = ? AND seq IN ({numbers}) ORDER BY n",
        (trace,),
    )
    return [FindingRow(*row) for row in rows.fetchall()]


def findings_from(connection: sqlite3.Connection, first: int, last: int) -> list[FindingRow]:
    """Return the findings of the traces with keys from `first` to `last`, in printed order within
    each."""
    rows = connection.execute(
        "SELECT trace, gate, code, severity, seq, detail FROM finding"
        " WHERE trace BETWEEN ? AND ? ORDER BY trace, n",
        (first, last),
    )
    return [FindingRow(*row) for row in rows.fetchall()]


def verdict_of(row: TraceRow, found: Iterable[FindingRow]) -> Verdict:
    """Return the stored verdict of a trace with these findings."""
    return Verdict(
        results=gate_results(row.gates),
        findings=tuple(Finding(*one[1:]) for one in found),
        passed=None if row.passed is None else bool(row.passed),
        critical=bool(row.critical),
        steps=row.steps,
        timeouts=row.timeouts,
        infrastructure=bool(row.infra),
    )


FLAG_CODES = ("step_budget", "thumbs_down")
"""The codes that flag an attempt for review."""


def flagging(
    connection: sqlite3.Connection, traces: Sequence[int]
) -> tuple[dict[int, int], dict[int, frozenset[str]]]:
    """Return for some traces the verdict of another harness, and the codes that flag each for
    review."""
    keys = json.dumps(list(traces))
    among = "trace IN (SELECT value FROM json_each(?))"
    said = connection.execute(
        f"SELECT trace, passed FROM source_verdict WHERE {among} AND passed IS NOT NULL", (keys,)
    ).fetchall()
    codes: dict[int, frozenset[str]] = {}
    for trace, code in connection.execute(
        f"SELECT trace, code FROM finding WHERE {among} AND code IN (?, ?)",
        (keys, *FLAG_CODES),
    ).fetchall():
        codes[trace] = codes.get(trace, frozenset()) | {code}
    return dict(said), codes


_LOOKED = 64


def traces_clause(connection: sqlite3.Connection, candidate: int) -> str:
    """Return the clause that selects a candidate's traces `t` by the quicker way: a scan of all
    traces where a large part is this candidate's, else the index. Decides by a few evenly spaced
    traces."""
    held = connection.execute("SELECT coalesce(max(id), 0) FROM trace").fetchone()[0]
    looked = {held * n // _LOOKED for n in range(1, _LOOKED + 1)}
    (mine,) = connection.execute(
        f"SELECT count(*) FROM trace WHERE id IN ({','.join(map(str, looked))}) AND +candidate=?",
        (candidate,),
    ).fetchone()
    return "+t.candidate=?" if 4 * mine >= len(looked) else "t.candidate=?"


def slot_of(connection: sqlite3.Connection, trace: int) -> tuple[str, int]:
    """Return (episode id, attempt) of a trace."""
    row: tuple[str, int] = connection.execute(
        "SELECT e.episode_id, t.attempt FROM trace t JOIN episode e ON e.id = t.episode"
        " WHERE t.id=?",
        (trace,),
    ).fetchone()
    return row


class AttemptRow(NamedTuple):
    """The columns of one attempt that lists of test cases need."""

    episode_id: str
    attempt: int
    passed: int | None
    critical: int
    infra: int
    latency_ms: float | None


def attempt_rows(connection: sqlite3.Connection, candidate: int) -> list[AttemptRow]:
    """Return every attempt, by episode in the suite's order and by number."""
    rows = connection.execute(
        "SELECT e.episode_id, t.attempt, t.passed, t.critical, t.infra, t.latency_ms"
        " FROM trace t JOIN episode e ON e.id = t.episode WHERE t.candidate=?"
        " ORDER BY e.position, t.attempt",
        (candidate,),
    )
    return [AttemptRow(*row) for row in rows.fetchall()]


class SourceVerdict(NamedTuple):
    """The verdict of the harness that made an attempt; `detail` is a JSON object."""

    passed: int | None
    reward: float | None
    detail: str


def source_verdict(connection: sqlite3.Connection, trace: int) -> SourceVerdict | None:
    """Return the verdict of the source of a trace; None when the source gives none."""
    row = connection.execute(
        "SELECT passed, reward, detail FROM source_verdict WHERE trace=?", (trace,)
    ).fetchone()
    return SourceVerdict(*row) if row else None


def source_words(
    connection: sqlite3.Connection, traces: Sequence[int]
) -> dict[int, tuple[int | None, float | None]]:
    """Return (passed, reward) of the sources' verdicts on some traces; absent where there is
    none."""
    rows = connection.execute(
        "SELECT trace, passed, reward FROM source_verdict"
        " WHERE trace IN (SELECT value FROM json_each(?))",
        (json.dumps(list(traces)),),
    )
    return {trace: (passed, reward) for trace, passed, reward in rows}


def source_counts(connection: sqlite3.Connection, candidate: int) -> tuple[int, int, int]:
    """Return how many attempts of a candidate their sources say passed, failed, and neither."""
    row = connection.execute(
        "SELECT coalesce(sum(v.passed = 1), 0), coalesce(sum(v.passed = 0), 0), count(*)"
        " FROM trace t LEFT JOIN source_verdict v ON v.trace = t.id WHERE t.candidate=?",
        (candidate,),
    ).fetchone()
    return row[0], row[1], row[2] - row[0] - row[1]


def failed_by_source(connection: sqlite3.Connection, candidate: int) -> set[int]:
    """Return the episodes with an attempt of a candidate that failed according to its source."""
    rows = connection.execute(
        "SELECT DISTINCT t.episode FROM trace t JOIN source_verdict v ON v.trace = t.id"
        " WHERE t.candidate=? AND v.passed = 0",
        (candidate,),
    )
    return {row[0] for row in rows}


class RevisionRow(NamedTuple):
    """A record of an attempt other than the judged one. `stands` is contained or beside, `findings`
    a JSON array of arrays, `path` and `record` its place in a source; `chunked` says that its
    payload is kept in chunks."""

    n: int
    stands: str
    why: str
    passed: int | None
    infra: int
    events: int
    findings: str
    pack: int | None
    path: str
    record: int
    sha256: str
    at: str
    chunked: int


def revision_rows(connection: sqlite3.Connection, trace: int) -> list[RevisionRow]:
    """Return the records of an attempt other than the judged one, oldest first."""
    rows = connection.execute(
        "SELECT r.n, r.stands, r.why, r.passed, r.infra, r.events, r.findings, r.pack, o.path,"
        " r.record, lower(hex(r.sha256)), r.at,"
        " EXISTS (SELECT 1 FROM chunk c WHERE c.trace = -r.id)"
        " FROM revision r JOIN source o ON o.id = r.source WHERE r.trace=? ORDER BY r.n",
        (trace,),
    )
    return [RevisionRow(*row) for row in rows.fetchall()]


class RescoredRow(NamedTuple):
    """A verdict changed by judging again: the codes before and after as JSON arrays, and the
    versions of reviewer that judged (empty: not known)."""

    before: str
    after: str
    code_before: str
    code_after: str
    at: str


def rescored_rows(connection: sqlite3.Connection, trace: int) -> list[RescoredRow]:
    """Return the changes of a trace's verdict by judging again, in order."""
    rows = connection.execute(
        "SELECT before, after, code_before, code_after, at FROM rescored WHERE trace=? ORDER BY id",
        (trace,),
    )
    return [RescoredRow(*row) for row in rows.fetchall()]
