"""Labels as files, and the rules for labels from elsewhere."""

from collections.abc import Iterator

from reviewer.db.connection import Connection
from reviewer.db.queries.review_sets import review_set_of, review_sets
from reviewer.db.tables import LABELS as TABLE
from reviewer.db.tables import LabelRow
from reviewer.desk.errors import DeskError
from reviewer.desk.imports import record_files
from reviewer.desk.imports.record_files import RecordKind, TakeResult
from reviewer.desk.labels.book import Book, row_of
from reviewer.desk.labels.set_sheets import ruled_set, sealed_set
from reviewer.desk.labels.sheet import RubricSuite, suite_with_rubric
from reviewer.desk.place import Workspace
from reviewer.review.labels import LABELS, Label, rubric_problems
from reviewer.suite.errors import ContractError, Problem
from reviewer.trace.redaction import redactor_of


class LabelBorder:
    """The rules for a label from elsewhere: its suite is frozen here under the same digest, it
    follows that suite's rubric, and it contains no identifiers."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        self._workspace, self._connection = workspace, connection
        self._ruled: dict[str, RubricSuite | str] = {}
        self._episodes: dict[str, frozenset[str]] = {}
        self._sets: dict[str, RubricSuite] = {}

    def admitted(self, label: Label, place: str) -> Label:
        """Return the label. Raises ContractError with every reason to refuse it."""
        found = self._of_set(label) or self._found(label.suite_id, label.suite_digest)
        if isinstance(found, str):
            raise ContractError(place, "$.suite_digest", found)
        problems = [Problem(place, where, why) for where, why in _against(found, label)]
        if label.episode_id not in self._episodes[found.suite.digest]:
            problems.append(Problem(place, "$.episode_id", "is not an episode of the suite"))
        if problems:
            raise ContractError.of(problems)
        return label

    def _of_set(self, label: Label) -> RubricSuite | None:
        """Return the review set that the label belongs to; None where it belongs to none."""
        known = self._sets.get(label.suite_digest)
        row = None if known else review_set_of(self._connection, label.suite_digest)
        if row is not None and row.suite == label.suite_id:
            sealed = sealed_set(row)
            known = self._sets[row.uid] = ruled_set(self._connection, sealed)
            names = frozenset(one.unit.episode_id for one in sealed.held.units)
            self._episodes[row.uid] = names
        return known

    def _found(self, suite_id: str, digest: str) -> RubricSuite | str:
        """Return the suite with its rubric, or why labels of this suite are refused."""
        if suite_id not in self._ruled:
            try:
                found: RubricSuite | str = suite_with_rubric(
                    self._workspace, self._connection, suite_id
                )
            except (DeskError, ContractError) as error:
                found = str(error)
            if isinstance(found, RubricSuite):
                names = frozenset(e.episode_id for e in found.suite.episodes)
                self._episodes[found.suite.digest] = names
            self._ruled[suite_id] = found
        known = self._ruled[suite_id]
        if isinstance(known, RubricSuite) and known.suite.digest != digest:
            return (
                f"is {digest[:16]}…, and {suite_id} of this workspace is "
                f"{known.suite.digest[:16]}…: a label belongs to the suite it was made on"
            )
        return known


def _against(found: RubricSuite, label: Label) -> Iterator[tuple[str, str]]:
    if label.rubric_digest != found.rubric_digest:
        yield "$.rubric_digest", "is not that of the suite's rubric.json"
    yield from rubric_problems(label, found.rubric)
    texts = [("note", label.note), ("reviewer", label.reviewer), ("skipped", label.skipped or "")]
    texts += [(f"traces[{n}]", trace) for n, trace in enumerate(label.traces)]
    yield from record_files.identifier_problems(redactor_of(found.suite.redaction).masked, texts)


KIND: RecordKind[Label, LabelRow] = RecordKind("label", LABELS, TABLE, row_of, LabelBorder)


def export_labels(connection: Connection, book: Book, suite_id: str) -> bytes:
    """Return every label of a suite and its review sets, of all suites for "", as
    `record_files.export` does."""
    sets = [row.uid for row in review_sets(connection, suite_id)] if suite_id else []
    return record_files.export(KIND, connection, book, suite_id, sets)


def import_labels(workspace: Workspace, data: bytes, file: str) -> TakeResult:
    """Take in the labels of a file, as `record_files.take` does."""
    return record_files.take(KIND, workspace, data, file)
