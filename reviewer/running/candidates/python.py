"""Candidates that are a Python callable: `runner.entry` is "module:callable", run by a harness in a
child process (docs/candidates-command.md)."""

import importlib.machinery
import sys
from pathlib import Path

from reviewer.running.candidates.child import ChildCandidate, check_common, order_for
from reviewer.running.files import manifest_file
from reviewer.running.model import Task, Unrunnable
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import shown
from reviewer.suite.folder import CANDIDATES

HARNESS = Path(__file__).parents[1] / "python_child.py"


class PythonCandidate(ChildCandidate):
    """The manifest's `runner.entry`. Raises Unrunnable as `check`."""

    def __init__(self, task: Task) -> None:
        folder = Path(task.folder)
        check(task.candidate, folder)
        place = (folder / CANDIDATES).resolve()
        argv = (
            *(sys.executable, "-I", "-B", str(HARNESS)),
            *("candidate", str(place), task.candidate.runner["entry"]),
        )
        super().__init__(task, order_for(task, argv, (place, HARNESS)))


def check(candidate: Candidate, folder: Path) -> None:
    """Raises Unrunnable unless there is such a module; nothing of it is run."""
    check_common(candidate, folder)
    entry = candidate.runner.get("entry")
    where = f"{manifest_file(candidate, folder)}: $.runner.entry"
    if not entry:
        raise Unrunnable(f"{where}: is missing: name the callable as `module:callable`")
    if not has_module(entry, folder / CANDIDATES):
        module = shown(entry.partition(":")[0], 200)
        raise Unrunnable(
            f"{where}: there is no module `{module}` in {folder.name}/{CANDIDATES}/, nor installed"
        )


def has_module(entry: str, place: Path, installed: bool = True) -> bool:
    """Whether the module of a "module:name" stands in `place`, or (its first part) among what is
    installed here. Imports nothing."""
    parts = entry.partition(":")[0].split(".")
    path = place.joinpath(*parts)
    if path.with_name(path.name + ".py").is_file() or path.is_dir():
        return True
    top = parts[0]
    if not installed or (place / top).exists() or (place / f"{top}.py").exists():
        return False
    if top in sys.builtin_module_names:
        return True
    elsewhere = [part for part in sys.path if part]
    return importlib.machinery.PathFinder.find_spec(top, elsewhere) is not None
