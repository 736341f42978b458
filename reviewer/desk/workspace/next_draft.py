"""The next version of a suite, as a draft that can be edited before it is frozen."""

import os
from pathlib import Path
from typing import NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.desk.workspace.suite_records import write_folder
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError, id_problem, shown
from reviewer.suite.folder import candidate_files, candidate_folder, locked_files, suite_state
from reviewer.suite.freeze import as_successor, frozen_digest
from reviewer.suite.values import POWER_FILE, SUITE_FILE


class NextDraft(NamedTuple):
    """The draft that was made: of which suite, where, its candidates, the digest of the frozen
    suite that it follows ("" for a draft), and the files of that suite that were edited."""

    suite_id: str
    of: str
    folder: Path
    candidates: tuple[str, ...]
    predecessor: str
    edited: tuple[str, ...]


def draft_of(place: Workspace, suite_id: str, new_id: str) -> NextDraft:
    """Copy the files of a suite, as they are, and its candidates into a draft named `new_id`. What
    a freeze wrote is left behind, and so are traces, labels and judgments. Raises DeskError;
    nothing is written then."""
    folder, target = place.suite_folder(suite_id), place.suites / new_id
    if (reason := id_problem(new_id)) is not None:
        raise DeskError(f"--as {shown(new_id)}: {reason}", exit_code=ExitCode.USAGE)
    if not (folder / SUITE_FILE).exists():
        raise DeskError(f"no suite {suite_id} in {place.suites}", "reviewer suite list")
    if os.path.lexists(target):
        raise DeskError(f"{target} exists already", "--as gives the draft another id")
    try:
        state = suite_state(folder)
        follows = "" if state.state == "draft" else frozen_digest(folder)
        files = locked_files(folder)
        files.pop(POWER_FILE, None)  # a freeze makes it anew, of what the draft becomes
        files[SUITE_FILE] = as_successor(files.get(SUITE_FILE, b""), new_id, follows)
        write_folder(target, {**files, **candidate_folder(folder)})
    except ContractError as error:
        raise DeskError(str(error)) from error
    names = tuple(path.stem for path in candidate_files(target))
    return NextDraft(
        new_id, suite_id, target, names, follows, tuple(edit.path for edit in state.edits)
    )
