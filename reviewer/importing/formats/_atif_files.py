"""Which files belong to one ATIF trajectory: parts that continue it, sub-agents it refers to."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats._places import within
from reviewer.importing.opening import start_of
from reviewer.importing.split import MAX_RECORD, Unreadable

MOST = 1000
"""Files one trajectory may draw in."""
_HOLDERS = (
    "steps", "observation", "results", "subagent_trajectory_ref", "subagent_trajectories",
)  # fmt: skip


class Family:
    """The files around one trajectory file. References are followed only beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[Path, dict[str, Any] | None] = {}

    def files(self) -> tuple[Path, ...]:
        """Every file that the trajectory refers to, directly or not, without itself."""
        found: dict[Path, None] = {}
        waiting = [self.path]
        while waiting and len(found) < MOST:
            document = self.document(waiting.pop())
            for ref in _refs(document) if document else ():
                file = self._meant(ref)
                if file is not None and file not in found:
                    found[file] = None
                    waiting.append(file)
        return tuple(found)

    def next_part(self, document: dict[str, Any]) -> dict[str, Any] | None:
        """The document that continues this one; None when it is not there, or of another run."""
        ref = document.get("continued_trajectory_ref")
        file = self._meant(ref) if isinstance(ref, str) else None
        found = self.document(file) if file else None
        runs = {_run(one) for one in (document, found or {})} - {None}
        return found if len(runs) < 2 else None

    def sub_agent(self, ref: dict[str, Any]) -> dict[str, Any] | None:
        """The document a sub-agent's reference names by its path."""
        name = ref.get("trajectory_path")
        file = self._meant(name) if isinstance(name, str) else None
        found = self.document(file) if file else None
        ids = {one.get("trajectory_id") for one in (ref, found or {})} - {None}
        return found if len(ids) < 2 else None

    def document(self, file: Path) -> dict[str, Any] | None:
        """A trajectory as it stands in a file of its own; None for anything else."""
        if file not in self._known:
            self._known[file] = _loaded(file)
        return self._known[file]

    def _meant(self, ref: str) -> Path | None:
        """The file a reference means. Trajectories are written with references to their plain
        names (`trajectory.cont-1.json`) and later renamed alike (`x.trajectory.cont-1.json`)."""
        name = PurePosixPath(ref.replace("\\", "/")).name
        prefix, word, _ = self.path.name.partition("trajectory")
        wanted = [prefix + name] if prefix and word else []
        for one in (*wanted, ref, name):
            if within(self.path.parent, one) is not None:
                file = self.path.parent / one
                return None if file == self.path else file
        return None


def _loaded(file: Path) -> dict[str, Any] | None:
    try:
        raw = start_of(file, MAX_RECORD + 1)
        value = parse(raw) if len(raw) <= MAX_RECORD else None
    except (OSError, Unreadable, NotJson, RecursionError):
        return None
    fits = isinstance(value, dict) and isinstance(value.get("steps"), list)
    return value if fits else None


def _refs(document: dict[str, Any]) -> Iterator[str]:
    """Every path a document refers to, whatever its shape."""
    waiting: list[Any] = [
        document.get(name)
        for name in ("steps", "subagent_trajectories", "continued_trajectory_ref")
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting.extend(one for one in value if isinstance(one, (dict, list)))
        elif isinstance(value, dict):
            waiting.extend(v for n in _HOLDERS if isinstance(v := value.get(n), (dict, list)))
            waiting.append(value.get("trajectory_path"))


def _run(document: dict[str, Any]) -> str | None:
    """The run a part belongs to; newer writers mark parts in the session id."""
    session = document.get("session_id")
    return session.partition("-cont-")[0] if isinstance(session, str) else None
