"""Import files one after another; small ones share a durable write.

A file is judged before anything of it is written. The results of small files are written together,
so that a thousand files do not cost a thousand waits for the disk; each is a source of its own, one
that cannot be read affects only itself, and no result is reported before the write that contains it
is durable.

At the end, results that were imported before their attempts were known are bound to them. A result
without a trajectory is an attempt of the same candidate as the run's trajectories, and of the model
that other files of the run name. Imported together, it gets that name at once. If it was imported
before, it stays under its old name, since evidence is never moved, and is bound to its candidate as
well: a failure counts for both, a pass only for the second.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import StoreError, data_version, transaction
from reviewer.db.queries import imports
from reviewer.db.verdict_changes import withhold_passes
from reviewer.importing.formats import named
from reviewer.importing.pipeline.ahead import ReadAhead, ReadFile
from reviewer.importing.pipeline.job import ImportContext, ImportJob
from reviewer.importing.pipeline.one_file import FileImport
from reviewer.importing.pipeline.outcome import FileResult, OnProgress, Tally, refused_unit
from reviewer.importing.pipeline.pool import Groups, steady
from reviewer.importing.pipeline.scoring import Misdirected, Scorer
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.stored_results import StoredResult, in_order
from reviewer.importing.pipeline.storing import Batcher, StoreKeys
from reviewer.importing.pipeline.units import Unit
from reviewer.importing.reader import foreseen, gives_results
from reviewer.importing.scored import Group
from reviewer.importing.source import Source
from reviewer.suite.model import Suite

SMALL = 1 << 20
"""Most bytes of a file that may share its write with others."""
MOST_FILES = 64
MOST_BYTES = 4 << 20
"""Approximate bytes of payloads that wait for one write."""
MOST_S = 1.0
"""Most seconds that a file waits for others."""

OnFile = Callable[[Path, int, int], OnProgress]
_UNREAD = (Unreadable, Misdirected, OSError)


def import_all(
    context: ImportContext,
    units: list[Unit],
    on_file: OnFile,
    on_result: Callable[[FileResult], None],
) -> None:
    """Read units into the store, trajectories first. `on_file(path, number, of)` returns the
    progress callback for a file. Raises StoreError where nothing can be written."""
    job = ImportJob(context, units)
    queue = WriteQueue(context, on_result)
    ordered = list(in_order(units))
    with ReadAhead(job, ordered) as ahead:
        for number, unit in enumerate(ordered):
            progress = on_file(unit.path, number + 1, len(units))
            with steady():
                _import(job, unit, progress, queue, ahead.take(number))
    queue.write()
    bind_results(job)


def _import(
    job: ImportJob, unit: Unit, progress: OnProgress, queue: "WriteQueue", read: ReadFile | None
) -> None:
    try:
        with foreseen(unit.reader.name if unit.reader else "", *_UNREAD, StoreError):
            one = FileImport(job, unit, read)
        with closing(one):
            if (known := one.known()) is not None:
                queue.tell(known)
                return
            held, rest = _held(one.judged()) if one.size <= SMALL else (None, None)
            if held is not None and rest is None:
                queue.add(JudgedFile(one, held, progress))
                return
            queue.write()
            # Files that are small only on the disk were begun to be judged.
            groups = None if held is None or rest is None else chain(held, rest)
            queue.tell(one.written(progress, groups))
    except _UNREAD as error:
        queue.tell(refused_unit(unit, error))


def _held(groups: Groups) -> tuple[Iterator[tuple[Group, int]], Groups | None]:
    """Return (the content of a file, None), or its beginning and the rest, where it is large."""
    held: list[tuple[Group, int] | Unreadable] = []  # why nothing follows may be the last
    size = 0
    try:
        for group, end in groups:
            held.append((group, end))
            size += _size(group)
            if size > MOST_BYTES:
                return _given(held), groups
    except Unreadable as error:
        held.append(error)
    return _given(held), None


def _given(held: Iterable[tuple[Group, int] | Unreadable]) -> Iterator[tuple[Group, int]]:
    for one in held:
        if isinstance(one, Unreadable):
            raise one
        yield one


def _size(group: Group) -> int:
    chunks = sum(len(chunk.frame) for one in group.judged for chunk in one.trace.chunks)
    return chunks + sum(pack.size for pack in group.packs)


class JudgedFile(NamedTuple):
    """A file that was judged, its judged records, and its progress callback."""

    file: FileImport
    groups: Groups
    progress: OnProgress

    def write(self, alone: bool) -> FileResult:
        """Write the judged records. If the file was written meanwhile, by another process or as a
        copy among these files, it is known; `alone` says that neither is possible."""
        known = None if alone else self.file.known()
        return known or self.file.written(groups=self.groups, within=True)


class WriteQueue:
    """Judged files that are not written yet, and results that may not be reported before theirs."""

    def __init__(self, context: ImportContext, on_result: Callable[[FileResult], None]) -> None:
        self._context, self._on_result = context, on_result
        self._waiting: list[JudgedFile | FileResult] = []
        self._files = self._bytes = 0
        self._since = 0.0
        self._version = data_version(context.connection)

    def add(self, one: JudgedFile) -> None:
        """Add a file, and write when enough are waiting."""
        if not self._files:
            self._since = time.monotonic()
        self._waiting.append(one)
        self._files += 1
        self._bytes += one.file.size
        waited = time.monotonic() - self._since
        if self._files >= MOST_FILES or self._bytes > MOST_BYTES or waited > MOST_S:
            self.write()

    def tell(self, result: FileResult) -> None:
        """Report a result when its turn comes."""
        if self._files:
            self._waiting.append(result)
        else:
            self._on_result(result)

    def write(self) -> None:
        """Write all waiting files in one transaction, then report them."""
        waiting, self._waiting = self._waiting, []
        self._files = self._bytes = 0
        if not waiting:
            return
        met: set[str] = set()
        with transaction(self._context.connection, self._context.store):
            # Each was looked up since the last write here; nobody else has written since then.
            alone = data_version(self._context.connection) == self._version
            results = [
                one if isinstance(one, FileResult) else one.write(alone and _first(one, met))
                for one in waiting
            ]
        self._version = data_version(self._context.connection)
        # The callback may be slow, and must not be waited for inside a transaction.
        for one, result in zip(waiting, results, strict=True):
            if isinstance(one, JudgedFile):
                tally = Tally(result.records, result.added, result.known, result.refused)
                one.progress(one.file.size, one.file.size, tally)
            self._on_result(result)


def _first(one: JudgedFile, met: set[str]) -> bool:
    """Return whether no file with the same bytes came before."""
    fresh = one.file.content not in met
    met.add(one.file.content)
    return fresh


def bind_results(job: ImportJob) -> int:
    """Bind stored results to the candidates that this import shows them to belong to, in one
    durable write; return how many."""
    joins, models = job.joins, job.joins.models()
    found: list[StoredResult] = []
    for one in job.stored.left(models) if models else ():
        entry = joins.named(one.entry)
        home = joins.candidate_of(entry) or entry.model
        if not one.entry.candidate and home not in ("", one.row.candidate_id):
            found.append(one._replace(entry=entry))
    if found:
        with steady(), transaction(job.context.connection, job.context.store):
            return sum(_bound(job, one) for one in found)
    return 0


def _bound(job: ImportJob, one: StoredResult) -> bool:
    """Bind one result; return False where its candidate already has an attempt with the result."""
    reader, context = named(one.format), job.context
    if not gives_results(reader) or one.entry.stored is None:
        return False
    source = Source(Path(one.row.path), "", (), job.joins)
    judge = Scorer(context.order(reader.name, one.row.path))
    fresh = one.entry._replace(stored=None)
    foreign = source.attempt(lambda: reader.attempt(source, one.instance_id, fresh))
    group = judge.gathered([(one.row.record, foreign)], one.row.record)
    if not group.judged:
        return False
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    trace = one.entry.stored[0]
    there = _first_attempt(context, suites, group)
    if there is not None:
        _note(context, trace, there)
        return False
    batcher = Batcher(
        context.connection, context.store, one.row.source, Tally(0, 0, 0, 0), suites,
        context.manifests, context.now, share_evidence=True, number_on=True, begin=nullcontext,
    )  # fmt: skip
    batcher.take(group._replace(records=0))
    batcher.flush(done=True)
    bound = _first_attempt(context, suites, group)
    if bound is not None:
        _note(context, trace, bound)
    return True


def _note(context: ImportContext, trace: int, bound: int) -> None:
    """Record that the result now belongs to the other attempt, where a pass counts."""
    imports.bind_result(context.connection, trace, bound)
    name = imports.names_of(context.connection, bound).trace_id
    withhold_passes(context.connection, {trace: name}, context.now())


def _first_attempt(context: ImportContext, suites: dict[str, Suite], group: Group) -> int | None:
    """Return the candidate's first attempt at this episode: the trajectory that the result belongs
    to."""
    keys = StoreKeys(context.connection, suites, context.manifests, context.now, nullcontext)
    keys.recall(group.judged)
    return imports.first_attempt(context.connection, keys.of(group.judged[0]))
