"""What stands in a workspace: its suites with their states, candidates, and where to begin."""

from reviewer.db import registry
from reviewer.db.connection import Connection
from reviewer.db.queries import releases as stored_releases
from reviewer.db.queries.attempts import attempts_made
from reviewer.db.queries.episodes import is_large
from reviewer.desk.errors import DeskError
from reviewer.desk.reports.reports import Reports
from reviewer.desk.suites import decided
from reviewer.desk.views import CandidateInfo
from reviewer.report.assess import Assessment


def candidate_infos(connection: Connection, reports: Reports, suite_id: str) -> list[CandidateInfo]:
    """Candidates with traces on a suite, by id."""
    row = registry.suite_row(connection, suite_id)
    if row is None:
        return []
    found = []
    for stored in registry.candidates(connection, row.id):
        assessed = _assessed(connection, reports, suite_id, stored.candidate_id)
        found.append(
            CandidateInfo(
                candidate_id=stored.candidate_id,
                digest=stored.digest,
                traces=attempts_made(connection, stored.id),
                recommendation=assessed.recommendation if assessed else "hold",
                decided=decided(connection, stored.id),
            )
        )
    return found


def _assessed(
    connection: Connection, reports: Reports, suite_id: str, candidate_id: str
) -> Assessment | None:
    try:
        return reports.assessed(connection, suite_id, candidate_id).assessment
    except DeskError:
        return None  # a broken suite has no recommendation; its own line says why


def releases(connection: Connection) -> list[tuple[str, str]]:
    """(suite, candidate) of everything that has traces, by id."""
    return [(one.suite_id, one.candidate_id) for one in stored_releases.releases(connection)]


def opening(connection: Connection, reports: Reports) -> tuple[str, str] | None:
    """What to show first: the newest candidate that is neither decided nor ready to promote, else
    the newest; None when the store holds no trace. Where it would take long to say whether one is
    ready, it is taken as not: rows need not wait for that."""
    private = stored_releases.newest_releases(connection)
    for one in private:
        if decided(connection, one.candidate):
            continue
        if is_large(connection, one.suite, one.candidate):
            return one.suite_id, one.candidate_id
        assessed = _assessed(connection, reports, one.suite_id, one.candidate_id)
        if assessed is not None and assessed.recommendation != "promote":
            return one.suite_id, one.candidate_id
    newest = private[0] if private else stored_releases.newest_probe(connection)
    return (newest.suite_id, newest.candidate_id) if newest else None
