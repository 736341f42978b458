"""The attempts of a candidate by number: what a list of test cases needs and nothing more."""

import sqlite3
from typing import NamedTuple


class AttemptRow(NamedTuple):
    """One attempt of one episode, in the words of the trace table."""

    episode_id: str
    attempt: int
    passed: int | None
    critical: int
    infra: int
    latency_ms: float | None


def attempt_rows(connection: sqlite3.Connection, candidate: int) -> list[AttemptRow]:
    """Every attempt, by episode in the suite's order and by number."""
    rows = connection.execute(
        "SELECT e.episode_id, t.attempt, t.passed, t.critical, t.infra, t.latency_ms"
        " FROM trace t JOIN episode e ON e.id = t.episode WHERE t.candidate=?"
        " ORDER BY e.position, t.attempt",
        (candidate,),
    )
    return [AttemptRow(*row) for row in rows.fetchall()]
