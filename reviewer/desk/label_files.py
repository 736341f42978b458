"""Labels as files of JSON lines: writing them out, and taking in those of other people."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reviewer.contract.errors import ContractError, Problem
from reviewer.contract.model import RedactionRules
from reviewer.db import labels as stored
from reviewer.db import registry
from reviewer.db.connection import close_writer
from reviewer.db.migrate import open_writer
from reviewer.desk.errors import DeskError
from reviewer.desk.imports import clock
from reviewer.desk.label_book import Book, row_of
from reviewer.desk.label_sheet import Ruled, ruled
from reviewer.desk.workspace import Workspace
from reviewer.ingest.catalogue import redactor_of
from reviewer.review.label_rules import rubric_problems
from reviewer.review.labels import label_file, merge, read_label
from reviewer.review.model import Label


class Taken(NamedTuple):
    """What came of labels from elsewhere. `known` stand in the store already, or came twice;
    `problems` say of each refused one where and why, never a value."""

    added: int
    known: int
    refused: int
    problems: tuple[Problem, ...]


def export_labels(connection: sqlite3.Connection, book: Book, suite_id: str) -> bytes:
    """Every label of a suite, of all suites for "", by time: a file for `import_labels`.

    Raises DeskError for a suite that the store does not know.
    """
    rows = registry.suites(connection)
    digests = [row.digest for row in rows if suite_id in ("", row.suite_id)]
    if suite_id and not digests:
        raise DeskError(f"no suite {suite_id} in this store")
    if not suite_id:
        digests = stored.suites_labeled(connection)
    return label_file(label for digest in digests for label in book.of(connection, digest))


def import_labels(workspace: Workspace, data: bytes, file: str) -> Taken:
    """Take in the labels of a file, as one durable transaction. A line that is no label, or none of
    this workspace, costs that line only. Raises StoreError when nothing can be written."""
    name = redactor_of(RedactionRules()).masked(file)
    connection = open_writer(workspace.store)
    try:
        border = Border(workspace, connection)
        good: list[Label] = []
        problems: list[Problem] = []
        lines = 0
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            lines += 1
            try:
                good.append(
                    border.admitted(read_label(line, f"{name}:{number}"), f"{name}:{number}")
                )
            except ContractError as error:
                problems += error.problems
        return keep(connection, workspace, good, lines, problems)
    finally:
        close_writer(connection, workspace.store)


def keep(
    connection: sqlite3.Connection,
    workspace: Workspace,
    good: Iterable[Label],
    lines: int,
    problems: Iterable[Problem],
) -> Taken:
    """Write what is good of so many labels read."""
    told = tuple(problems)
    joined = list(good)
    rows = [row_of(label) for label in merge(joined, ())]
    added = stored.record(connection, workspace.store, rows, clock()) if rows else ()
    return Taken(len(added), len(joined) - len(added), lines - len(joined), told)


class Border:
    """What a label from elsewhere must be to come into this workspace: of a suite that stands
    frozen here under the same digest, by its rubric, and free of identifiers."""

    def __init__(self, workspace: Workspace, connection: sqlite3.Connection) -> None:
        self._workspace, self._connection = workspace, connection
        self._ruled: dict[str, Ruled | str] = {}
        self._episodes: dict[str, frozenset[str]] = {}

    def ruled(self, suite_id: str, digest: str) -> Ruled | str:
        """The suite with its rubric, or why no label of it is taken."""
        if suite_id not in self._ruled:
            try:
                found: Ruled | str = ruled(self._workspace, self._connection, suite_id)
            except (DeskError, ContractError) as error:
                found = str(error)
            if isinstance(found, Ruled):
                self._episodes[suite_id] = frozenset(e.episode_id for e in found.suite.episodes)
            self._ruled[suite_id] = found
        known = self._ruled[suite_id]
        if isinstance(known, Ruled) and known.suite.digest != digest:
            return (
                f"is {digest[:16]}…, and {suite_id} of this workspace is "
                f"{known.suite.digest[:16]}…: labels belong to the suite they were made on"
            )
        return known

    def admitted(self, label: Label, place: str) -> Label:
        """The label itself. Raises ContractError with every reason not to take it."""
        found = self.ruled(label.suite_id, label.suite_digest)
        if isinstance(found, str):
            raise ContractError(place, "$.suite_digest", found)
        problems = [Problem(place, where, why) for where, why in _against(found, label)]
        if label.episode_id not in self._episodes[label.suite_id]:
            problems.append(Problem(place, "$.episode_id", "is no episode of the suite"))
        if problems:
            raise ContractError.of(problems)
        return label


def _against(found: Ruled, label: Label) -> Iterator[tuple[str, str]]:
    if label.rubric_digest != found.rubric_digest:
        yield "$.rubric_digest", "is not that of the suite's rubric.json"
    yield from rubric_problems(label, found.rubric)
    masked = redactor_of(found.suite.redaction).masked
    texts = [("note", label.note), ("reviewer", label.reviewer), ("skipped", label.skipped or "")]
    texts += [(f"traces[{n}]", trace) for n, trace in enumerate(label.traces)]
    for name, text in texts:
        if masked(text) != text:
            yield f"$.{name}", "holds a raw identifier: mask it where it was written"
