"""The failing attempts of a candidate, each with its pattern, and where it failed."""

from __future__ import annotations  # names used only in annotations are not imported

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from reviewer.db import contracts, payload
from reviewer.db.bulk import Packs
from reviewer.db.connection import Connection
from reviewer.db.queries.episodes import RollRow, rolls
from reviewer.db.queries.patterns import FailingFinding, failing_findings, failing_traces
from reviewer.db.queries.traces import TraceRow
from reviewer.desk import stopping
from reviewer.desk.patterns.shapes import (
    NOT_KEPT,
    Step,
    Tools,
    deciding,
    shape_of,
    step_of,
    tools_of,
)
from reviewer.desk.patterns.views import PatternCandidate
from reviewer.desk.traces.records import Records
from reviewer.trace.record import TraceRecord

if TYPE_CHECKING:
    from reviewer.desk.patterns.views import Shape

MOST_TEXT = 4000
"""Characters of a final message that are compared."""


class Failure(NamedTuple):
    """One failing attempt; `counted` says that it is in the first complete set. `trace` is its key
    in the store; `text` has its words where these were asked for."""

    shape: Shape
    episode_id: str
    attempt: int
    seq: int | None
    counted: bool
    trace: int
    text: str


class Side(NamedTuple):
    """A candidate's failing attempts, and its counts by episode."""

    suite_id: str
    candidate_id: str
    failures: list[Failure]
    rolls: list[RollRow]

    @property
    def measured(self) -> dict[str, int]:
        """Episode id → measured attempts of the first complete set."""
        return {row.episode_id: (row.first or row).measured for row in self.rolls}

    def view(self) -> PatternCandidate:
        sets = [row.first or row for row in self.rolls]
        return PatternCandidate(
            candidate_id=self.candidate_id,
            failing=len(self.failures),
            counted=sum(one.counted for one in self.failures),
            measured=sum(one.measured for one in sets),
            not_measured=sum(one.attempts - one.measured for one in sets),
            infrastructure=sum(row.infra for row in self.rolls),
        )


def side_of(
    connection: Connection,
    records: Records,
    suite_id: str,
    candidate_id: str,
    suite: int,
    candidate: int,
    *,
    worded: bool = False,
) -> Side:
    """Return a candidate's failing attempts, with their words where `worded`."""
    made = rolls(connection, suite, candidate)
    names = {row.key: row.episode_id for row in made}
    last = {row.key: row.first.last for row in made if row.first is not None}
    against = failing_findings(connection, candidate)
    tools: dict[int, Tools] = {}
    failures: list[Failure] = []
    for row, record in _each(connection, records, failing_traces(connection, candidate)):
        if row.episode not in tools:
            tools[row.episode] = tools_of(contracts.episode(connection, row.episode))
        known = tools[row.episode]
        finding = deciding(against.get(row.id, ()))
        seq = None if finding is None else finding.seq
        step: Step = NOT_KEPT if record is None else step_of(record, seq, known)
        failures.append(
            Failure(
                shape_of(finding, step, known),
                names[row.episode],
                row.attempt,
                seq,
                row.attempt <= last.get(row.episode, row.attempt),
                row.id,
                _text(finding, record) if worded else "",
            )
        )
    failures.sort(key=lambda one: (one.episode_id, one.attempt))
    return Side(suite_id, candidate_id, failures, made)


def _each(
    connection: Connection, records: Records, rows: Sequence[TraceRow]
) -> Iterator[tuple[TraceRow, TraceRecord | None]]:
    """Yield each attempt with its record, None when that is not stored; a pack is opened once for
    all its attempts."""
    packs = Packs(connection)
    for row in stopping.steps(rows):
        raw = packs.record(row.pack, row.offset, row.length)
        yield row, _chunked(connection, records, row) if raw is None else payload.decode_record(raw)


def _chunked(connection: Connection, records: Records, row: TraceRow) -> TraceRecord | None:
    head = payload.large_head(connection, row.id)
    if head is None:
        return None
    events = [one for _, window in records.each(connection, row) for one in window]
    return structs.replace(head, events=events)


def _text(finding: FailingFinding | None, record: TraceRecord | None) -> str:
    """Return what the deciding finding says and how the attempt ended, from the stored, masked
    record."""
    said = () if finding is None else (finding.gate, finding.code.replace(":", " "), finding.detail)
    ended = "" if record is None else record.final_message or ""
    return " ".join(filter(None, (*said, ended[:MOST_TEXT])))
