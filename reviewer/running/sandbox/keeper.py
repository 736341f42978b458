"""The process between us and a child: it starts the child, and with its own end ends all of it.

Run as a script (`python -I -S -B keeper.py ORDER`) with the standard library only. ORDER is JSON:
`argv`, `parent` (our process id), `limits` (name → value), `bubblewrap` (whether argv is its
command line), and, unless it is, `room` (the child's folder, removed at the end) and `landlock`
(None, or what to give up).

Whatever the child leaves behind becomes a child of the keeper, however it was started; SIGTERM, or
our death, or the child's end, and all are killed. It leaves with the child's exit status, or is
ended by NOT_STARTED when there never was a child.
"""

import ctypes
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

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
    child = os.fork()
    if child == 0:
        _become(order, telling)
    os.close(telling)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    status = _watch(child)
    _end_all(child)
    if order["room"]:
        _beside("clearing").remove(order["room"])
    if not _was_started(told, order["bubblewrap"]):
        os.kill(os.getpid(), NOT_STARTED)
    return status


def _was_started(told: int, bubblewrap: bool) -> bool:
    """Bubblewrap tells the exit code of what it started; without it, a failure is told."""
    os.set_blocking(told, False)
    try:
        said = os.read(told, 65536)
    except BlockingIOError:
        said = b""
    return b"exit-code" in said if bubblewrap else not said


def _watch(child: int) -> int:
    """The child's exit status (128 + the signal that killed it), or that of our own end."""
    while True:
        received = signal.sigwait(_WATCHED)
        if received != signal.SIGCHLD:
            return 128 + received
        for gone, status in _reaped():
            if gone == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code


def _end_all(child: int) -> None:
    """Kills all that is left, in rounds: what a killed process leaves behind comes to us."""
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


def _become(order: dict[str, Any], telling: int) -> None:
    """Gives up what the child is not to have, and turns into it. Never returns."""
    program, *arguments = order["argv"]
    try:
        os.setsid()
        if LINUX:
            _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)
        os.umask(0o077)
        os.chdir(order["room"] or "/")
        for name, value in order["limits"].items():
            _limit(name, value)
        if order["landlock"] is not None:
            _lock(order["room"], **order["landlock"])
        if order["bubblewrap"]:
            os.set_inheritable(telling, True)
            arguments = ["--json-status-fd", str(telling), *arguments]
        elif LINUX:
            for capability in range(64):  # those of a superuser
                _prctl(_DROP_CAPABILITY, capability)
        os.execv(program, [program, *arguments])
    except OSError as error:
        os.write(telling, b"failed")
        os.write(2, f"cannot start {program}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(_CANNOT_START)


def _lock(
    home: str, around: list[str], hidden: list[str], visible: list[str], tcp: bool, known: int
) -> None:
    landlock = _beside("landlock")
    seen = [path for folder in around for path in landlock.around(folder, hidden)]
    landlock.restrict(home, [*seen, *visible], tcp, known)


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


def _beside(name: str) -> ModuleType:
    """A module of this folder; as a script the keeper belongs to no package."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
