"""The spool: acknowledged spans that are not imported yet. An append-only file of lines, each
durable before its request is answered. The file contains raw values: it has mode 0600, and is
deleted when its last span is imported."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from reviewer.desk.errors import DeskError, ways_out
from reviewer.durable import sync_folder

NAME = "spans.jsonl"
MOST_BYTES = 512 << 20
"""Size of a spool in bytes above which spans are rejected until some are imported."""


class Spool:
    """One folder, held by one listener. Raises DeskError where another one holds it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / NAME
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DeskError(
                f"{folder}: cannot be written: {error.strerror}", *ways_out(error)
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise DeskError(
                f"another `reviewer listen` takes spans into this workspace ({folder})",
                "send spans to that one, or stop it first",
            ) from None
        self._file = -1
        self.size = 0

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of an earlier listener. A last line without its newline was never
        acknowledged: it is left out."""
        try:
            handle = self._path.open("rb")
        except FileNotFoundError:
            return
        with handle:
            for line in handle:
                if line.endswith(b"\n"):
                    yield line

    def append(self, line: bytes) -> None:
        """Write a line (with its newline) and wait until it is durable. Raises OSError, and then
        removes what was written of the line."""
        if self._file < 0:
            self._file = os.open(
                self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            self.size = os.fstat(self._file).st_size
            sync_folder(self.folder)
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except BaseException:  # also Ctrl-C: a partial line would spoil the next one
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(line)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace all lines by these, atomically; without any lines, delete the file."""
        fresh = self.folder / f"{NAME}.new"
        size = 0
        with os.fdopen(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"
        ) as handle:
            for line in lines:
                size += handle.write(line)
            handle.flush()
            os.fsync(handle.fileno())
        if size:
            os.replace(fresh, self._path)
        else:
            fresh.unlink()
            self._path.unlink(missing_ok=True)
        sync_folder(self.folder)
        if self._file >= 0:
            os.close(self._file)
        self._file, self.size = -1, size

    def close(self) -> None:
        """Release the folder; its content stays."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
