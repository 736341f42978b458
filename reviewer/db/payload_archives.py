"""Payloads in files outside the database: where each frame lies, and how it is read there.

A file holds zstd frames end to end and is never changed. The row of a pack or a chunk stays in the
store with an empty frame. A frame is checked against its digest whenever it is read. A payload
whose file is missing or was changed is reported as not available, never as empty.
"""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.db.connection import StoreError

FOLDER = "payloads"
"""Folder of archives beside the store. An archive that was elsewhere is also looked for here."""
ARCHIVED, RESTORED = "payloads.archived", "payloads.restored"
_BLOCK = 1 << 20


class NotAvailable(StoreError):
    """A payload is in a file outside the store that is missing or was changed."""


class ArchiveRow(NamedTuple):
    """A file of payloads as the store knows it."""

    id: int
    path: str
    size: int
    sha256: bytes
    frames: int
    at: str


class Frame(NamedTuple):
    """Where one frame lies in a file, and its digest."""

    offset: int
    length: int
    sha256: bytes


_ROWS = "SELECT id, path, size, sha256, frames, at FROM payload_archive"
_FRAMES = (
    "SELECT a.offset, a.length, p.sha256 FROM archived_pack a JOIN pack p ON p.id = a.pack"
    " WHERE a.archive=?1 UNION ALL"
    " SELECT offset, length, sha256 FROM archived_chunk WHERE archive=?1 ORDER BY 1"
)


def archive_rows(connection: sqlite3.Connection) -> list[ArchiveRow]:
    """Return the files of payloads, oldest first; none in a store of an older schema."""
    if not _has_archives(connection):
        return []
    return [ArchiveRow(*row) for row in connection.execute(f"{_ROWS} ORDER BY id").fetchall()]


def _has_archives(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name='payload_archive'")
    return found.fetchone() is not None


def frames_in(connection: sqlite3.Connection, archive: int) -> list[Frame]:
    """Return the frames of a file, in the order in which they lie."""
    return [Frame(*row) for row in connection.execute(_FRAMES, (archive,)).fetchall()]


def places_digest(frames: Sequence[Frame]) -> str:
    """Return the sha256 over the frames of a file, which the journal holds."""
    return hashlib.sha256(msgspec.msgpack.encode([tuple(one) for one in frames])).hexdigest()


def pack_frame(connection: sqlite3.Connection, pack: int) -> bytes | None:
    """Return the frame of a pack whose row is empty; None when no file holds it. Raises
    NotAvailable."""
    row = connection.execute(
        "SELECT a.archive, a.offset, a.length, p.sha256 FROM archived_pack a"
        " JOIN pack p ON p.id = a.pack WHERE a.pack=?",
        (pack,),
    ).fetchone()
    return None if row is None else _frame(connection, row[0], Frame(*row[1:]))


def chunk_frame(connection: sqlite3.Connection, trace: int, n: int) -> bytes | None:
    """Return the frame of a chunk whose row is empty; None when no file holds it. Raises
    NotAvailable."""
    row = connection.execute(
        "SELECT archive, offset, length, sha256 FROM archived_chunk WHERE trace=? AND n=?",
        (trace, n),
    ).fetchone()
    return None if row is None else _frame(connection, row[0], Frame(*row[1:]))


def chunk_lengths(
    connection: sqlite3.Connection, first: int, last: int
) -> dict[tuple[int, int], int]:
    """Return the lengths of the archived frames of the traces from `first` to before `last`."""
    rows = connection.execute(
        "SELECT trace, n, length FROM archived_chunk WHERE trace >= ? AND trace < ?", (first, last)
    )
    return {(trace, n): length for trace, n, length in rows.fetchall()}


def _frame(connection: sqlite3.Connection, archive: int, frame: Frame) -> bytes:
    row = connection.execute(f"{_ROWS} WHERE id=?", (archive,)).fetchone()
    if row is None:
        raise StoreError(f"payload archive {archive} is missing from the store: restore a backup")
    one = ArchiveRow(*row)
    path = found_path(connection, one)
    try:
        handle = _opened(path)
        try:
            raw = os.pread(handle, frame.length, frame.offset)
        finally:
            os.close(handle)
    except OSError as error:
        raise NotAvailable(_gone(path, error)) from error
    if len(raw) != frame.length or hashlib.sha256(raw).digest() != frame.sha256:
        raise NotAvailable(_changed(path))
    return raw


def _opened(path: Path) -> int:
    """Open a file without blocking: a store from elsewhere may name a pipe."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a file")
    return handle


def _gone(path: Path, error: OSError) -> str:
    return (
        f"not available: archived in {path} ({error.strerror}); put that file back, there or in"
        f" the folder {FOLDER} beside the store"
    )


def _changed(path: Path) -> str:
    return f"not available: archived in {path}, which was changed since; put back an unchanged copy"


def store_path(connection: sqlite3.Connection) -> Path:
    """Return the file behind a connection."""
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])


def found_path(connection: sqlite3.Connection, one: ArchiveRow) -> Path:
    """Return the path of a file of payloads: where it was written, else beside the store."""
    folder = store_path(connection).parent
    path = folder / one.path
    beside = folder / FOLDER / path.name
    return beside if not path.exists() and beside.exists() else path


def archive_fault(connection: sqlite3.Connection, one: ArchiveRow) -> str | None:
    """Return what is wrong with a file of payloads, after checking every frame; None when nothing
    is."""
    path, at = found_path(connection, one), 0
    try:
        with closing(os.fdopen(_opened(path), "rb")) as handle:
            if os.fstat(handle.fileno()).st_size != one.size:
                return _changed(path)
            for frame in frames_in(connection, one.id):
                if frame.offset != at or not _holds(handle, frame):
                    return _changed(path)
                at += frame.length
    except OSError as error:
        return _gone(path, error)
    return None if at == one.size else _changed(path)


def _holds(handle: Any, frame: Frame) -> bool:
    digest, left = hashlib.sha256(), frame.length
    while left and (block := handle.read(min(left, _BLOCK))):
        digest.update(block)
        left -= len(block)
    return not left and digest.digest() == frame.sha256


def archive_faults(connection: sqlite3.Connection, *suite_ids: str) -> list[str]:
    """Return what is wrong with the files of payloads, of some suites or of all, after checking
    every frame."""
    rows = archives_of(connection, suite_ids) if suite_ids else archive_rows(connection)
    return [fault for one in rows if (fault := archive_fault(connection, one)) is not None]


def missing_archives(connection: sqlite3.Connection, *suite_ids: str) -> list[str]:
    """Return which files with payloads of these suites are missing or have another size. No frame
    is read: `archive_faults` checks them all."""
    found = []
    for one in archives_of(connection, suite_ids):
        path = found_path(connection, one)
        try:
            at = path.stat()
        except OSError as error:
            found.append(_gone(path, error))
            continue
        if not stat.S_ISREG(at.st_mode) or at.st_size != one.size:
            found.append(_changed(path))
    return found


def archives_of(connection: sqlite3.Connection, suite_ids: Sequence[str]) -> list[ArchiveRow]:
    """Return the files with payloads of some suites."""
    if not archive_rows(connection):
        return []
    marks = ", ".join("?" * len(suite_ids))
    mine = (
        f"t.candidate IN (SELECT c.id FROM candidate c JOIN suite s ON s.id = c.suite"
        f" WHERE s.suite_id IN ({marks}))"
    )
    found = {
        archive
        for query in (
            f"SELECT a.archive FROM trace t JOIN archived_pack a ON a.pack = t.pack WHERE {mine}",
            "SELECT a.archive FROM revision r JOIN trace t ON t.id = r.trace"
            f" JOIN archived_pack a ON a.pack = r.pack WHERE {mine}",
            f"SELECT a.archive FROM archived_chunk a JOIN trace t ON t.id = a.trace WHERE {mine}",
            "SELECT a.archive FROM archived_chunk a JOIN revision r ON r.id = -a.trace"
            f" JOIN trace t ON t.id = r.trace WHERE {mine}",
        )
        for (archive,) in connection.execute(f"{query} GROUP BY 1", tuple(suite_ids)).fetchall()
    }
    return [one for one in archive_rows(connection) if one.id in found]


def archiving_faults(
    connection: sqlite3.Connection, entries: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """Yield where the store and these entries of its journal disagree about which frames lie in
    which files. The files are not looked at."""
    told: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry["type"] == ARCHIVED:
            told[entry["path"]] = entry
        else:
            told.pop(entry["path"], None)
    for one in archive_rows(connection):
        entry = told.pop(one.path, {})
        frames = frames_in(connection, one.id)
        said = entry.get("sha256"), entry.get("bytes"), entry.get("frames"), entry.get("places")
        if said != (one.sha256.hex(), one.size, one.frames, places_digest(frames)):
            yield f"payload archive {one.path}"
    yield from (f"payload archive {path} is gone" for path in told)
