"""Give names to patterns, masked and written durably; take in the names of another store."""

from collections.abc import Iterator
from datetime import UTC, datetime

from reviewer.db import registry
from reviewer.db.connection import Connection, close_writer
from reviewer.db.queries.patterns import PATTERN_NAMES as TABLE
from reviewer.db.queries.patterns import PatternNameRow
from reviewer.db.schema import open_writer
from reviewer.desk.errors import DeskError, refusal_of
from reviewer.desk.imports import record_files
from reviewer.desk.imports.record_files import OtherStore, RecordKind, TakeResult, keep_lines
from reviewer.desk.patterns.names import given, lines_of
from reviewer.desk.patterns.views import NameMade
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.review.pattern_names import (
    MOST_NAME,
    MOST_NOTE,
    PATTERN_NAMES,
    PatternName,
    differ,
    standing,
)
from reviewer.suite.errors import ContractError, Problem
from reviewer.trace.redaction import Redactor, redactor_of


def write_name(
    workspace: Workspace, suite_id: str, pattern: str, name: str, note: str, reviewer: str
) -> NameMade:
    """Give a pattern a name in place of those in force, or remove these with an empty name: durable
    when this returns. A name already in force is not written again.

    Raises DeskError for a name that cannot be used and when there is none to remove, StoreError
    when nothing could be written.
    """
    connection = open_writer(workspace.store)
    try:
        rules = registry.suite_body(connection, suite_id).redaction
        masked = redactor_of(rules).masked
        name, note = masked(" ".join(name.split())), masked(note.strip())
        _short("name", name, MOST_NAME)
        _short("note", note, MOST_NOTE)
        stand = standing(lines_of(connection, suite_id)).get(pattern, ())
        if not name and not any(one.name for one in stand):
            raise DeskError(
                f"pattern {pattern} of {suite_id} has no name",
                f"reviewer patterns names --suite {suite_id} lists the names",
            )
        if [(one.name, one.note) for one in stand] == [(name, note)]:
            return NameMade(suite_id=suite_id, given=given(stand[0], stands=True), added=False)
        line = _sealed(
            PatternName(
                suite_id=suite_id,
                pattern_id=pattern,
                name=name,
                note=note,
                replaces=tuple(one.uid for one in stand),
                reviewer=reviewer,
                at=datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            )
        )
        TABLE.record(connection, workspace.store, [_row_of(line)], line.at)
        return NameMade(suite_id=suite_id, given=given(line, stands=True), added=True)
    finally:
        close_writer(connection, workspace.store)


def _short(what: str, text: str, most: int) -> None:
    if len(text) > most:
        words = f"a {what} can have at most {most:,} characters; this one has {len(text):,}"
        raise DeskError(words, "shorten it", exit_code=ExitCode.USAGE)


def _sealed(line: PatternName) -> PatternName:
    try:
        return PATTERN_NAMES.seal(line)
    except ContractError as error:
        raise refusal_of(error, exit_code=ExitCode.USAGE) from None


def _row_of(one: PatternName) -> PatternNameRow:
    body = PATTERN_NAMES.content(one)
    return PatternNameRow(one.uid, one.suite_id, one.pattern_id, one.reviewer, one.at, body)


class _Border:
    """The rules for a name from elsewhere: its suite is in this workspace, and it contains no
    identifiers."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        self._connection = connection
        self._rules: dict[str, Redactor] = {}

    def admitted(self, one: PatternName, place: str) -> PatternName:
        """Return the line. Raises ContractError with every reason to refuse it."""
        problems = [Problem(place, where, why) for where, why in self._against(one)]
        if problems:
            raise ContractError.of(problems)
        return one

    def _against(self, one: PatternName) -> Iterator[tuple[str, str]]:
        if one.suite_id not in self._rules:
            if registry.suite_row(self._connection, one.suite_id) is None:
                yield "$.suite_id", "is not a suite of this store"
                return
            rules = registry.suite_body(self._connection, one.suite_id).redaction
            self._rules[one.suite_id] = redactor_of(rules)
        texts = [("name", one.name), ("note", one.note), ("reviewer", one.reviewer)]
        yield from record_files.identifier_problems(self._rules[one.suite_id].masked, texts)


KIND: RecordKind[PatternName, PatternNameRow] = RecordKind(
    "pattern-name", PATTERN_NAMES, TABLE, _row_of, _Border, lambda row: row.suite_id
)


def take_pattern_names(there: OtherStore) -> tuple[TakeResult, tuple[str, ...]]:
    """Add the names of another store: every line of both is kept. Also return the patterns (suite
    and id) whose names now disagree."""
    suites = TABLE.suites(there.other)
    known = [
        (f"{there.name}: pattern name {row.id}", row.body)
        for suite in suites
        for row in TABLE.of_suite(there.other, suite)
    ]
    taken = keep_lines(KIND, there.workspace, there.ours, known)
    disagree = tuple(
        f"{suite} {pattern}"
        for suite in suites
        for pattern, lines in sorted(standing(lines_of(there.ours, suite)).items())
        if differ(lines)
    )
    return taken, disagree
