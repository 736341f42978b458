"""The filter that keeps a child from sockets, and from leaving anything behind in the kernel: a
seccomp program, which the keeper loads.

Landlock, and a read-only file system, let a process connect to any Unix socket whose path it knows
(and /proc/net/unix names them all), so a candidate could have ssh-agent sign. The filter refuses
the sockets themselves. A pair of connected stream sockets cannot be connected elsewhere and stays
allowed, as pipes do; a pair of datagram sockets can, and is refused.

Keys, shared memory, semaphores and message queues of the kernel outlive the process that made them:
an attempt could learn from them what an earlier one found out. Nor does Landlock control who
changes the mode, the owner, the times or the attributes of a file, or the limits of another
process.
"""

import ctypes
import os
import struct
import sys
from functools import cache
from typing import NamedTuple


class _Machine(NamedTuple):
    """The kernel's name of a machine, and the numbers of its system calls. `foreign` is the first
    number that belongs to another convention (x32), 0 where there is none."""

    audit: int
    seccomp: int
    socket: int
    socketpair: int
    foreign: int = 0


_GENERIC = (277, 198, 199)
_MACHINES = {
    "x86_64": _Machine(0xC000003E, 317, 41, 53, 0x40000000),
    "aarch64": _Machine(0xC00000B7, *_GENERIC),
    "riscv64": _Machine(0xC00000F3, *_GENERIC),
    "loongarch64": _Machine(0xC0000102, *_GENERIC),
}
_IO_URING_SETUP = 425
"""Its requests are system calls that no filter sees, including those on sockets."""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _KIND = 1, 5, 0xF
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSED, _DENIED, _MISSING = 1, 13, 38
_LOAD, _AND, _ALWAYS, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24

_ACTION_AVAILABLE = 2


@cache
def filters_here() -> bool:
    """Return whether this kernel accepts such a filter. Asks the kernel, and starts nothing."""
    machine = _MACHINES.get(os.uname().machine) if sys.platform == "linux" else None
    if machine is None or sys.byteorder != "little" or sys.maxsize < 2**32:
        return False
    action = ctypes.c_uint32(_ERRNO)
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    asked = (ctypes.c_long(machine.seccomp), ctypes.c_long(_ACTION_AVAILABLE), ctypes.c_long(0))
    return bool(library.syscall(*asked, ctypes.byref(action)) == 0)


class _Refused(NamedTuple):
    """Numbers of calls: those that leave something in the kernel for later processes; those that
    change a file that cannot be written (`ignored` reports success and does nothing, like a file
    system without modes and times); and two of which some uses are refused."""

    kept: tuple[int, ...]
    ignored: tuple[int, ...]
    attributes: tuple[int, ...]
    prlimit: int
    ioctl: int


_LATER = (463, 466, 469)
"""setxattrat, removexattrat and file_setattr, which have the same number everywhere."""
_REFUSALS = {
    "x86_64": _Refused(
        (*range(29, 32), *range(64, 72), 220, 240, 241, 248, 249, 250),
        (90, 91, 92, 93, 94, 132, 235, 260, 261, 268, 280, 452),
        (188, 189, 190, 197, 198, 199, *_LATER),
        302,
        16,
    ),
}
_REFUSALS_GENERIC = _Refused(
    (180, 181, *range(186, 197), 217, 218, 219),
    (52, 53, 54, 55, 88, 452),
    (5, 6, 7, 14, 15, 16, *_LATER),
    261,
    29,
)
_INODE_REQUESTS = (0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602, 0x40806685)
"""Requests of ioctl that change a file that was only opened for reading: its flags, its extended
flags, its version, and that it can never be written again."""
_UNSUPPORTED, _NOT_A_TERMINAL = 95, 25


def _outside(numbers: _Refused) -> list[tuple[int, int, int, int]]:
    """Return the steps that keep a child under Landlock from what Landlock does not control. In
    bubblewrap everything but its own folder is read-only, and no other process exists."""
    allow = (_RETURN, 0, 0, _ALLOW)
    requests = len(_INODE_REQUESTS)
    return [
        *_answered(numbers.ignored, 0),
        *_answered(numbers.attributes, _UNSUPPORTED),
        (_EQUAL, 0, 4, numbers.prlimit),
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _ERRNO | _REFUSED),
        allow,
        (_EQUAL, 0, requests + 3, numbers.ioctl),
        (_LOAD, 0, 0, _SECOND),
        *((_EQUAL, requests - at, 0, one) for at, one in enumerate(_INODE_REQUESTS)),
        allow,
        (_RETURN, 0, 0, _ERRNO | _NOT_A_TERMINAL),
    ]


def _answered(numbers: tuple[int, ...], error: int) -> list[tuple[int, int, int, int]]:
    """Return the steps that answer these calls with an error, 0 for none, and do nothing."""
    last = (_RETURN, 0, 0, _ERRNO | error)
    each = [(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    return [*each, (_ALWAYS, 0, 0, 1), last]


def child_filter(network: bool, landlock: bool) -> bytes:
    """Return the filter for this machine: no socket at all, or with `network` those of TCP, UDP and
    the routing tables, which looking up a name needs. Never a Unix socket, and nothing that stays
    in the kernel. Under `landlock` it also refuses what that leaves open."""
    machine = _MACHINES[os.uname().machine]
    families = (_INET, _INET6, _NETLINK) if network else ()
    deny, allow = (_RETURN, 0, 0, _ERRNO | _DENIED), (_RETURN, 0, 0, _ALLOW)
    by_family = [
        (_LOAD, 0, 0, _FIRST),
        *((_EQUAL, len(families) - at, 0, family) for at, family in enumerate(families)),
        deny,
        allow,
    ]
    pairs = [
        (_LOAD, 0, 0, _FIRST),
        (_EQUAL, 0, 4, _UNIX),
        (_LOAD, 0, 0, _SECOND),
        (_AND, 0, 0, _KIND),
        (_EQUAL, 2, 0, _STREAM),
        (_EQUAL, 1, 0, _SEQPACKET),
        deny,
        allow,
    ]
    # A program of another convention (32-bit, x32) would use numbers that are not compared.
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.foreign:
        steps += [(_AT_LEAST, 0, 1, machine.foreign), (_RETURN, 0, 0, _KILL)]
    numbers = _REFUSALS.get(os.uname().machine, _REFUSALS_GENERIC)
    steps += _answered((_IO_URING_SETUP, *numbers.kept), _MISSING)
    steps += _outside(numbers) if landlock else []
    steps += [
        (_EQUAL, 0, len(by_family), machine.socket),
        *by_family,
        (_EQUAL, 0, len(pairs), machine.socketpair),
        *pairs,
        allow,
    ]
    return _packed(steps)


_PURE = {
    "x86_64": (
        *(0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 39, 60, 96, 131, 186, 201, 202),
        *(219, 228, 229, 231),
    ),
}
_PURE_GENERIC = (
    *(57, 62, 63, 64, 80, 93, 94, 98, 113, 114, 124, 128, 132, 134, 135, 139, 169, 172, 178, 214),
    *(215, 216, 222, 226, 233),
)
"""The calls that computing needs: memory, its open descriptors, its own signal handlers, clocks,
and its end. None of them opens, starts, sends, waits for or signals anything."""


def pure_filter() -> bytes:
    """Return the filter for a process on this machine that computes, and writes its answer."""
    name = os.uname().machine
    machine, allowed = _MACHINES[name], _PURE.get(name, _PURE_GENERIC)
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    steps += [(_EQUAL, len(allowed) - place, 0, number) for place, number in enumerate(allowed)]
    steps += [(_RETURN, 0, 0, _ERRNO | _REFUSED), (_RETURN, 0, 0, _ALLOW)]
    return _packed(steps)


def _packed(steps: list[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
