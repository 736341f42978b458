"""Whether a report may be made of this store: it must not contradict itself, nor what was signed.

A store put back as it was before a failure is sound in itself. What gives it away lies beside it:
decisions that were signed on its journal, at entries that it no longer has. So each report looks at
the names of the signed files, at the newest of them, and at the ends of the store; a signature
wants the whole proof (`decision_check`), as doctor gives it.
"""

import os
from pathlib import Path

from reviewer.db import decisions, journal
from reviewer.db.connection import Connection
from reviewer.db.integrity import end_faults, is_small, whole_faults
from reviewer.db.schema import foreign_code
from reviewer.db.search import index_faults
from reviewer.db.tables import break_glass_rows, loss_rows, run_result_rows
from reviewer.desk.errors import DeskError
from reviewer.desk.place import Workspace
from reviewer.trace.safetext import visible_line

NEWEST = 20
"""Of so many decisions the file is compared with the row; of all others that it is there."""

WAYS_OUT = (
    "reviewer doctor says all of it",
    "reviewer restore FILE --replace puts the newest backup back",
    "reviewer loss --key KEY --reason WHY states, signed and for ever, what is gone for good",
)


class Standing:
    """The looks at one workspace: what was found sound is not read again until the journal has
    another head. Safe to share between threads."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._sound: journal.Head | None = None

    def hold(self, connection: Connection) -> None:
        """Raises DeskError when doctor would find a fault, as far as can be told at once. May raise
        any of DAMAGE."""
        head = journal.head(connection)
        if head != self._sound:
            if strange := foreign_code(connection):
                named = ", ".join(map(visible_line, strange[:5]))
                raise DeskError(f"the store's schema is not ours: {named}", "restore a backup")
            look = _whole if is_small(connection) else end_faults
            if wrong := look(connection):
                raise DeskError(
                    f"{self._workspace.store}: not as its journal says: {'; '.join(wrong[:5])}",
                    *WAYS_OUT,
                )
        if wrong := signed_faults(self._workspace, connection):
            raise DeskError("; ".join(wrong[:5]), *WAYS_OUT)
        self._sound = head


def _whole(connection: Connection) -> list[str]:
    from reviewer.desk.integrity.doctor import payloads

    wrong = [*whole_faults(connection), *index_faults(connection)]
    if not (found := payloads(connection)).ok:
        wrong.append(f"payloads {found.text}")
    return wrong


def signed_faults(workspace: Workspace, connection: Connection) -> list[str]:
    """Return what of the signed files is missing, or is there and should not be, and whether the
    newest are as they were signed. No signature is checked but that of a file which no row names.
    """
    listed = files_of(connection)
    there = envelope_names(workspace.decisions) | envelope_names(workspace.attestations)
    wrong = linked_folders(workspace)
    wrong += [f"{name}: the signed file is missing" for name in sorted(listed - there)]
    for number, file in decisions.files(connection)[-NEWEST:]:
        if file in there:
            wrong += _differs(workspace, connection, number, file)
    if there - listed:
        from reviewer.desk.integrity.signed import stray_faults

        wrong += stray_faults(workspace, connection)
    if os.path.lexists(workspace.witness):
        from reviewer.desk.integrity.witness import witness_faults

        wrong += witness_faults(workspace, connection)
    return wrong


def files_of(connection: Connection) -> set[str]:
    """The names of all signed files that this store has a row of."""
    listed = {file for _, file in decisions.files(connection)}
    listed.update(one.file for one in break_glass_rows(connection))
    listed.update(one.file for one in run_result_rows(connection))
    listed.update(one.file for one in loss_rows(connection))
    return listed


def linked_folders(workspace: Workspace) -> list[str]:
    """Folders of signed files that lie elsewhere."""
    return [
        f"{folder} is a link, and signed files are not kept behind one: make it a folder"
        for folder in (workspace.decisions, workspace.attestations)
        if folder.is_symlink()
    ]


def envelope_names(folder: Path) -> set[str]:
    """The names of the envelopes in a folder; none without it."""
    try:
        with os.scandir(folder) as found:
            return {one.name for one in found if one.name.endswith(".dsse.json") and one.is_file()}
    except FileNotFoundError:
        return set()


def _differs(workspace: Workspace, connection: Connection, number: int, file: str) -> list[str]:
    row = decisions.row(connection, number)
    path = workspace.decisions / file
    if row is None or path.read_bytes() == row.envelope:
        return []
    from reviewer.desk.integrity.signed import file_faults

    return file_faults(f"decision {number}", path, row.envelope)
