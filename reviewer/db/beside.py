"""What is signed beside decisions: break-glass records, and test results of runs."""

import sqlite3
from typing import NamedTuple

from reviewer.db.said import Table


class BreakGlassRow(NamedTuple):
    """One record; `uid` is the sha256 of its payload, the rest repeats what is shown of it."""

    uid: str
    suite: str
    candidate: str
    agent: str
    environment: str
    principal: str
    reason: str
    at: str
    expires: str
    file: str
    envelope: bytes


class RunResultRow(NamedTuple):
    """One signed test result; `uid` is the sha256 of its payload, `evidence` of its verdicts."""

    uid: str
    suite: str
    candidate: str
    source: int
    result: str
    evidence: str
    principal: str
    at: str
    file: str
    envelope: bytes


BREAK_GLASS: Table[BreakGlassRow] = Table("break_glass", BreakGlassRow._fields, "breakglass.signed")
RUN_RESULTS: Table[RunResultRow] = Table("run_result", RunResultRow._fields, "run.attested")

_GLASS = ", ".join(BreakGlassRow._fields)
_RESULT = ", ".join(RunResultRow._fields)


def broken_glass(connection: sqlite3.Connection, agent: str | None = None) -> list[BreakGlassRow]:
    """Every break-glass record, of one agent or of all, in the order in which they were signed."""
    found = connection.execute(
        f"SELECT {_GLASS} FROM break_glass WHERE ? IS NULL OR agent=? ORDER BY id", (agent, agent)
    ).fetchall()
    return [BreakGlassRow(*one) for one in found]


def run_results(
    connection: sqlite3.Connection, suite_id: str | None = None, candidate_id: str | None = None
) -> list[RunResultRow]:
    """Every signed test result, of a candidate on a suite or of all, in order."""
    found = connection.execute(
        f"SELECT {_RESULT} FROM run_result WHERE ?1 IS NULL OR (suite=?1 AND candidate=?2)"
        " ORDER BY id",
        (suite_id, candidate_id),
    ).fetchall()
    return [RunResultRow(*one) for one in found]


class SourceResult(NamedTuple):
    """What one imported file or run came to for a candidate. Attempts are (episode_id, attempt,
    passed or None, hex sha256 of the record), by place in the suite, then by attempt."""

    source: int
    sha256: str
    attempts: tuple[tuple[str, int, int | None, str], ...]


def source_results(connection: sqlite3.Connection, candidate: int) -> list[SourceResult]:
    """Of each source that gave this candidate a trace, in import order. An attempt that was lost to
    infrastructure has no verdict."""
    found: dict[int, list[tuple[str, int, int | None, str]]] = {}
    for source, *attempt in connection.execute(
        "SELECT t.source, e.episode_id, t.attempt, CASE WHEN t.infra THEN NULL ELSE t.passed END,"
        " lower(hex(t.sha256)) FROM trace t JOIN episode e ON e.id = t.episode"
        " WHERE t.candidate=? ORDER BY t.source, e.position, t.attempt",
        (candidate,),
    ).fetchall():
        found.setdefault(source, []).append(tuple(attempt))
    digests = dict(connection.execute("SELECT id, sha256 FROM source").fetchall())
    return [SourceResult(source, digests[source], tuple(rows)) for source, rows in found.items()]
