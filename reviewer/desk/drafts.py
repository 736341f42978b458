"""Drafts: suites without a lock. Each version of a draft's files has a store of its own beside
the workspace's, so that an edit needs no new suite id and nothing of a draft can be taken for
evidence."""

import fcntl
import shutil
from collections.abc import Mapping
from pathlib import Path

from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import DRAFTS, STORE, Workspace
from reviewer.exit_codes import ExitCode
from reviewer.suite.draft import draft_digest
from reviewer.suite.errors import ContractError
from reviewer.suite.folder import CANDIDATES, candidate_files, has_lock, read_bytes, suite_state

KEPT = 10
"""Versions of one draft whose runs are kept."""


def is_draft(workspace: Workspace, suite_id: str) -> bool:
    """Return whether a suite exists and has no lock. Raises DeskError for an invalid suite id."""
    folder = workspace.suite_folder(suite_id)
    if not (folder / "suite.json").exists():
        return False
    return not has_lock(folder)


def version_of(folder: Path, files: Mapping[str, bytes]) -> str:
    """Return the digest of a draft's present state: its files, and the manifests of its
    candidates."""
    manifests = {f"{CANDIDATES}/{path.name}": read_bytes(path) for path in candidate_files(folder)}
    return draft_digest({**files, **manifests})


def place_for(workspace: Workspace, suite_id: str) -> Workspace:
    """Return where the runs of a suite are kept: for a draft beside the store, else in the
    workspace itself. Raises DeskError for a draft whose files cannot be read."""
    if not suite_id or not is_draft(workspace, suite_id):
        return workspace
    folder = workspace.suite_folder(suite_id)
    try:
        version = version_of(folder, suite_state(folder).files)
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.INVALID) from error
    return workspace._replace(draft=suite_id, version=version)


def draft_place(workspace: Workspace, suite_id: str) -> Workspace:
    """Return where the runs of a draft are kept. Raises DeskError for any other
    suite."""
    if not is_draft(workspace, suite_id):
        raise DeskError(
            f"{suite_id} is not a draft in {workspace.suites}",
            "reviewer suite list shows every suite, and whether it is frozen",
            exit_code=ExitCode.USAGE,
        )
    return place_for(workspace, suite_id)


def make_room(place: Workspace) -> None:
    """Create the folder of a draft's store, and delete the oldest of its other versions, except
    those being run."""
    if not place.draft:
        return
    place.store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    others = [path for path in place.store.parent.parent.iterdir() if path != place.store.parent]
    others.sort(key=_touched)
    for path in others[: max(0, len(others) + 1 - KEPT)]:
        if not _at_work(path):
            shutil.rmtree(path, ignore_errors=True)


def _touched(folder: Path) -> float:
    """Return when anything was last written in a folder."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:
        return 0.0  # another process is deleting it


def _at_work(folder: Path) -> bool:
    """Return whether a run holds one of the locks of this folder."""
    for path in folder.glob("*.lock"):
        try:
            with path.open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def known_drafts(workspace: Workspace) -> list[str]:
    """Return the drafts of a workspace that have been run, in any version, by name."""
    folder = workspace.root / DRAFTS
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if any(path.glob(f"*/{STORE}")))
    return [name for name in names if is_draft(workspace, name)]


def only_draft(workspace: Workspace) -> str:
    """Return the one draft that was run in a workspace without a store of its own, else ""."""
    if workspace.store.exists():
        return ""
    found = known_drafts(workspace)
    return found[0] if len(found) == 1 else ""


def no_evidence(place: Workspace) -> None:
    """Raise DeskError when this is the place of a draft. Every act that makes evidence of runs, or
    imports evidence, calls this."""
    if place.draft:
        raise DeskError(
            f"{place.draft} is a draft: its runs are not evidence and cannot be signed, exported "
            "or imported",
            f"reviewer suite freeze {place.draft}, then run the candidate on the frozen suite",
            exit_code=ExitCode.INVALID,
        )
