"""The entered costs of the store."""

import sqlite3
from typing import NamedTuple

from reviewer.db.said import Table

RECORDED = "costs.recorded"


class CostRow(NamedTuple):
    """One entry. `suite` and `candidate` are ids, `body` the entry as it travels."""

    uid: str
    suite: str
    candidate: str
    entry: str
    at: str
    body: bytes


COSTS: Table[CostRow] = Table("cost", CostRow._fields, RECORDED)


def of_candidate(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> list[bytes]:
    """The bodies of a candidate's entries, in the order in which they came in."""
    rows = connection.execute(
        "SELECT body FROM cost WHERE suite=? AND candidate=? ORDER BY id", (suite_id, candidate_id)
    )
    return [row[0] for row in rows.fetchall()]


def places(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(suite id, candidate id) of everything that has an entry, by id."""
    return connection.execute(
        "SELECT DISTINCT suite, candidate FROM cost ORDER BY suite, candidate"
    ).fetchall()
