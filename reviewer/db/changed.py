"""What has to follow when stored traces change: counts of their episodes, the journal's digests.

Traces only change for a reason the journal gives: they were judged anew, their source's verdict
came later, or more of the same attempt was imported (`replaced`).
"""

import sqlite3
from collections.abc import Iterable, Sequence

from reviewer.db import journal, proof, registry
from reviewer.db.firsts import recount_firsts
from reviewer.db.registry import Plan
from reviewer.db.rolls import recount_rolls

Place = tuple[int, int]
"""(candidate, episode)"""


def places(connection: sqlite3.Connection, traces: Iterable[int]) -> set[Place]:
    """Where these traces are counted."""
    found: set[Place] = set()
    for trace in traces:
        found |= set(
            connection.execute("SELECT candidate, episode FROM trace WHERE id=?", (trace,))
        )
    return found


def recount(connection: sqlite3.Connection, of: Iterable[Place]) -> None:
    """Count these episodes anew, inside the caller's transaction."""
    by_candidate: dict[int, set[int]] = {}
    for candidate, episode in of:
        by_candidate.setdefault(candidate, set()).add(episode)
    for candidate, episodes in by_candidate.items():
        plan = _plan(connection, candidate)
        recount_rolls(connection, candidate, episodes, plan)
        recount_firsts(connection, candidate, episodes, plan)


def _plan(connection: sqlite3.Connection, candidate: int) -> Plan:
    suite_id, planned = connection.execute(
        "SELECT s.suite_id, c.planned FROM candidate c JOIN suite s ON s.id = c.suite WHERE c.id=?",
        (candidate,),
    ).fetchone()
    return registry.plan_of(registry.suite_head(connection, suite_id), planned)


def note(connection: sqlite3.Connection, traces: Sequence[int], why: str, now: str) -> None:
    """Enter in the journal, by suite, what the batches of these traces hold now."""
    by_suite: dict[str, list[int]] = {}
    for trace in traces:
        (suite_id,) = connection.execute(
            "SELECT s.suite_id FROM trace t JOIN candidate c ON c.id = t.candidate"
            " JOIN suite s ON s.id = c.suite WHERE t.id=?",
            (trace,),
        ).fetchone()
        by_suite.setdefault(suite_id, []).append(trace)
    for suite_id, some in by_suite.items():
        batches = proof.batches_of(connection, some)
        journal.append(
            connection,
            {
                "type": "traces.rescored",
                "suite_id": suite_id,
                "changed": len(some),
                "why": why,
                "batches": {
                    str(first): proof.batch_digest(connection, first, count)
                    for first, count in batches.items()
                },
                "at": now,
            },
        )
