"""Files of labels, judgments, notes, costs and searches, as JSON lines: exported, and taken in.

All kinds share this code; each has its own rules (`Border`) for lines from elsewhere.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, Protocol, TypeVar

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.db.tables import Table
from reviewer.desk.errors import DeskError, meant
from reviewer.desk.imports.importing import clock
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.review.lines import LineRecord, Lines, instant
from reviewer.suite.errors import ContractError, Problem
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of

AHEAD = timedelta(days=1)
"""How far another clock may be ahead: the youngest record of a key counts, so a record from further
in the future would override everything that people add."""
T = TypeVar("T", bound=LineRecord)
R = TypeVar("R", bound=tuple[object, ...])
Read = TypeVar("Read", bound=LineRecord, covariant=True)


class OtherStore(NamedTuple):
    """The other store of a merge and this one; `name` is the other store's name in messages."""

    workspace: Workspace
    ours: Connection
    other: Connection
    name: str


class TakeResult(NamedTuple):
    """The result of taking in lines. `known` were in the store already, or came twice; `problems`
    say where and why a line was refused, never a value."""

    added: int
    known: int
    refused: int
    problems: tuple[Problem, ...]


class Border(Protocol[T]):
    """The rules by which a line from elsewhere may enter this workspace."""

    def admitted(self, one: T, place: str) -> T:
        """Return the record. Raises ContractError with every reason to refuse it."""


class Book(Protocol[Read]):
    """The records of one kind, by suite."""

    def of(self, connection: Connection, suite_digest: str) -> Iterable[Read]: ...


class RecordKind(NamedTuple, Generic[T, R]):
    """One kind of line: its format, its table, the rules for taking it in, and the key of a suite
    in its rows."""

    noun: str
    lines: Lines[T]
    table: Table[R]
    row_of: Callable[[T], R]
    border: Callable[[Workspace, Connection], Border[T]]
    suite_key: Callable[[registry.SuiteRow], str] = lambda row: row.digest


def export(
    kind: RecordKind[T, R],
    connection: Connection,
    book: Book[T],
    suite_id: str,
    others: Sequence[str] = (),
) -> bytes:
    """Return all records of a suite and of `others` (keys of rows), or of all suites for "", by
    time: a file for `take`.

    Raises DeskError for a suite that the store does not know.
    """
    rows = registry.suites(connection)
    keys = [kind.suite_key(row) for row in rows if suite_id in ("", row.suite_id)]
    if suite_id and not keys:
        near = meant(suite_id, [row.suite_id for row in rows])
        raise DeskError(
            f"no suite {suite_id} in this store{near}",
            "reviewer scorecard lists suites and candidates",
        )
    if not suite_id:
        keys = kind.table.suites(connection)
    return kind.lines.file(one for key in (*keys, *others) for one in book.of(connection, key))


def take(kind: RecordKind[T, R], workspace: Workspace, data: bytes, file: str) -> TakeResult:
    """Take in a file, as one durable transaction. An invalid line, or one that does not belong to
    this workspace, costs only that line. Raises DeskError for a file without a line, StoreError
    when nothing can be written."""
    name = redactor_of(RedactionRules()).masked(file)
    lines = [
        (f"{name}:{number}", line)
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.strip()
    ]
    if not lines:
        raise DeskError(
            f"{name} is empty: no {kind.noun} was imported",
            f"write one with reviewer {kind.noun}s export FILE in the workspace where they were "
            "made",
            exit_code=ExitCode.INVALID,
        )
    connection = open_writer(workspace.store)
    try:
        return keep_lines(kind, workspace, connection, lines)
    finally:
        close_writer(connection, workspace.store)


def keep_lines(
    kind: RecordKind[T, R],
    workspace: Workspace,
    connection: Connection,
    lines: Iterable[tuple[str, bytes]],
    here: Callable[[T], T] = lambda one: one,
) -> TakeResult:
    """Store those of `lines` that the rules admit, each given with its place for messages. `here`
    converts a record to this store's own names."""
    border, problems = kind.border(workspace, connection), list[Problem]()
    latest = instant((datetime.now(UTC) + AHEAD).strftime("%Y-%m-%dT%H:%M:%SZ"))
    good: list[T] = []
    refused = 0
    for place, line in lines:
        try:
            one = kind.lines.read(line, place)
            if instant(one.at) > latest:
                raise ContractError(
                    place, "$.at", "is still to come: the clock that wrote it was wrong"
                )
            good.append(border.admitted(here(one), place))
        except ContractError as error:
            refused += 1
            problems += error.problems
    rows = [kind.row_of(one) for one in kind.lines.merge(good, ())]
    added = kind.table.record(connection, workspace.store, rows, clock()) if rows else ()
    return TakeResult(len(added), len(good) - len(added), refused, tuple(problems))


def identifier_problems(
    masked: Callable[[str], str], texts: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield a problem for each of these (member, text) that contains a raw identifier."""
    for name, text in texts:
        if masked(text) != text:
            yield f"$.{name}", "holds an unmasked identifier: mask it at the source"
