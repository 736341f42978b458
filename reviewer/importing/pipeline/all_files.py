"""Results imported before anybody knew whose attempts they are.

What left no trajectory is an attempt of the same candidate as what did, and of the model that
other files of the run name. Imported together it is called so at once. Imported before, it stays
under the name that it had, for evidence is never moved, and is bound to its candidate as well: a
failure counts in both, a pass in the second alone.

Importing files one after another; small ones share a durable write.

A file is judged before anything of it is written. What came of small ones is written together, so
that a thousand files do not cost a thousand waits for the disk; each is a source of its own, one
that cannot be read costs itself, and none is told of before the write that holds it is durable.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, nullcontext
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from reviewer.db.connection import StoreError, transaction
from reviewer.db.verdict_changes import withhold_passes
from reviewer.importing.faults import foreseen
from reviewer.importing.formats import named
from reviewer.importing.pipeline.keys import StoreKeys
from reviewer.importing.pipeline.one_file import (
    Around,
    Context,
    FileImport,
    FileResult,
    Groups,
    OnProgress,
    refused_unit,
    steady,
)
from reviewer.importing.pipeline.scoring import Misdirected, Order, Scorer
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.stored_results import StoredResult, in_order
from reviewer.importing.pipeline.storing import Batcher, Tally
from reviewer.importing.pipeline.units import Unit
from reviewer.importing.reader import gives_results
from reviewer.importing.scored import Group
from reviewer.importing.source import Source


def bind_results(context: Context, around: Around) -> int:
    """Bind such attempts to their candidates in one durable write; returns how many."""
    joins, models = around.joins, around.joins.models()
    found: list[StoredResult] = []
    for one in around.stored.left(models) if models else ():
        said = joins.named(one.said)
        home = joins.candidate_of(said) or said.model
        if not one.said.candidate and home not in ("", one.candidate_id):
            found.append(one._replace(said=said))
    if found:
        with steady(), transaction(context.connection, context.store):
            return sum(_bound(context, around, one) for one in found)
    return 0


def _bound(context: Context, around: Around, one: StoredResult) -> bool:
    reader = named(one.format)
    if not gives_results(reader):
        return False
    source = Source(Path(one.path), "", (), around.joins)
    judge = Scorer(Order(context.suites, context.asked, reader.name, one.path))
    fresh = one.said._replace(stored=None)
    foreign = source.attempt(lambda: reader.attempt(source, one.instance_id, fresh))
    group = judge.gathered([(one.record, foreign)], one.record)
    if not group.facts or one.said.stored is None:
        return False
    there = _there(context, judge, group)
    if there is not None:
        _note(context, one.said.stored[0], there)
        return False
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    batcher = Batcher(
        context.connection, context.store, one.source, Tally(0, 0, 0, 0), suites,
        context.manifests, context.now, share_evidence=True, number_on=True, begin=nullcontext,
    )  # fmt: skip
    batcher.take(group._replace(records=0))
    batcher.flush(done=True)
    bound = _there(context, judge, group)
    if bound is not None:
        _note(context, one.said.stored[0], bound)
    return True


def _note(context: Context, trace: int, bound: int) -> None:
    """The result is the other attempt's from here on, and a pass counts there."""
    connection = context.connection
    connection.execute(
        "INSERT OR IGNORE INTO attempt_name VALUES (?, ?)", (f"bound:{trace}", bound)
    )
    (name,) = connection.execute("SELECT trace_id FROM traces WHERE trace=?", (bound,)).fetchone()
    withhold_passes(connection, {trace: name}, context.now())


def _there(context: Context, judge: Scorer, group: Group) -> int | None:
    """The candidate's first attempt at this episode: the trajectory that the result is of."""
    suites = judge.probe_suites or {suite.suite_id: suite for suite in context.suites}
    keys = StoreKeys(context.connection, suites, context.manifests, context.now, nullcontext)
    keys.recall(group.facts)
    row = context.connection.execute(
        "SELECT id FROM trace WHERE candidate=? AND episode=? ORDER BY attempt LIMIT 1",
        keys.of(group.facts[0]),
    ).fetchone()
    return None if row is None else int(row[0])


SMALL = 1 << 20
"""A file of up to this many bytes may share its write with others."""
MOST_FILES = 64
MOST_BYTES = 4 << 20
"""Payloads that wait for one write, about."""
MOST_S = 1.0
"""How long a file waits for others at most."""

OnFile = Callable[[Path, int, int], OnProgress]
_UNREAD = (Unreadable, Misdirected, OSError)


def import_all(
    context: Context,
    units: list[Unit],
    on_file: OnFile,
    on_result: Callable[[FileResult], None],
) -> None:
    """Read units into the store, trajectories first. `on_file(path, number, of)` gives each its
    progress callback. Raises StoreError where nothing can be written."""
    around = Around(context, units)
    waiting = _Waiting(context, on_result)
    for number, unit in enumerate(in_order(units), 1):
        progress = on_file(unit.path, number, len(units))
        with steady():
            _import(context, unit, around, progress, waiting)
    waiting.write()
    bind_results(context, around)


def _import(
    context: Context, unit: Unit, around: Around, progress: OnProgress, waiting: "_Waiting"
) -> None:
    try:
        with foreseen(unit.reader.name if unit.reader else "", *_UNREAD, StoreError):
            one = FileImport(context, unit, around)
        with closing(one):
            if (known := one.known()) is not None:
                waiting.tell(known)
                return
            held, rest = _held(one.judged()) if one.size <= SMALL else (None, None)
            if held is not None and rest is None:
                waiting.add(one, held, progress)
                return
            waiting.write()
            # What is small on the disk alone was begun to be judged.
            groups = None if held is None or rest is None else chain(held, rest)
            waiting.tell(one.written(progress, groups))
    except _UNREAD as error:
        waiting.tell(refused_unit(unit, error))


_Judged = tuple[Group, int] | Unreadable
"""A judged group, or why nothing stands behind the last one."""


def _held(groups: Groups) -> tuple[Iterator[tuple[Group, int]], Groups | None]:
    """(what a file holds, None); or its beginning and the rest, where it holds much."""
    held: list[_Judged] = []
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


def _given(held: Iterable[_Judged]) -> Iterator[tuple[Group, int]]:
    for one in held:
        if isinstance(one, Unreadable):
            raise one
        yield one


def _size(group: Group) -> int:
    chunks = sum(len(chunk.frame) for facts in group.facts for chunk in facts.chunks)
    return chunks + sum(pack.size for pack in group.packs)


class _One(NamedTuple):
    """A file that was judged, what was judged of it, and who is told how far it came."""

    file: FileImport
    groups: Groups
    progress: OnProgress


class _Waiting:
    """Files that are judged and not yet written, and results that may not be told before theirs."""

    def __init__(self, context: Context, on_result: Callable[[FileResult], None]) -> None:
        self._context, self._on_result = context, on_result
        self._waiting: list[_One | FileResult] = []
        self._files = self._bytes = 0
        self._since = 0.0

    def add(self, one: FileImport, held: Groups, progress: OnProgress) -> None:
        """Let a file wait, and write when enough wait."""
        if not self._files:
            self._since = time.monotonic()
        self._waiting.append(_One(one, held, progress))
        self._files += 1
        self._bytes += one.size
        waited = time.monotonic() - self._since
        if self._files >= MOST_FILES or self._bytes > MOST_BYTES or waited > MOST_S:
            self.write()

    def tell(self, result: FileResult) -> None:
        """Tell of a file, in its turn."""
        if self._files:
            self._waiting.append(result)
        else:
            self._on_result(result)

    def write(self) -> None:
        """Write all that waits as one, then tell of it."""
        waiting, self._waiting = self._waiting, []
        self._files = self._bytes = 0
        if not waiting:
            return
        with transaction(self._context.connection, self._context.store):
            results = [one if isinstance(one, FileResult) else _written(one) for one in waiting]
        # Whoever is told may take his time, and nothing may wait for him then.
        for one, result in zip(waiting, results, strict=True):
            if isinstance(one, _One):
                tally = Tally(result.records, result.added, result.known, result.refused)
                one.progress(one.file.size, one.file.size, tally)
            self._on_result(result)


def _written(one: _One) -> FileResult:
    """Written meanwhile, by another process or as a copy among these very files, it is known."""
    return one.file.known() or one.file.written(groups=one.groups, within=True)
