"""Stored review sets, and the attempts that a set is drawn from."""

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from reviewer.db.tables import Table


class ReviewSetRow(NamedTuple):
    """One set. `suite` is the id of its attempts' suite; the uid is the digest of the bytes in
    `body`."""

    uid: str
    name: str
    suite: str
    at: str
    body: bytes


REVIEW_SETS: Table[ReviewSetRow] = Table("review_set", ReviewSetRow._fields, "reviewset.made")
_COLUMNS = ", ".join(ReviewSetRow._fields)


_ABOUT_USERS = b'"about":"user"'
"""Occurs in every stored set about users, and in no other: sets are canonical JSON, and a text in
one has its quotes escaped."""


def review_sets(connection: sqlite3.Connection, suite_id: str | None = None) -> list[ReviewSetRow]:
    """Return the sets of a suite, or all, in the order they were made."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM review_set WHERE ?1 IS NULL OR suite=?1 ORDER BY id", (suite_id,)
    ).fetchall()
    return [ReviewSetRow(*row) for row in rows]


def sets_about_users(connection: sqlite3.Connection, suite_id: str) -> list[ReviewSetRow]:
    """Return the sets of a suite that ask about the users of conversations."""
    return [row for row in review_sets(connection, suite_id) if _ABOUT_USERS in row.body]


def review_set_named(connection: sqlite3.Connection, name: str) -> ReviewSetRow | None:
    """Return the set of this name."""
    return _one(connection, "name", name)


def review_set_of(connection: sqlite3.Connection, uid: str) -> ReviewSetRow | None:
    """Return the set with this digest."""
    return _one(connection, "uid", uid)


def _one(connection: sqlite3.Connection, column: str, value: str) -> ReviewSetRow | None:
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM review_set WHERE {column}=?", (value,)
    ).fetchone()
    return ReviewSetRow(*row) if row else None


class Recorded(NamedTuple):
    """One attempt: its slot, where its record is, its verdict and cost. `kept`: its payload is
    stored; `lost`: infrastructure ended it without a verdict. Flags and verdict are 0 or 1."""

    id: int
    candidate_id: str
    episode_id: str
    attempt: int
    pack: int | None
    offset: int | None
    length: int | None
    evidence: int
    sha256: str
    kept: int
    passed: int | None
    cost_usd: float | None
    lost: int
    thumbs_down: int

    @property
    def key(self) -> tuple[int, int]:
        """The identity of the trace, as `ReviewableTrace.key`."""
        return self.id, self.evidence


def recorded_attempts(
    connection: sqlite3.Connection,
    suite: int,
    candidates: Sequence[str] = (),
    files: Sequence[str] = (),
) -> list[Recorded]:
    """Return the attempts of a suite: all, those of candidates, or those whose judged record came
    with a file of one of these digests."""
    rows = connection.execute(
        "SELECT t.id, c.candidate_id, e.episode_id, t.attempt, t.pack, t.offset, t.length,"
        " t.evidence, lower(hex(t.sha256)),"
        " t.pack IS NOT NULL OR EXISTS (SELECT 1 FROM chunk k WHERE k.trace = t.id),"
        " t.passed, t.cost_usd,"
        " t.infra = 1 AND t.passed IS NULL,"
        " EXISTS (SELECT 1 FROM finding f WHERE f.trace = t.id AND f.code = 'thumbs_down')"
        " FROM candidate c JOIN trace t ON t.candidate = c.id JOIN episode e ON e.id = t.episode"
        " JOIN source o ON o.id = t.source WHERE c.suite = ?"
        " AND (? OR c.candidate_id IN (SELECT value FROM json_each(?)))"
        " AND (? OR o.sha256 IN (SELECT value FROM json_each(?))) ORDER BY t.id",
        (suite, not candidates, json.dumps(list(candidates)), not files, json.dumps(list(files))),
    ).fetchall()
    return [Recorded(*row) for row in rows]


def suites_of_files(connection: sqlite3.Connection, files: Sequence[str]) -> list[str]:
    """Return the suites that have attempts whose judged record came with a file of one of these
    digests."""
    rows = connection.execute(
        "SELECT DISTINCT s.suite_id FROM source o JOIN trace t ON t.source = o.id"
        " JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
        " WHERE o.sha256 IN (SELECT value FROM json_each(?)) ORDER BY 1",
        (json.dumps(list(files)),),
    ).fetchall()
    return [row[0] for row in rows]
