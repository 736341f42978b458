"""The reader of Inspect AI logs: `.eval` archives and `.json` documents are one format, so that a
run and its conversion fill the same slots."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from reviewer.importing.archive import Archive
from reviewer.importing.formats.inspect_ai.archives import START, EvalLog, names_of_log
from reviewer.importing.formats.inspect_ai.documents import JsonLog
from reviewer.importing.formats.inspect_ai.parts import Parts
from reviewer.importing.formats.inspect_ai.run import Run, Tally, suite_of
from reviewer.importing.formats.inspect_ai.sample import attempt
from reviewer.importing.head import Head
from reviewer.importing.opening import kind_of, start_of
from reviewer.importing.reader import Broken, Foreign
from reviewer.importing.source import Source
from reviewer.importing.split import Unreadable


class InspectReader:
    name = "inspect"
    version = "1"
    probe = True

    def sniff(self, head: Head) -> bool:
        """An archive with a journal of Inspect's, or an object with `eval` (its `task` and when
        it was `created`) and `status`."""
        if head.kind == "zip":
            return START.encode() in head.start or _lists_a_log(head.path)
        spec = head.value.get("eval") if isinstance(head.value, dict) else None
        return (
            isinstance(spec, dict)
            and isinstance(head.value.get("status"), str)
            and isinstance(spec.get("task"), str)
            and "created" in spec
        )

    def suite_id(self, path: Path) -> str:
        return suite_of("")

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()

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
    """Every sample. The last is held back until what is to be said of the file is known."""
    run = Run(log.header, source.path, source.candidate)
    tally = Tally(run)
    last: Foreign | Broken | None = None
    try:
        for name, load in log.samples():
            if last is not None:
                yield last
            last = source.attempt(partial(_attempt, run, tally, load), name)
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
        raise Unreadable(log.cut)  # whatever stood behind the cut is lost, and that is no success


def _attempt(run: Run, tally: Tally, load: Callable[[], Parts]) -> Foreign:
    return attempt(run, tally, load())


def _lists_a_log(path: Path) -> bool:
    """Whether the archive's directory is that of a log whose journal stands behind its samples."""
    try:
        with Archive(path) as archive:
            return names_of_log(frozenset(archive.names()))
    except (Unreadable, OSError):
        return False
