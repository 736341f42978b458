"""What an attempt ran, measured when it begins and again when it ends: the digest of the code, and
beside it the interpreter, the platform, the model as the endpoint names it, tools and rules.

A scripted candidate is data that this program plays: no interpreter and no platform is part of it,
and its records are the same on every machine.
"""

import os
import platform
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.code import MeasuredCode, file_sha256, measured_code, pinned_code
from reviewer.running.model import Answered, Task, Unrunnable
from reviewer.suite.code import CodeFile, code_digest
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.values import TOOLSET_FILE

RAN_SCHEMA = "reviewer/ran@1"

TOOLKITS = "toolkits"
UNREADABLE = "unreadable"
"""What stands for the digest of code that could not be measured again when an attempt ended."""


class Begun(NamedTuple):
    """The measurement when an attempt began."""

    code: MeasuredCode
    facts: dict[str, Any]
    simulator: str


def begun(task: Task) -> Begun:
    """Measure what the attempt is about to run. Raises Unrunnable for code that cannot be read, and
    for another than the manifest pins."""
    candidate, folder = task.candidate, Path(task.folder)
    code = pinned_code(candidate, folder, measured_code(candidate, folder))
    kind = candidate.runner.get("kind")
    scripted = kind == "scripted"
    facts = {
        "interpreter": _interpreter(task) if kind in ("command", "python") else None,
        "platform": None if scripted else _platform(),
        "toolset": _digest_of(folder / TOOLSET_FILE),
        "toolkits": _toolkits(folder) if (task.episode.simulator or {}).get("toolkit") else None,
        "approvals": task.approvals,
        "network": task.network,
        "seed": task.seed,
    }
    return Begun(code, facts, sha256_hex(canonical_bytes(task.episode.simulator, "simulator")))


def code_again(task: Task) -> str:
    """Return the digest of the code as it is when the attempt has ended."""
    try:
        return measured_code(task.candidate, Path(task.folder)).sha256
    except Unrunnable:
        return UNREADABLE


def ended(task: Task, begun: Begun, again: str, answered: Iterable[Answered]) -> dict[str, Any]:
    """Return the measurement of an attempt that has ended, as its record has it. `again` is the
    digest of the code at its end: another one than at its beginning is stated."""
    return {
        "schema": RAN_SCHEMA,
        "kind": task.candidate.runner.get("kind"),
        "code": {
            "sha256": begun.code.sha256,
            "files": len(begun.code.files),
            "pinned": begun.code.pinned,
            "changed_to": None if again == begun.code.sha256 else again,
        },
        "models": [one._asdict() for one in sorted(set(answered), key=str)],
        **begun.facts,
        "simulator": begun.simulator,
    }


def stored_form(ran: dict[str, Any]) -> bytes:
    """Return a measurement as the store keeps it, once for all attempts that it is of: RFC 8785
    JSON, without the simulator, which is the episode's."""
    return canonical_bytes({name: ran[name] for name in ran if name != "simulator"}, "ran")


def _interpreter(task: Task) -> dict[str, str] | None:
    """Return the program that runs the code: name and digest; None when it is the code itself."""
    runner = task.candidate.runner
    if runner["kind"] == "python":
        version = platform.python_version()
        return _program(f"{platform.python_implementation()} {version}", sys.executable)
    program = str(runner["command"][0])
    if "/" in program and not program.startswith("/"):
        return None
    from reviewer.running.sandbox.room import found

    place = program if program.startswith("/") else found(program)
    return None if place is None else _program(os.path.basename(place), place)


def _program(name: str, place: str) -> dict[str, str] | None:
    digest = _digest_of(Path(place))
    return None if digest is None else {"name": name, "sha256": digest}


def _digest_of(path: Path) -> str | None:
    try:
        return file_sha256(path, path.stat())
    except OSError:
        return None


def _toolkits(folder: Path) -> str | None:
    """Return the digest of the Python files of the suite's toolkits, which are under the lock."""
    files = [
        CodeFile(path.relative_to(folder).as_posix(), False, digest)
        for path in sorted((folder / TOOLKITS).rglob("*.py"))
        if (digest := _digest_of(path)) is not None
    ]
    return code_digest(files)


@lru_cache(1)
def _platform() -> str:
    here = os.uname()
    return f"{here.sysname} {here.release} {here.machine}"
