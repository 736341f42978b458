"""Attempts that can be reviewed: all but those that infrastructure lost, with what flags them."""

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple


class ReviewableTrace(NamedTuple):
    """The fields of an attempt that locate its message, and those that flag it. `said_elsewhere` is
    the verdict of the harness beside ours; `efficiency` is 0 to 1."""

    id: int
    episode: int
    attempt: int
    pack: int | None
    offset: int | None
    length: int | None
    critical: bool
    passed: bool | None
    said_elsewhere: bool | None
    termination: str | None
    diagnostics: bytes | None
    evidence: int = 0

    @property
    def key(self) -> tuple[int, int]:
        """The identity of the trace, which differs should another store be put in this one's
        place."""
        return self.id, self.evidence


_NOT_LOST = "NOT (t.infra = 1 AND t.passed IS NULL)"
_COLUMNS = (
    "t.id, t.episode, t.attempt, t.pack, t.offset, t.length, t.critical, t.passed,"
    " v.passed, t.termination, t.diagnostics, t.evidence"
)
_REVIEWABLE = (
    f"SELECT {_COLUMNS} FROM trace t LEFT JOIN source_verdict v ON v.trace = t.id"
    f" WHERE t.candidate=? AND {_NOT_LOST}"
)
# A cross join is read from left to right: what few rows there are picks the traces.
_FLAGGABLE = (
    f"{_REVIEWABLE} AND (t.passed = 0 OR t.infra = 1)"
    f" UNION SELECT {_COLUMNS} FROM source_verdict v CROSS JOIN trace t ON t.id = v.trace"
    f" WHERE t.candidate=? AND {_NOT_LOST} AND v.passed IS NOT t.passed"
    " AND v.passed IS NOT NULL AND t.passed IS NOT NULL"
    f" UNION SELECT {_COLUMNS} FROM finding f CROSS JOIN trace t ON t.id = f.trace"
    " LEFT JOIN source_verdict v ON v.trace = t.id"
    f" WHERE t.candidate=? AND {_NOT_LOST} AND f.code = 'thumbs_down' AND f.severity = 'note'"
    " ORDER BY 1"
)


def reviewable_traces(connection: sqlite3.Connection, candidate: int) -> list[ReviewableTrace]:
    """Return every attempt of a candidate but those that infrastructure lost, by id."""
    rows = connection.execute(f"{_REVIEWABLE} ORDER BY t.id", (candidate,))
    return [_reviewable(row) for row in rows.fetchall()]


def reviewable_traces_in(
    connection: sqlite3.Connection, candidate: int, episodes: Iterable[int], most: int = -1
) -> list[ReviewableTrace]:
    """Return the reviewable attempts of some episodes, at most so many."""
    rows = connection.execute(
        f"{_REVIEWABLE} AND t.episode IN (SELECT value FROM json_each(?)) ORDER BY t.id LIMIT ?",
        (candidate, json.dumps(list(episodes)), most),
    )
    return [_reviewable(row) for row in rows.fetchall()]


def reviewable_trace(
    connection: sqlite3.Connection, candidate: int, episode: int, attempt: int
) -> ReviewableTrace | None:
    """Return the reviewable attempt in a slot."""
    row = connection.execute(
        f"{_REVIEWABLE} AND t.episode=? AND t.attempt=?", (candidate, episode, attempt)
    ).fetchone()
    return _reviewable(row) if row else None


def first_reviewable_traces(
    connection: sqlite3.Connection, candidate: int, most: int
) -> list[ReviewableTrace]:
    """Return the first reviewable attempts, at most so many."""
    rows = connection.execute(f"{_REVIEWABLE} ORDER BY t.id LIMIT ?", (candidate, most))
    return [_reviewable(row) for row in rows.fetchall()]


def count_reviewable_traces(connection: sqlite3.Connection, candidate: int) -> int:
    """Count the reviewable attempts of a candidate."""
    row = connection.execute(
        f"SELECT count(*) FROM trace t WHERE t.candidate=? AND {_NOT_LOST}", (candidate,)
    ).fetchone()
    return int(row[0])


def reviewable_slots(connection: sqlite3.Connection, candidate: int) -> list[tuple[int, int]]:
    """Return (episode, attempt) of each reviewable attempt whose payload is stored."""
    return connection.execute(
        f"SELECT t.episode, t.attempt FROM trace t WHERE t.candidate=? AND {_NOT_LOST}"
        " AND (t.pack IS NOT NULL OR EXISTS (SELECT 1 FROM chunk c WHERE c.trace = t.id))",
        (candidate,),
    ).fetchall()


def flaggable_traces(connection: sqlite3.Connection, candidate: int) -> list[ReviewableTrace]:
    """Return the attempts that can carry a high flag: those that failed, that another judged
    differently, and that a user gave a thumbs-down.

    A million traces that pass are not read.
    """
    rows = connection.execute(_FLAGGABLE, (candidate, candidate, candidate))
    return [_reviewable(row) for row in rows.fetchall()]


def _reviewable(row: tuple[int, ...]) -> ReviewableTrace:
    facts = ReviewableTrace(*row)  # type: ignore[arg-type]
    return facts._replace(
        critical=bool(facts.critical),
        passed=None if facts.passed is None else bool(facts.passed),
        said_elsewhere=None if facts.said_elsewhere is None else bool(facts.said_elsewhere),
    )
