"""Watch folders into which harnesses write: which files are new, have grown, and have stopped
changing."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from reviewer.desk.imports.importing import expand, import_units
from reviewer.desk.imports.indexing import index_behind
from reviewer.desk.place import Workspace
from reviewer.importing.pipeline.outcome import FileResult, OnProgress
from reviewer.importing.pipeline.scoring import ImportOptions
from reviewer.importing.pipeline.units import Unit, claim, files_of

LOOK_S = 1.0
"""Seconds between two scans of watched folders."""
SETTLE_S = 2.0
"""Seconds for which a file must not change before it is read."""
PATIENCE = 10
"""How many times longer to wait for a file that ends in the middle of a record."""
SHARE = 4
"""Scanning files again that may have changed their meaning takes at most one part in this many of
the time."""
TAIL = 64


class FileState(NamedTuple):
    """A state that differs when a file was written to or replaced."""

    size: int
    mtime_ns: int
    inode: int


class Watch:
    """Scans folders repeatedly; `ready` returns the units to be imported now. `now` is a monotonic
    clock in seconds."""

    def __init__(
        self,
        paths: Iterable[Path],
        wanted: str,
        settle_s: float = SETTLE_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paths = tuple(paths)
        self._wanted = wanted
        self._settle_s = settle_s
        self._now = now
        self._states: dict[Path, tuple[FileState, float]] = {}
        self._claims: dict[Path, Unit | None] = {}
        self._inside: dict[Path, bool] = {}
        self._again: set[Path] = set()
        self._rested = 0.0
        self._done: dict[Path, tuple[tuple[Path, FileState], ...]] = {}
        self._problems: dict[Path, Unit] = {}
        """What cannot be read of the folders, such as a link out of them. Each is told once."""

    def ready(self) -> list[Unit]:
        """Return the units that are new or changed since they were last returned, and have stopped
        growing."""
        told = self._problems
        files = self._look()
        fresh = [unit for path, unit in self._problems.items() if path not in told]
        units = [unit for unit in self._claims.values() if unit is not None]
        taken = {os.path.abspath(other) for unit in units for other in unit.companions}
        units.sort(key=lambda unit: files[unit.path])
        own = (unit for unit in units if os.path.abspath(unit.path) not in taken)
        return [*fresh, *(unit for unit in own if self._due(unit))]

    def _look(self) -> dict[Path, int]:
        """Record which files changed and the reader of each; return the files with their place in
        the order."""
        files: dict[Path, int] = {}
        fresh: list[Path] = []
        came: set[Path] = set()
        self._problems = {}
        for path in expand(self._paths):
            for file, inside in files_of(path) if path.exists() else ():
                if isinstance(file, Unit):
                    if inside:  # a folder that is empty is waited for
                        self._problems[file.path] = file
                    continue
                if file in files:
                    continue
                files[file] = len(files)
                self._inside[file] = inside
                if self._changed(file):
                    fresh.append(file)
                    if file not in self._claims:
                        came.add(file.parent)
        gone = self._claims.keys() - files.keys()
        for file in gone:
            came.add(file.parent)
            del self._claims[file]
            self._states.pop(file, None)
        if fresh or came:
            self._again |= self._touched(set(fresh), came)
        for file in fresh:
            self._claim(file)
        self._claim_again()
        return files

    def _claim(self, file: Path) -> None:
        self._again.discard(file)
        self._claims[file] = claim(file, self._wanted, inside=self._inside[file])

    def _touched(self, changed: set[Path], came: set[Path]) -> set[Path]:
        """Return files whose meaning may have changed: those that a changed file is a part of, and
        those above and below a folder where a file appeared or disappeared."""
        above = {parent for folder in came for parent in (folder, *folder.parents)}
        return {
            file
            for file, unit in self._claims.items()
            if (unit is not None and not changed.isdisjoint(unit.companions))
            or (came and (file.parent in above or not came.isdisjoint(file.parents)))
        }

    def _claim_again(self) -> None:
        """Ask again which reader takes the files whose neighbors changed, as far as time allows: a
        harness may write thousands into one folder."""
        began = self._now()
        if not self._again or began < self._rested:
            return
        for file in self._again & self._claims.keys():
            self._claim(file)
        self._again.clear()
        self._rested = self._now() + SHARE * (self._now() - began)

    def _changed(self, path: Path) -> bool:
        """Return whether a file changed since it was last checked."""
        state = state_of(path)
        before = self._states.get(path)
        if state is None or (before is not None and before[0] == state):
            return False
        self._states[path] = state, self._now()
        return True

    def _due(self, unit: Unit) -> bool:
        """Return whether this unit is due now, and record that it was returned."""
        for other in unit.companions:  # some are in other folders
            self._changed(other)
        parts = [(path, self._states[path]) for path in (unit.path, *unit.companions)
                 if path in self._states]  # fmt: skip
        states = tuple((path, state) for path, (state, _) in parts)
        if not parts or self._done.get(unit.path) == states:
            return False
        still = self._now() - max(since for _, (_, since) in parts)
        halfway = bool(unit.problem) or not _ended(unit.path)
        if still < self._settle_s * (PATIENCE if halfway else 1):
            return False
        self._done[unit.path] = states
        return True


def state_of(path: Path) -> FileState | None:
    """Return the state of a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino)


def _ended(path: Path) -> bool:
    """Return whether a JSON file ends where a record may end; True for any other file."""
    try:
        with path.open("rb") as handle:
            start = handle.read(TAIL).removeprefix(b"\xef\xbb\xbf").lstrip()
            if start[:1] not in (b"{", b"["):
                return True
            size = handle.seek(0, 2)
            handle.seek(max(size - TAIL, 0))
            return handle.read().rstrip()[-1:] in (b"}", b"]")
    except OSError:
        return False


def watch(
    workspace: Workspace,
    paths: Iterable[Path],
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    stop: Callable[[float], bool],
) -> list[FileResult]:
    """Import new and grown files below `paths` until `stop`, which waits for so many seconds and
    says whether to end. While another process writes to the store, this waits as any import
    does."""
    found: list[FileResult] = []
    watching = Watch(paths, asked.format)
    while True:
        if ready := watching.ready():
            found += import_units(workspace, ready, asked, on_file, on_result)
            index_behind(workspace)
        if stop(LOOK_S):
            return found
