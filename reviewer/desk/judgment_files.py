"""Judgments as files of JSON lines: writing them out, and taking in those made elsewhere."""

import sqlite3
from collections.abc import Iterable, Iterator

from reviewer.contract.errors import ContractError, Problem
from reviewer.contract.model import RedactionRules
from reviewer.db import judgments as stored
from reviewer.db import registry
from reviewer.db.connection import close_writer
from reviewer.db.migrate import open_writer
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.imports import clock
from reviewer.desk.judge_book import JudgeBook, row_of
from reviewer.desk.label_files import Taken
from reviewer.desk.workspace import Workspace
from reviewer.ingest.catalogue import redactor_of
from reviewer.review.judging.judgments import judgment_file, merge, read_judgment
from reviewer.review.judging.model import Judgment


def export_judgments(connection: sqlite3.Connection, book: JudgeBook, suite_id: str) -> bytes:
    """Every judgment of a suite, of all suites for "", by time: a file for `import_judgments`.

    Raises DeskError for a suite that the store does not know.
    """
    rows = registry.suites(connection)
    digests = [row.digest for row in rows if suite_id in ("", row.suite_id)]
    if suite_id and not digests:
        raise DeskError(f"no suite {suite_id} in this store")
    if not suite_id:
        digests = stored.suites_judged(connection)
    return judgment_file(one for digest in digests for one in book.of(connection, digest))


def import_judgments(workspace: Workspace, data: bytes, file: str) -> Taken:
    """Take in the judgments of a file, as one durable transaction. A line that is none, or none of
    this workspace, costs that line only. Raises StoreError when nothing can be written."""
    name = redactor_of(RedactionRules()).masked(file)
    connection = open_writer(workspace.store)
    try:
        border = JudgmentBorder(workspace, connection)
        good: list[Judgment] = []
        problems: list[Problem] = []
        lines = 0
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            lines += 1
            place = f"{name}:{number}"
            try:
                good.append(border.admitted(read_judgment(line, place), place))
            except ContractError as error:
                problems += error.problems
        return keep_judgments(connection, workspace, good, lines, problems)
    finally:
        close_writer(connection, workspace.store)


def keep_judgments(
    connection: sqlite3.Connection,
    workspace: Workspace,
    good: Iterable[Judgment],
    lines: int,
    problems: Iterable[Problem],
) -> Taken:
    """Write what is good of so many judgments read."""
    told = tuple(problems)
    joined = list(good)
    rows = [row_of(one) for one in merge(joined, ())]
    added = stored.record(connection, workspace.store, rows, clock()) if rows else ()
    return Taken(len(added), len(joined) - len(added), lines - len(joined), told)


class JudgmentBorder:
    """What a judgment from elsewhere must be to come into this workspace: of a suite that stands
    frozen here under the same digest, and free of identifiers. One by another model or prompt is
    taken: a calibration says itself for which it holds."""

    def __init__(self, workspace: Workspace, connection: sqlite3.Connection) -> None:
        self._workspace, self._connection = workspace, connection
        self._held: dict[str, suites.Held | str] = {}

    def admitted(self, judgment: Judgment, place: str) -> Judgment:
        """The judgment itself. Raises ContractError with every reason not to take it."""
        held = self._suite(judgment.suite_id)
        if isinstance(held, str):
            raise ContractError(place, "$.suite_digest", held)
        problems = [Problem(place, where, why) for where, why in _against(held, judgment)]
        if problems:
            raise ContractError.of(problems)
        return judgment

    def _suite(self, suite_id: str) -> suites.Held | str:
        if suite_id not in self._held:
            try:
                found: suites.Held | str = suites.hold(self._workspace, self._connection, suite_id)
            except (DeskError, ContractError) as error:
                found = str(error)
            self._held[suite_id] = found
        return self._held[suite_id]


def _against(held: suites.Held, judgment: Judgment) -> Iterator[tuple[str, str]]:
    suite = held.suite
    if judgment.suite_digest != suite.digest:
        yield (
            "$.suite_digest",
            f"is {judgment.suite_digest[:16]}…, and {suite.suite_id} of this workspace is "
            f"{suite.digest[:16]}…: judgments belong to the suite they were made on",
        )
    elif not any(judgment.episode_id == episode.episode_id for episode in suite.episodes):
        yield "$.episode_id", "is no episode of the suite"
    masked = redactor_of(suite.redaction).masked
    texts = [("reason", judgment.reason), ("model", judgment.model)]
    texts += [("trace", judgment.trace or "")]
    texts += [(f"claims[{n}].claim", one.claim) for n, one in enumerate(judgment.claims or ())]
    texts += [(f"traces[{n}]", trace) for n, trace in enumerate(judgment.traces)]
    for name, text in texts:
        if masked(text) != text:
            yield f"$.{name}", "holds a raw identifier: mask it where it was written"
