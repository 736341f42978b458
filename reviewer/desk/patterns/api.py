"""Patterns of the failing attempts of a suite: how often each occurs, by candidate.

Rates are of the attempts that the scorecard counts, so the counts of all patterns add up to its
failing attempts; their limits are made as those of its rates are.
"""

from __future__ import annotations  # what only types name is not loaded

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from reviewer.db import contracts, payload, registry
from reviewer.db.connection import Connection
from reviewer.db.queries.episodes import RollRow, rolls
from reviewer.db.queries.patterns import failing_findings, failing_traces
from reviewer.db.queries.traces import TraceRow
from reviewer.desk import suites
from reviewer.desk.drafts import no_evidence
from reviewer.desk.errors import DeskError
from reviewer.desk.opened import Room, refused
from reviewer.desk.patterns.names import history_of, names_of
from reviewer.desk.patterns.shapes import (
    NOT_KEPT,
    Step,
    Tools,
    deciding,
    pattern_id,
    shape_of,
    step_of,
    text_of,
    tools_of,
)
from reviewer.desk.patterns.views import (
    GivenName,
    NameMade,
    Pattern,
    PatternCandidate,
    PatternCount,
    Patterns,
)
from reviewer.desk.traces.records import Records
from reviewer.exit_codes import ExitCode
from reviewer.report.formatting import stable_bits
from reviewer.review.pattern_names import NEAR
from reviewer.stats.rates import effective_attempts, wilson_interval
from reviewer.suite.errors import shown
from reviewer.trace.record import TraceRecord

if TYPE_CHECKING:
    from reviewer.desk.patterns.views import Shape


class PatternsRoom(Room):
    """The API of `desk.patterns`."""

    def found(self, suite_id: str, candidates: Sequence[str] = ()) -> Patterns:
        """Return the patterns of the failing attempts of some candidates, in the order given, or
        of all, by id.

        Raises DeskError for an unknown suite, and for a candidate without a trace on it.
        """
        if not self._opened.has_store():
            for info in suites.suite_infos(self._opened.place, None, suite_id):
                if candidates:
                    break
                return Patterns(suite=info, candidates=(), patterns=(), names_elsewhere=())
            raise DeskError(f"no trace on {suite_id} in {self._opened.path}")
        with self._opened.reading() as connection:
            info = self._opened.info(connection, suite_id)
            row = registry.suite_row(connection, suite_id)
            stored = [] if row is None else registry.candidates(connection, row.id)
            names = tuple(dict.fromkeys(candidates)) or tuple(one.candidate_id for one in stored)
            sides = [_side(connection, self._opened.records, suite_id, name,
                           *self._opened.candidate(connection, suite_id, name))
                     for name in names]  # fmt: skip
            called = names_of(connection, suite_id)
        patterns = _patterns(sides, called)
        here = {one.pattern_id for one in patterns}
        return Patterns(
            suite=info,
            candidates=tuple(side.view() for side in sides),
            patterns=patterns,
            names_elsewhere=tuple(
                one
                for pattern, given in called.items()
                if pattern not in here
                for one in given
                if not pattern.startswith(NEAR)
            ),
        )

    def name(self, suite_id: str, pattern: str, name: str, note: str = "") -> NameMade:
        """Give a pattern of a suite a name in the reviewer's name, in place of those that stand:
        durable when this returns. Raises DeskError for a pattern that no failing attempt has and
        nobody named, for a name that cannot be used, and when nothing could be written."""
        from reviewer.desk.patterns.naming import write_name

        no_evidence(self._opened.place)
        me = self._opened.reviewer_name()
        if not name.strip():
            raise DeskError(
                "a name needs words",
                f"reviewer patterns unname {pattern} takes a name back",
                exit_code=ExitCode.USAGE,
            )
        found = self.found(suite_id)
        known = {one.pattern_id for one in found.patterns}
        if pattern not in known:
            with self._opened.reading() as connection:
                known.update(one.pattern_id for one in history_of(connection, suite_id))
        if pattern not in known:
            raise DeskError(
                f"no attempt of {suite_id} fails by a pattern {shown(pattern)}",
                f"reviewer patterns --suite {suite_id} lists them",
                exit_code=ExitCode.USAGE,
            )
        with refused():
            return write_name(self._opened.place, suite_id, pattern, name, note, me)

    def unname(self, suite_id: str, pattern: str) -> NameMade:
        """Take the names of a pattern back: durable when this returns. Raises DeskError when it has
        none, and when nothing could be written."""
        from reviewer.desk.patterns.naming import write_name

        no_evidence(self._opened.place)
        me = self._opened.reviewer_name()
        with self._opened.reading() as connection:
            if registry.suite_row(connection, suite_id) is None:
                raise DeskError(f"no trace on {suite_id} in {self._opened.path}")
        with refused():
            return write_name(self._opened.place, suite_id, pattern, "", "", me)

    def names(self, suite_id: str) -> tuple[GivenName, ...]:
        """Return every name that was given to a pattern of a suite, and every one that was taken
        back, by pattern and time."""
        if not self._opened.has_store():
            return ()
        with self._opened.reading() as connection:
            return history_of(connection, suite_id)


class Failure(NamedTuple):
    """One failing attempt; `counted` says that it is in the first complete set."""

    shape: Shape
    episode_id: str
    attempt: int
    seq: int | None
    counted: bool


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


def _side(
    connection: Connection,
    records: Records,
    suite_id: str,
    candidate_id: str,
    suite: int,
    candidate: int,
) -> Side:
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
            )
        )
    failures.sort(key=lambda one: (one.episode_id, one.attempt))
    return Side(suite_id, candidate_id, failures, made)


def _each(
    connection: Connection, records: Records, rows: Sequence[TraceRow]
) -> Iterator[tuple[TraceRow, TraceRecord | None]]:
    """Yield each attempt with its record, None when that is not stored; a pack is opened once for
    all its attempts."""
    pack, frame = None, b""
    for row in rows:
        if row.pack is not None and row.pack != pack:
            pack, frame = row.pack, payload.frame_bytes(connection, row.pack)
        yield row, _read(connection, records, row, frame)


def _read(
    connection: Connection, records: Records, row: TraceRow, frame: bytes
) -> TraceRecord | None:
    if row.pack is not None and row.offset is not None and row.length is not None:
        return payload.decode_record(frame[row.offset : row.offset + row.length])
    head = payload.large_head(connection, row.id)
    if head is None:
        return None
    events = [one for _, window in records.each(connection, row) for one in window]
    return structs.replace(head, events=events)


def _patterns(
    sides: Sequence[Side], called: Mapping[str, tuple[GivenName, ...]]
) -> tuple[Pattern, ...]:
    by_side: list[dict[Shape, list[Failure]]] = []
    for side in sides:
        grouped: dict[Shape, list[Failure]] = {}
        for one in side.failures:
            grouped.setdefault(one.shape, []).append(one)
        by_side.append(grouped)
    measured = [side.measured for side in sides]
    found = []
    for shape in dict.fromkeys(shape for grouped in by_side for shape in grouped):
        mine = [grouped.get(shape, []) for grouped in by_side]
        key = pattern_id(shape)
        names = called.get(key, ())
        found.append(
            Pattern(
                pattern_id=key,
                shape=shape,
                text=text_of(shape),
                attempts=sum(map(len, mine)),
                counts=tuple(map(_count, sides, measured, mine)),
                names=names,
                names_differ=len({one.name for one in names}) > 1,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.attempts, one.pattern_id)))


def _count(side: Side, measured: dict[str, int], mine: Sequence[Failure]) -> PatternCount:
    hits: dict[str, int] = {}
    for one in mine:
        if one.counted:
            hits[one.episode_id] = hits.get(one.episode_id, 0) + 1
    n, counted = sum(measured.values()), sum(hits.values())
    rate = low = high = None
    if n:
        rate = counted / n
        worth = effective_attempts([(made, hits.get(name, 0)) for name, made in measured.items()])
        low, high = wilson_interval(rate * worth, worth)
    first = mine[0] if mine else None
    where = (side.suite_id, side.candidate_id)
    return PatternCount(
        candidate_id=side.candidate_id,
        attempts=len(mine),
        episodes=len({one.episode_id for one in mine}),
        counted=counted,
        measured=n,
        rate=rate,
        low=stable_bits(low),
        high=stable_bits(high),
        trace_id="/".join((*where, first.episode_id, str(first.attempt))) if first else "",
        seq=first.seq if first else None,
    )
