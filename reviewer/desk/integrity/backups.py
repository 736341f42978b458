"""Copy the whole store while others write, and replace the store by such a copy."""

import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import (
    DAMAGE,
    StoreError,
    create_file,
    reader,
    unwritten,
    write_lock,
)
from reviewer.db.copies import StoreInUse, copy_whole, fold_log, note_restored
from reviewer.db.journal import Head as Head
from reviewer.db.schema import bring_up_to_date, foreign_parts
from reviewer.desk.errors import DeskError, parted, refusal_of, ways_out
from reviewer.desk.imports.importing import clock
from reviewer.desk.integrity.doctor import content
from reviewer.desk.place import Workspace
from reviewer.durable import sync_folder
from reviewer.exit_codes import ExitCode


class BackupResult(NamedTuple):
    """A copy of the store: its size in bytes, and the last entry of its journal."""

    size: int
    head: Head


class RestoreResult(NamedTuple):
    """A backup that became the store. `aside` is where the former store was moved, None when there
    was none; `later` counts the journal entries of the former store that the backup lacks, None
    where the two share no history."""

    head: Head
    aside: Path | None = None
    later: int | None = None


def backup(workspace: Workspace, target: Path) -> BackupResult:
    """Copy the whole store through SQLite's backup, while others may write.

    The copy is one file (no write-ahead log), so it can be read where nothing can be written.
    Raises DeskError when there is no store or the target exists.
    """
    if not workspace.store.exists():
        raise DeskError(
            f"{workspace.store} does not exist yet: there is nothing to copy",
            "reviewer import or reviewer run makes it",
        )
    try:
        handle = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise DeskError(f"{target} exists", "name a new file", exit_code=ExitCode.USAGE) from error
    except OSError as error:
        raise DeskError(
            f"{target}: cannot be made ({error.strerror})",
            *ways_out(error),
            exit_code=ExitCode.USAGE,
        ) from error
    os.close(handle)
    try:
        head = _copied(workspace.store, target)
        sync_folder(target.parent)
    except (*DAMAGE, OSError) as error:
        target.unlink()
        raise DeskError(
            f"{target}: the copy failed ({error})",
            "reviewer doctor says whether the store is intact; then copy again",
        ) from error
    return BackupResult(target.stat().st_size, head)


def restore(workspace: Workspace, file: Path, replace: bool = False) -> RestoreResult:
    """Replace the store by a backup, after checking that the backup agrees with its journal. An
    existing store is set aside, and only with `replace`.

    Raises DeskError: no such file, not a sound store, an existing store without `replace`, one that
    is in use.
    """
    store = workspace.store
    if not file.is_file():
        raise DeskError(
            f"{file}: no such file",
            "reviewer backup FILE writes one",
            exit_code=ExitCode.USAGE,
        )
    if store.exists() and file.samefile(store):
        raise DeskError(
            f"{file} is this workspace's own store", "name another file", exit_code=ExitCode.USAGE
        )
    try:
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".restore-", dir=store.parent))
    except OSError as error:
        raise DeskError(*parted(unwritten(store.parent, error))) from error
    try:
        new = folder / "review.db"
        head = _proved(file, new)
        with write_lock(store):
            return _put(new, store, head, replace)
    except StoreError as error:
        raise refusal_of(error) from error
    except OSError as error:
        raise DeskError(*parted(unwritten(store, error))) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(store: Path, target: Path, linked: bool = False) -> Head:
    with closing(reader(store, linked)) as source:
        return copy_whole(source, target)


def _proved(file: Path, new: Path) -> Head:
    """Copy a backup to `new`, update its schema and examine it."""
    create_file(new)
    try:
        head = _copied(file, new, linked=True)
        with closing(reader(new)) as connection:
            wrong = [f"changed by another program: {part}" for part in foreign_parts(connection)]
        if not wrong:
            bring_up_to_date(new)
            with closing(reader(new)) as connection:
                wrong = [f"{c.name}: {c.text}" for c in content(connection) if c.ok is False]
    except StoreError as error:
        raise DeskError(str(error), "another backup") from error
    except DAMAGE as error:
        raise DeskError(f"{file}: cannot be read as a store ({error})", "another backup") from error
    if wrong:
        raise DeskError(f"{file}: is not a sound store: {'; '.join(wrong[:5])}", "another backup")
    with new.open("rb") as handle:
        os.fsync(handle.fileno())
    return head


def _put(new: Path, store: Path, head: Head, replace: bool) -> RestoreResult:
    """Give the checked copy the store's name. The caller holds the write lock."""
    log = _with(store, "-wal")
    restored = RestoreResult(head)
    if any(path.exists() and path.stat().st_size for path in (store, log)):
        if not replace:
            raise DeskError(
                f"{store} already exists, and a restore does not overwrite it",
                "--replace keeps the existing store under another name",
                exit_code=ExitCode.USAGE,
            )
        later = _only_one(store, head)
        if later is not None and later > 0:
            note_restored(new, later, clock())
        restored = RestoreResult(head, _free_name(store), later)
    if restored.aside is not None and store.exists():
        os.link(store, restored.aside)  # after a crash here a store exists, old or new
    if restored.aside is not None and log.exists():
        log.rename(_with(restored.aside, "-wal"))  # the old log must not join the new store
    for left in (log, _with(store, "-shm")):
        left.unlink(missing_ok=True)
    sync_folder(store.parent)
    new.replace(store)
    sync_folder(store.parent)
    return restored


def _with(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _only_one(store: Path, head: Head) -> int | None:
    """Fold the log of the store into it, provided that no process has it open; return how many
    entries it is ahead. A file that cannot be read as a store is set aside unchanged."""
    if not (store.exists() and store.stat().st_size):
        return None  # opening an empty file makes SQLite delete the log beside it
    try:
        return fold_log(store, head)
    except StoreInUse as error:
        raise DeskError(
            str(error), "quit every workstation that uses it, then try again"
        ) from error
    except DAMAGE:
        return None


def _free_name(store: Path) -> Path:
    number = 1
    while (name := _with(store, f".replaced-{number}")).exists() or _with(name, "-wal").exists():
        number += 1
    return name
