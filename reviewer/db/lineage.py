"""Which other suites a candidate met, and the reasons that people gave for it in the journal."""

import json
import sqlite3
from typing import NamedTuple

from reviewer.db import journal

RELATED = "suites.related"


class OtherSuite(NamedTuple):
    """Another frozen suite with attempts of the same candidate, whatever its manifest was then."""

    suite_id: str
    digest: str
    attempts: int
    passes: int


class Reason(NamedTuple):
    """Why both of two suites were used, in the words of whoever said it last."""

    reason: str
    reviewer: str
    at: str
    seq: int


def others(connection: sqlite3.Connection, suite: int, candidate: int) -> list[OtherSuite]:
    """Suites other than `suite` (probes apart) on which this candidate has attempts, by id."""
    found = connection.execute(
        "SELECT s.suite_id, s.digest, sum(r.attempts + r.infra), sum(r.passes)"
        " FROM candidate mine JOIN candidate c ON c.candidate_id = mine.candidate_id"
        " JOIN suite s ON s.id = c.suite JOIN roll r ON r.candidate = c.id"
        " WHERE mine.id=? AND s.id<>? AND NOT s.probe"
        " GROUP BY s.id HAVING sum(r.attempts + r.infra) > 0 ORDER BY s.suite_id",
        (candidate, suite),
    ).fetchall()
    return [OtherSuite(*one) for one in found]


def met(connection: sqlite3.Connection, suite: int) -> list[OtherSuite]:
    """The other suites that any candidate of this one met, with the attempts made there, by id."""
    keys = connection.execute("SELECT id FROM candidate WHERE suite=?", (suite,)).fetchall()
    found: dict[str, OtherSuite] = {}
    for (candidate,) in keys:
        for one in others(connection, suite, candidate):
            before = found.get(one.digest, one._replace(attempts=0, passes=0))
            found[one.digest] = one._replace(
                attempts=before.attempts + one.attempts, passes=before.passes + one.passes
            )
    return sorted(found.values())


def reasons(connection: sqlite3.Connection, digest: str) -> dict[str, Reason]:
    """Digest of another suite → why both were used; the last word counts. A reason holds both
    ways: for the one suite beside the other."""
    found: dict[str, Reason] = {}
    rows = connection.execute(
        "SELECT seq, body FROM journal WHERE instr(body, ?) ORDER BY seq",
        (f'"{RELATED}"'.encode(),),
    ).fetchall()
    for seq, body in rows:
        entry = json.loads(body)
        if entry["type"] != RELATED or digest not in entry["digests"]:
            continue
        other = next((one for one in entry["digests"] if one != digest), digest)
        found[other] = Reason(entry["reason"], entry["reviewer"], entry["at"], seq)
    return found


def relate(
    connection: sqlite3.Connection, one: str, other: str, reason: str, reviewer: str, now: str
) -> None:
    """Enter into the journal why two suites (by digest) were both used, inside the caller's
    transaction."""
    journal.append(
        connection,
        {
            "type": RELATED,
            "digests": sorted((one, other)),
            "reason": reason,
            "reviewer": reviewer,
            "at": now,
        },
    )
