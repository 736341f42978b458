"""Whether a suite's folder still is what its lock lists, said quickly and with little memory.

Every file is read, one at a time, and the lock is written anew on the way: what comes out must have
the digest that is asked for. What is wrong with a folder that is not as it was, `folder` says.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from reviewer.suite.folder import FROZEN, MAX_FILE, MAX_FILES, UNLOCKED
from reviewer.suite.lock import LOCK_FILE, SUMS_FILE, entry_bytes, lock_parts

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_BLOCK = 1 << 16


class _Odd(Exception):
    """Something here that no frozen suite holds, or that cannot be read."""


def as_frozen(folder: Path, digest: str) -> bool:
    """Whether a folder is, byte for byte, what the lock of this digest lists, and that lock and its
    sums stand beside it.

    Where this is so, `suite_state` says `frozen` with this digest. `digest` must be that of a lock
    that was read in full before: names in it are not looked at again.
    """
    try:
        return _as_locked(folder, digest)
    except (OSError, _Odd):
        return False


def _as_locked(folder: Path, digest: str) -> bool:
    root = f"{folder}/"
    if _digest(root + LOCK_FILE) != digest:
        return False
    head, tail = lock_parts(folder.name)
    lock, sums, between = hashlib.sha256(head), hashlib.sha256(), b""
    paths = sorted(_files(str(folder), ""), key=lambda each: each.encode("utf-8", "surrogatepass"))
    for path in paths:
        data = _read(root + path)
        found = hashlib.sha256(data).hexdigest()
        lock.update(between + entry_bytes(path, found, len(data)))
        sums.update(f"{found}  {path}\n".encode())
        between = b","
    lock.update(tail)
    if lock.hexdigest() != digest:
        return False
    kept, listed = _digest(f"{root}{FROZEN}/{LOCK_FILE}"), _digest(root + SUMS_FILE)
    return kept in (None, digest) and listed in (None, sums.hexdigest())


def _files(folder: str, inside: str) -> Iterator[str]:
    """Paths of the files that a lock of this folder covers; nothing is followed."""
    count = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or (not inside and name in UNLOCKED):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, f"{inside}{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield inside + name
            else:
                raise _Odd
            count += 1
            if count > MAX_FILES:
                raise _Odd


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(_read(path)).hexdigest()
    except FileNotFoundError:
        return None


def _read(path: str) -> bytes:
    handle = os.open(path, _FLAGS)
    try:
        data = os.read(handle, _BLOCK)
        if len(data) == _BLOCK:
            while more := os.read(handle, 1 << 20):
                data += more
                if len(data) > MAX_FILE:
                    raise _Odd
    finally:
        os.close(handle)
    return data
