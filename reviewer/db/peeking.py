"""What the journal knows of looking at evidence while it grew."""

import json
import sqlite3
from typing import NamedTuple


class EarlierDecision(NamedTuple):
    """A decision signed when the candidate had `attempts`, after which more came in."""

    number: int
    decision: str
    attempts: int


def earlier_decisions(connection: sqlite3.Connection, candidate: int) -> list[EarlierDecision]:
    """Decisions on a candidate after which more of its attempts came in, by number.

    A decision on evidence that has not changed since is none of them: whoever signs it too finds
    the same report.
    """
    found = []
    for number, decision, seq in connection.execute(
        "SELECT number, decision, seq FROM decision WHERE candidate=? ORDER BY number", (candidate,)
    ).fetchall():
        after = connection.execute(
            "SELECT body FROM journal WHERE seq>? AND instr(body, ?) ORDER BY seq LIMIT 1",
            (seq, b'"traces.added"'),
        ).fetchone()
        if after is None:
            break  # nothing came in behind this decision, nor behind any later one
        first = json.loads(after[0])["first"]
        then, since = connection.execute(
            "SELECT coalesce(sum(id < ?1), 0), coalesce(sum(id >= ?1), 0) FROM trace"
            " WHERE candidate=?2",
            (first, candidate),
        ).fetchone()
        if since:
            found.append(EarlierDecision(number, decision, then))
    return found


def candidates_on(connection: sqlite3.Connection, suite: int) -> int:
    """How many candidates have an attempt on a suite."""
    row = connection.execute(
        "SELECT count(DISTINCT r.candidate) FROM roll r JOIN candidate c ON c.id = r.candidate"
        " WHERE c.suite=?",
        (suite,),
    ).fetchone()
    return int(row[0])
