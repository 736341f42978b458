"""Opening the store: one writer at a time, readers that can never write.

A write takes a cross-process lock for the length of its transaction (and of the checkpoint that
a commit may run), never longer: SQLite before 3.51.3 can lose data when two connections write or
checkpoint at the same instant, and an import, a run and a workstation must live side by side.
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
"""Memory for pages of the file while it is checked; they are read again and again."""
SQLITE_VERSION = sqlite3.sqlite_version
Connection = sqlite3.Connection
DatabaseError = sqlite3.Error
"""Errors of reading and writing a store besides StoreError; modules outside this package name them
without importing sqlite3."""


class StoreError(Exception):
    """The store cannot be used this way; the text says what is wrong, where, and the way out."""


class EmptyStore(StoreError):
    """A file with nothing in it yet: a store that another is just making, or never made."""


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
where the store is then examined, or a bug of reviewer would be called damage."""


def integrity_faults(connection: sqlite3.Connection, most: int = 1) -> list[str]:
    """Return what SQLite's own check finds wrong with the file, at most so many lines."""
    # Every row is looked for in every index, all over the file.
    connection.execute(f"PRAGMA cache_size=-{CHECK_KB}")
    rows = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
    found = [str(row[0]) for row in rows]
    return [] if found == ["ok"] else found


def scripts() -> list[Path]:
    """The numbered schema files, oldest first; their number is the schema version we know."""
    return sorted((data_folder("store") / "schema").glob("*.sql"))


def reader(path: Path, linked: bool = False) -> sqlite3.Connection:
    """Return a read-only connection, which can neither change nor create the file. `linked` also
    accepts a file behind a link, which the store itself may not be; a backup may.

    Raises StoreError when the file is missing, not a store of ours, or of a newer reviewer.
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
    """A connection for `transaction`; settings are read back, since durability rests on them.

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
    """Refuse a store on a network file system: machines that have it open at once do not see each
    other's log, and damage it. Raises StoreError."""
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

    Never ask this of a store that this process may have open: closing any handle of a file drops
    every POSIX lock of the process on it, SQLite's among them, and another process would then
    change pages that are being read."""
    try:
        with path.open("rb") as handle:
            return handle.read(20)[18:] == b"\2\2"
    except OSError:
        return False  # opening it says why


def refuse_links(path: Path) -> None:
    """Refuse a store behind a symbolic link or under a second name: another program could write
    what is read here. Raises StoreError for its folder, itself or its log."""
    if path.parent.is_symlink():
        raise StoreError(
            f"{path.parent}: is a link, and a store must be in a real folder: replace the link "
            "with a folder, and move its files there"
        )
    for one in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        try:
            found = os.lstat(one)
        except OSError:
            continue  # most do not exist; opening says why another cannot be read
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
    """Return whether the second name is the one that a restore, cut off, was giving it."""
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
    """Return whether this is a store of ours; False for an empty file.

    Raises StoreError for any other database: most have no application_id either, so an unnamed one
    is ours to fill only while it is empty.
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
    """One durable write: lock, BEGIN IMMEDIATE, commit; anything raised inside rolls back."""
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
    """Read the store as it is now in several queries, whatever others write meanwhile: counting
    rows after reading the journal would else accuse a row that was just added. Within another such
    reading it is the same one."""
    own = not connection.in_transaction
    if own:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if own and connection.in_transaction:
            connection.execute("ROLLBACK")


def unwritten(path: Path, error: sqlite3.Error | OSError) -> str:
    """Why nothing was written to `path`, in a line of the workstation, and what helps."""
    number = error.errno if isinstance(error, OSError) else None
    name = getattr(error, "sqlite_errorname", "")  # not on an error that SQLite did not raise
    if number in (errno.ENOSPC, errno.EDQUOT) or name.startswith("SQLITE_FULL"):
        return f"{path}: disk full, nothing written; free some space, then try again"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS) or name.startswith("SQLITE_READONLY"):
        return f"{path}: read-only, nothing written; make its folder writable"
    why = error.strerror if isinstance(error, OSError) else error
    return f"{path}: nothing was written ({why}); reviewer doctor says whether it is intact"


def close_writer(connection: sqlite3.Connection, path: Path) -> None:
    """Close under the lock: the last connection to close runs a checkpoint."""
    with write_lock(path):
        connection.close()


def create_file(path: Path) -> None:
    """Make an empty store file, mode 0600, refusing to follow a symlink or touch an old file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o600))


def data_version(connection: Connection) -> int:
    """Return a number that changes when another connection committed anything."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
