"""Follow sessions that tools are still writing: each is imported again as it grows.

A session is read up to its last complete line. Until the file states the attempt's end, it is an
attempt in progress, not measured. When following ends, the session is read once more as any import
reads it. Earlier readings stay as evidence, whatever happens to the file.
"""

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from reviewer.desk.imports.importing import import_units
from reviewer.desk.imports.indexing import index_behind
from reviewer.desk.imports.watching import LOOK_S, FileState, state_of
from reviewer.desk.place import Workspace
from reviewer.importing.database import JOURNALS, MAGIC
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.formats.sessions import NO_END, SessionFormat
from reviewer.importing.pipeline.outcome import FileResult, OnProgress, shown_as
from reviewer.importing.pipeline.scoring import ImportOptions
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import Unit, claim
from reviewer.importing.reader import Foreign, by_document, foreseen
from reviewer.importing.source import Source, Wanted

REST_S = 2.0
"""Least seconds between two readings of one session, per `REST_BYTES` of it: every reading reads
the whole file, and keeps the record of the reading before."""
REST_BYTES = 1 << 20
SHARE = 4
"""Reading one session takes at most one part in this many of the time."""
PATIENCE_S = 20.0
"""Seconds to wait for the rest of a line before the complete lines are read without it."""
MORE_S = 5.0
"""Seconds between two searches for new sessions."""
TAIL = 1 << 20
"""Bytes of a last line that are parsed to see whether it is complete; a longer line is complete
when its newline is there."""
CHUNK = 1 << 20

GONE = "deleted or moved; what was read is kept"
BACK = "it exists again"
SHORTER = "truncated: {} bytes, {} were read before; what was read is kept, and both count"
REPLACED = "replaced by another file; what was read is kept, and both count"
CHANGED = "changed before its end; what was read is kept, and both count"
HALF = "its last line is incomplete: waiting for the rest"
HALF_READ = "its last line is still incomplete: read without it, and not measured"
NOBODY = "no model has answered yet: it is imported when one does"

OnNews = Callable[[str, str], None]
"""Called with a file's displayable name and its result."""


class _Read(NamedTuple):
    """A reading of a file: the state of the file, and the digest of the bytes read."""

    state: FileState
    digest: bytes


class _Session:
    """One session that is followed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unit = Unit(path, None)
        self.read: _Read | None = None
        self.pending: _Read | None = None
        self.parts: dict[Path, FileState] = {}
        """States of its companion files at the last reading."""
        self.rests_until = 0.0
        self.half_since: float | None = None
        self.tried: object = None
        """The state of a file that could not be read. It is tried again once it has changed."""
        self.gone = self.said_half = self.said_short = self.answered = False
        self.claimed_at = 0.0
        self.last: FileResult | None = None
        self.taken = 0


class Followed(NamedTuple):
    """The result of one session: how often a part of it was imported, how much of its file, and
    what to report about it (`waits`: why nothing was imported)."""

    path: str
    times: int
    size: int
    result: FileResult | None
    waits: str


class Following:
    """Sessions and how far each was read. `more` finds new sessions; `now` is a monotonic clock in
    seconds."""

    def __init__(
        self,
        paths: Iterable[Path],
        asked: ImportOptions,
        on_news: OnNews,
        more: Callable[[Collection[str]], Iterable[Path]] = lambda known: (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked, self._tell, self._more, self._now = asked, on_news, more, now
        self._sessions = {path: _Session(path) for path in paths}
        self._looked_for_more = now()
        self._warned: list[FileResult] = []

    def ready(self) -> list[Unit]:
        """Return the sessions that have grown since they were read and may be read now."""
        now = self._now()
        if now >= self._looked_for_more + MORE_S:
            self._looked_for_more = now
            for path in self._more({str(path) for path in self._sessions}):
                self._sessions.setdefault(path, _Session(path))
        return [one.unit for one in self._sessions.values() if self._due(one, now)]

    def rest(self) -> list[Unit]:
        """Return the sessions to read once more at the end: all that were read in progress or not
        yet read."""
        return [one.unit for one in self._sessions.values() if self._at_rest(one)]

    def took(self, unit: Unit, result: FileResult, seconds: float) -> None:
        """Record the result of a session that was read, and how long that took."""
        one = self._sessions[unit.path]
        one.read, one.said_short = one.pending, False
        if one.last is None or result.added or result.refused or result.beside:
            one.last = result
        one.taken += result.added > 0
        size = one.read.state.size if one.read else 0
        rest = REST_S * max(1.0, size / REST_BYTES)
        one.rests_until = self._now() + max(rest, SHARE * seconds)

    def new_warnings(self, found: Iterable[FileResult]) -> list[FileResult]:
        """Return those of these warnings that no earlier reading gave."""
        fresh = [one for one in found if one not in self._warned]
        self._warned += fresh
        return fresh

    def sessions(self) -> list[Followed]:
        """Return the result of each session."""
        return [
            Followed(
                shown_as(one.unit),
                one.taken,
                one.read.state.size if one.read else 0,
                one.last,
                "" if one.last else one.unit.problem or (GONE if one.gone else NOBODY),
            )
            for one in self._sessions.values()
        ]

    # one session -------------------------------------------------------------------------------

    def _due(self, one: _Session, now: float) -> bool:
        state = self._looked(one)
        if state is None or now < one.rests_until:
            return False
        grown = one.read is None or state != one.read.state
        if grown or now >= one.claimed_at + MORE_S:
            self._claim(one, now)
        parts = _states(one.unit.companions)
        if (not grown and parts == one.parts) or one.tried == (state, parts):
            return False
        if not one.unit.problem and not self._is_whole(one, parts, now):
            return False
        if one.unit.problem or not self._is_answered(one):
            one.tried = state, parts
            return False
        return self._begin(one, state, parts)

    def _at_rest(self, one: _Session) -> bool:
        state = self._looked(one)
        if state is None:
            return False
        self._claim(one, self._now())
        if one.unit.problem:
            return True
        return self._is_answered(one) and self._begin(one, state, _states(one.unit.companions))

    def _looked(self, one: _Session) -> FileState | None:
        """Return the state of a file; report when it is gone, back again, or shorter than
        before."""
        state = state_of(one.path)
        if (state is None) != one.gone:
            one.gone = state is None
            self._say(one, GONE if one.gone else BACK)
        before = one.read.state.size if one.read is not None else 0
        if state is not None and state.size < before and not one.said_short:
            one.said_short = one.path.suffix == ".jsonl"  # a document may be written shorter
            if one.said_short:
                self._say(one, SHORTER.format(f"{state.size:,}", f"{before:,}"))
        return state

    def _claim(self, one: _Session, now: float) -> None:
        one.unit, one.claimed_at = claim(one.path, self._asked.format) or one.unit, now

    def _is_whole(self, one: _Session, parts: dict[Path, FileState], now: float) -> bool:
        """Return whether a session ends with a complete line, or has not done so for so long
        that it is read without the last line. An incomplete JSON document is waited for without
        limit."""
        files = [one.path, *(path for path in parts if parts[path] != one.parts.get(path))]
        half = [path for path in files if not ends_whole(path)]
        if not half:
            one.half_since, one.said_half = None, False
            return True
        one.half_since = now if one.half_since is None else one.half_since
        late = now - one.half_since >= PATIENCE_S
        if late and all(path.suffix == ".jsonl" for path in half):
            self._say(one, HALF_READ)
            one.half_since = None
            return True
        if not one.said_half and now - one.half_since >= REST_S:
            one.said_half = True
            self._say(one, HALF)
        return False

    def _is_answered(self, one: _Session) -> bool:
        """Return whether a session says which model it is of. Imported earlier, it would be an
        attempt of no candidate, and another one as soon as a model has answered."""
        known = one.answered or bool(self._asked.candidate)
        one.answered = known or _is_named(one.unit, self._asked.sessions)
        return one.answered

    def _begin(self, one: _Session, state: FileState, parts: dict[Path, FileState]) -> bool:
        """Record what is about to be read, and report what changed in the part read before."""
        before = one.read
        try:
            kept, digest = _digests(one.path, before.state.size if before else 0, state.size)
        except OSError:
            return False  # the next look reports that it is gone
        lines = before is not None and one.path.suffix == ".jsonl"
        if before is not None and lines and kept != before.digest and not one.said_short:
            self._say(one, REPLACED if state.inode != before.state.inode else CHANGED)
        one.pending, one.parts = _Read(state, digest), parts
        return True

    def _say(self, one: _Session, words: str) -> None:
        self._tell(shown_as(one.unit), words)


def _states(paths: Iterable[Path]) -> dict[Path, FileState]:
    states = ((path, state_of(path)) for path in paths)
    return {path: state for path, state in states if state is not None}


def _digests(path: Path, first: int, size: int) -> tuple[bytes, bytes]:
    """Return the digests of the first `first` bytes of a file, and of the first `size` bytes."""
    found = hashlib.sha256()
    kept = found.digest()
    with path.open("rb") as handle:
        _update(found, handle, min(first, size))
        kept = found.digest()
        _update(found, handle, size - min(first, size))
    return kept, found.digest()


def _update(digest: "hashlib._Hash", handle: BinaryIO, size: int) -> None:
    while size > 0 and (block := handle.read(min(CHUNK, size))):
        digest.update(block)
        size -= len(block)


def ends_whole(path: Path) -> bool:
    """Return whether a file ends at the end of a line, or of a JSON document; the last line may
    lack its newline."""
    try:
        with path.open("rb") as handle:
            if handle.read(len(MAGIC)) == MAGIC or path.name.endswith(JOURNALS):
                return True  # what a database has of a session was written as a whole
            size = handle.seek(0, 2)
            if path.suffix != ".jsonl":
                handle.seek(0)
                return size <= REST_BYTES * 64 and _is_json(handle.read())
            handle.seek(max(size - TAIL, 0))
            tail = handle.read()
    except OSError:
        return False
    lines = tail.rpartition(b"\n")
    return not lines[2].strip() or ((bool(lines[1]) or size <= TAIL) and _is_json(lines[2]))


def _is_json(raw: bytes) -> bool:
    try:
        parse(raw)
    except (NotJson, RecursionError):
        return False
    return True


def _is_named(unit: Unit, wanted: Wanted) -> bool:
    """Return whether a session names its candidate: the model that answers in it."""
    reader = unit.reader
    if reader is None or not by_document(reader) or not isinstance(reader, SessionFormat):
        return True
    nobody = {"", "unnamed", reader.candidate_id(unit.path), unit.path.stem}
    try:
        with foreseen(reader.name):
            source = Source(unit.path, "", unit.companions)
            source.wanted = wanted
            found = list(reader.traces(source))
    except (Unreadable, OSError):
        return False
    named = [json.loads(one.raw).get("candidate_id") for one in found if isinstance(one, Foreign)]
    return any(name not in nobody for name in named)


def in_progress(result: FileResult) -> bool:
    """Return whether a session of a file states no end."""
    return any(note.startswith(NO_END) for note in result.notes)


def follow(
    workspace: Workspace,
    following: Following,
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
    stop: Callable[[float], bool],
) -> None:
    """Import sessions as they grow until `stop`, which waits for so many seconds and says whether
    to end."""
    asked = asked._replace(live=True)
    while True:
        _take(workspace, following, following.ready(), asked, on_file, on_result)
        if stop(LOOK_S):
            return


def settle(
    workspace: Workspace,
    following: Following,
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
) -> None:
    """Read followed sessions once more at the end: whether an attempt has ended is then judged as
    in any import."""
    _take(workspace, following, following.rest(), asked, on_file, on_result)


def _take(
    workspace: Workspace,
    following: Following,
    units: list[Unit],
    asked: ImportOptions,
    on_file: Callable[[Path, int, int], OnProgress],
    on_result: Callable[[FileResult], None],
) -> None:
    for unit in units:
        began = time.monotonic()
        *warnings, result = import_units(workspace, [unit], asked, on_file, lambda one: None)
        for warning in following.new_warnings(warnings):
            on_result(warning)
        lost = result.problem and not result.records and not unit.path.exists()
        if not lost:  # else the next look reports that it is gone
            following.took(unit, result, time.monotonic() - began)
            on_result(result)
    if units:
        index_behind(workspace)
