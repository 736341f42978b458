"""What stands in a workspace: its suites with their states, candidates, and where to begin."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

from reviewer.db import decisions, registry
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.reports.reports import Reports
from reviewer.desk.scorecards.large import is_large
from reviewer.desk.views import CandidateInfo, SuiteInfo, SuiteState
from reviewer.importing.probes import benchmark_of
from reviewer.report.assess import Assessment
from reviewer.suite.folder import as_frozen


class _Known(NamedTuple):
    """What the store knows of one suite."""

    row: registry.SuiteRow
    episodes: int
    attempts: int
    candidates: int


def suite_infos(
    workspace: Workspace, connection: sqlite3.Connection | None, only: str | None = None
) -> list[SuiteInfo]:
    """Every suite folder, then what only the store has (probes); `connection` None without one.

    `only` names the one suite to look at: a folder nobody asks about may be costly to check.
    """
    known = {} if connection is None else _known(connection, only)
    found = [
        _folder_info(workspace, folder, known.pop(folder.name, None))
        for folder in suites.folders(workspace)
        if only in (None, folder.name)
    ]
    return found + [_stored_info(one) for one in known.values()]


def held_info(connection: sqlite3.Connection, suite_id: str) -> SuiteInfo:
    """A suite that stands in the store and was just found to be as frozen."""
    one = _known(connection, suite_id)[suite_id]
    return _stored_info(one) if one.row.probe else _frozen_info(one)


def _known(connection: sqlite3.Connection, only: str | None) -> dict[str, _Known]:
    return {
        row.suite_id: _Known(
            row,
            registry.count_episodes(connection, row.id),
            registry.suite_head(connection, row.suite_id).policy.attempts,
            len(registry.candidates(connection, row.id)),
        )
        for row in registry.suites(connection)
        if only in (None, row.suite_id)
    }


def _frozen_info(one: _Known) -> SuiteInfo:
    return SuiteInfo(
        suite_id=one.row.suite_id,
        title=one.row.title,
        digest=one.row.digest,
        probe=False,
        state="frozen",
        problem="",
        episodes=one.episodes,
        attempts=one.attempts,
        candidates=one.candidates,
    )


def _stored_info(one: _Known) -> SuiteInfo:
    row = one.row
    known = benchmark_of(row.suite_id) if row.probe else None
    return SuiteInfo(
        suite_id=row.suite_id,
        title=row.title,
        digest=row.digest,
        probe=row.probe,
        state="frozen" if row.probe else "broken",
        problem="" if row.probe else f"{row.suite_id}: its folder is gone",
        episodes=one.episodes,
        attempts=one.attempts,
        candidates=one.candidates,
        teaches=known.teaches if known else "",
        cannot_certify=known.cannot_certify if known else "",
    )


def _folder_info(workspace: Workspace, folder: Path, one: _Known | None) -> SuiteInfo:
    if one is not None and as_frozen(folder, one.row.digest):
        return _frozen_info(one)
    state, problem = suites.state_of(folder)
    digest = state.digest if state else ""
    if one is not None and not problem and digest != one.row.digest:
        problem = (
            f"{folder.name}: its digest is {digest}, but traces in this store were judged "
            f"under {one.row.digest}"
        )
    episodes, attempts = (one.episodes, one.attempts) if one else (0, 0)
    if one is None and not problem:
        held = suites.hold(workspace, None, folder.name)
        episodes, attempts = len(held.suite.episodes), held.suite.policy.attempts
    word: SuiteState = "broken" if problem else "frozen"
    if state is not None and state.state == "unfrozen":
        word = "unfrozen"
    return SuiteInfo(
        suite_id=folder.name,
        title=one.row.title if one else "",
        digest=one.row.digest if one else digest,
        probe=False,
        state=word,
        problem=problem,
        episodes=episodes,
        attempts=attempts,
        candidates=one.candidates if one else 0,
    )


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


def decided(connection: sqlite3.Connection, candidate: int) -> str | None:
    """The newest decision on a candidate: its word, whether it waits for more, who signed it."""
    row = connection.execute(
        "SELECT number, decision, standing FROM decision WHERE candidate=?"
        " ORDER BY number DESC LIMIT 1",
        (candidate,),
    ).fetchone()
    if row is None:
        return None
    waits = " pending" if row[2] == "pending" else ""
    return ", ".join((f"{row[1]}{waits}", *decisions.signers(connection, row[0])))


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
