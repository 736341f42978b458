"""Records that were refused: where each was read, and every reason."""

import json
import sqlite3
from collections.abc import Collection
from typing import NamedTuple


class RefusedRecord(NamedTuple):
    """One refused record: the file, its place in it, and why it was refused."""

    path: str
    record: int
    reasons: tuple[str, ...]


class QuarantineRow(NamedTuple):
    """One refused record with the parts of its slot that it named."""

    id: int
    candidate_id: str | None
    episode_id: str | None
    suite_id: str | None
    attempt: int | None
    reasons: tuple[str, ...]


def refused_records(connection: sqlite3.Connection) -> list[RefusedRecord]:
    """Return every refused record with its file, newest first."""
    rows = connection.execute(
        "SELECT o.path, q.record, q.reasons FROM quarantine q JOIN source o ON o.id = q.source"
        " ORDER BY q.id DESC"
    ).fetchall()
    return [RefusedRecord(path, record, _reasons(text)) for path, record, text in rows]


def quarantine(connection: sqlite3.Connection) -> list[QuarantineRow]:
    """Return every refused record with the slot it named, oldest first."""
    rows = connection.execute(
        "SELECT id, candidate_id, episode_id, suite_id, attempt, reasons FROM quarantine"
        " ORDER BY id"
    ).fetchall()
    return [
        QuarantineRow(key, candidate_id, episode_id, suite_id, attempt, _reasons(text))
        for key, candidate_id, episode_id, suite_id, attempt, text in rows
    ]


def reasons_of_source(
    connection: sqlite3.Connection, source: int, first: int, count: int
) -> dict[int, tuple[str, ...]]:
    """Return record number → reasons, for the refused records among `count` records of a source."""
    rows = connection.execute(
        "SELECT record, reasons FROM quarantine WHERE source=? AND record>=? AND record<?",
        (source, first, first + count),
    ).fetchall()
    return {record: _reasons(text) for record, text in rows}


def reasons_of_candidate(
    connection: sqlite3.Connection, suite_id: str, candidate_id: str
) -> list[tuple[str, ...]]:
    """Return the reasons of each refused record of a candidate on a suite."""
    rows = connection.execute(
        "SELECT reasons FROM quarantine WHERE suite_id=? AND candidate_id=?",
        (suite_id, candidate_id),
    ).fetchall()
    return [_reasons(text) for (text,) in rows]


def _reasons(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


def quarantined(
    connection: sqlite3.Connection, suite_id: str, candidate_id: str
) -> tuple[dict[str, int], int]:
    """Return the number of refused records of this candidate per episode id of this suite, and of
    those that name no episode of any suite: they may be of this one."""
    placed: dict[str, int] = {}
    unplaced = 0
    for suite, episode_id, count in connection.execute(
        "SELECT suite_id, episode_id, count(*) FROM quarantine WHERE candidate_id=?"
        " AND (suite_id=? OR suite_id IS NULL) GROUP BY suite_id, episode_id",
        (candidate_id, suite_id),
    ):
        if suite is None or episode_id is None:
            unplaced += count
        else:
            placed[episode_id] = count
    return placed, unplaced


def unjudged_attempts(
    connection: sqlite3.Connection, suite_id: str, candidate_id: str, candidate: int
) -> list[tuple[str, int | None]]:
    """Return (episode id, attempt) of each refused record that names this candidate and an episode
    and that no imported trace replaced: no trace of its attempt or, where it names no attempt, none
    from a later file. Records that repeat known evidence are left out."""
    found: list[tuple[str, int | None]] = []
    made: dict[str, dict[int, int]] = {}
    for episode_id, attempt, source, text in connection.execute(
        "SELECT episode_id, attempt, source, reasons FROM quarantine WHERE suite_id=?"
        " AND candidate_id=? AND episode_id IS NOT NULL ORDER BY attempt IS NULL, id",
        (suite_id, candidate_id),
    ):
        if any(reason.startswith("duplicate_evidence") for reason in _reasons(text)):
            continue
        if episode_id not in made:
            rows = connection.execute(
                "SELECT t.attempt, t.source FROM trace t JOIN episode e ON e.id = t.episode"
                " WHERE t.candidate=? AND e.episode_id=?",
                (candidate, episode_id),
            )
            made[episode_id] = dict(rows.fetchall())
        sources = made[episode_id]  # by attempt; each source replaces one refused record
        if attempt is None:
            attempt = next((one for one, of in sorted(sources.items()) if of > source), None)
            if attempt is None:
                found.append((episode_id, None))
        elif attempt not in sources:
            found.append((episode_id, attempt))
        sources.pop(attempt, None)
    return found


def unnamed_refusals(connection: sqlite3.Connection, sources: Collection[tuple[str, str]]) -> int:
    """Return how many refused records of these files (path, sha256) name no
    candidate: each may belong to any candidate with attempts in its file."""
    return sum(
        count
        for path, sha256, count in connection.execute(
            "SELECT o.path, o.sha256, count(*) FROM quarantine q"
            " JOIN source o ON o.id = q.source WHERE q.candidate_id IS NULL GROUP BY o.id"
        )
        if (path, sha256) in sources
    )
