"""The files of an archive while it is written: rows are collected as lines of JSON, then made into
Parquet files, each of which exists completely or not at all."""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import msgspec

from reviewer.db.archive.engine import Writer
from reviewer.db.archive.tables import TABLES

Part = tuple[str, ...]
"""Where rows belong: a table, and the suite, candidate and day where the table is partitioned."""
_SPOOL_BYTES = 128 << 20
"""Bytes of one part's lines on the disk, above which they become a file."""
_HELD_BYTES = 16 << 20
"""Bytes of lines in memory, above which they are written to the disk."""
_LONGEST_NAME = 180


class ArchiveFile(msgspec.Struct, frozen=True, order=True):
    """One Parquet file: its path within the archive, its table, rows, bytes and digest."""

    path: str
    table: str
    rows: int
    size: int
    sha256: str


class _Lines:
    """Lines of one part that are not in a Parquet file yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.held: list[bytes] = []
        self.longest = self.spooled = self.files = self.rows = 0


class Files:
    """Writes the files of one stretch of an archive into `root`. Their names contain `stretch`."""

    def __init__(self, root: Path, spool: Path, writer: Writer, stretch: str) -> None:
        self._root, self._spool, self._writer, self._stretch = root, spool, writer, stretch
        self._parts: dict[Part, _Lines] = {}
        self._held = 0
        self.written: list[ArchiveFile] = []

    def add(self, part: Part, row: object) -> None:
        """Add a row to a part."""
        lines = self._parts.get(part)
        if lines is None:
            lines = self._parts[part] = _Lines(self._spool / f"{len(self._parts)}.jsonl")
        line = _encode(row)
        lines.held.append(line)
        lines.rows += 1
        lines.longest = max(lines.longest, len(line))
        self._held += len(line)
        if self._held > _HELD_BYTES:
            self._to_disk()

    def finish(self) -> list[ArchiveFile]:
        """Write the remaining rows, and return every file."""
        self._to_disk(all_of_it=True)
        return sorted(self.written)

    def _to_disk(self, all_of_it: bool = False) -> None:
        self._held = 0
        for part, lines in sorted(self._parts.items()):
            if lines.held:
                body = b"\n".join(lines.held) + b"\n"
                lines.held.clear()
                with lines.path.open("ab") as handle:
                    handle.write(body)
                lines.spooled += len(body)
            if lines.rows and (all_of_it or lines.spooled > _SPOOL_BYTES):
                self._file(part, lines)

    def _file(self, part: Part, lines: _Lines) -> None:
        lines.files += 1
        name = f"part-{self._stretch}-{lines.files:03}.parquet"
        path = Path(*folders(part)) / name
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".tmp")
        partial.unlink(missing_ok=True)
        rows = self._writer.write(TABLES[part[0]], lines.path, lines.longest, partial)
        with partial.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            os.fsync(handle.fileno())
        size = partial.stat().st_size
        partial.replace(target)
        self.written.append(ArchiveFile(path.as_posix(), part[0], rows, size, digest))
        lines.path.unlink()
        lines.longest = lines.spooled = lines.rows = 0


_encode = msgspec.json.Encoder().encode


def folders(part: Part) -> tuple[str, ...]:
    """Return the folders of a part, named as Hive names them."""
    table, *keys = part
    names = zip(("suite", "candidate", "day"), keys, strict=False)
    return (table, *(f"{name}={folder_name(key)}" for name, key in names))


def folder_name(key: str) -> str:
    """Return a value as the name of a folder: percent-encoded, as readers of such folders decode
    it. A very long name is cut and ends with its digest; the column in the files has the full
    value."""
    told = quote(key, safe="")
    if len(told) <= _LONGEST_NAME:
        return told
    cut = quote(key[: _LONGEST_NAME // 12], safe="")  # a character takes up to 12 bytes
    return f"{cut}~{hashlib.sha256(key.encode()).hexdigest()[:16]}"
