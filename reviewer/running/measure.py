"""What an attempt ran, measured when it begins and again when it ends: the digest of the code, and
beside it the interpreter, the platform, the model as the endpoint names it, tools and rules.

A scripted candidate is data that this program plays: no interpreter and no platform is part of it,
and its records are the same on every machine.
"""

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.running.code import MeasuredCode, file_sha256, measured_code, pinned_code
from reviewer.running.memory import ByContent
from reviewer.running.model import Answered, Task, Unrunnable
from reviewer.suite.candidate import PROGRAMS
from reviewer.suite.code import REWRITTEN, UNREADABLE, CodeFile, code_digest
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.server import SERVER
from reviewer.suite.strict_json import canonical_bytes, sha256_hex
from reviewer.suite.values import TOOLSET_FILE

RAN_SCHEMA = "reviewer/ran@1"

TOOLKITS = "toolkits"


class Begun(NamedTuple):
    """The measurement when an attempt began."""

    code: MeasuredCode
    facts: dict[str, Any]
    simulator: str | None


def begun(task: Task) -> Begun:
    """Measure what the attempt is about to run. Raises only Unrunnable, for code that cannot be
    read or differs from the code that the manifest pins."""
    candidate, folder = task.candidate, Path(task.folder)
    code = pinned_code(candidate, folder, measured_code(candidate, folder))
    kind = candidate.runner.get("kind")
    scripted = kind == "scripted"
    facts = {
        "interpreter": _interpreter(task) if kind in PROGRAMS else None,
        "platform": None if scripted else _platform(),
        "toolset": _digest_of(folder / TOOLSET_FILE),
        "toolkits": _programs_of_world(task.episode.simulator or {}, folder),
        "approvals": task.approvals,
        "network": task.network,
        "isolation": _isolation() if kind in PROGRAMS else None,
        "seed": task.seed,
    }
    return Begun(code, facts, _simulator(task.episode.simulator))


@ByContent
def _simulator(simulator: Any) -> str | None:
    """Return the digest of an episode's simulator; None for one without a canonical form, such as
    one with an integer outside the range of JSON."""
    try:
        return sha256_hex(canonical_bytes(simulator, "simulator"))
    except ContractError:
        return None


def changed_code(task: Task, first: Begun) -> str | None:
    """Return the change of the code at the end of the attempt: None for unchanged, the digest of
    changed code, UNREADABLE, or REWRITTEN when its files were written in between."""
    try:
        again = measured_code(task.candidate, Path(task.folder))
    except Unrunnable:
        return UNREADABLE
    if again.sha256 != first.code.sha256:
        return again.sha256
    return None if again.state == first.code.state else REWRITTEN


def ended(
    task: Task, begun: Begun, changed_to: str | None, answered: Iterable[Answered]
) -> dict[str, Any]:
    """Return the measurement of an attempt that has ended, in the form for its record; `changed_to`
    is the result of `changed_code`."""
    return {
        "schema": RAN_SCHEMA,
        "kind": task.candidate.runner.get("kind"),
        "code": {
            "sha256": begun.code.sha256,
            "files": len(begun.code.files),
            "pinned": begun.code.pinned,
            "changed_to": changed_to,
        },
        "models": [one._asdict() for one in sorted(set(answered), key=str)],
        **begun.facts,
        "simulator": begun.simulator,
    }


def stored_form(ran: dict[str, Any]) -> bytes:
    """Return a measurement as the store keeps it, once for all attempts that share it: RFC 8785
    JSON, without the simulator, which belongs to the episode."""
    return _canonical({name: ran[name] for name in ran if name != "simulator"})


@ByContent
def _canonical(ran: dict[str, Any]) -> bytes:
    return canonical_bytes(ran, "ran")


def _interpreter(task: Task) -> dict[str, str] | None:
    """Return the program that runs the code: name and digest; None when it is the code itself."""
    runner = task.candidate.runner
    if runner["kind"] == "python":
        version = platform.python_version()
        return _program(f"{platform.python_implementation()} {version}", sys.executable)
    command = runner.get("command")
    program = str(command[0]) if command else ""
    if not program or ("/" in program and not program.startswith("/")):
        return None
    from reviewer.running.sandbox.room import found

    place = program if program.startswith("/") else found(program)
    return None if place is None else _program(os.path.basename(place), place)


def _program(name: str, place: str) -> dict[str, str] | None:
    digest = _digest_of(Path(place))
    return None if digest is None else {"name": shown(name, 200), "sha256": digest}


def _digest_of(path: Path) -> str | None:
    try:
        return file_sha256(path, path.stat())
    except (OSError, ValueError):
        return None


def _programs_of_world(simulator: Mapping[str, Any], folder: Path) -> str | None:
    """Return the digest of the programs behind the tools, which are under the lock: the Python
    files of the suite's toolkits, or every file of its server."""
    if simulator.get("server"):
        found: Iterator[Path] = (path for path in (folder / SERVER).rglob("*") if path.is_file())
    elif simulator.get("toolkit"):
        found = (folder / TOOLKITS).rglob("*.py")
    else:
        return None
    files = [
        CodeFile(path.relative_to(folder).as_posix(), False, digest)
        for path in sorted(found)
        if (digest := _digest_of(path)) is not None
    ]
    return code_digest(files)


def _isolation() -> str:
    from reviewer.running.sandbox.protection import protection

    return protection().kind


@lru_cache(1)
def _platform() -> str:
    here = os.uname()
    return f"{here.sysname} {here.release} {here.machine}"
