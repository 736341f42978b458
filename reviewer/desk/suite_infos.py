"""What lists say of suites: state, digest, counts; and the newest decision on a candidate."""

import sqlite3
from pathlib import Path
from typing import NamedTuple

from reviewer.db import decisions, registry
from reviewer.desk import suites
from reviewer.desk.place import Workspace
from reviewer.desk.views import SuiteInfo, SuiteState
from reviewer.suite.benchmarks import benchmark_of
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


def decided(connection: sqlite3.Connection, candidate: int) -> str | None:
    """The newest decision on a candidate: its word, whether it waits for more, who signed it."""
    newest = decisions.newest_on(connection, candidate)
    if newest is None:
        return None
    waits = " pending" if newest.standing == "pending" else ""
    return ", ".join((f"{newest.decision}{waits}", *decisions.signers(connection, newest.number)))
