"""Importing one file: choosing the reader, skipping what is known, judging beside the writer."""

import gc
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from reviewer.contract.model import RedactionRules, Suite
from reviewer.db import registry
from reviewer.db.connection import transaction
from reviewer.db.intake import Refused
from reviewer.db.payload import PACK_TRACES
from reviewer.ingest.catalogue import redactor_of
from reviewer.ingest.importer import Batcher, Filled, FindManifest, Tally
from reviewer.ingest.joining import EARLIER, hold_stored
from reviewer.ingest.joins import Joins
from reviewer.ingest.judge import Asked, Judge, Misdirected, Order
from reviewer.ingest.opening import kind_of, start_of
from reviewer.ingest.outcome import Group
from reviewer.ingest.pool import Judging, worth_processes
from reviewer.ingest.reader import Broken, DocumentReader, Foreign, RecordReader, ResultsReader
from reviewer.ingest.source import Source
from reviewer.ingest.split import Unreadable, shape_of
from reviewer.ingest.units import Unit


class FileResult(NamedTuple):
    """What came of one file. `problem` is why the file as a whole was refused, else empty.

    `state` is `imported`, `known` (nothing added), or `refused`. `flagged` records held raw
    identifiers: their slots are taken and fail, their payloads are not stored.
    """

    path: str
    reader: str
    sha256: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    notes: tuple[str, ...]
    refusals: tuple[Refused, ...]
    problem: str = ""
    flagged: tuple[Refused, ...] = ()
    filled: tuple[Filled, ...] = ()


class Context(NamedTuple):
    """What every file of one import shares."""

    connection: sqlite3.Connection
    store: Path
    suites: tuple[Suite, ...]
    manifests: FindManifest
    asked: Asked
    now: Callable[[], str]


T = TypeVar("T")
OnProgress = Callable[[int, int, Tally], None]


def import_unit(
    context: Context,
    unit: Unit,
    joins: Joins | None = None,
    on_progress: OnProgress = lambda done, size, tally: None,
) -> FileResult:
    """Read one unit into the store. Everything wrong with the file or a record of it is in the
    result; only a store that cannot be written raises (StoreError)."""
    path, reader = unit.path, unit.reader
    shown = unit.name or redactor_of(RedactionRules()).masked(str(path))
    if reader is None:
        return refused_file(shown, unit.problem)
    try:
        if context.asked.suite and not context.suites and not reader.probe:
            raise Misdirected(f"there is no suite {context.asked.suite} in this workspace")
        order = Order(context.suites, context.asked, reader.name, str(path))
        judge = Judge(order)
        shown = unit.name or judge.redactor.masked(str(path))
        source = Source(path, context.asked.candidate, unit.companions, joins)
        with _steady():
            return _FileImport(context, source, shown, judge, order).run(on_progress)
    except (Unreadable, Misdirected) as error:
        return refused_file(shown, str(error))
    except OSError as error:
        return refused_file(shown, f"cannot be read: {error.strerror}")


def refused_file(shown: str, problem: str) -> FileResult:
    """The result of a file that was refused as a whole."""
    return FileResult(shown, "", "", "refused", 0, 0, 0, 1, (), (), problem)


@contextmanager
def _steady() -> Iterator[None]:
    """No automatic cycle collection while millions of acyclic values come and go; what a reader
    of a foreign format leaves in cycles is collected after each handful (`_drop_cycles`)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@lru_cache(maxsize=4096)
def _shared_digest(path: Path, size: int, mtime_ns: int) -> str:
    """Of a companion: a run's log may be part of every one of its attempts."""
    return _digest(path)


def unit_digest(path: Path, companions: Iterable[Path]) -> str:
    """sha256 of a file; with companions, of the digests and relative names of all of them."""
    own, others = _digest(path), sorted(companions)
    if not others:
        return own
    lines = [f"{own}  {path.name}"]
    for other in others:
        state = other.stat()
        digest = _shared_digest(other, state.st_size, state.st_mtime_ns)
        lines.append(f"{digest}  {os.path.relpath(other, path.parent)}")
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


class _FileImport:
    """One file being imported."""

    def __init__(
        self, context: Context, source: Source, shown: str, judge: Judge, order: Order
    ) -> None:
        self.context, self.path, self.shown = context, source.path, shown
        self.source, self.judge, self.order = source, judge, order
        self.size = source.path.stat().st_size
        self.retried: frozenset[int] = frozenset()

    def run(self, on_progress: OnProgress) -> FileResult:
        if self._large() and not registry.size_known(self.context.connection, self.size):
            # Surely new: judging may begin while the file's digest is being worked out.
            with Judging(self.judge, self.order, self.path) as judging:
                return self._run(on_progress, judging)
        return self._run(on_progress, None)

    def _large(self) -> bool:
        return (
            worth_processes(self.size)
            and isinstance(self.judge.reader, RecordReader)
            and kind_of(start_of(self.path, 32)) == "plain"
            and shape_of(self.path) == "lines"
        )

    def _run(self, on_progress: OnProgress, judging: Judging | None) -> FileResult:
        context, asked = self.context, self.context.asked
        sha256 = unit_digest(self.path, self.source.companions)
        source = registry.source_row(context.connection, sha256, asked.suite, asked.candidate)
        if source is not None and not isinstance(self.judge.reader, ResultsReader):
            self.source.joins.before.add(source.id)
        if source is not None and source.state == "done":
            self.retried = self._quarantined(source.id)
            if not self.retried:
                note = "this very file was imported before"
                return FileResult(
                    self.shown, source.reader, sha256, "known", source.records, 0,
                    source.added + source.known, 0, (note,), (),
                )  # fmt: skip
        if source is None:
            source = self._open(sha256)
        start = Tally(source.records, source.added, source.known, source.refused)
        suites: Mapping[str, Suite] = {suite.suite_id: suite for suite in context.suites}
        if self.judge.probing:
            suites = self.judge.probe_suites  # grows with what the records name
        batcher = Batcher(
            context.connection,
            context.store,
            source.id,
            start,
            suites,
            context.manifests,
            context.now,
            self.retried,
            share_evidence=self.judge.probing,
            number_on=self.judge.probing,
        )
        problem = self._read(
            batcher, self._groups(start.records, judging), start.records, on_progress
        )
        for text in sorted(self.source.notes):  # those that came with the file's end
            batcher.notes.setdefault(text, 1)
        batcher.flush(done=True)
        tally = batcher.tally
        added = tally.added - start.added
        return FileResult(
            self.shown,
            self.judge.reader.name,
            sha256,
            "imported" if added or not tally.refused else "refused",
            tally.records,
            added,
            tally.known - start.known + start.added,
            tally.refused,
            batcher.note_lines(),
            tuple(batcher.refusals),
            problem,
            tuple(batcher.flagged),
            batcher.filled(),
        )

    def _quarantined(self, source: int) -> frozenset[int]:
        rows = self.context.connection.execute(
            "SELECT record FROM quarantine WHERE source=?", (source,)
        )
        return frozenset(row[0] for row in rows.fetchall())

    def _open(self, sha256: str) -> registry.SourceRow:
        """Note the file; another process may have begun with it meanwhile."""
        context, reader = self.context, self.judge.reader
        with transaction(context.connection, context.store):
            return registry.open_source(
                context.connection,
                {
                    "sha256": sha256,
                    "path": self.shown,
                    "size": self.size,
                    "reader": f"{reader.name}/{reader.version}",
                    "suite": context.asked.suite,
                    "candidate": context.asked.candidate,
                    "at": context.now(),
                },
            )

    def _read(
        self,
        batcher: Batcher,
        groups: Iterator[tuple[Group, int]],
        done: int,
        on_progress: OnProgress,
    ) -> str:
        """Take every record not yet taken; returns why reading stopped early, if it did."""
        try:
            for group, end in groups:
                batcher.take(group)
                if batcher.full():
                    batcher.flush()
                    on_progress(end, self.size, batcher.tally)
        except Unreadable as error:
            number = max(batcher.tally.records, done) + 1
            batcher.refuse(self.judge.refusal(number, (f"unreadable:{error}",)))
            return str(error)
        if batcher.tally.records == 0 and not done and not self._joined(batcher):
            batcher.refuse(self.judge.refusal(0, ("unreadable:no record in it",)))
            return "empty: no record in it"
        on_progress(self.size, self.size, batcher.tally)
        return ""

    def _joined(self, batcher: Batcher) -> bool:
        """Whether all that the file says is about attempts of other files; notes on it are kept."""
        joins = self.source.joins
        joined = isinstance(self.judge.reader, ResultsReader) and joins.knows(str(self.path))
        said = ("all of it was joined to attempts of other files",) if joined else ()
        if not joined and not self.source.sums_up:
            return False
        for text in (*sorted(self.source.notes), *said):
            batcher.notes.setdefault(text, 1)
        return True

    def _groups(self, done: int, judging: Judging | None) -> Iterator[tuple[Group, int]]:
        """Judged groups in file order, each with the file offset behind it."""
        if judging is not None:
            yield from judging
            return
        if not self.retried and self._large():
            with Judging(self.judge, self.order, self.path) as started:
                yield from started
            return
        if isinstance(self.judge.reader, RecordReader):
            pieces = self.source.pieces()
            wanted = (p for p in pieces if p.number > done or p.number in self.retried)
            native = not self.judge.reader.probe
            for held in _handfuls(wanted, lambda piece: len(piece.raw)):
                group = self.judge.group(held, held[0].number)
                yield _spanning(group, held[-1].number), held[-1].end
                if not native:
                    _drop_cycles()
            return
        assert isinstance(self.judge.reader, DocumentReader)
        if isinstance(self.judge.reader, ResultsReader) and hold_stored(
            self.context.connection, self.source.joins
        ):
            self.source.notes.add(EARLIER)
        attempts = enumerate(self.judge.reader.traces(self.source), 1)
        fresh = ((n, one) for n, one in attempts if n > done or n in self.retried)
        for some in _handfuls(fresh, _size_of):
            group = self.judge.gathered(some, some[0][0])
            for text in sorted(self.source.notes):
                group.notes.setdefault(text, 1)
            self.source.notes.clear()
            yield _spanning(group, some[-1][0]), self.source.reached
            _drop_cycles()


def _spanning(group: Group, last: int) -> Group:
    """Records passed over (already taken) leave gaps, so the group spans first to last."""
    return group._replace(records=last - group.first + 1)


MOST_YOUNG = 20_000
"""Containers made and not let go of, since cycles were last looked for, that are worth looking."""


def _drop_cycles() -> None:
    """Collect what a reader left behind in cycles, whoever wrote it: old values, which wait for
    their batch, are not looked through again. Not after each small file: what is still in use
    would be taken for old, and never be collected."""
    if gc.get_count()[0] > MOST_YOUNG:
        gc.collect(1)


HANDFUL_BYTES = 4 << 20


def _handfuls(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Items in runs of at most PACK_TRACES, fewer when they are large. Where reading ends early,
    what came before is given first."""
    held: list[T] = []
    size = 0
    left = iter(items)
    while True:
        try:
            one = next(left)
        except StopIteration:
            break
        except (Unreadable, OSError):
            if held:
                yield held
            raise
        held.append(one)
        size += size_of(one)
        if len(held) == PACK_TRACES or size > HANDFUL_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _size_of(numbered: tuple[int, Foreign | Broken]) -> int:
    return len(numbered[1].raw) if isinstance(numbered[1], Foreign) else 0
