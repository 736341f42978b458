"""Find which reader takes each of many files, in several processes; for a few files, in this one.

To claim a file its start is parsed and some fifty readers look at it: for many small files this is
a third of the work of their import. Answers come in the order of the files, and are the same as
from one process.
"""

import errno
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reviewer.importing import processes
from reviewer.importing.formats import foreign_readers, named, others_asked
from reviewer.importing.reader import Reader, ask_reader, gathers, knows_times

if TYPE_CHECKING:
    from reviewer.importing.pipeline.units import Unit

    Entry = tuple[Path | Unit, bool]
    Answer = tuple[Path | Unit, Unit | None]

Claim = Callable[[Path, str, bool], "Unit | None"]

MANY = 128
"""Number of files below one folder from which it is worth starting processes."""
FIRST = 8
"""Files that are claimed here first: the processes inherit what is loaded for them."""
TOGETHER = 32


class _Task(NamedTuple):
    """Files to claim; None for a file that is already a unit."""

    claim: Claim
    wanted: str
    files: list[tuple[Path | None, bool]]


class _Claimed(NamedTuple):
    """What a process found: a unit without its reader, and the reader's name. Not `sure` where
    another reader has that name in this process."""

    unit: "Unit | None" = None
    reader: str | None = None
    sure: bool = True


def claims_of(claim: Claim, wanted: str, files: "Iterator[Entry]") -> "Iterator[Answer]":
    """Yield each file, or the unit that it already is, with its unit: None for a file that is no
    trace."""
    first = list(islice(files, MANY + 1))
    if len(first) <= MANY or not processes.can_fork():
        yield from _claimed_here(claim, wanted, chain(first, files))
        return
    yield from _claimed_here(claim, wanted, first[:FIRST])
    left = chain(first[FIRST:], files)
    asked: deque[list[Entry]] = deque()

    def tasks() -> Iterator[_Task]:
        while some := list(islice(left, TOGETHER)):
            asked.append(some)
            shown = [(file if isinstance(file, Path) else None, inside) for file, inside in some]
            yield _Task(claim, wanted, shown)

    try:
        for answers, others in processes.in_order(_claim_all, tasks(), processes.begin, ()):
            if others:
                foreign_readers()  # so that faults of other packages' readers are reported
            for (file, inside), one in zip(asked.popleft(), answers, strict=True):
                if not one.sure and isinstance(file, Path):
                    yield file, claim(file, wanted, inside)
                    continue
                reader = named(one.reader) if one.reader else None
                yield file, one.unit and one.unit._replace(reader=reader)
    except OSError as error:
        if error.errno != errno.ECHILD:  # a process was ended from outside: the rest is done here
            raise
    yield from _claimed_here(claim, wanted, chain(chain.from_iterable(asked), left))


def _claimed_here(claim: Claim, wanted: str, files: "Iterable[Entry]") -> "Iterator[Answer]":
    for file, inside in files:
        yield file, claim(file, wanted, inside) if isinstance(file, Path) else None


def _claim_all(task: _Task) -> tuple[list[_Claimed], bool]:
    """Return the units of these files, and whether readers of other packages were asked."""
    found = [
        _sendable(task.claim(file, task.wanted, inside)) if file is not None else _Claimed()
        for file, inside in task.files
    ]
    return found, others_asked()


def _sendable(unit: "Unit | None") -> _Claimed:
    if unit is None or unit.reader is None:
        return _Claimed(unit)
    reader = unit.reader
    if named(reader.name) is not reader:
        return _Claimed(sure=False)
    return _Claimed(unit._replace(reader=None), reader.name)


def ran_at(reader: Reader, path: Path) -> float:
    """Return when the attempt in a file began, as far as its reader knows."""
    if not knows_times(reader):
        return 0.0
    return ask_reader(partial(reader.ran_at, path), inf, reader.name)


def names_near(reader: Reader, path: Path) -> frozenset[str]:
    """Return the names of the attempts near a file's start, where its reader looks for them."""
    if not gathers(reader):
        return frozenset()
    return ask_reader(partial(reader.names_near, path), frozenset[str](), reader.name)
