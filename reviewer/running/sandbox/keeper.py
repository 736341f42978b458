"""The process between reviewer and a child: it starts the child, and ends all its processes when it
ends.

Run as a script (`python -I -S -B keeper.py ORDER`) with the standard library only. ORDER is JSON:
`argv`, `parent` (reviewer's process id), `limits` (name → value), `bubblewrap` (whether argv is its
command line), `filter` (a seccomp program in hexadecimal digits, "" for none), and, unless it is
bubblewrap's, `room` (the child's folder, removed at the end) and `landlock` (None, or the rights to
give up).

Processes that the child leaves behind become children of the keeper, however they were started; on
SIGTERM, reviewer's death, or the child's end, all are killed. The keeper exits with the child's
exit status, or is ended by NOT_STARTED when there never was a child.

Landlock makes the keeper give up rights permanently, without a superuser, before it becomes the
child: Linux 6.2 or newer.
"""

from __future__ import annotations  # types are named without importing `typing`

import ctypes
import json
import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False  # each child waits for these imports
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

LANDLOCK_OLDEST = 3
"""The first version that also controls truncation."""
LANDLOCK_SEES_TCP = 4
LANDLOCK_SEES_SIGNALS = 6

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ONE_NUMBERING = ("x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64")
_NO_NEW_PRIVILEGES = 38
_SET_SECCOMP, _FILTER_MODE, _STEP = 22, 2, 8
_ASK_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_ALL_RIGHTS = (1 << 15) - 1
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


def landlock_version() -> int:
    """Return the kernel's version of Landlock, 0 without it."""
    if not LINUX or os.uname().machine not in _ONE_NUMBERING:
        return 0
    try:
        return max(0, _syscall(_CREATE, None, 0, _ASK_VERSION))
    except OSError:
        return 0


def give_up_rights(
    home: str, visible: Sequence[str], listed: Sequence[str], tcp: bool, known: int
) -> None:
    """Restrict this process and all it starts permanently: they write only below `home`, read there
    and below `visible`, see names below `listed`, and, where the kernel's version (`known`)
    supports it, neither use TCP (unless `tcp`) nor signal a process outside. OSError when the
    kernel refuses."""
    rules = _Ruleset(
        _ALL_RIGHTS,
        _TCP if known >= LANDLOCK_SEES_TCP and not tcp else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if known >= LANDLOCK_SEES_SIGNALS else 0,
    )
    size = 24 if known >= LANDLOCK_SEES_SIGNALS else 16 if known >= LANDLOCK_SEES_TCP else 8
    ruleset = _syscall(_CREATE, ctypes.byref(rules), size, 0)
    for path in visible:
        _allow(ruleset, path, _SEE)
    for path in listed:
        _allow(ruleset, path, _LIST)
    for path in _DEVICES:
        _allow(ruleset, path, _OF_FILES & ~_EXECUTE)
    _allow(ruleset, home, _ALL_RIGHTS)
    _prctl(_NO_NEW_PRIVILEGES, 1)
    _syscall(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def visible_around(folder: str, hidden: Sequence[str]) -> Iterator[str]:
    """Yield the largest files and folders at or below `folder` that contain nothing of `hidden`.

    Landlock can only allow: a path is hidden if no allowed folder contains it. Links are left out,
    since their target may be a hidden place.
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
            yield from visible_around(entry.path, hidden)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def load_filter(program: bytes) -> None:
    """Apply a seccomp program permanently to this process and all it starts. OSError when the
    kernel refuses: a child never runs without the requested filter."""
    _prctl(_NO_NEW_PRIVILEGES, 1)
    whole = _Program(len(program) // _STEP, program)
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(whole), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= _ALL_RIGHTS if os.path.isdir(path) else _OF_FILES
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


def remove(folder: str) -> None:
    """Remove a folder and all below it: unreadable folders, links (never followed), trees deeper
    than the longest path. Never raises; what cannot be removed stays."""
    # Every folder below is first moved up here under a random name, so that neither a path nor a
    # recursion grows with the depth of the tree.
    token = os.urandom(8).hex()
    waiting, number = [folder], 0
    _open_folder(folder)
    while waiting:
        here = waiting.pop()
        for entry in _entries_of(here):
            try:
                if entry.is_dir(follow_symlinks=False):
                    number += 1
                    up = f"{folder}/{token}-{number}"
                    _open_folder(entry.path)
                    os.rename(entry.path, up)
                    waiting.append(up)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
        if here != folder:
            _drop(here)
    _drop(folder)


def _entries_of(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _open_folder(folder: str) -> None:
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return


def _drop(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return


LINUX = sys.platform == "linux"
_DEATH_SIGNAL, _DROP_CAPABILITY, _SUBREAPER = 1, 24, 36
_WATCHED = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE_S = 5.0
_CANNOT_START = 126
NOT_STARTED = signal.SIGUSR1


def main() -> int:
    order = json.loads(sys.argv[1])
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    if LINUX:
        _prctl(_SUBREAPER, 1)
        _prctl(_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != order["parent"]:
        return _CANNOT_START
    told, telling = os.pipe()
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        _become(order, telling, keeper)
    os.close(telling)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    status = _watch(child)
    _end_all(child)
    if order["room"]:
        remove(order["room"])
    if not _was_started(told, order["bubblewrap"]):
        os.kill(os.getpid(), NOT_STARTED)
    return status


def _was_started(told: int, bubblewrap: bool) -> bool:
    """Return whether the child was started: bubblewrap reports an exit code; without it, a failure
    is reported."""
    os.set_blocking(told, False)
    try:
        said = os.read(told, 65536)
    except BlockingIOError:
        said = b""
    return b"exit-code" in said if bubblewrap else not said


def _watch(child: int) -> int:
    """Return the child's exit status (128 + the signal that killed it), or that of the keeper's own
    end."""
    while True:
        received = signal.sigwait(_WATCHED)
        if received != signal.SIGCHLD:
            return 128 + received
        for gone, status in _reaped():
            if gone == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code


def _end_all(child: int) -> None:
    """Kill all remaining processes, in rounds: children of a killed process become the keeper's."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        if LINUX:
            for process in _descendants():
                _quietly(os.kill, process, signal.SIGKILL)
        else:
            _quietly(os.killpg, child, signal.SIGKILL)
        try:
            for _ in _reaped():
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _reaped() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if found:
                return found
            raise
        if process == 0:
            return found
        found.append((process, status))


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    parent = int(stat.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    found, waiting = [], [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _become(order: dict[str, Any], telling: int, keeper: int) -> None:
    """Give up what the child may not have, and become the child. Never returns."""
    program, *arguments = order["argv"]
    try:
        os.setsid()
        if LINUX:
            _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(_CANNOT_START)  # the keeper was killed before its death could be signaled
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.umask(0o077)
        os.chdir(order["room"] or "/")
        for name, value in order["limits"].items():
            _limit(name, value)
        if order["landlock"] is not None:
            _lock(order["room"], **order["landlock"])
        program_filter = bytes.fromhex(order["filter"])
        if order["bubblewrap"]:
            os.set_inheritable(telling, True)
            arguments = ["--json-status-fd", str(telling), *arguments]
            if program_filter:  # bubblewrap needs sockets itself, and loads the filter last
                arguments = ["--seccomp", str(_readable(program_filter)), *arguments]
        elif LINUX:
            for capability in range(64):  # those of a superuser
                _prctl(_DROP_CAPABILITY, capability)
            if program_filter:
                load_filter(program_filter)
        os.execv(program, [program, *arguments])
    except OSError as error:
        os.write(telling, b"failed")
        os.write(2, f"cannot start {program}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(_CANNOT_START)


def _readable(data: bytes) -> int:
    """Return an inheritable handle from which `data` (less than a pipe's capacity) can be read."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    os.set_inheritable(reading, True)
    return reading


def _lock(
    home: str,
    around: list[str],
    hidden: list[str],
    visible: list[str],
    closed: list[str],
    tcp: bool,
    known: int,
) -> None:
    seen = [path for folder in around for path in visible_around(folder, hidden)]
    seen += [path for folder in visible for path in visible_around(folder, closed)]
    # An import looks for its module in a listing of the whole folder, so names must be visible.
    listed = [folder for folder in visible if os.path.isdir(folder)]
    give_up_rights(home, seen, listed, tcp, known)


def _limit(name: str, value: int) -> None:
    kind = getattr(resource, f"RLIMIT_{name}", None)
    if kind is None:
        return
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    _quietly(resource.setrlimit, kind, (value, value))


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _quietly(act: Callable[..., object], *arguments: object) -> None:
    try:
        act(*arguments)
    except (OSError, ValueError):
        return


if __name__ == "__main__":
    sys.exit(main())
