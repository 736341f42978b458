"""The protocols of a format: one reader per format, chosen by content.

A reader turns an attempt in its format into one native trace (JSON bytes), with the verdict of the
source and notes on what was missing or doubtful. It never invents missing facts: unknown is null.

A fault that a reader did not foresee affects the file that has it, not the import: readers meet
arbitrary content, and readers of other packages are tested elsewhere. It is reported with the
reader's name. REVIEWER_DEBUG=1 shows where it happened, on the standard error stream;
REVIEWER_DEBUG=raise re-raises it, for debugging.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

from reviewer.importing.pipeline.split import Unreadable
from reviewer.trace.record import SourceVerdict
from reviewer.trace.safetext import visible

if TYPE_CHECKING:
    from reviewer.importing.head import Head
    from reviewer.importing.pipeline.results import ResultEntry
    from reviewer.importing.source import Source


class Foreign(NamedTuple):
    """One attempt as a native record.

    `verdict` is the source's own, None for native files. `suite` names the probe suite when records
    of one file belong to several; empty means the reader's own for that file. `replaces` is the
    stored attempt (its trace and its evidence) of which this one is the whole. `identity` is the
    source's permanent name for the attempt (a session, run or trace id, prefixed with its kind):
    the same name again, under the same candidate and episode, is a record of the same attempt
    (`pipeline.compare`). Empty where it has no such name. `names` are all names by which a file
    that contains a part of it may know it, and `read_with` the imports whose files were read again
    for it.
    """

    raw: bytes
    verdict: SourceVerdict | None = None
    notes: tuple[str, ...] = ()
    title: str = ""
    user_request: str = ""
    suite: str = ""
    replaces: tuple[int, int] | None = None
    identity: str = ""
    names: tuple[str, ...] = ()
    read_with: frozenset[int] = frozenset()


class Broken(NamedTuple):
    """One record that cannot become a trace. `codes` are refusal codes without raw values.

    `name` identifies the record in the source's own terms (an entry, an id); without it, its number
    does.
    """

    codes: tuple[str, ...]
    name: str = ""


class Rejected(Exception):
    """One record cannot become a trace. `codes` are refusal codes without raw values."""

    def __init__(self, *codes: str) -> None:
        super().__init__("; ".join(codes))
        self.codes = codes


class Reader(Protocol):
    """A format.

    `probe` readers feed public-benchmark suites, which never certify a release, unless the user
    maps their records into a private suite. Every reader is also a `RecordReader` or a
    `DocumentReader`.
    """

    name: str
    version: str
    probe: bool

    def sniff(self, head: "Head") -> bool:
        """Return whether a file that starts like `head` has this format. Decided by content; the
        names of its neighbors may help where the content alone is not enough."""
        ...

    def suite_id(self, path: Path) -> str:
        """Return the probe suite of a file when neither the user nor a record names one."""
        ...

    def candidate_id(self, path: Path) -> str:
        """Return the candidate of a file when neither the user nor the record names one."""
        ...


@runtime_checkable
class RecordReader(Reader, Protocol):
    """A format whose files are a run of records, each an attempt by itself (JSON lines, or one
    array): they are cut without being understood, and may be read in several processes."""

    def read(self, raw: bytes, candidate_id: str) -> Foreign:
        """Turn one record into a native trace. Raises Rejected."""
        ...


@runtime_checkable
class DocumentReader(Reader, Protocol):
    """A format whose attempts must be collected: from one document, an archive, several files."""

    def companions(self, path: Path) -> tuple[Path, ...]:
        """Return other files that are part of `path`; they are not imported by themselves. Only
        files that exist. `path` was claimed by `sniff`."""
        ...

    def traces(self, source: "Source") -> Iterator[Foreign | Broken]:
        """Yield every attempt, in a stable order, one at a time. A fault in one attempt is a
        `Broken` (or a Rejected raised by a helper inside `source.attempt`). Raises Unreadable when
        nothing more can be read."""
        ...


@runtime_checkable
class TimedReader(DocumentReader, Protocol):
    """A format whose attempts have no number: files of one import are read in the order in which
    they ran, and numbered in it."""

    def ran_at(self, path: Path) -> float:
        """Return when the attempt in the file began, in milliseconds since 1970; infinity when
        unknown."""
        ...


@runtime_checkable
class PlacedReader(Reader, Protocol):
    """A format whose folders contribute to the content (the task, the model, the run): two files
    with the same bytes in different places are not the same."""

    def placed(self, path: Path) -> tuple[str, ...]:
        """Return the facts in the path, as names; the same for a run that was moved as a whole."""
        ...


@runtime_checkable
class ResultsReader(DocumentReader, Protocol):
    """A format with the results of instances whose trajectories are in other files. Its results are
    joined to trajectories of the same import by instance id; `traces` yields those without a
    trajectory."""

    def results(self, source: "Source") -> "Iterator[tuple[str, ResultEntry]]":
        """Yield (instance id, the entry about it), in file order."""
        ...

    def attempt(self, source: "Source", instance_id: str, joined: "ResultEntry") -> Foreign:
        """Return the attempt for a result without a trajectory. Its draft has the reader's own
        name. Raises Rejected."""
        ...


@runtime_checkable
class GatheringReader(Reader, Protocol):
    """A format whose attempts may be cut into files at any place."""

    def names_near(self, path: Path) -> frozenset[str]:
        """Return the permanent names of the attempts near the file's start."""
        ...


_kept: dict[tuple[type, type], bool] = {}


def keeps(reader: object, protocol: type) -> bool:
    """Return `isinstance`, evaluated once for each class: a check against a protocol takes longer
    than reading."""
    key = type(reader), protocol
    found = _kept.get(key)
    if found is None:
        found = _kept[key] = isinstance(reader, protocol)
    return found


def by_record(reader: object) -> TypeGuard[RecordReader]:
    return keeps(reader, RecordReader)


def by_document(reader: object) -> TypeGuard[DocumentReader]:
    return keeps(reader, DocumentReader)


def gives_results(reader: object) -> TypeGuard[ResultsReader]:
    return keeps(reader, ResultsReader)


def speaks_by_place(reader: object) -> TypeGuard[PlacedReader]:
    return keeps(reader, PlacedReader)


def knows_times(reader: object) -> TypeGuard[TimedReader]:
    return keeps(reader, TimedReader)


def gathers(reader: object) -> TypeGuard[GatheringReader]:
    return keeps(reader, GatheringReader)


T = TypeVar("T")
DEBUG = "REVIEWER_DEBUG"


@contextmanager
def foreseen(reader: str = "", *known: type[Exception]) -> Iterator[None]:
    """Turn unforeseen exceptions into Unreadable; `known` exceptions pass. `reader` is the name of
    the running reader."""
    told: tuple[type[Exception], ...] = (Unreadable, OSError, *known)
    try:
        yield
    except told:
        raise
    except Exception as error:
        if os.environ.get(DEBUG) == "raise":
            raise
        show(error, reader)
        raise Unreadable(f"{_named(reader, error)}; {DEBUG}=1 shows where") from error


def claims(reader: Reader, head: "Head") -> bool:
    """Return whether a reader claims a file; False when it breaks over the question."""
    try:  # every reader is asked about every file, so no context manager is used here
        return reader.sniff(head)
    except OSError:
        raise
    except Unreadable:
        return False
    except Exception as error:
        return _broke(error, reader.name, False)


def ask_reader(question: Callable[[], T], otherwise: T, reader: str = "") -> T:
    """Return the answer of a reader; `otherwise` when it breaks over the question."""
    try:
        return question()
    except OSError:
        raise
    except Unreadable:
        return otherwise
    except Exception as error:
        return _broke(error, reader, otherwise)


def _broke(error: Exception, reader: str, otherwise: T) -> T:
    """Return `otherwise` for the question that a reader broke over."""
    if os.environ.get(DEBUG) == "raise":
        raise error
    show(error, reader)
    return otherwise


def show(error: BaseException, reader: str) -> None:
    """Print where a fault happened, if that was asked for. It may quote a hostile file."""
    if os.environ.get(DEBUG):
        lines = "".join(traceback.format_exception(error))
        sys.stderr.write(f"{_named(reader, error)}\n{visible(lines)}")


def _named(reader: str, error: BaseException) -> str:
    whose = f"the reader {visible(reader)}" if reader else "its reader"
    return f"a fault of {whose}: {type(error).__name__}"
