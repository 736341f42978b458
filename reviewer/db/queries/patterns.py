"""Failing attempts of a candidate: their rows, the findings that fail them, and the names that
people give to patterns of such attempts."""

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db.queries.traces import TraceRow, traces_by_id
from reviewer.db.tables import Table


class FailingFinding(NamedTuple):
    """A finding that fails its attempt; `n` is its place in printed order."""

    trace: int
    gate: str
    code: str
    critical: bool
    seq: int | None
    n: int
    detail: str


# The same text as the condition of the index on failures, so that passed attempts are not read.
_FAILING = "t.candidate=? AND (t.passed = 0 OR t.infra = 1) AND t.passed = 0"
_PART = 500


def failing_traces(connection: sqlite3.Connection, candidate: int) -> list[TraceRow]:
    """Return every attempt whose verdict is fail, in the order of their payloads."""
    keys = [
        key
        for (key,) in connection.execute(
            f"SELECT t.id FROM trace t WHERE {_FAILING} ORDER BY t.id", (candidate,)
        ).fetchall()
    ]
    rows = [
        row
        for start in range(0, len(keys), _PART)
        for row in traces_by_id(connection, keys[start : start + _PART])
    ]
    return sorted(rows, key=lambda row: (row.pack or 0, row.id))


def failing_findings(
    connection: sqlite3.Connection, candidate: int
) -> dict[int, list[FailingFinding]]:
    """Return trace key → the findings that fail it, in printed order. A failed trace without such a
    finding is absent."""
    found: dict[int, list[FailingFinding]] = {}
    for trace, gate, code, critical, seq, n, detail in connection.execute(
        "SELECT f.trace, f.gate, f.code, f.severity = 'critical', f.seq, f.n,"
        " f.detail"
        " FROM trace t CROSS JOIN finding f ON f.trace = t.id"
        f" WHERE {_FAILING} AND f.severity IN ('critical', 'fail') ORDER BY t.id, f.n",
        (candidate,),
    ).fetchall():
        one = FailingFinding(trace, gate, code, bool(critical), seq, n, detail)
        found.setdefault(trace, []).append(one)
    return found


def evidence_of_traces(connection: sqlite3.Connection, traces: Sequence[int]) -> dict[int, int]:
    """Return trace key → its evidence."""
    rows = connection.execute(
        "SELECT id, evidence FROM trace WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(traces)),),
    ).fetchall()
    return dict(rows)


def fails_with_evidence(connection: sqlite3.Connection, suite_id: str, evidence: int) -> bool:
    """Return whether an attempt with this evidence fails on the suite."""
    row = connection.execute(
        "SELECT 1 FROM trace t JOIN candidate c ON c.id = t.candidate"
        " JOIN suite s ON s.id = c.suite"
        " WHERE t.evidence=? AND t.passed = 0 AND s.suite_id=? LIMIT 1",
        (evidence, suite_id),
    ).fetchone()
    return row is not None


class PatternNameRow(NamedTuple):
    """One name of a pattern, or its removal. `suite` is an id; the uid is the digest of the bytes
    in `body`."""

    uid: str
    suite: str
    pattern: str
    reviewer: str
    at: str
    body: bytes


PATTERN_NAMES: Table[PatternNameRow] = Table(
    "pattern_name", PatternNameRow._fields, "patterns.named"
)
