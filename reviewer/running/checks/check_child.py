"""Runs one check over the records of one candidate. Standard library only.

`check_child.py KEEPER`: JSON lines on standard input and output. The first line is the order; each
further one is a record with its contract, and is given to a fork of this process. The fork keeps
only the descriptors for its answer and its output, has limits, and loads a filter that allows it
only to compute; it runs the check, answers and ends. This process itself never runs a line of the
check, and reads no record.
"""

import contextlib
import gc
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

_BEFOREHAND = ("_strptime", "encodings.ascii", "encodings.latin_1", "encodings.idna")
"""Modules that computing code imports at first use: a fork can open no file."""
_AHEAD_S = 50 * 365 * 86_400
_LONGEST_ANSWER = 1 << 20
_LONGEST_TEXT = 300
_ANSWER, _SAID = 3, 1
_CANNOT_BEGIN = 71


def main() -> None:
    # Located by its file: its folder may be hidden here, and then cannot be listed.
    spec = importlib.util.spec_from_file_location("keeper", sys.argv[1])
    if spec is None or spec.loader is None:
        raise ImportError(sys.argv[1])
    keeper = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(keeper)
    load_filter = keeper.load_filter
    order = json.loads(sys.stdin.buffer.readline())
    if order["reversed"]:
        _put_clocks_ahead()
    for name in (*order["modules"], *_BEFOREHAND):
        importlib.import_module(name)
    sys.path.clear()
    program = bytes.fromhex(order["filter"])
    _tell({"ready": True})
    gc.freeze()
    while line := sys.stdin.buffer.readline():
        _tell(_ran(order, program, load_filter, line))


def _put_clocks_ahead() -> None:
    """Let the second try of a check take place decades later: what it finds may not depend on a
    clock, however it reads one."""
    sys.modules["_datetime"] = None  # type: ignore[assignment]  # the other form asks `time`
    now, now_ns, of = time.time, time.time_ns, time.clock_gettime
    told = {"localtime": time.localtime, "gmtime": time.gmtime, "ctime": time.ctime}
    wrote = time.strftime
    later: dict[str, Any] = {
        "time": lambda: now() + _AHEAD_S,
        "time_ns": lambda: now_ns() + _AHEAD_S * 10**9,
        "clock_gettime": lambda clock: of(clock) + _AHEAD_S,
        "strftime": lambda form, at=None: wrote(form, at or later["localtime"]()),
    }
    for name, plain in told.items():
        later[name] = _asked_later(plain, now)
    for name, function in later.items():
        setattr(time, name, function)


def _asked_later(plain: Any, now: Any) -> Any:
    return lambda at=None: plain(now() + _AHEAD_S if at is None else at)


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    sys.stdout.buffer.flush()


def _ran(order: dict[str, Any], program: bytes, load_filter: Any, line: bytes) -> dict[str, Any]:
    answers, answering = os.pipe()
    says, saying = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _shut_in(order, program, load_filter, answering, saying)
        except BaseException:
            os._exit(_CANNOT_BEGIN)
        _check(order, line)
    os.close(answering)
    os.close(saying)
    try:
        answer, said, late = _read(answers, says, time.monotonic() + order["seconds"])
    finally:
        os.close(answers)
        os.close(says)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if said:
        return {"broken": "prints: it must return its findings instead"}
    if len(answer) > _LONGEST_ANSWER:
        return {"broken": f"returns more than {_LONGEST_ANSWER:,} bytes"}
    if late:
        return {"broken": f"gives no answer within {order['seconds']:g} s"}
    if status == _CANNOT_BEGIN:
        return {"broken": "cannot be isolated on this machine"}
    if status == -signal.SIGXCPU or (status == -signal.SIGKILL and not answer):
        return {"broken": f"takes more than {order['cpu_s']} s of CPU time"}
    try:
        found = json.loads(answer)
    except ValueError:
        return {"broken": f"ends its process (status {status})"}
    return found if isinstance(found, dict) else {"broken": "gives an invalid answer"}


def _read(answers: int, says: int, until: float) -> tuple[bytes, bool, bool]:
    """Return the answer, whether anything was printed, and whether time ran out."""
    answer, said, open_ends = b"", False, {answers, says}
    while open_ends and len(answer) <= _LONGEST_ANSWER and not said:
        left = until - time.monotonic()
        if left <= 0:
            return answer, said, True
        for end in select.select(list(open_ends), (), (), left)[0]:
            data = os.read(end, 65536)
            if not data:
                open_ends.discard(end)
            elif end == answers:
                answer += data
            else:
                said = True
    return answer, said, False


def _shut_in(
    order: dict[str, Any], program: bytes, load_filter: Any, answering: int, saying: int
) -> None:
    """Leave this process only its answer's descriptor, its limits, and what the filter allows."""
    # Above the descriptors that are put in place: a pipe may have one of these numbers.
    high_answer = os.dup2(answering, 200)
    high_said = os.dup2(saying, 201)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for place in (1, 2):
        os.dup2(high_said, place)
    os.dup2(high_answer, _ANSWER)
    os.closerange(_ANSWER + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for kind, most in (
        (resource.RLIMIT_CPU, order["cpu_s"]),
        (resource.RLIMIT_AS, order["bytes"]),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    load_filter(program)


def _check(order: dict[str, Any], line: bytes) -> None:
    """Run the check, answer, and end this process. Never returns."""
    try:
        answer = _answer(order, line)
    except BaseException as error:
        answer = json.dumps({"broken": _worded(error, order["file"])}).encode()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        while answer:
            answer = answer[os.write(_ANSWER, answer) :]
    finally:
        os._exit(0)


def _answer(order: dict[str, Any], line: bytes) -> bytes:
    given = json.loads(line)
    if order["reversed"]:
        given = _reversed(given)
    names: dict[str, Any] = {"__name__": "check", "__file__": order["file"]}
    exec(compile(order["source"], order["file"], "exec"), names)
    found = names["check"](given["trace"], given["episode"])
    if not isinstance(found, list):
        return json.dumps({"broken": f"returns {type(found).__name__}, not a list"}).encode()
    try:
        return json.dumps({"found": found}, allow_nan=False).encode()
    except (TypeError, ValueError):
        return json.dumps({"broken": "returns what is no JSON"}).encode()


def _reversed(value: Any) -> Any:
    """Return the same value with the members of every object in the opposite order."""
    if isinstance(value, dict):
        return {name: _reversed(member) for name, member in reversed(value.items())}
    return [_reversed(one) for one in value] if isinstance(value, list) else value


def _worded(error: BaseException, file: str) -> str:
    line, place = None, error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename == file:
            line = place.tb_lineno
        place = place.tb_next
    try:
        text = str(error)[:_LONGEST_TEXT]
    except BaseException:
        text = ""
    what = type(error).__name__ + (f": {text}" if text else "")
    if isinstance(error, PermissionError):
        what += " (it may only compute: no file, no process, no network, no waiting)"
    return f"raises at line {line}: {what}" if line else f"raises {what}"


if __name__ == "__main__":
    main()
