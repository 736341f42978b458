"""Move the payloads of old traces out of the store, and back. Digests and findings stay."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reviewer.db import archiving, registry
from reviewer.db.connection import DAMAGE, Connection, StoreError, close_writer, reader
from reviewer.db.payload_archives import (
    FOLDER,
    ArchiveRow,
    archive_fault,
    archive_rows,
    found_path,
)
from reviewer.db.schema import foreign_parts, open_writer
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.imports.indexing import index_now
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.trace.safetext import visible_line

Told = Callable[[int, int], None]
"""Called with how many files are done, and of how many."""


class ArchivedFile(NamedTuple):
    """A file of payloads, its bytes and how many frames are in it."""

    path: Path
    size: int
    frames: int


class ArchiveResult(NamedTuple):
    """The moved payloads; `staying` counts packs and large traces that hold other records too."""

    files: tuple[ArchivedFile, ...]
    staying: int


class RestoreResult(NamedTuple):
    """The files whose payloads are in the store again, and why others are not."""

    files: tuple[ArchivedFile, ...]
    missing: tuple[str, ...]


def archive(
    workspace: Workspace,
    before: str,
    suite_id: str | None,
    candidate_id: str | None,
    folder: Path | None,
    told: Told,
) -> ArchiveResult:
    """Move the payloads of traces that were imported before a moment (RFC 3339, UTC) into files of
    a folder. Payloads already moved stay where they are. Raises DeskError, StoreError."""
    _require_store(workspace)
    index_now(workspace)  # later, indexing would need the file, which may have been moved
    where = workspace.store.parent / FOLDER if folder is None else folder
    connection = open_writer(workspace.store)
    try:
        keys = _candidates(connection, suite_id, candidate_id)
        found = archiving.chosen(connection, before, keys)
        parts = list(archiving.files_of(found.units))
        made = []
        for number, units in enumerate(parts):
            told(number, len(parts))
            written = archiving.write_file(connection, units, where)
            row = archiving.record_file(connection, workspace.store, written, clock())
            made.append(ArchivedFile(written.path, row.size, row.frames))
        if made and folder is None:  # like the store itself, this file is not for version control
            (where / ".gitignore").write_text("*\n", encoding="utf-8")
        return ArchiveResult(tuple(made), found.staying)
    finally:
        close_writer(connection, workspace.store)


def take_back(workspace: Workspace, told: Told) -> RestoreResult:
    """Put the payloads of every file back into the store; a file that was changed is left out. The
    files stay. Raises DeskError, StoreError."""
    _require_store(workspace)
    connection = open_writer(workspace.store)
    try:
        made, missing = [], []
        rows = archive_rows(connection)
        for number, one in enumerate(rows):
            told(number, len(rows))
            if fault := archive_fault(connection, one):
                missing.append(visible_line(fault))
                continue
            made.append(_file(connection, one))
            archiving.take_back(connection, workspace.store, one, clock())
        return RestoreResult(tuple(made), tuple(missing))
    finally:
        close_writer(connection, workspace.store)


def archived_files(workspace: Workspace) -> tuple[ArchivedFile, ...]:
    """Return the files that hold payloads of this store, whether they exist or not."""
    if not workspace.store.exists():
        return ()
    with closing(reader(workspace.store)) as connection:
        return tuple(_file(connection, one) for one in archive_rows(connection))


def _file(connection: Connection, one: ArchiveRow) -> ArchivedFile:
    return ArchivedFile(found_path(connection, one), one.size, one.frames)


def _require_store(workspace: Workspace) -> None:
    """Raise DeskError without a store, or for one with another schema."""
    path = workspace.store
    if not path.exists():
        raise DeskError(f"{path} does not exist yet: there is nothing to archive")
    try:
        with closing(reader(path)) as connection:
            strange = foreign_parts(connection)
    except StoreError:
        raise
    except DAMAGE as error:
        raise DeskError(f"{path}: cannot be read ({error})", "reviewer doctor") from error
    if strange:
        named = ", ".join(map(visible_line, strange[:5]))
        raise DeskError(
            f"{path}: its schema was changed by another program: {named}; nothing was changed"
        )


def _candidates(
    connection: Connection, suite_id: str | None, candidate_id: str | None
) -> list[int] | None:
    """Return the keys of the named candidates; None for all. Raises DeskError where nothing has the
    name."""
    if suite_id is None and candidate_id is None:
        return None
    keys = [
        one.id
        for suite in registry.suites(connection)
        if suite_id in (None, suite.suite_id)
        for one in registry.candidates(connection, suite.id)
        if candidate_id in (None, one.candidate_id)
    ]
    if not keys:
        named = " on ".join(filter(None, (candidate_id, suite_id)))
        raise DeskError(
            f"the store has no trace of {named}",
            "reviewer doctor --sizes names them",
            exit_code=ExitCode.USAGE,
        )
    return keys
