"""The reader of Inspect AI logs: `.eval` archives and `.json` documents are one format, so that a
run and its conversion fill the same slots. A sample is an attempt.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reviewer.importing import processes
from reviewer.importing.archive import Archive
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import Format, at_path
from reviewer.importing.formats.inspect_ai import (
    START,
    EvalLog,
    JsonLog,
    Parts,
    names_of_log,
)
from reviewer.importing.formats.inspect_ai.attempt import attempt
from reviewer.importing.formats.inspect_ai.run import (
    Counted,
    Last,
    Run,
    Tally,
    suite_of,
)
from reviewer.importing.head import Head
from reviewer.importing.pipeline.opening import kind_of, start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source


class InspectReader(Format):
    name = "inspect"
    facts = FormatFacts(
        by="a ZIP with `_journal/start.json`, or `version, status, eval`",
        times="yes",
        cost="where prices were configured",
        tokens="yes, a grader's apart",
        verdict="the headline score; all are kept",
        attempt="epoch",
        approvals="yes",
        start_state="metadata",
        final_state="store",
    )

    def sniff(self, head: Head) -> bool:
        """Return whether the file is an archive with a journal of Inspect, or an object with `eval`
        (its `task` and when it was `created`) and `status`."""
        if head.kind == "zip":
            return START.encode() in head.start or _lists_a_log(head.path)
        spec = at_path(head.value, "eval")
        return (
            isinstance(spec, dict)
            and isinstance(head.value.get("status"), str)
            and isinstance(spec.get("task"), str)
            and "created" in spec
        )

    def suite_id(self, path: Path) -> str:
        return suite_of("")

    def traces(self, source: Source) -> Iterator[Foreign | Broken]:
        with ExitStack() as stack:
            log: EvalLog | JsonLog
            if kind_of(start_of(source.path, 32)) == "zip":
                archive = stack.enter_context(Archive(source.path, salvage=True))
                log = EvalLog(archive, source)
            else:
                log = JsonLog(source)
            yield from _samples(log, source)


def _samples(log: EvalLog | JsonLog, source: Source) -> Iterator[Foreign | Broken]:
    """Yield every sample. The last one is held back until the notes on the file are complete."""
    run = Run(log.header, source.path, source.candidate)
    tally = Tally(run)
    last: Foreign | Broken | None = None
    try:
        for made in _made(log, run, tally, source):
            if last is not None:
                yield last
            last = made
    except Unreadable:
        source.notes.update(tally.notes())
        if last is not None:
            yield last
        raise
    if last is None:
        raise Unreadable(run.empty())
    source.notes.update(tally.notes())
    yield last
    if isinstance(log, EvalLog) and log.cut:
        raise Unreadable(log.cut)  # data after the cut is lost, which is no success


def _made(
    log: EvalLog | JsonLog, run: Run, tally: Tally, source: Source
) -> Iterator[Foreign | Broken]:
    """Yield every sample as an attempt; entries of a large archive are read in several
    processes."""
    if isinstance(log, EvalLog) and _worth_processes(log.unpacked()):
        beginning = str(source.path), source.candidate, source.reader
        for some in processes.in_order(_read, log.batches(), _begin, beginning):
            for name, made, of_totals, notes in some:
                log.reach(name)
                source.notes.update(notes)
                if of_totals is not None:
                    tally.add(of_totals)
                yield made
        return
    for name, load in log.samples():
        yield source.attempt(partial(_loaded, run, tally, load), name)


def _worth_processes(size: int) -> bool:
    """Return whether it is worth starting processes for so many bytes of entries: reading takes
    much longer than starting processes that share the loaded modules."""
    return processes.worth_one(size) or processes.worth_processes(size)


def _loaded(run: Run, tally: Tally | Last, load: Callable[[], Parts]) -> Foreign:
    return attempt(run, tally, load())


# In another process -------------------------------------------------------------------------------


class Read(NamedTuple):
    """A sample read by another process: the name of its entry, the attempt, its figures for the
    totals of the log, and notes on the file."""

    name: str
    made: Foreign | Broken
    counted: Counted | None
    notes: frozenset[str]


_here: tuple[EvalLog, Run, Source] | None = None


def _begin(parent: int, path: str, candidate: str, reader: str) -> None:
    """Open the log in this process, which ends with the process that started it."""
    global _here  # each process keeps its own
    processes.begin(parent)
    source = Source(Path(path), candidate)
    source.reader = reader
    log = EvalLog(Archive(source.path, salvage=True), source)
    _here = log, Run(log.header, source.path, candidate), source


def _read(names: list[str]) -> list[Read]:
    """Return the samples of these entries."""
    assert _here is not None  # set by _begin before any work
    log, run, source = _here
    found: list[Read] = []
    for name in names:
        last, load = Last(), log.loading(name)
        assert load is not None  # only names of samples are sent
        source.notes.clear()
        made = source.attempt(partial(_loaded, run, last, load), name)
        found.append(Read(name, made, last.counted, frozenset(source.notes)))
    return found


def _lists_a_log(path: Path) -> bool:
    """Return whether the archive's directory is that of a log whose journal follows its samples."""
    try:
        with Archive(path) as archive:
            return names_of_log(frozenset(archive.names()))
    except (Unreadable, OSError):
        return False
