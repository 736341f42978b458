"""What must hold before a candidate is run: the suite, the manifest, the program, no other run."""

import fcntl
import hashlib
import os

from reviewer.db import registry
from reviewer.db.connection import Connection, reader_if_made
from reviewer.db.queries.attempts import filled_slots
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.runs.views import Runnable, RunOrder
from reviewer.exit_codes import ExitCode
from reviewer.running.candidates import check_runnable
from reviewer.running.engine import Made, missing_places
from reviewer.running.model import Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import candidate_files


def check_numbers(order: RunOrder) -> None:
    """Raises DeskError for a number that no run can have."""
    for name, value, least, most in (
        ("attempts", order.attempts, 1, 100_000),
        ("jobs", order.jobs, 1, 1_000),
        ("workers", order.workers, 0, 256),
        ("seed", order.seed, 0, (1 << 53) - 1),
    ):
        if value is not None and not least <= value <= most:
            raise DeskError(f"--{name} {value}: from {least} to {most:,}", exit_code=ExitCode.USAGE)


def hold(workspace: Workspace, suite_id: str) -> suites.Held:
    """A private suite that may be run now. Raises DeskError."""
    connection = reader_if_made(workspace.store)
    try:
        held = suites.hold(workspace, connection, suite_id)
    finally:
        if connection is not None:
            connection.close()
    if held.folder is None or held.suite.probe:
        raise DeskError(f"{suite_id} is a probe: its traces are imported, it cannot be run")
    return held


def manifest_of(held: suites.Held, candidate_id: str) -> suites.Manifested:
    """The manifest of a candidate to run. Raises DeskError when there is none."""
    found = suites.manifest(held, candidate_id)
    if found is None:
        assert held.folder is not None  # which `hold` has seen to
        known = ", ".join(path.stem for path in candidate_files(held.folder)) or "none"
        raise DeskError(
            f"no manifest of {candidate_id} in {held.folder}/candidates (there: {known})",
            f"write {held.folder}/candidates/{candidate_id}.json; reviewer schema candidate "
            "says what stands in it",
        )
    return found


def unrunnable(candidate: Candidate, held: suites.Held) -> str:
    """Why a candidate cannot be run, with the way out; "" when it can."""
    assert held.folder is not None  # which `hold` has seen to
    try:
        check_runnable(candidate, held.folder)
    except Unrunnable as error:
        return str(error)
    return ""


def lock_run(workspace: Workspace, order: RunOrder) -> int:
    """One run of a candidate at a time, or two would make the same attempts. Held until the run
    ends, however it does; the store's own lock is another, and is never held for long."""
    return lock_work(
        workspace,
        "run",
        (order.suite_id, order.candidate_id),
        DeskError(
            f"{order.candidate_id} is being run on {order.suite_id} already",
            "wait for that run, or stop it",
        ),
    )


def lock_work(workspace: Workspace, kind: str, parts: tuple[str, ...], busy: DeskError) -> int:
    """Hold the lock of one piece of work; raises `busy` when another process, or this one, has
    it. The caller closes what is returned."""
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    path = workspace.store.with_name(f"{kind}-{name}.lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        lock = os.open(path, flags, 0o600)
    except OSError as error:
        raise DeskError(f"{path}: cannot be opened ({error.strerror})") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise busy from error
    return lock


def made_by(connection: Connection, suite: int, candidate: int) -> Made:
    """The attempts of a candidate that hold a trace."""
    made: dict[str, dict[int, bool]] = {}
    for episode_id, attempt, lost in filled_slots(connection, suite, candidate):
        made.setdefault(episode_id, {})[attempt] = lost
    return made


def runnable(workspace: Workspace, connection: Connection | None, suite_id: str) -> list[Runnable]:
    """Every candidate manifest of a suite, by id. Raises DeskError for a suite that may not be
    used; `connection` is None while there is no store."""
    held = suites.hold(workspace, connection, suite_id)
    if held.folder is None:
        return []
    row = registry.suite_row(connection, suite_id) if connection is not None else None
    known = (
        {one.candidate_id: one for one in registry.candidates(connection, row.id)}
        if (connection is not None and row is not None)
        else {}
    )
    episodes = [episode.episode_id for episode in held.suite.episodes]
    found = []
    for path in candidate_files(held.folder):
        one = known.get(path.stem)
        made: Made = {}
        if connection is not None and row is not None and one is not None:
            made = made_by(connection, row.id, one.id)
        planned = registry.plan_of(held.suite, one.planned if one else None).attempts
        ends = dict.fromkeys(episodes, planned)
        kind, problem = _kind(held, path.stem)
        found.append(
            Runnable(
                candidate_id=path.stem,
                kind=kind,
                made=sum(map(len, made.values())),
                missing=len(missing_places(episodes, made, planned, ends)),
                problem=problem,
            )
        )
    return found


def _kind(held: suites.Held, candidate_id: str) -> tuple[str, str]:
    """(how a candidate is run, why it cannot be)."""
    try:
        candidate = manifest_of(held, candidate_id).candidate
    except (DeskError, ContractError) as error:
        return "", str(error)
    return str(candidate.runner.get("kind") or ""), unrunnable(candidate, held)
