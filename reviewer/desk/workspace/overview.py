"""What stands in a workspace: its suites with their states, candidates, and where to begin."""

import sqlite3

from reviewer.db import registry
from reviewer.desk.errors import DeskError
from reviewer.desk.reports.reports import Reports
from reviewer.desk.scorecards.large import is_large
from reviewer.desk.suite_infos import decided
from reviewer.desk.views import CandidateInfo
from reviewer.report.assess import Assessment


def candidate_infos(
    connection: sqlite3.Connection, reports: Reports, suite_id: str
) -> list[CandidateInfo]:
    """Candidates with traces on a suite, by id."""
    row = registry.suite_row(connection, suite_id)
    if row is None:
        return []
    found = []
    for stored in registry.candidates(connection, row.id):
        traced = connection.execute(
            "SELECT coalesce(sum(attempts + infra), 0) FROM roll WHERE candidate=?", (stored.id,)
        ).fetchone()[0]
        assessed = _assessed(connection, reports, suite_id, stored.candidate_id)
        found.append(
            CandidateInfo(
                candidate_id=stored.candidate_id,
                digest=stored.digest,
                traces=traced,
                recommendation=assessed.recommendation if assessed else "hold",
                decided=decided(connection, stored.id),
            )
        )
    return found


def _assessed(
    connection: sqlite3.Connection, reports: Reports, suite_id: str, candidate_id: str
) -> Assessment | None:
    try:
        return reports.assessed(connection, suite_id, candidate_id).assessment
    except DeskError:
        return None  # a broken suite has no recommendation; its own line says why


def releases(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """(suite, candidate) of everything that has traces, by id."""
    return connection.execute(
        "SELECT s.suite_id, candidate_id FROM candidate JOIN suite s ON s.id = candidate.suite"
        f" WHERE NOT ({registry.EMPTIED}) ORDER BY s.suite_id, candidate_id"
    ).fetchall()


def opening(connection: sqlite3.Connection, reports: Reports) -> tuple[str, str] | None:
    """What to show first: the newest candidate that is neither decided nor ready to promote, else
    the newest; None when the store holds no trace. Where it would take long to say whether one is
    ready, it is taken as not: rows need not wait for that."""
    rows = connection.execute(
        "SELECT s.suite_id, c.candidate_id, c.id, s.id FROM candidate c"
        " JOIN suite s ON s.id = c.suite WHERE NOT s.probe ORDER BY c.id DESC"
    ).fetchall()
    for suite_id, candidate_id, key, suite in rows:
        if decided(connection, key):
            continue
        if is_large(connection, suite, key):
            return suite_id, candidate_id
        assessed = _assessed(connection, reports, suite_id, candidate_id)
        if assessed is not None and assessed.recommendation != "promote":
            return suite_id, candidate_id
    if rows:
        return rows[0][0], rows[0][1]
    probe = connection.execute(
        "SELECT s.suite_id, candidate_id FROM candidate JOIN suite s ON s.id = candidate.suite"
        f" WHERE NOT ({registry.EMPTIED}) ORDER BY candidate.id DESC LIMIT 1"
    ).fetchone()
    return (probe[0], probe[1]) if probe else None
