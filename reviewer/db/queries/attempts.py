"""Attempts of a candidate: which slots hold a trace, what each record is, and what was found."""

import sqlite3
from typing import NamedTuple


class SlotRow(NamedTuple):
    """A slot that holds a trace; `lost` when infrastructure ended the attempt without a verdict."""

    episode_id: str
    attempt: int
    lost: bool


class SlotFinding(NamedTuple):
    """A finding with the slot of its trace."""

    episode_id: str
    attempt: int
    code: str
    detail: str


def filled_slots(connection: sqlite3.Connection, suite: int, candidate: int) -> list[SlotRow]:
    """Return the slots of a candidate that hold a trace."""
    rows = connection.execute(
        "SELECT e.episode_id, t.attempt, t.infra = 1 AND t.passed IS NULL FROM trace t"
        " JOIN episode e ON e.id = t.episode WHERE t.candidate=? AND e.suite=?",
        (candidate, suite),
    ).fetchall()
    return [SlotRow(episode_id, attempt, bool(lost)) for episode_id, attempt, lost in rows]


def attempts_made(connection: sqlite3.Connection, candidate: int) -> int:
    """Return how many attempts of a candidate the store holds, those lost included."""
    row = connection.execute(
        "SELECT coalesce(sum(attempts + infra), 0) FROM roll WHERE candidate=?", (candidate,)
    ).fetchone()
    return int(row[0])


def findings_of_code(
    connection: sqlite3.Connection, candidate: int, code: str
) -> list[SlotFinding]:
    """Return the findings of one code on a candidate's traces, in suite order."""
    rows = connection.execute(
        "SELECT e.episode_id, t.attempt, f.code, f.detail FROM trace t"
        " JOIN finding f ON f.trace = t.id JOIN episode e ON e.id = t.episode"
        " WHERE t.candidate=? AND f.code=? ORDER BY e.position, t.attempt",
        (candidate, code),
    ).fetchall()
    return [SlotFinding(*row) for row in rows]


def signal_codes(connection: sqlite3.Connection, candidate: int) -> dict[int, set[str]]:
    """Return trace key → the codes that may put the trace into a queue of labels."""
    codes: dict[int, set[str]] = {}
    for trace, code in connection.execute(
        "SELECT f.trace, f.code FROM finding f CROSS JOIN trace t ON t.id = f.trace"
        " WHERE t.candidate=? AND (f.severity <> 'note' OR f.code = 'thumbs_down')",
        (candidate,),
    ).fetchall():
        codes.setdefault(trace, set()).add(code)
    return codes


def record_digests(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> list[str]:
    """Return the sha256 (hex) of the records judged, in order of slot."""
    rows = connection.execute(
        "SELECT lower(hex(t.sha256)) FROM trace t JOIN candidate c ON c.id = t.candidate"
        " JOIN suite s ON s.id = c.suite JOIN episode e ON e.id = t.episode"
        " WHERE s.suite_id=? AND c.candidate_id=? ORDER BY e.position, t.attempt",
        (suite_id, candidate_id),
    ).fetchall()
    return [digest for (digest,) in rows]
