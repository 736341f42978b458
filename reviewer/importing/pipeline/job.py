"""One import: the facts shared by its files, and their relation to earlier imports.

Each class here answers one question that every file of an import may have: which sources have its
path, how records that name nothing are named, which other files contain parts of the same attempts,
and which episode a first request belongs to.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db.connection import Connection
from reviewer.db.payload import Packer
from reviewer.db.queries import imports
from reviewer.db.revisions import judged_record
from reviewer.db.sources import tool_maps
from reviewer.importing.pipeline.claiming import names_near
from reviewer.importing.pipeline.scoring import ImportOptions, Order, catalogue_of
from reviewer.importing.pipeline.stored_results import StoredResults, gather
from reviewer.importing.pipeline.storing import FindManifest
from reviewer.importing.pipeline.units import Unit, unit_digest
from reviewer.importing.reader import Reader, gathers
from reviewer.importing.source import first_request, request_digest
from reviewer.suite.model import Episode, Suite

MOST_FILES = 64
"""Most files that are read together."""
MOST_FOLDERS = 8
UNKNOWN = ""
"""The first request of an episode that begins in the middle, until its beginning comes."""
Mask = Callable[[Any], Any]


class ImportContext(NamedTuple):
    """The store, suites and options of an import. `now` is the time for the journal; `relied_on`
    says in words who relied on an attempt as it is stored, where later records are then kept
    apart."""

    connection: Connection
    store: Path
    suites: tuple[Suite, ...]
    manifests: FindManifest
    options: ImportOptions
    now: Callable[[], str]
    relied_on: Callable[[Connection, int], str] = lambda connection, trace: ""
    contracts: Mapping[str, Mapping[str, Episode]] = {}
    """The contracts of suites that are given without their episodes, by suite id."""

    def order(self, reader: str, path: str, home: str = "") -> Order:
        """Return the order for the records of one file."""
        return Order(self.suites, self.options, reader, path, False, home, self.contracts)


class ImportJob:
    """The units of one import and their shared facts."""

    def __init__(self, context: ImportContext, units: Sequence[Unit]) -> None:
        connection, options = context.connection, context.options
        self.context = context
        self.stored = StoredResults(connection, options.suite, dict(options.episodes))
        self.joins = gather(units, self.stored)
        self.packer = Packer()
        self.catalogue = catalogue_of(context.order("", ""))
        self.paths = SourcePaths(connection)
        self.maps = tool_maps(connection)
        """Source → the map by which its tools are named."""
        self.places = Places(connection, units)
        self.requests = StoredFirstRequests(connection)
        self.linked = LinkedFiles(connection, units)
        self.read: set[int] = set()
        """Sources of trajectories that this import has read."""


class SourcePaths:
    """The paths of everything that was imported before. Every file is looked up here, so the store
    is read only once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = set(map(hash, imports.source_paths(connection)))

    def sources(self, paths: Iterable[str]) -> frozenset[int]:
        """Return the imports of files at these paths."""
        found = [path for path in paths if hash(path) in self._known]
        return imports.sources_at(self._connection, found) if found else frozenset()


class Places:
    """The names of records that name nothing themselves, taken from their file's path.

    An episode is named after the path below the named folder. A candidate, and an episode of a file
    that was named by itself, are named after the stem as long as no other file of that name was or
    is imported, else after as many folders above it as make the name unique. A file that was
    imported before keeps the names that its attempts have.
    """

    def __init__(self, connection: Connection, units: Iterable[Unit]) -> None:
        self._connection = connection
        self._named: dict[str, set[str]] = defaultdict(set)
        for unit in units:
            self._named[unit.path.name].add(os.path.abspath(unit.path))
        self._knows_store = False
        self._found: dict[tuple[Path, str], tuple[str, str]] = {}

    def of(self, unit: Unit, shown: str) -> tuple[str, str]:
        """Return (the name for its episodes, the name for its candidate); `shown` is its path as
        the store has it."""
        found = self._found.get((unit.path, shown))
        if found is None:
            home = unit.path.stem if unit.name else self._home(unit, shown)
            found = self._found[unit.path, shown] = unit.place or home, home
        return found

    def _home(self, unit: Unit, shown: str) -> str:
        if not self._knows_store:
            self._knows_store = True
            for path in imports.source_paths(self._connection):
                self._named[os.path.basename(path)].add(os.path.abspath(path))
        others = self._named[unit.path.name] - {os.path.abspath(unit.path)}
        if not others:
            return unit.path.stem
        names = list(_names(unit.path))
        if kept := self._kept(shown, names):
            return kept
        taken = {name for other in others for name in _names(Path(other))}
        return next((name for name in names if name not in taken), names[-1])

    def _kept(self, shown: str, names: list[str]) -> str:
        """Return the name that its attempts already have."""
        rows = imports.names_at(self._connection, shown)
        known = {text for row in rows for one in row for text in (one, one.rpartition("-")[0])}
        return next((name for name in names if name in known), "")


def _names(path: Path) -> Iterator[str]:
    """Yield the names of a file, from the shortest."""
    whole = Path(os.path.abspath(path)).with_suffix("")
    parts = [part for part in whole.parts if part != whole.anchor]
    for count in range(1, min(len(parts), MOST_FOLDERS + 1) + 1):
        yield "/".join(parts[-count:])


class AttemptName(NamedTuple):
    """The names of an attempt of this import or a stored one."""

    suite_id: str
    candidate_id: str
    episode_id: str


class LinkedFiles:
    """Files that contain parts of the same traces: those of one import, and of imports before it.

    The meaning of a span depends on the spans around it, so a trace that was cut into files is read
    from all of them together, whichever comes first. A file that is missing or was changed is not
    read; its former content is stored, and is joined with the new parts (`sessions`).
    """

    def __init__(self, connection: Connection, units: Iterable[Unit]) -> None:
        self._connection = connection
        self._units = [unit for unit in units if gathers(unit.reader)]
        self._met: dict[str, AttemptName] = {}
        self._near: dict[str, dict[str, set[Path]]] | None = None
        self._any_stored = imports.any_named(connection)

    def files(
        self,
        reader: Reader,
        path: Path,
        candidate: str,
        held: set[int],
        kept: Callable[[str], str],
        names: Iterable[str],
    ) -> list[Path]:
        """Return the other files that contain parts of the attempts of these names, by path; of
        files imported before, those that were imported for the same `candidate`, if for any. Adds
        their imports to `held`. `kept` converts a name to the form in which the store has it."""
        near = self._of_import().get(reader.name, {})
        wanted = list(names)
        found: dict[Path, set[int]] = {}
        for other in (one for name in wanted for one in near.get(name, ())) if near else ():
            found.setdefault(other.resolve(), set())
        for other, source in self._before(reader, candidate, map(kept, wanted)):
            found.setdefault(other.resolve(), set()).add(source)
        found.pop(path.resolve(), None)
        chosen = sorted(found, key=str)[:MOST_FILES]
        held.update(source for other in chosen for source in found[other])
        return chosen

    def meet(self, names: Iterable[str], called: AttemptName) -> None:
        """Record the names of an attempt of this import."""
        for name in names:
            self._met.setdefault(name, called)

    def called(self, names: Iterable[str]) -> list[AttemptName]:
        """Return the names of the attempts known by these names: stored ones in order, then those
        of this import."""
        wanted = list(names)
        found = [
            AttemptName(*one[:3])
            for name in (wanted if self._any_stored else ())
            for one in imports.names_of_named(self._connection, name)
        ]
        return found + [self._met[name] for name in wanted if name in self._met]

    def _of_import(self) -> dict[str, dict[str, set[Path]]]:
        """Return the files of this import by reader and by the names of the attempts near their
        start."""
        if self._near is None:
            self._near = {}
            several = len(self._units) > 1
            for unit in self._units if several else ():
                reader = unit.reader
                if not gathers(reader):
                    continue
                held = self._near.setdefault(reader.name, defaultdict(set))
                for name in unit.near[1] if unit.near else names_near(reader, unit.path):
                    held[name].add(unit.path)
        return self._near

    def _before(
        self, reader: Reader, candidate: str, names: Iterable[str]
    ) -> Iterator[tuple[Path, int]]:
        """Yield files of earlier imports that have not changed, with those imports."""
        still: dict[tuple[str, str], bool] = {}
        for name in names if self._any_stored else ():
            for one in imports.files_with(self._connection, name, candidate):
                if one.reader.partition("/")[0] != reader.name:
                    continue
                key = one.path, one.sha256
                if key not in still:
                    still[key] = _is_still(Path(one.path), one.sha256)
                if still[key]:
                    yield Path(one.path), one.source


def _is_still(path: Path, sha256: str) -> bool:
    try:
        return path.is_file() and unit_digest(path, ()) == sha256
    except OSError:
        return False


class _Requests:
    """First requests of one name: `stored` ones by the digest of their stored form, those of this
    import by their hash, each with its place."""

    def __init__(self, stored: list[str]) -> None:
        self.stored = stored
        self.fresh: dict[int, int] = {}

    def place(self, request: Any, mask: Mask) -> int:
        key = hash(request if isinstance(request, str) else request_digest(request))
        place = self.fresh.get(key)
        if place is None:
            place = self._new(request, mask) if self.stored else len(self.fresh)
            self.fresh[key] = place
        return place

    def _new(self, request: Any, mask: Mask) -> int:
        digest = request_digest(mask(request))
        if digest not in self.stored:
            if UNKNOWN in self.stored:
                self.stored[self.stored.index(UNKNOWN)] = digest
            else:
                self.stored.append(digest)
        return self.stored.index(digest)


class StoredFirstRequests:
    """The first request of each episode of a probe: two different first requests are two episodes.

    A record that names no task is named after its session, its run or its place, and another record
    may have the same name. The first request distinguishes them, in one file, in several, and from
    one import to the next.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, str], _Requests] = {}
        self._suites: dict[str, bool] = {}

    def place(self, suite_id: str, name: str, request: Any, mask: Mask) -> int:
        """Return which of the episodes of this name has the request, from 0; the number after the
        last where none has it yet. `mask` returns the form in which a request would be stored."""
        known = self._known.get((suite_id, name))
        if known is None:
            if suite_id not in self._suites:
                self._suites[suite_id] = imports.any_episode(self._connection, suite_id)
            stored = self._stored(suite_id, name) if self._suites[suite_id] else []
            known = self._known[suite_id, name] = _Requests(stored)
        return known.place(request, mask)

    def _stored(self, suite_id: str, name: str) -> list[str]:
        found: list[str] = []
        while True:
            other = name if not found else f"{name}#{len(found) + 1}"
            trace = imports.first_of_episode(self._connection, suite_id, other)
            if trace is None:
                return found
            raw = judged_record(self._connection, trace)
            events = json.loads(raw)["events"] if raw is not None else []
            begun = bool(events) and events[0].get("actor") in ("user", "system")
            found.append(request_digest(first_request(events)) if begun else UNKNOWN)
