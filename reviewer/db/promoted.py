"""The last promoted candidate of an agent, by the decisions that stand signed in the store."""

import sqlite3
from typing import NamedTuple


class PromotedRow(NamedTuple):
    """A candidate as promoted by decision `number` on a suite."""

    candidate_id: str
    number: int
    suite_id: str
    suite_digest: str


def last_promoted(connection: sqlite3.Connection, candidate: int) -> PromotedRow | None:
    """The last promoted other candidate of the agent that `candidate` (a key) is a version of.

    A promotion counts once its policy of signatures is met, and as long as no later decision on the
    same candidate blocks it or asks for repair. Without a manifest nobody knows the agent: then
    only promotions on the same suite count.
    """
    mine = connection.execute(
        "SELECT suite, candidate_id, json_extract(CAST(manifest AS TEXT), '$.agent')"
        " FROM candidate WHERE id=?",
        (candidate,),
    ).fetchone()
    suite, candidate_id, agent = mine
    rows = connection.execute(
        "SELECT d.number, d.decision, c.candidate_id, s.suite_id, s.digest FROM decision d"
        " JOIN candidate c ON c.id = d.candidate JOIN suite s ON s.id = d.suite"
        " WHERE d.standing='signed'"
        " AND CASE WHEN ?1 IS NULL THEN d.suite = ?2 ELSE d.agent = ?1 END"
        " ORDER BY d.number DESC",
        (agent, suite),
    ).fetchall()
    decided: set[str] = {candidate_id}
    for number, decision, name, suite_id, digest in rows:
        if name in decided:
            continue
        if decision == "PROMOTE":
            return PromotedRow(name, number, suite_id, digest)
        decided.add(name)
    return None
