"""What the file system says of a suite's files, to see later that none was touched.

A frozen suite is proved by reading it. Until one of its files is written, replaced, added or taken
away, what the kernel says of them stays as it was: device, inode, kind, size, and the times of the
last write and of the last change, of which the second cannot be set. That is so only on file
systems of this machine; elsewhere nothing is said, and the suite is read.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.suite.folder import FROZEN, MAX_FILES, UNLOCKED
from reviewer.suite.lock import LOCK_FILE, SUMS_FILE

LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
)
"""File systems whose times of change are of this machine's clock and cannot be set."""
_MOUNTS = "/proc/self/mountinfo"
_PART = 4096
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_told = attrgetter("st_dev", "st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")
_device, _mode, _changed = itemgetter(0), itemgetter(2), itemgetter(5)
_Told = tuple[int, int, int, int, int, int]


class Stats(NamedTuple):
    """A digest over what is said of each file and folder, and the newest time of change."""

    digest: str
    newest: int


def stats_of(folder: Path) -> Stats | None:
    """Return what the file system says of everything that a lock of this folder covers, of the lock
    and of its copies; None where that cannot be relied on or cannot be read."""
    try:
        real = folder.resolve(strict=True)
        if sys.platform != "linux" or _file_system(os.fsencode(real)) not in LOCAL:
            return None
        found, newest, device = hashlib.sha256(), 0, real.stat().st_dev
        found.update(os.fsencode(real))
        for inside, names, told in _walk(real):
            if set(map(_device, told)) - {device}:
                return None  # another file system is mounted in the folder
            newest = max(newest, max(map(_changed, told), default=0))
            found.update(os.fsencode("\0".join((inside, *names, ""))))
            found.update(msgspec.msgpack.encode(told))
    except (OSError, OverflowError, ValueError, RuntimeError):
        return None
    return Stats(found.hexdigest(), newest)


def _walk(root: Path) -> Iterator[tuple[str, Sequence[str], list[_Told]]]:
    """Yield (place, names, what is said of each) of parts of each folder. Nothing is followed."""
    beside = [LOCK_FILE, SUMS_FILE, FROZEN, f"{FROZEN}/{LOCK_FILE}"]
    there = [name for name in beside if os.path.lexists(root / name)]
    yield "", there, [_told(os.lstat(root / name)) for name in there]
    waiting, count = [""], 0
    while waiting:
        inside = waiting.pop()
        handle = os.open(root / inside, _FOLDER)
        try:
            names = sorted(
                name
                for name in os.listdir(handle)
                if name[0] != "." and (inside or name not in UNLOCKED)
            )
            if (count := count + len(names)) > 2 * MAX_FILES:
                raise ValueError("more than any suite holds")
            for first in range(0, len(names), _PART):
                part = names[first : first + _PART]
                told = [_told(os.lstat(name, dir_fd=handle)) for name in part]
                if any(map(stat.S_ISDIR, set(map(_mode, told)))):  # the names of a suite are many
                    waiting += [
                        f"{inside}{name}/"
                        for name, one in zip(part, told, strict=True)
                        if stat.S_ISDIR(one[2])
                    ]
                yield inside, part, told
        finally:
            os.close(handle)


def _file_system(path: bytes) -> str:
    """Return the kind of the file system that a path without links is on; "" when not known."""
    nearest, kind = b"", b""
    with open(_MOUNTS, "rb") as mounts:
        for line in mounts:
            before, _, after = line.partition(b" - ")
            point = _unescaped(before.split(b" ")[4])
            inside = path == point or path.startswith(point.rstrip(b"/") + b"/")
            if inside and len(point) >= len(nearest):  # what is mounted later covers the earlier
                nearest, kind = point, after.split(b" ")[0]
    return kind.decode("ascii", "replace")


def _unescaped(point: bytes) -> bytes:
    for code, byte in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        point = point.replace(code, byte)
    return point
