"""What a WebArena run's logs and its error.txt say of each task."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from reviewer.importing.opening import opened
from reviewer.importing.split import Unreadable

_CONFIG = re.compile(r"\[Config file\]: ?(.+)")
_RESULT = re.compile(r"\[Result\] \((PASS|FAIL)\) ?(.+)")
_ERROR = re.compile(r"\[(?:Unhandled|OpenAI) Error\] ?(.+)")
MOST_LINE = 1 << 16


class Told(NamedTuple):
    """The last try at a task, and how many there were."""

    passed: bool | None = None
    exception: str | None = None
    tries: int = 0

    def then(self, later: "Told") -> "Told":
        """After more of the same task."""
        return later._replace(tries=self.tries + later.tries) if later.tries else self


def last_try(task_id: str, files: Iterable[Path]) -> tuple[Told, tuple[str, ...]]:
    """(what these files say of a task, notes). Files in the order they were begun."""
    told, notes = Told(), []
    for path in files:
        try:
            state = path.stat()
            said = _said(path, state.st_mtime_ns, state.st_size)
        except (OSError, Unreadable):
            notes.append(f"{path.name} could not be read")
            continue
        told = told.then(said.get(task_id, Told()))
    return told, tuple(notes)


@lru_cache(maxsize=32)
def _said(path: Path, changed: int, size: int) -> dict[str, Told]:
    """By task id. A log belongs to every page of its run: it is read once for all of them."""
    found: dict[str, Told] = {}
    task = ""
    with opened(path) as handle:
        while raw := handle.readline(MOST_LINE):
            if b"[" not in raw:
                continue
            line = raw.decode("utf-8", "replace")
            if config := _CONFIG.search(line):
                task = _task_of(config.group(1))
                found[task] = Told(tries=found.get(task, Told()).tries + 1)
            elif result := _RESULT.search(line):
                task = _task_of(result.group(2))
                before = found.get(task, Told(tries=1))
                found[task] = before._replace(passed=result.group(1) == "PASS")
            elif task and (error := _ERROR.search(line)):
                found[task] = found[task]._replace(exception=error.group(1).strip()[:200])
    return found


def _task_of(path: str) -> str:
    return PurePosixPath(path.strip().replace("\\", "/")).stem
