"""Read and judge small files in other processes, before their turn to be written.

A file is read there as if it stood alone: when its reader asks about other files or about the
store, the answer is that there are none, and every question is recorded. When it is the file's turn
the same questions are asked where the answers are known; if one differs, or if the process could
not read the file, the file is read again in this process. So the outcome is the same as reading one
after another, whatever was guessed.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reviewer.db.queries import imports
from reviewer.importing import processes
from reviewer.importing.pipeline.job import ImportJob
from reviewer.importing.pipeline.pool import FileScoring, steady
from reviewer.importing.pipeline.results import Joins
from reviewer.importing.pipeline.scoring import Scorer
from reviewer.importing.pipeline.units import Unit, unit_digest
from reviewer.importing.reader import gives_results
from reviewer.importing.scored import Group
from reviewer.importing.source import Source

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

LARGEST = 4 << 20
"""Most bytes of a file that may be read ahead."""
RUN_BYTES, RUN_FILES = 512 << 10, 16
"""What a process receives at once: at most so many bytes, and files."""
MOST_AHEAD = 12 << 20
"""Most bytes of files that may be read before the first of them is written."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Group).decode


class Question(NamedTuple):
    """A reader's question about other files or the store: `place` of a first request, `names` of
    attempts, whether stored or `near`, `result` of an instance. The answer was that there is
    none."""

    of: str
    asked: tuple[Any, ...]
    named: dict[str, Any]


class ReadFile(NamedTuple):
    """The result of reading a file in a process: its digest, its judged groups, encoded, each with
    the offset after it, and the reader's notes and questions."""

    digest: str
    groups: list[tuple[bytes, int]]
    notes: list[str]
    sums_up: bool
    asked: list[Question]

    def judged(self) -> Iterable[tuple[Group, int]]:
        return ((_decode(raw), end) for raw, end in self.groups)


class _Unread(BaseException):
    """The file cannot be read alone. Not an `Exception`, so that no reader can take it for a fault
    of its file."""


class _Alone(Joins):
    """Results of other files, which are unknown in this process."""

    def __init__(self, asked: list[Question]) -> None:
        object.__setattr__(self, "questions", asked)

    def __getattribute__(self, name: str) -> Any:
        if name not in ("take", "questions"):
            raise _Unread
        return object.__getattribute__(self, name)

    def take(self, *asked: Any, **named: Any) -> tuple[None, str]:
        self.questions.append(Question("result", asked, named))
        return None, ""


class _Run(NamedTuple):
    """Units, by their places in the list, with the name for records that name nothing, and their
    bytes."""

    units: list[int]
    places: list[tuple[str, str]]
    size: int


_job: ImportJob | None = None
_units: Sequence[Unit] = ()


def _read_run(run: _Run) -> list[ReadFile | None]:
    return [
        _read(_units[number], *place) for number, place in zip(run.units, run.places, strict=True)
    ]


def _read(unit: Unit, place: str, home: str) -> ReadFile | None:
    """Return the content of a file; None where only the writing process can read it."""
    assert _job is not None  # set before the processes were forked
    try:
        return _read_alone(_job, unit, place, home)
    except (Exception, _Unread):
        return None  # it is read again, and its errors are reported then


def _read_alone(job: ImportJob, unit: Unit, place: str, home: str) -> ReadFile | None:
    options, reader = job.context.options, unit.reader
    if reader is None:
        return None
    order = job.context.order(reader.name, str(unit.path), home)
    judge = Scorer(order, job.packer, job.catalogue)
    asked: list[Question] = []
    source = Source(unit.path, options.candidate, unit.companions, _Alone(asked))
    source.reader, source.lacks, source.wanted = reader.name, unit.lacks, options.sessions
    source.place, source.home = place, home

    def gather(names: Iterable[str]) -> tuple[()]:
        asked.append(Question("near", (list(names),), {}))
        return ()

    def called(names: Iterable[str]) -> None:
        asked.append(Question("names", (list(names),), {}))

    def meet(*_: Any) -> None:
        raise _Unread  # the following text in the file may be a part of it

    def request_place(name: str, request: Any) -> int:
        asked.append(Question("place", (name, request), {}))
        return 0

    source.gather, source.request_place = gather, request_place
    source.called, source.meet = called, meet
    digest = unit_digest(unit.path, unit.companions)
    size = unit.path.stat().st_size
    with steady():
        found = FileScoring(judge, order, source, size).groups(0, frozenset())
        groups = [(_encode(group), end) for group, end in found]
    return ReadFile(digest, groups, sorted(source.notes), source.sums_up, asked)


class ReadAhead:
    """The files of one import that are read ahead, in the order in which they are imported."""

    def __init__(self, job: ImportJob, units: Sequence[Unit]) -> None:
        self._job = job
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: deque[tuple[_Run, Future[list[ReadFile | None]]]] = deque()
        self._read: dict[int, ReadFile | None] = {}
        self._ahead = 0
        self._units = units
        self._runs: deque[_Run] = deque(_runs(job, units))

    def __enter__(self) -> "ReadAhead":
        return self

    def _start(self) -> None:
        """Start the processes, if they are worth it, after this one has read a file: they inherit
        what it loaded for that."""
        global _job, _units  # the forked processes inherit them
        if not processes.worth_one(sum(run.size for run in self._runs)):
            self._runs.clear()
            return
        _job, _units = self._job, self._units
        self._pool = processes.pool("fork", processes.begin, ())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _job, _units
        _job, _units = None, ()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def _ask(self) -> None:
        while self._pool is not None and self._runs and self._ahead < MOST_AHEAD:
            run = self._runs.popleft()
            units = [self._units[number] for number in run.units]
            places = [self._job.places.of(unit, str(unit.path)) for unit in units]
            try:
                future = self._pool.submit(_read_run, run._replace(places=places))
            except RuntimeError:  # a process was ended from outside
                self._runs.clear()
                return
            self._waiting.append((run, future))
            self._ahead += run.size

    def take(self, number: int) -> ReadFile | None:
        """Return the result for the unit at this place; None for one that has to be read here."""
        if number and self._pool is None and self._runs:
            self._start()
            self._ask()
        while self._waiting and self._waiting[0][0].units[0] <= number:
            run, future = self._waiting.popleft()
            self._ahead -= run.size
            try:
                found = future.result()
            except Exception:  # nothing is lost: it is read again here, which meets the same error
                found = [None] * len(run.units)
            self._read.update(zip(run.units, found, strict=True))
            self._ask()
        return self._read.pop(number, None)


def _runs(job: ImportJob, units: Sequence[Unit]) -> Iterable[_Run]:
    """Cut the units that may be read ahead into runs. A file of a size that the store knows may
    have been imported before."""
    options, known = job.context.options, None
    run = _Run([], [], 0)
    if options.live or len(units) < 2:
        return
    for number, unit in enumerate(units[1:], 1):
        if unit.reader is None or not unit.reader.probe or gives_results(unit.reader) or unit.holds:
            continue
        try:
            size = unit.path.stat().st_size
        except OSError:
            continue
        if known is None:
            known = imports.source_sizes(job.context.connection)
        if size > LARGEST or size in known:
            continue
        if run.units and (run.size + size > RUN_BYTES or len(run.units) == RUN_FILES):
            yield run
            run = _Run([], [], 0)
        run = _Run([*run.units, number], [], run.size + size)
    if run.units:
        yield run
