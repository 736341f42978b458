"""Judge the records of a file in runs, in this process or, for large JSON lines, in several.

Each process reads its own run of lines, so that no raw data is sent between them; one writer takes
their groups in order.
"""

import gc
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from reviewer.db.payload import PACK_BYTES, PACK_TRACES
from reviewer.importing import processes
from reviewer.importing.pipeline.opening import as_it_is
from reviewer.importing.pipeline.scoring import Order, Scorer
from reviewer.importing.pipeline.split import Unreadable, blocks, lines_of, shape_of
from reviewer.importing.reader import Broken, Foreign, Reader, by_document, by_record
from reviewer.importing.scored import Group, JudgedRecord
from reviewer.importing.source import Source

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
Groups = Iterator[tuple[Group, int]]
"""Judged groups in file order, each with the file offset after it."""

# Slightly less than two full packs, so that a block leaves no small third one.
BLOCK = 2 * PACK_BYTES - (96 << 10)
AHEAD = 24 << 20
"""Bytes that may be judged before the writer asks for them: it may be hashing, or committing."""

_judge: Scorer | None = None
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Group).decode


def _begin(parent: int, order: Order, judge: Scorer | None) -> None:
    global _judge  # each process keeps its own
    processes.begin(parent)
    _judge = judge or Scorer(order)


def _judge_block(path: str, start: int, end: int) -> bytes:
    """Return a group, encoded: pickling its many small tuples would take five times as long."""
    assert _judge is not None  # set by _begin before any work
    with open(path, "rb") as handle:
        return _encode(_judge.group(lines_of(handle, start, end)))


class ScoringPool:
    """A file of JSON lines, judged by processes from the moment this is entered.

    Iterating gives groups in file order with the offset after each; raises OSError.
    """

    def __init__(self, judge: Scorer, order: Order, path: Path) -> None:
        method = processes.start_method()
        inherited = judge if method == "fork" else None  # it is not sent
        self._pool = processes.pool(method, _begin, (order, inherited))
        self._path = path
        self._blocks = blocks(path, BLOCK)
        self._waiting: deque[tuple[Future[bytes], int]] = deque()
        self._asked = self._taken = 0
        self._problem: OSError | None = None

    def __enter__(self) -> "ScoringPool":
        self._ask()
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _ask(self) -> None:
        """Keep the processes busy while the writer does something else."""
        try:
            while self._asked - self._taken < AHEAD or len(self._waiting) < 2 * processes.workers():
                start, self._asked = next(self._blocks)
                future = self._pool.submit(_judge_block, str(self._path), start, self._asked)
                self._waiting.append((future, self._asked))
        except StopIteration:
            return
        except OSError as error:
            self._problem = error  # raised after what comes before it was taken

    def __iter__(self) -> Groups:
        number = 1
        while self._waiting:
            number, group, self._taken = _next(self._waiting, number)
            self._ask()
            yield group, self._taken
        if self._problem is not None:
            raise self._problem


def _next(waiting: "deque[tuple[Future[bytes], int]]", number: int) -> tuple[int, Group, int]:
    """Return the oldest group, its records numbered from `number`."""
    future, end = waiting.popleft()
    group = _decode(processes.result_of(future))
    shift = number - group.first
    moved = group._replace(
        first=number,
        judged=[JudgedRecord(one.number + shift, *one[1:]) for one in group.judged],
        refused=[refused._replace(record=refused.record + shift) for refused in group.refused],
        flagged=[flagged._replace(record=flagged.record + shift) for flagged in group.flagged],
    )
    return number + group.records, moved, end


HANDFULS_AHEAD = 3
"""Handfuls that may be read before the first of them is taken, which limits the memory of their
records."""
Numbered = tuple[int, Foreign | Broken]


class _Asked(NamedTuple):
    """A handful that is being judged, the number of its last record, and the notes on the file and
    the offset in it after it was read."""

    judged: "Future[bytes]"
    last: int
    notes: list[str]
    reached: int


class FileScoring:
    """Judges the records of one file: in this process, or in several where it is large and consists
    of JSON lines."""

    def __init__(self, judge: Scorer, order: Order, source: Source, size: int) -> None:
        self._judge, self._order, self._source, self._size = judge, order, source, size
        self._pool: ScoringPool | None = None
        self._beside: ProcessPoolExecutor | None = None

    def begin(self) -> None:
        """Start judging in other processes, if the file is worth them, before any group is asked
        for."""
        path = self._source.path
        if (
            self._pool is None
            and processes.worth_processes(self._size)
            and by_record(self._judge.reader)
            and as_it_is(path)
            and shape_of(path) == "lines"
        ):
            self._pool = ScoringPool(self._judge, self._order, path)
            self._pool.__enter__()

    def close(self) -> None:
        """Stop the judging processes, if there are any."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.__exit__()
        beside, self._beside = self._beside, None
        if beside is not None:
            beside.shutdown(wait=True, cancel_futures=True)

    def note(self, notes: dict[str, int]) -> None:
        """Add the reader's notes on the file as a whole, which may quote its content."""
        for text in sorted(self._source.notes):
            notes.setdefault(self._judge.redactor.masked(text), 1)

    def groups(self, done: int, retried: Container[int]) -> Groups:
        """Yield the records after the first `done`, and those `retried`, judged. Raises Unreadable
        after the readable part."""
        if not retried:
            self.begin()
        if self._pool is not None:
            yield from self._pool
            return
        reader = self._judge.reader
        if by_record(reader):
            pieces = self._source.pieces()
            wanted = (p for p in pieces if p.number > done or p.number in retried)
            for held in _handfuls(wanted, lambda piece: len(piece.raw)):
                group = self._judge.group(held, held[0].number)
                yield _spanning(group, held[-1].number), held[-1].end
                if reader.probe:
                    _drop_cycles()
            return
        assert by_document(reader)
        attempts = enumerate(reader.traces(self._source), 1)
        fresh = ((n, one) for n, one in attempts if n > done or n in retried)
        handfuls = _handfuls(fresh, _size_of)
        first = next(handfuls, None)
        # After the first: by now it is known whether the reader has processes of its own.
        if first is not None and _sends(reader) and processes.worth_one(self._size):
            yield from self._judged_beside(chain([first], handfuls))
            return
        for some in chain([] if first is None else [first], handfuls):
            group = self._judge.gathered(some, some[0][0])
            self.note(group.notes)
            self._source.notes.clear()
            yield _spanning(group, some[-1][0]), self._source.reached
            _drop_cycles()

    def _judged_beside(self, handfuls: Iterator[list[Numbered]]) -> Groups:
        """Judge handfuls in another process while the next ones are read here."""
        waiting: deque[_Asked] = deque()
        problem: Exception | None = None
        self._beside = _one_judge(self._judge, self._order)
        while True:
            try:
                some = next(handfuls, None)
            except Exception as error:  # what was read before it comes first
                some, problem = None, error
            if some is None:
                break
            future = self._beside.submit(_judge_handful, some)
            notes, reached = sorted(self._source.notes), self._source.reached
            waiting.append(_Asked(future, some[-1][0], notes, reached))
            self._source.notes.clear()
            _drop_cycles()
            if len(waiting) > HANDFULS_AHEAD:
                yield self._answered(waiting.popleft())
        while waiting:
            yield self._answered(waiting.popleft())
        if problem is not None:
            raise problem

    def _answered(self, asked: "_Asked") -> tuple[Group, int]:
        group = self._judge.meet(_decode(processes.result_of(asked.judged)))
        for text in asked.notes:
            group.notes.setdefault(self._judge.redactor.masked(text), 1)
        return _spanning(group, asked.last), asked.reached


def _sends(reader: Reader) -> bool:
    """Return whether a reader's results can be sent to a process: readers of other packages may put
    anything into them."""
    return reader.probe and type(reader).__module__.startswith("reviewer.")


def _one_judge(judge: Scorer, order: Order) -> "ProcessPoolExecutor":
    return processes.pool("fork", _begin, (order, judge), most=1)


def _judge_handful(some: list[Numbered]) -> bytes:
    assert _judge is not None  # set by _begin before any work
    return _encode(_judge.gathered(some, some[0][0]))


@contextmanager
def steady() -> Iterator[None]:
    """Disable automatic cycle collection while millions of acyclic values are created and freed;
    cycles left by a reader of a foreign format are collected after each handful
    (`_drop_cycles`)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _spanning(group: Group, last: int) -> Group:
    """Make the group span first to last: skipped records (already read) leave gaps."""
    return group._replace(records=last - group.first + 1)


MOST_YOUNG = 20_000
"""Number of containers created and not freed since the last collection from which another one is
worth it."""


def _drop_cycles() -> None:
    """Collect the cycles that a reader left behind, without examining old values, which wait for
    their batch, again. This does not run after each small file: values still in use would be moved
    to the old generation, and never be collected."""
    if gc.get_count()[0] > MOST_YOUNG:
        gc.collect(1)


HANDFUL_BYTES = 4 << 20


def _handfuls(items: Iterator[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield items in runs of at most PACK_TRACES, fewer when they are large. Where reading ends
    early, the items before are yielded first."""
    held: list[T] = []
    size = 0
    while True:
        try:
            one = next(items)
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


def _size_of(numbered: Numbered) -> int:
    return len(numbered[1].raw) if isinstance(numbered[1], Foreign) else 0
