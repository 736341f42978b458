"""What a candidate is compared with: the baseline that was named, else the last promoted one."""

import sqlite3
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.promoted import last_promoted
from reviewer.desk.errors import DeskError
from reviewer.report.evidence import Promoted


class Against(NamedTuple):
    """The baseline's id and key; None when there is none here."""

    baseline_id: str | None
    key: int | None
    promoted: Promoted | None


def promoted_of(
    connection: sqlite3.Connection, suite: registry.SuiteRow, candidate: int
) -> Promoted | None:
    """The last promoted other candidate of the same agent, and whether it has attempts on this
    suite; None for a probe, which is no release."""
    found = None if suite.probe else last_promoted(connection, candidate)
    if found is None:
        return None
    return Promoted(
        candidate_id=found.candidate_id,
        number=found.number,
        suite_id=found.suite_id,
        suite_digest=found.suite_digest,
        here=registry.candidate_row(connection, suite.id, found.candidate_id) is not None,
    )


def against(
    connection: sqlite3.Connection,
    suite: registry.SuiteRow,
    candidate: int,
    baseline_id: str | None,
) -> Against:
    """Raises DeskError for a baseline that has no trace on this suite: under another suite's digest
    nothing is comparable."""
    promoted = promoted_of(connection, suite, candidate)
    named = baseline_id
    if named is None and promoted is not None and promoted.here:
        named = promoted.candidate_id
    if named is None:
        return Against(None, None, promoted)
    base = registry.candidate_row(connection, suite.id, named)
    if base is None:
        raise DeskError(
            f"the baseline {named} has no trace on {suite.suite_id}{_elsewhere(connection, named)}",
            f"reviewer import FILE --suite {suite.suite_id} --candidate {named}",
        )
    return Against(named, base.id, promoted)


def _elsewhere(connection: sqlite3.Connection, candidate_id: str) -> str:
    rows = connection.execute(
        "SELECT s.suite_id, s.digest FROM candidate c JOIN suite s ON s.id = c.suite"
        " WHERE c.candidate_id=? AND NOT s.probe ORDER BY s.suite_id",
        (candidate_id,),
    ).fetchall()
    if not rows:
        return ""
    names = ", ".join(f"{suite_id} ({digest[:8]}…)" for suite_id, digest in rows)
    return f": it has some on {names}, and under another suite's digest nothing is comparable"
