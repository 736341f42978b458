"""The filter that keeps a child from sockets: a seccomp program, which the keeper loads.

Landlock, and a file system seen read-only, let a process connect to any Unix socket whose path it
knows (and /proc/net/unix names them all), so a candidate could have ssh-agent sign. The filter
refuses the sockets themselves. A pair of connected stream sockets cannot be connected elsewhere
and stays allowed, as pipes do; a pair of datagram sockets can, and does not.
"""

import ctypes
import os
import struct
import sys
from functools import cache
from typing import NamedTuple


class _Machine(NamedTuple):
    """What the kernel calls a machine, and the numbers of its system calls. `foreign` is from where
    on a number belongs to another convention (x32), 0 where there is none."""

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
"""Its requests are system calls that no filter sees, sockets among them."""

_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET, _KIND = 1, 5, 0xF
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_REFUSED, _DENIED, _MISSING = 1, 13, 38
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24

_ACTION_AVAILABLE = 2


@cache
def filters_here() -> bool:
    """Return whether this kernel takes such a filter. Asks it, and starts nothing."""
    machine = _MACHINES.get(os.uname().machine) if sys.platform == "linux" else None
    if machine is None or sys.byteorder != "little" or sys.maxsize < 2**32:
        return False
    action = ctypes.c_uint32(_ERRNO)
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    asked = (ctypes.c_long(machine.seccomp), ctypes.c_long(_ACTION_AVAILABLE), ctypes.c_long(0))
    return bool(library.syscall(*asked, ctypes.byref(action)) == 0)


def socket_filter(network: bool) -> bytes:
    """Return the filter for this machine: no socket at all, or with `network` those of TCP, UDP and
    the kernel's routing tables, which looking up a name needs. Never a Unix socket."""
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
    # A program of another convention (32-bit, x32) would call by numbers that are not compared.
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine.foreign:
        steps += [(_AT_LEAST, 0, 1, machine.foreign), (_RETURN, 0, 0, _KILL)]
    steps += [
        (_EQUAL, 0, 1, _IO_URING_SETUP),
        (_RETURN, 0, 0, _ERRNO | _MISSING),
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
"""The calls by which a program computes: memory, its open descriptors, its own signal handlers,
clocks, and its end. None of them opens, starts, sends, waits for or signals anything."""


def pure_filter() -> bytes:
    """Return the filter for a process of this machine that computes, and writes its answer."""
    name = os.uname().machine
    machine, allowed = _MACHINES[name], _PURE.get(name, _PURE_GENERIC)
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _KILL)]
    steps.append((_LOAD, 0, 0, _NUMBER))
    steps += [(_EQUAL, len(allowed) - place, 0, number) for place, number in enumerate(allowed)]
    steps += [(_RETURN, 0, 0, _ERRNO | _REFUSED), (_RETURN, 0, 0, _ALLOW)]
    return _packed(steps)


def _packed(steps: list[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
