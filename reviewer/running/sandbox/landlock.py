"""Landlock: a process that gives up rights for good, without a superuser. Linux 6.2 or newer.

Standard library only: the keeper applies it to the child it is about to become.
"""

import ctypes
import os
import platform
import sys
from collections.abc import Iterator, Sequence

OLDEST = 3
"""The first version that also holds back truncation."""
SEES_TCP = 4
SEES_SIGNALS = 6

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ONE_NUMBERING = ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64")
_NO_NEW_PRIVILEGES = 38
_ASK_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_ALL = (1 << 15) - 1
_SEE = _EXECUTE | _READ | _LIST
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE
_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """The kernel's version of Landlock, 0 without it."""
    if sys.platform != "linux" or platform.machine() not in _ONE_NUMBERING:
        return 0
    try:
        return max(0, _syscall(_CREATE, None, 0, _ASK_VERSION))
    except OSError:
        return 0


def restrict(home: str, visible: Sequence[str], tcp: bool, known: int) -> None:
    """From now on this process and all it starts write below `home` only, read there and below
    `visible`, and, where the kernel's version (`known`) has it, neither use TCP (unless `tcp`)
    nor signal a process outside. OSError when the kernel refuses.
    """
    rules = _Ruleset(
        _ALL,
        _TCP if known >= SEES_TCP and not tcp else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if known >= SEES_SIGNALS else 0,
    )
    size = 24 if known >= SEES_SIGNALS else 16 if known >= SEES_TCP else 8
    ruleset = _syscall(_CREATE, ctypes.byref(rules), size, 0)
    for path in visible:
        _allow(ruleset, path, _SEE)
    for path in _DEVICES:
        _allow(ruleset, path, _OF_FILES & ~_EXECUTE)
    _allow(ruleset, home, _ALL)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def around(folder: str, hidden: Sequence[str]) -> Iterator[str]:
    """The largest files and folders at or below `folder` that hold nothing of `hidden`.

    Landlock can only allow: what is to be hidden is what no allowed folder holds. Links are left
    out, since their target may be a hidden place.
    """
    if folder in hidden:
        return
    below = folder.rstrip("/") + "/"
    if not any(place.startswith(below) for place in hidden):
        yield folder
        return
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():
            yield from around(entry.path, hidden)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= _ALL if os.path.isdir(path) else _OF_FILES
        rule = _Beneath(rights, place)
        _syscall(_ADD_RULE, ruleset, _BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)


def _syscall(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    as_long = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    library.syscall.restype = ctypes.c_long
    result: int = library.syscall(ctypes.c_long(number), *as_long)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
