"""Open the store: one writer at a time, and readers that can never write.

A write holds a cross-process lock for the length of its transaction (and of the checkpoint that a
commit may run), never longer: SQLite before 3.51.3 can lose data when two connections write or
checkpoint at the same instant, and an import, a run and a workstation use the store at the same
time.
"""

import errno
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from reviewer.db.mounts import network_kind
from reviewer.resources import data_folder

APPLICATION_ID = 0x52565752  # "RVWR"
BUSY_MS = 10_000
LOCK_SECONDS = 60.0
CHECK_KB = 64 << 10
"""Cache for pages of the file while it is checked; the check reads them again and again."""
SQLITE_VERSION = sqlite3.sqlite_version
Connection = sqlite3.Connection
DatabaseError = sqlite3.Error
"""Errors of reading and writing a store besides StoreError; modules outside this package catch them
without importing sqlite3."""


class StoreError(Exception):
    """The store cannot be used in this way; the text says what is wrong, where, and the way out."""


class EmptyStore(StoreError):
    """An empty file: a store that another process is creating, or whose creation was cut off."""


DAMAGE = (
    sqlite3.Error,
    StoreError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    MemoryError,
    msgspec.MsgspecError,
)
"""Errors that reading a file with a flipped bit can raise, wherever the bit is. Catch them only
where the store is examined afterwards; otherwise a bug of reviewer would be reported as damage."""


def integrity_faults(connection: sqlite3.Connection, most: int = 1) -> list[str]:
    """Return what SQLite's own check finds wrong with the file, at most so many lines."""
    # SQLite looks for every row in every index, all over the file.
    connection.execute(f"PRAGMA cache_size=-{CHECK_KB}")
    rows = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
    found = [str(row[0]) for row in rows]
    return [] if found == ["ok"] else found


def scripts() -> list[Path]:
    """Return the numbered schema files, oldest first; their number is the schema version of this
    program."""
    return sorted((data_folder("store") / "schema").glob("*.sql"))


def reader(path: Path, linked: bool = False) -> sqlite3.Connection:
    """Return a read-only connection, which can neither change nor create the file. `linked` also
    accepts a file behind a link: allowed for a backup, never for the store itself.

    Raises StoreError when the file is missing, is not a store of reviewer, or was written by a
    newer reviewer.
    """
    if not linked:
        refuse_links(path)
    if network_kind(path.parent) is not None and _has_log(path):
        refuse_network(path)
    connection: sqlite3.Connection | None = None
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_MS / 1000, check_same_thread=False, isolation_level=None
        )
        connection.execute("PRAGMA query_only=ON")
        _harden(connection)
        if not _identify(connection, path):
            raise EmptyStore(f"{path}: is an empty file: reviewer import makes it a store")
    except (sqlite3.Error, StoreError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path}: cannot be read as a store ({error})") from error
    return connection


def reader_if_made(path: Path) -> sqlite3.Connection | None:
    """Return a reader as `reader` does; None without a store, or while another thread or process is
    still creating it. Raises StoreError."""
    try:
        return reader(path) if path.exists() else None
    except EmptyStore:
        return None


def writer(path: Path) -> sqlite3.Connection:
    """Return a connection for `transaction`; settings are read back, since durability depends on
    them.

    The caller holds the write lock: turning a new file to WAL is a write. Raises StoreError.
    """
    refuse_links(path)
    refuse_network(path)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            path, timeout=BUSY_MS / 1000, check_same_thread=False, isolation_level=None
        )
        _harden(connection)
        _identify(connection, path)
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        connection.execute("PRAGMA synchronous=FULL")
        if os.uname().sysname == "Darwin":
            connection.execute("PRAGMA fullfsync=ON")
        level = connection.execute("PRAGMA synchronous").fetchone()[0]
    except (sqlite3.Error, StoreError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, StoreError):
            raise
        raise StoreError(unwritten(path, error)) from error
    if mode != "wal" or level != 2:
        connection.close()
        raise StoreError(
            f"{path}: this file system gives journal_mode={mode}, synchronous={level}; "
            "a store needs wal and full (2): put the workspace on a local disk"
        )
    return connection


def refuse_network(path: Path) -> None:
    """Refuse a store on a network file system: machines that have it open at the same time do not
    see each other's log, and damage the store. Raises StoreError."""
    if (kind := network_kind(path.parent)) is not None:
        raise StoreError(
            f"{path}: is on a network file system ({kind}), where two machines that open one "
            "store can damage it unnoticed: put the workspace on a local disk of one machine; "
            "reviewer serve gives several people access, and a copy made by reviewer backup can "
            "be read here"
        )


def _has_log(path: Path) -> bool:
    """Return whether a file is a database with a write-ahead log, as a store in use is and a copy
    by `reviewer backup` is not.

    Never call this for a store that this process may have open: closing any handle of a file drops
    every POSIX lock of the process on it, SQLite's among them, and another process could then
    change pages while they are read.
    """
    try:
        with path.open("rb") as handle:
            return handle.read(20)[18:] == b"\2\2"
    except OSError:
        return False  # opening the file says why


def refuse_links(path: Path) -> None:
    """Refuse a store behind a symbolic link or with a second name: another program could write what
    is read here. Raises StoreError, which names the folder, the file or its log."""
    if path.parent.is_symlink():
        raise StoreError(
            f"{path.parent}: is a link, and a store must be in a real folder: replace the link "
            "with a folder, and move its files there"
        )
    for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        try:
            found = os.lstat(one)
        except OSError:
            continue  # most do not exist; for any other, opening it says why it cannot be read
        if stat.S_ISLNK(found.st_mode):
            raise StoreError(
                f"{one}: is a link, and a store must be a real file: put the file itself there"
            )
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode) and not _set_aside(one, found):
            raise StoreError(
                f"{one}: is one file under {found.st_nlink} names (hard links), so that it could "
                "be changed through another name: copy it, then replace it with the copy"
            )


def _set_aside(path: Path, found: os.stat_result) -> bool:
    """Return whether the second name was given by a restore that was cut off."""
    others = [
        one
        for one in path.parent.glob(f"{path.name}.replaced-*")
        if os.path.samestat(os.lstat(one), found)
    ]
    return len(others) == found.st_nlink - 1


def _harden(connection: sqlite3.Connection) -> None:
    for pragma in (
        "foreign_keys=ON",
        "recursive_triggers=ON",
        "trusted_schema=OFF",
        "cell_size_check=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _identify(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether this is a store of reviewer; False for an empty file.

    Raises StoreError for any other database. Most databases have no application_id either, so a
    file without one may be filled only while it is empty.
    """
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    if found != APPLICATION_ID:
        if found or connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreError(f"{path}: not a reviewer store (application_id {found:#x})")
        return False
    version, known = connection.execute("PRAGMA user_version").fetchone()[0], len(scripts())
    if version > known:
        raise StoreError(
            f"{path}: written by a newer reviewer (schema {version}, this one knows {known}); "
            "upgrade reviewer to open it"
        )
    return True


@contextmanager
def write_lock(path: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the store's cross-process write lock; raises StoreError after `seconds` of waiting."""
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(unwritten(lock, error)) from error
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"{path}: another process has been writing for {seconds:.0f} s; "
                        "wait for it, or end it, then try again"
                    ) from None
                time.sleep(0.005)
        yield
    finally:
        os.close(handle)


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[sqlite3.Connection]:
    """Do one durable write: lock, BEGIN IMMEDIATE, commit; roll back whatever is raised inside."""
    with write_lock(path):
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StoreError(unwritten(path, error)) from error


@contextmanager
def one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """Read the store at one moment in several queries while other processes write: without this,
    counting rows after reading the journal would report a row that was added in between. Nested
    calls use the outer moment."""
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if own and connection.in_transaction:
            connection.execute("ROLLBACK")


def unwritten(path: Path, error: sqlite3.Error | OSError) -> str:
    """Return why nothing was written to `path`, and what helps, as one line for the workstation."""
    number = error.errno if isinstance(error, OSError) else None
    name = getattr(error, "sqlite_errorname", "")  # missing on an error that SQLite did not raise
    if number in (errno.ENOSPC, errno.EDQUOT) or name.startswith("SQLITE_FULL"):
        return f"{path}: disk full, nothing written; free some space, then try again"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS) or name.startswith("SQLITE_READONLY"):
        return f"{path}: read-only, nothing written; make its folder writable"
    why = error.strerror if isinstance(error, OSError) else error
    return f"{path}: nothing was written ({why}); reviewer doctor says whether it is intact"


def close_writer(connection: sqlite3.Connection, path: Path) -> None:
    """Close under the lock: the last connection that is closed runs a checkpoint."""
    with write_lock(path):
        connection.close()


def create_file(path: Path) -> None:
    """Create an empty store file, mode 0600, without following a symlink or touching an existing
    file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o600))


def data_version(connection: Connection) -> int:
    """Return a number that changes when another connection committed anything."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
