"""What is signed beside decisions: break-glass records, test results of runs, losses of journal."""

import json
import sqlite3
from typing import Literal, NamedTuple

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


class LossRow(NamedTuple):
    """One statement that journal was lost; `uid` is the sha256 of its payload, `decisions` a JSON
    array of the payloads that were signed on what is gone."""

    uid: str
    journal: str
    lost_seq: int
    kept_seq: int
    decisions: str
    principal: str
    reason: str
    at: str
    file: str
    envelope: bytes


BREAK_GLASS: Table[BreakGlassRow] = Table("break_glass", BreakGlassRow._fields, "breakglass.signed")
RUN_RESULTS: Table[RunResultRow] = Table("run_result", RunResultRow._fields, "run.attested")
LOSSES: Table[LossRow] = Table("loss", LossRow._fields, "journal.lost")

_LOSS = ", ".join(LossRow._fields)
_GLASS = ", ".join(BreakGlassRow._fields)
_RESULT = ", ".join(RunResultRow._fields)


def broken_glass(connection: sqlite3.Connection, agent: str | None = None) -> list[BreakGlassRow]:
    """Every break-glass record, of one agent or of all, in the order in which they were signed."""
    found = connection.execute(
        f"SELECT {_GLASS} FROM break_glass WHERE ? IS NULL OR agent=? ORDER BY id", (agent, agent)
    ).fetchall()
    return [BreakGlassRow(*one) for one in found]


def entry_of(
    connection: sqlite3.Connection, table: Literal["break_glass", "loss"], uid: str
) -> int:
    """The journal entry that tells of a row, 0 without one."""
    row = connection.execute(f"SELECT id FROM {table} WHERE uid=?", (uid,)).fetchone()
    kind = {"break_glass": "breakglass.signed", "loss": "journal.lost"}[table]
    for seq, body in connection.execute(
        "SELECT seq, body FROM journal WHERE instr(body, ?) ORDER BY seq DESC",
        (f'"type":"{kind}"'.encode(),),
    ).fetchall():
        entry = json.loads(body)
        if row and entry["first"] <= row[0] < entry["first"] + entry["added"]:
            return int(seq)
    return 0


def losses(connection: sqlite3.Connection) -> list[LossRow]:
    """Every statement that journal was lost, in order."""
    found = connection.execute(f"SELECT {_LOSS} FROM loss ORDER BY id").fetchall()
    return [LossRow(*one) for one in found]


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
