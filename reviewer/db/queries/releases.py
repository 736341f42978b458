"""Releases: each candidate on each suite, by name and by digest."""

import sqlite3
from typing import Any, NamedTuple

from reviewer.db.registry import EMPTIED


class ReleaseRow(NamedTuple):
    """A candidate on a suite, by the keys and the names of both."""

    suite: int
    suite_id: str
    candidate: int
    candidate_id: str
    probe: bool


class SuiteDigest(NamedTuple):
    """A suite by its id and digest."""

    suite_id: str
    digest: str


_RELEASE = (
    "SELECT s.id, s.suite_id, candidate.id, candidate_id, s.probe FROM candidate"
    " JOIN suite s ON s.id = candidate.suite"
)


def releases(connection: sqlite3.Connection) -> list[ReleaseRow]:
    """Return every release that has traces, by suite id and candidate id."""
    return _rows(
        connection.execute(f"{_RELEASE} WHERE NOT ({EMPTIED}) ORDER BY s.suite_id, candidate_id")
    )


def newest_releases(connection: sqlite3.Connection) -> list[ReleaseRow]:
    """Return every release on a private suite, the candidate registered last first."""
    return _rows(connection.execute(f"{_RELEASE} WHERE NOT s.probe ORDER BY candidate.id DESC"))


def newest_probe(connection: sqlite3.Connection) -> ReleaseRow | None:
    """Return the newest release that has traces, of a store without private suites."""
    found = _rows(
        connection.execute(f"{_RELEASE} WHERE NOT ({EMPTIED}) ORDER BY candidate.id DESC LIMIT 1")
    )
    return found[0] if found else None


def release_of(connection: sqlite3.Connection, candidate: int) -> ReleaseRow:
    """Return the release of a candidate that is in the store, by its key."""
    return _rows(connection.execute(f"{_RELEASE} WHERE candidate.id=?", (candidate,)))[0]


def release_by_digests(
    connection: sqlite3.Connection, candidate_sha256: str, suite_sha256: str
) -> ReleaseRow | None:
    """Return the release with this manifest on this suite; None when the store has none."""
    found = _rows(
        connection.execute(
            f"{_RELEASE} WHERE candidate.digest=? AND s.digest=? ORDER BY candidate.id LIMIT 1",
            (candidate_sha256, suite_sha256),
        )
    )
    return found[0] if found else None


def candidate_by_digest(connection: sqlite3.Connection, sha256: str) -> str | None:
    """Return the id of the first candidate with this manifest, on whichever suite."""
    row = connection.execute(
        "SELECT candidate_id FROM candidate WHERE digest=? ORDER BY id LIMIT 1", (sha256,)
    ).fetchone()
    return None if row is None else str(row[0])


def private_suites_of(connection: sqlite3.Connection, candidate_id: str) -> list[SuiteDigest]:
    """Return the private suites on which a candidate of this id is registered, by id."""
    rows = connection.execute(
        "SELECT s.suite_id, s.digest FROM candidate c JOIN suite s ON s.id = c.suite"
        " WHERE c.candidate_id=? AND NOT s.probe ORDER BY s.suite_id",
        (candidate_id,),
    ).fetchall()
    return [SuiteDigest(*row) for row in rows]


def _rows(found: sqlite3.Cursor) -> list[ReleaseRow]:
    return [_row(row) for row in found.fetchall()]


def _row(row: tuple[Any, ...]) -> ReleaseRow:
    return ReleaseRow(row[0], row[1], row[2], row[3], bool(row[4]))
