"""Candidates that are a program: any language, talking in JSON lines over standard input and
output (docs/candidates-command.md)."""

import os
from pathlib import Path
from typing import Any

from reviewer.running.candidates.child import ChildCandidate, check_common, order_for
from reviewer.running.files import manifest_file
from reviewer.running.model import Task, Unrunnable
from reviewer.running.sandbox.room import found
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import shown
from reviewer.suite.folder import CANDIDATES


class CommandCandidate(ChildCandidate):
    """The manifest's `runner.command`. Raises Unrunnable as `check`."""

    def __init__(self, task: Task) -> None:
        folder = Path(task.folder)
        check(task.candidate, folder)
        argv = argv_of(task.candidate, folder)
        super().__init__(task, order_for(task, argv, (folder / CANDIDATES,)))


def check(candidate: Candidate, folder: Path) -> None:
    """Raises Unrunnable unless there is such a program, and all that the manifest names for it."""
    check_common(candidate, folder)
    argv_of(candidate, folder)


def argv_of(candidate: Candidate, folder: Path) -> tuple[str, ...]:
    """The command with its program as an absolute path.

    A program without a slash is looked for on PATH; a relative path is one below the suite's
    `candidates/`, and so is any argument that begins with `./`. Raises Unrunnable.
    """
    where = f"{manifest_file(candidate, folder)}: $.runner.command"
    command: list[Any] = candidate.runner.get("command") or []
    base = (folder / CANDIDATES).resolve()
    for word in command:
        if not isinstance(word, str) or "\0" in word:
            raise Unrunnable(f"{where}: must be a list of texts")
    if not command or not command[0]:
        raise Unrunnable(f"{where}: names no program")
    program, *arguments = command
    place = _program(program, base, where)
    below = [str(_below(word, base, where)) if word[:2] == "./" else word for word in arguments]
    return (place, *below)


def _program(program: str, base: Path, where: str) -> str:
    if "/" not in program:
        place = found(program)
        if place is None:
            raise Unrunnable(
                f"{where}: there is no program `{shown(program)}` on PATH; install it, or write "
                f"`./{shown(program)}` for one in {base.parent.name}/{CANDIDATES}/"
            )
        return place
    path = Path(program) if program.startswith("/") else _below(program, base, where)
    if not path.is_file():
        raise Unrunnable(f"{where}: there is no file `{shown(str(path), 200)}`")
    if not os.access(path, os.X_OK):
        raise Unrunnable(
            f"{where}: `{shown(str(path), 200)}` is not executable; make it so (chmod +x), or name "
            "its interpreter first"
        )
    return str(path)


def _below(word: str, base: Path, where: str) -> Path:
    path = Path(os.path.normpath(base / word))
    if not path.is_relative_to(base):
        raise Unrunnable(f"{where}: `{shown(word, 200)}` leads out of {CANDIDATES}/")
    return path
