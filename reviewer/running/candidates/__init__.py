"""The kinds of candidate that can be run, each in a module that is imported when it is used."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reviewer.running.candidates.manifest import manifest_file
from reviewer.running.model import Adapter, Task, Unrunnable
from reviewer.suite.candidate import Candidate


def check_runnable(candidate: Candidate, folder: Path) -> None:
    """Raise Unrunnable, naming the file and the way out, unless the candidate of the suite in
    `folder` can be run. Starts nothing and uses no network."""
    _kind_of(candidate, folder).check(candidate, folder)
    if candidate.runner.get("code_sha256"):
        from reviewer.running.code import measured_code, pinned_code

        pinned_code(candidate, folder, measured_code(candidate, folder))


def adapter_for(task: Task) -> Adapter:
    """Return the candidate of this task, ready to begin. Raise Unrunnable."""
    return _kind_of(task.candidate, Path(task.folder)).adapter(task)


class _Kind(NamedTuple):
    check: Callable[[Candidate, Path], None]
    adapter: Callable[[Task], Adapter]


def _kind_of(candidate: Candidate, folder: Path) -> _Kind:
    kind = candidate.runner.get("kind")
    if kind == "scripted":
        from reviewer.running.candidates import scripted

        return _Kind(scripted.check, scripted.Scripted)
    if kind == "openai-chat":
        from reviewer.running.candidates.openai import OpenAIChat

        return _Kind(OpenAIChat.check, OpenAIChat)
    if kind == "openai-responses":
        from reviewer.running.candidates.openai import OpenAIResponses

        return _Kind(OpenAIResponses.check, OpenAIResponses)
    if kind == "command":
        from reviewer.running.candidates import program

        return _Kind(program.check_command, program.CommandCandidate)
    if kind == "python":
        from reviewer.running.candidates import program

        return _Kind(program.check_python, program.PythonCandidate)
    if kind == "mcp":
        from reviewer.running.candidates import mcp

        return _Kind(mcp.check_mcp, mcp.McpCandidate)
    raise Unrunnable(
        f"{manifest_file(candidate, folder)}: $.runner: is missing: this candidate's traces can be "
        "imported, but it cannot be run; make a version of it that says how"
    )
