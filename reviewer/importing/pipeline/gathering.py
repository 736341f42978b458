"""Files that hold parts of the same traces: those of one import, and those of imports before it.

A span means what it does by those around it, so a trace that was cut into files is read out of all
of them together, whichever comes first. A file that is gone, or is another one by now, is not read;
what it held is stored, and is put together with what comes (`parts`).
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

from reviewer.importing.faults import asked
from reviewer.importing.pipeline.keys import unit_digest
from reviewer.importing.pipeline.units import Unit
from reviewer.importing.reader import Reader, keeps

MOST_FILES = 64
"""Files that are read together."""
_FILE = "/file:"
_LINKS = (
    "SELECT DISTINCT o.path, o.reader, f.sha256, o.id FROM attempt_name n"
    " JOIN source o ON o.id = CAST(substr(n.name, ?) AS INTEGER)"
    " JOIN source_file f ON f.source = o.id"
    " WHERE n.name >= ? AND n.name < ? AND o.candidate=?"
)
_CALLED = (
    "SELECT s.suite_id, c.candidate_id, e.episode_id FROM attempt_name n"
    " JOIN trace t ON t.id = n.trace JOIN candidate c ON c.id = t.candidate"
    " JOIN episode e ON e.id = t.episode JOIN suite s ON s.id = c.suite"
    " WHERE n.name=? ORDER BY t.id"
)
Gather = Callable[[Iterable[str]], Sequence[Path]]


@runtime_checkable
class GatheringReader(Reader, Protocol):
    """A format whose attempts may be cut into files at any place."""

    def names_near(self, path: Path) -> frozenset[str]:
        """Return what the attempts near the file's start are called for good."""
        ...


def gathers(reader: object) -> TypeGuard[GatheringReader]:
    return keeps(reader, GatheringReader)


class Called(NamedTuple):
    """What an attempt that is there is called."""

    suite_id: str
    candidate_id: str
    episode_id: str


class Together:
    """The files of one import, and of imports before it, by what their attempts are called."""

    def __init__(self, connection: sqlite3.Connection, units: Iterable[Unit]) -> None:
        self._connection = connection
        self._units = [unit for unit in units if gathers(unit.reader)]
        self._met: dict[str, Called] = {}
        self._near: dict[str, dict[str, set[Path]]] | None = None
        row = connection.execute("SELECT 1 FROM attempt_name LIMIT 1").fetchone()
        self._stored = row is not None

    def files(
        self, reader: Reader, path: Path, candidate: str, held: set[int], names: Iterable[str]
    ) -> list[Path]:
        """The other files that hold parts of what has these names, by path; of those that were
        imported before, those that were imported for the same `candidate`, if for any. Adds their
        imports to `held`."""
        near = self._of_import().get(reader.name, {})
        wanted = list(names)
        found: dict[Path, set[int]] = {}
        for other in (one for name in wanted for one in near.get(name, ())) if near else ():
            found.setdefault(other.resolve(), set())
        for other, source in self._before(reader, candidate, wanted) if self._stored else ():
            found.setdefault(other.resolve(), set()).add(source)
        found.pop(path.resolve(), None)
        chosen = sorted(found, key=str)[:MOST_FILES]
        held.update(source for other in chosen for source in found[other])
        return chosen

    def meet(self, names: Iterable[str], called: Called) -> None:
        """Note what an attempt of this import is called."""
        for name in names:
            self._met.setdefault(name, called)

    def called(self, names: Iterable[str]) -> list[Called]:
        """Return what attempts of these names are called: stored ones, the first of them first,
        then those of this import."""
        met = [self._met[name] for name in names if name in self._met] if self._met else []
        if not self._stored:
            return met
        rows = (self._connection.execute(_CALLED, (name,)).fetchall() for name in names)
        return [Called(*row) for some in rows for row in some] + met

    def _of_import(self) -> dict[str, dict[str, set[Path]]]:
        if self._near is None:
            self._near = {}
            several = len(self._units) > 1
            for unit in self._units if several else ():
                reader = unit.reader
                if not gathers(reader):
                    continue
                held = self._near.setdefault(reader.name, defaultdict(set))
                near = asked(_near(reader, unit.path), frozenset[str](), reader.name)
                for name in near:
                    held[name].add(unit.path)
        return self._near

    def _before(
        self, reader: Reader, candidate: str, names: Iterable[str]
    ) -> Iterator[tuple[Path, int]]:
        """Files of earlier imports that are still what they were, with those imports."""
        still: dict[tuple[str, str], bool] = {}
        for name in names:
            start = f"{name}{_FILE}"
            bound = len(start) + 1, start, f"{start[:-1]};", candidate
            rows = self._connection.execute(_LINKS, bound)
            for path, read_by, sha256, source in rows.fetchall():
                if read_by.partition("/")[0] != reader.name:
                    continue
                if (path, sha256) not in still:
                    still[path, sha256] = _is_still(Path(path), sha256)
                if still[path, sha256]:
                    yield Path(path), source


def _near(reader: GatheringReader, path: Path) -> Callable[[], frozenset[str]]:
    return lambda: reader.names_near(path)


def _is_still(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and unit_digest(path, ()) == sha256
    except OSError:
        return False


def linked(name: str, source: int) -> str:
    """The name under which an attempt is found by the file that holds a part of it."""
    return f"{name}{_FILE}{source}"
