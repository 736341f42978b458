"""Move payloads into files outside the database, and back.

A file is written completely, synced and read back before one transaction, with its journal entry,
records that the frames are in the file and empties the store's own copies. Whenever the process is
killed, each frame is in the store or in a file that the store names; a file that no store names
holds copies only.
"""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from reviewer.db import journal
from reviewer.db.connection import StoreError, transaction, unwritten
from reviewer.db.payload import open_chunk, open_pack, pack_of
from reviewer.db.payload_archives import (
    ARCHIVED,
    RESTORED,
    ArchiveRow,
    Frame,
    archive_fault,
    chunk_frame,
    pack_frame,
    places_digest,
)
from reviewer.durable import sync_folder

FILE_BYTES = 256 << 20
"""Bytes after which a file ends: each is one transaction."""


class Unit(NamedTuple):
    """Frames that are moved together: a pack, or all chunks of a trace (`chunks`, of a revision
    under its negative id)."""

    chunks: bool
    key: int
    size: int


class Chosen(NamedTuple):
    """The payloads to be moved, and the number of packs and large traces that stay because they
    hold records that were not chosen or are not indexed yet."""

    units: list[Unit]
    staying: int


def chosen(connection: sqlite3.Connection, before: str, candidates: Sequence[int] | None) -> Chosen:
    """Return the payloads whose records were all imported before a moment (ISO 8601, UTC), by these
    candidates or (None) by any."""
    among = "1" if candidates is None else f"t.candidate IN ({','.join(map(str, candidates))})"
    fits = (
        f"s.state='done' AND s.at < ?1 AND {among}"
        " AND t.id <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key='indexed')"
    )
    held = connection.execute(
        f"WITH record (pack, key, fits) AS (SELECT t.pack, t.id, {fits} FROM trace t"
        "  JOIN source s ON s.id = t.source UNION ALL"
        f" SELECT r.pack, -r.id, {fits} FROM revision r JOIN trace t ON t.id = r.trace"
        "  JOIN source s ON s.id = r.source)"
        " SELECT 0, r.pack, length(p.frame), min(r.fits), max(r.fits) FROM record r"
        "  JOIN pack p ON p.id = r.pack WHERE length(p.frame) > 0 GROUP BY r.pack UNION ALL"
        " SELECT 1, c.trace, sum(length(c.frame)), min(r.fits), max(r.fits) FROM chunk c"
        "  JOIN record r ON r.key = c.trace WHERE length(c.frame) > 0 GROUP BY c.trace"
        " ORDER BY 1, 2",
        (before,),
    ).fetchall()
    units = [Unit(bool(chunks), key, size) for chunks, key, size, least, _ in held if least]
    return Chosen(units, sum(most and not least for *_, least, most in held))


def files_of(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield the units of one file after another."""
    held: list[Unit] = []
    size = 0
    for unit in units:
        held.append(unit)
        size += unit.size
        if size >= FILE_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


class _Placed(NamedTuple):
    """A frame that was written: its pack, or its trace and number, and its place in the file."""

    unit: Unit
    n: int
    frame: Frame


class Written(NamedTuple):
    """A file of payloads that is on the disk and not yet in the store."""

    path: Path
    sha256: bytes
    placed: list[_Placed]

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return sum(one.frame.length for one in self.placed)


def write_file(connection: sqlite3.Connection, units: Sequence[Unit], folder: Path) -> Written:
    """Copy frames, each checked against its digest, into a file of this folder that is named by its
    content. Raises StoreError for a frame that is damaged or cannot be written."""
    part = folder / ".part"
    placed: list[_Placed] = []
    whole, at = hashlib.sha256(), 0
    try:
        new = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as handle:
            _alone(handle.fileno(), folder)
            try:
                handle.truncate()
                for unit in units:
                    for n, raw in _frames(connection, unit):
                        handle.write(raw)
                        whole.update(raw)
                        frame = Frame(at, len(raw), hashlib.sha256(raw).digest())
                        placed.append(_Placed(unit, n, frame))
                        at += len(raw)
                handle.flush()
                os.fsync(handle.fileno())
                with part.open("rb") as written:
                    back = hashlib.file_digest(written, "sha256").digest()
                if back != whole.digest():
                    raise StoreError(f"{part}: is not what was written to it: nothing was archived")
                path = folder / f"{whole.hexdigest()[:32]}.zst"
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        sync_folder(folder)
        if new:
            sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(unwritten(folder, error)) from error
    return Written(path, whole.digest(), placed)


def _alone(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"{folder}: another process is writing an archive there; wait for it, then try again"
        ) from None


def _frames(connection: sqlite3.Connection, unit: Unit) -> Iterator[tuple[int, bytes]]:
    if not unit.chunks:
        pack = pack_of(connection, unit.key)
        open_pack(unit.key, pack)
        yield 0, pack.frame
        return
    rows = connection.execute("SELECT n, frame FROM chunk WHERE trace=? ORDER BY n", (unit.key,))
    for n, frame in rows.fetchall():
        open_chunk(unit.key, frame)
        yield n, frame


def record_file(
    connection: sqlite3.Connection, store: Path, written: Written, now: str
) -> ArchiveRow:
    """Record in the store that these frames are in a file, and empty the store's copies. Raises
    StoreError when another process changed a frame meanwhile."""
    with transaction(connection, store):
        key = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM payload_archive")
        path = _told(written.path, store)
        row = ArchiveRow(
            key.fetchone()[0], path, written.size, written.sha256, len(written.placed), now
        )
        connection.execute("INSERT INTO payload_archive VALUES (?, ?, ?, ?, ?, ?)", row)
        for one in written.placed:
            if not _let_go(connection, one, row.id):
                raise StoreError(
                    f"{store}: another process archived or changed a payload meanwhile: nothing of"
                    f" {written.path} was recorded; do it again"
                )
        journal.append(
            connection,
            {
                "type": ARCHIVED, "path": path, "sha256": row.sha256.hex(), "bytes": row.size,
                "frames": row.frames, "at": now,
                "places": places_digest([one.frame for one in written.placed]),
            },
        )  # fmt: skip
    return row


def _let_go(connection: sqlite3.Connection, one: _Placed, archive: int) -> bool:
    """Empty the frame of a pack or a chunk and record where it is; return False where the frame in
    the store is not the one that was copied."""
    key, (offset, length, sha256) = one.unit.key, one.frame
    if one.unit.chunks:
        connection.execute(
            "INSERT INTO archived_chunk VALUES (?, ?, ?, ?, ?, ?)",
            (key, one.n, archive, offset, length, sha256),
        )
        done = connection.execute(
            "UPDATE chunk SET frame=x'' WHERE trace=? AND n=? AND length(frame)=?",
            (key, one.n, length),
        )
    else:
        connection.execute(
            "INSERT INTO archived_pack VALUES (?, ?, ?, ?)", (key, archive, offset, length)
        )
        done = connection.execute(
            "UPDATE pack SET frame=x'' WHERE id=? AND sha256=? AND length(frame)=?",
            (key, sha256, length),
        )
    return done.rowcount == 1


def _told(path: Path, store: Path) -> str:
    """Return a path as the store keeps it: relative to the store's folder where it lies below it,
    else absolute."""
    folder, whole = store.parent.resolve(), path.resolve()
    return str(whole.relative_to(folder) if whole.is_relative_to(folder) else whole)


def take_back(connection: sqlite3.Connection, store: Path, one: ArchiveRow, now: str) -> None:
    """Put the frames of a file back into the store, in one transaction. Raises NotAvailable for a
    file that is missing or was changed, StoreError."""
    if fault := archive_fault(connection, one):
        raise StoreError(fault)
    with transaction(connection, store):
        packs = connection.execute(
            "SELECT pack FROM archived_pack WHERE archive=? ORDER BY offset", (one.id,)
        ).fetchall()
        for (pack,) in packs:
            frame = pack_frame(connection, pack)
            connection.execute("UPDATE pack SET frame=? WHERE id=?", (frame, pack))
        chunks = connection.execute(
            "SELECT trace, n FROM archived_chunk WHERE archive=? ORDER BY offset", (one.id,)
        ).fetchall()
        for trace, n in chunks:
            frame = chunk_frame(connection, trace, n)
            connection.execute("UPDATE chunk SET frame=? WHERE trace=? AND n=?", (frame, trace, n))
        for table in ("archived_pack", "archived_chunk"):
            connection.execute(f"DELETE FROM {table} WHERE archive=?", (one.id,))
        connection.execute("DELETE FROM payload_archive WHERE id=?", (one.id,))
        journal.append(
            connection,
            {"type": RESTORED, "path": one.path, "sha256": one.sha256.hex(), "at": now},
        )
