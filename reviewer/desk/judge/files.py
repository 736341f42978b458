"""Judgments as files, and the rules for judgments from elsewhere."""

from collections.abc import Iterator

from reviewer.db.connection import Connection
from reviewer.db.tables import JUDGMENTS as TABLE
from reviewer.db.tables import JudgmentRow
from reviewer.desk.errors import DeskError
from reviewer.desk.imports import record_files
from reviewer.desk.imports.record_files import RecordKind, TakeResult
from reviewer.desk.judge.book import JudgeBook, row_of
from reviewer.desk.place import Workspace
from reviewer.desk.suites import ReadySuite, ready_suite
from reviewer.review.judgments import JUDGMENTS, Judgment
from reviewer.suite.errors import ContractError, Problem
from reviewer.trace.redaction import redactor_of


class JudgmentBorder:
    """The rules for a judgment from elsewhere: its suite is frozen here under the same digest, and
    it contains no identifiers. Judgments by other models or prompts are accepted: a calibration
    names the model and prompt it is valid for."""

    def __init__(self, workspace: Workspace, connection: Connection) -> None:
        self._workspace, self._connection = workspace, connection
        self._held: dict[str, ReadySuite | str] = {}

    def admitted(self, judgment: Judgment, place: str) -> Judgment:
        """Return the judgment. Raises ContractError with every reason to refuse it."""
        held = self._suite(judgment.suite_id)
        if isinstance(held, str):
            raise ContractError(place, "$.suite_digest", held)
        problems = [Problem(place, where, why) for where, why in _against(held, judgment)]
        if problems:
            raise ContractError.of(problems)
        return judgment

    def _suite(self, suite_id: str) -> ReadySuite | str:
        if suite_id not in self._held:
            try:
                found: ReadySuite | str = ready_suite(self._workspace, self._connection, suite_id)
            except (DeskError, ContractError) as error:
                found = str(error)
            self._held[suite_id] = found
        return self._held[suite_id]


def _against(held: ReadySuite, judgment: Judgment) -> Iterator[tuple[str, str]]:
    suite = held.suite
    if judgment.suite_digest != suite.digest:
        yield (
            "$.suite_digest",
            f"is {judgment.suite_digest[:16]}…, but {suite.suite_id} in this workspace is "
            f"{suite.digest[:16]}…: a judgment belongs to the suite it was made on",
        )
    elif not any(judgment.episode_id == episode.episode_id for episode in suite.episodes):
        yield "$.episode_id", "is not an episode of the suite"
    texts = [("reason", judgment.reason), ("model", judgment.model)]
    texts += [("trace", judgment.trace or "")]
    texts += [(f"claims[{n}].claim", one.claim) for n, one in enumerate(judgment.claims or ())]
    texts += [(f"traces[{n}]", trace) for n, trace in enumerate(judgment.traces)]
    yield from record_files.identifier_problems(redactor_of(suite.redaction).masked, texts)


KIND: RecordKind[Judgment, JudgmentRow] = RecordKind(
    "judgment", JUDGMENTS, TABLE, row_of, JudgmentBorder
)


def export_judgments(connection: Connection, book: JudgeBook, suite_id: str) -> bytes:
    """Return every judgment of a suite, of all suites for "", as `record_files.export` does."""
    return record_files.export(KIND, connection, book, suite_id)


def import_judgments(workspace: Workspace, data: bytes, file: str) -> TakeResult:
    """Take in the judgments of a file, as `record_files.take` does."""
    return record_files.take(KIND, workspace, data, file)
