"""The next version of a suite, as a draft that can be edited before it is frozen."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.place import Workspace
from reviewer.desk.suites import no_suite
from reviewer.desk.workspace.suite_records import write_folder
from reviewer.exit_codes import ExitCode
from reviewer.suite.errors import ContractError, id_problem, shown
from reviewer.suite.folder import candidate_files, candidate_folder, locked_files, suite_state
from reviewer.suite.freeze import as_successor, frozen_digest
from reviewer.suite.values import POWER_FILE, SUITE_FILE

README = "README.md"


class NextDraft(NamedTuple):
    """The new draft: of which suite, where, its candidates, the digest of the frozen suite that it
    follows ("" for a draft), and the files of that suite that were edited."""

    suite_id: str
    of: str
    folder: Path
    candidates: tuple[str, ...]
    predecessor: str
    edited: tuple[str, ...]


def draft_of(place: Workspace, suite_id: str, new_id: str) -> NextDraft:
    """Copy the files of a suite, as they are, and its candidates into a draft named `new_id`. Files
    written by a freeze are not copied, nor traces, labels and judgments. Raises DeskError, and then
    writes nothing."""
    folder, target = place.suite_folder(suite_id), place.suites / new_id
    if (reason := id_problem(new_id)) is not None:
        raise DeskError(
            f"--as {shown(new_id)}: {reason}",
            "an id has letters, digits, dots, hyphens and underscores, such as agent-v1",
            exit_code=ExitCode.USAGE,
        )
    if not (folder / SUITE_FILE).exists():
        raise no_suite(place, suite_id)
    if os.path.lexists(target):
        raise DeskError(f"{target} exists already", "--as gives the draft another id")
    try:
        state = suite_state(folder)
        follows = "" if state.state == "draft" else frozen_digest(folder)
        files = locked_files(folder)
        files.pop(POWER_FILE, None)  # a freeze computes it from the edited draft
        files[SUITE_FILE] = as_successor(files.get(SUITE_FILE, b""), new_id, follows)
        if README in files:
            files[README] = _readdressed(files[README], suite_id, new_id)
        write_folder(target, {**files, **candidate_folder(folder)})
    except ContractError as error:
        raise refusal_of(error) from error
    names = tuple(path.stem for path in candidate_files(target))
    return NextDraft(
        new_id, suite_id, target, names, follows, tuple(edit.path for edit in state.edits)
    )


def _readdressed(text: bytes, suite_id: str, new_id: str) -> bytes:
    """Return a README with its title and its commands changed to the new suite; other words
    stay."""
    old, new = re.escape(suite_id.encode()), new_id.encode()
    text = re.sub(rb"\A# " + old + rb"(?=\r?\n)", b"# " + new, text)
    command = rb"(?<![\w-])(reviewer [^`\n]*?(?<![\w.-]))" + old + rb"(?![\w.-])"
    return re.sub(command, lambda found: found[1] + new, text)
