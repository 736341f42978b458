"""Count the results of importing a file: its records, notes and refusals, and what it added."""

from collections.abc import Callable
from typing import NamedTuple

from reviewer.db.intake import NewRefusal
from reviewer.importing.pipeline.units import Unit
from reviewer.importing.scored import JudgedRecord
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of

MOST_TOLD = 1000
"""Most refusals that are kept for the result; all of them are in quarantine."""


class Tally(NamedTuple):
    """The counts of a file so far."""

    records: int
    added: int
    known: int
    refused: int


OnProgress = Callable[[int, int, Tally], None]
"""Called with how far a file was read, its size, and its counts so far."""


class Filled(NamedTuple):
    """The attempts that one import added for one candidate of one suite. `cost_usd` sums the known
    costs; `unpriced` attempts have no cost, `measured` ones have a verdict."""

    suite_id: str
    candidate_id: str
    episodes: int
    attempts: int
    cost_usd: float
    unpriced: int
    passed: int
    measured: int
    unmeasured: tuple[tuple[str, int], ...] = ()
    """(code up to its colon, attempts without a verdict that have it), by code."""


class FileResult(NamedTuple):
    """The result of importing one file. `problem` is why the file as a whole was refused, else
    empty.

    `state` is `imported`, `known` (nothing added), or `refused`. `flagged` records contained raw
    identifiers: their slots are taken and fail, their payloads are not stored. Records `beside`
    contradict their attempt: both count.
    """

    path: str
    reader: str
    sha256: str
    state: str
    records: int
    added: int
    known: int
    refused: int
    notes: tuple[str, ...]
    refusals: tuple[NewRefusal, ...]
    problem: str = ""
    flagged: tuple[NewRefusal, ...] = ()
    filled: tuple[Filled, ...] = ()
    beside: tuple[NewRefusal, ...] = ()


def refused_unit(unit: Unit, error: Exception) -> FileResult:
    """Return the result for a unit that could not be read."""
    problem = str(error)
    if isinstance(error, OSError):
        problem = f"cannot be read: {error.strerror}"
    return refused_file(shown_as(unit), problem)


def refused_file(shown: str, problem: str) -> FileResult:
    """Return the result for a file that was refused as a whole."""
    masked = redactor_of(RedactionRules()).masked(problem)
    return FileResult(shown, "", "", "refused", 0, 0, 0, 1, (), (), masked)


def shown_as(unit: Unit) -> str:
    """Return the name of a unit in messages."""
    return unit.name or redactor_of(RedactionRules()).masked(str(unit.path))


class _Sums:
    """Running sums of one candidate's attempts."""

    def __init__(self) -> None:
        self.attempts = self.unpriced = self.passed = self.measured = 0
        self.cost = 0.0
        self.unmeasured: dict[str, int] = {}

    def add(self, record: JudgedRecord, times: int) -> None:
        trace = record.trace
        self.attempts += times
        if trace.cost_usd is None:
            self.unpriced += times
        else:
            self.cost += trace.cost_usd * times
        if trace.passed is not None:
            self.measured += times
            self.passed += trace.passed * times
        elif not trace.infra:
            for kind in {
                finding.code.partition(":")[0]
                for finding in trace.findings
                if finding.severity == "not_measured"
            }:
                self.unmeasured[kind] = self.unmeasured.get(kind, 0) + times


class Outcome:
    """The results of one source so far. `beside` are records that contradict their attempt."""

    def __init__(self, start: Tally) -> None:
        self.tally = start
        self.notes: dict[str, int] = {}
        self.refusals: list[NewRefusal] = []
        self.flagged: list[NewRefusal] = []
        self.beside: list[NewRefusal] = []
        self._sums: dict[tuple[str, str], _Sums] = {}

    def count(self, records: int = 0, added: int = 0, known: int = 0, refused: int = 0) -> None:
        t = self.tally
        self.tally = Tally(
            t.records + records, t.added + added, t.known + known, t.refused + refused
        )

    def note(self, text: str, times: int = 1) -> None:
        """Count a note. Negative `times` subtract it; a note with no records left is dropped."""
        self.notes[text] = self.notes.get(text, 0) + times
        if not self.notes[text]:
            del self.notes[text]

    def note_lines(self) -> tuple[str, ...]:
        return tuple(
            text if count == 1 else f"{text} ({count} records)"
            for text, count in self.notes.items()
        )

    def refuse(self, refused: NewRefusal) -> None:
        if len(self.refusals) < MOST_TOLD:
            self.refusals.append(refused)

    def add(self, record: JudgedRecord, times: int = 1) -> None:
        """Add an attempt to its candidate's sums: one that was added, or is now judged as a whole;
        with -1, subtract one that was summed."""
        key = record.suite_id, record.candidate_id
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = _Sums()
        sums.add(record, times)
        if not sums.attempts:
            del self._sums[key]

    def filled(self, episodes: Callable[[str, str], int]) -> tuple[Filled, ...]:
        """Return the sums by suite and candidate. `episodes` counts those of (suite id, candidate
        id)."""
        return tuple(
            Filled(
                *key,
                episodes(*key),
                one.attempts,
                one.cost,
                one.unpriced,
                one.passed,
                one.measured,
                tuple(sorted((kind, n) for kind, n in one.unmeasured.items() if n)),
            )
            for key, one in self._sums.items()
        )
