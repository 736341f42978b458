"""One file through all that an import does with it, with nothing that softens a fault.

`REVIEWER_DEBUG` lets through what no reader foresaw (`reviewer.importing.faults`); what is written
is rolled back, so that one store serves thousands of files.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from reviewer.db.schema import open_writer
from reviewer.db.search import index_trace
from reviewer.importing.formats import foreign_readers
from reviewer.importing.head import Head
from reviewer.importing.pipeline import units
from reviewer.importing.pipeline.job import ImportContext, ImportJob
from reviewer.importing.pipeline.one_file import FileImport
from reviewer.importing.pipeline.outcome import FileResult, refused_unit
from reviewer.importing.pipeline.scoring import ImportOptions, Misdirected
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.pipeline.units import claim
from reviewer.importing.reader import knows_times, speaks_by_place
from reviewer.suite.model import Suite
from reviewer.testing.mutants import CANARIES

REFUSALS = (Unreadable, Misdirected, OSError)
"""All that a file may cost; anything else is a fault of the product."""

NAME_NO_MODEL = ("swe-bench",)
"""Formats whose files do not say whose they are, so that the import is told."""


class Read(NamedTuple):
    """What came of a file, and everything that the store would have kept of it."""

    result: FileResult
    kept: str
    seconds: float


class Desk:
    """A store that is written to and never keeps anything."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "review.db"
        self.connection = open_writer(self.path)
        self._suites: tuple[Suite, ...] = ()
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
            " AND name NOT LIKE '%fts%'"
        )
        self._tables = [name for (name,) in names.fetchall()]
        self.settle([])

    def settle(self, suites: Iterable[Suite]) -> None:
        """What may be filled; all that the store holds by now is none of a file's."""
        self._suites = tuple(suites)
        self._before = {name: self._count(name) for name in self._tables}

    def read(self, path: Path, wanted: str) -> Read:
        """`path` as a file of the format `wanted`, as `reviewer import --format` takes it."""
        began = time.process_time()
        options = ImportOptions(format=wanted, candidate="m" if wanted in NAME_NO_MODEL else "")
        context = ImportContext(
            self.connection, self.path, self._suites, lambda *_: None, options, _now
        )
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = self._imported(context, path, wanted)
            self._index()
            seconds = time.process_time() - began
            return Read(result, "\n".join((*self._kept(), *_told(result))), seconds)
        finally:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        self.connection.close()

    def _imported(self, context: ImportContext, path: Path, wanted: str) -> FileResult:
        unit = claim(path, wanted)
        assert unit is not None
        if unit.reader is None:
            return refused_unit(unit, Unreadable(unit.problem))
        try:
            job = ImportJob(context, [unit])
            with contextlib.closing(FileImport(job, unit)) as one:
                known = one.known()
                assert known is None
                reader = unit.reader
                if speaks_by_place(reader):
                    reader.placed(path)
                if knows_times(reader):
                    reader.ran_at(path)
                return one.written(groups=one.judged(), within=True)
        except REFUSALS as error:
            return refused_unit(unit, error)

    def _index(self) -> None:
        """Event rows and full text, which are filled behind an import."""
        for (trace,) in self.connection.execute("SELECT id FROM trace").fetchall():
            index_trace(self.connection, trace)

    def _count(self, table: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def _kept(self) -> Iterator[str]:
        for table in self._tables:
            if self._count(table) == self._before[table]:
                continue
            for row in self.connection.execute(f"SELECT * FROM {table}").fetchall():
                yield from map(_text, row)


def _text(value: Any) -> str:
    if not isinstance(value, bytes):
        return str(value)
    if value.startswith(b"\x28\xb5\x2f\xfd"):
        value = zstandard.ZstdDecompressor().decompressobj().decompress(value)
    return value.decode("utf-8", "replace")


def _told(result: FileResult) -> Iterator[str]:
    yield result.problem
    yield from result.notes
    for one in (*result.refusals, *result.flagged):
        yield from map(str, one)


def _now() -> str:
    return "2026-01-01T00:00:00Z"


def leaked(read: Read) -> list[str]:
    """Planted identifiers that would have been kept or told."""
    return [one for one in CANARIES if one in read.kept]


def heads(path: Path) -> None:
    """Every reader is asked whether a file is its own, whoever wrote it."""
    try:
        head = Head(path)
        units.why_no_run(head)
        for reader in foreign_readers():
            reader.sniff(head)
    except REFUSALS:
        return


@contextlib.contextmanager
def unsoftened() -> Iterator[None]:
    """Faults of readers come through as they are."""
    before = os.environ.get("REVIEWER_DEBUG")
    os.environ["REVIEWER_DEBUG"] = "raise"
    try:
        yield
    finally:
        if before is None:
            del os.environ["REVIEWER_DEBUG"]
        else:
            os.environ["REVIEWER_DEBUG"] = before
