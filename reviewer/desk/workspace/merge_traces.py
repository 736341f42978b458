"""The traces of another store: finding those that are new here, and bringing them in.

A trace is identified by its evidence: evidence of an episode that this store has as often as the
other adds nothing. A new trace keeps its attempt number, or takes the next free one when that slot
holds other evidence. Where one of its records belongs to an attempt here, it is that attempt, and
all its records come in as revisions. Everything is judged again from its payload, by the code that
imports files.
"""

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.db import payload
from reviewer.db.connection import Connection
from reviewer.db.intake import NewRefusal
from reviewer.db.payload import PACK_TRACES, pack_of
from reviewer.db.queries import merging
from reviewer.db.queries.imports import attempts_named
from reviewer.db.queries.quarantine import quarantine
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_by_id
from reviewer.db.ran import any_ran, ran_of_trace
from reviewer.db.revisions import judged_record, revision_as_trace, revisions_of_candidate
from reviewer.db.sources import origins, spans
from reviewer.desk.workspace.merge_judging import (
    GroupJudge,
    JudgedTask,
    Kind,
    MergeOrder,
    NewTrace,
    StoredRecord,
    Task,
    judged_beside,
)
from reviewer.importing import processes
from reviewer.importing.pipeline.sessions import STRONG, fits
from reviewer.importing.scored import Group, JudgedRecord
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.tool_names import NO_MAP, ToolMap, map_problems
from reviewer.trace.record import SourceVerdict
from reviewer.trace.redaction import redactor_of

READER = "merge/1"
MADE = ("run/1", READER)
"""Readers of attempts that were really made: two of their attempts may be equal."""
REVISION = 1 << 40
"""Revisions of the other store are numbered after this."""
READ_AT_ONCE = 1024
FEW = 16
"""Traces that are a pack of their own when the next one lies in another."""
WORTH = 4096
"""Traces that repay starting processes."""


class SharedCandidate(NamedTuple):
    """A candidate that both stores may have: its keys there and here (None: not yet)."""

    suite: Suite
    candidate_id: str
    theirs: int
    ours: int | None
    episodes_theirs: dict[int, str]
    episodes_ours: dict[str, int]

    @property
    def prefix(self) -> str:
        return f"{self.suite.suite_id}/{self.candidate_id}"


class TraceMatches(NamedTuple):
    """The traces of one candidate that are new, the number of known ones, the refused ones (their
    evidence has another name here), and the trace ids that differ here."""

    new: list[NewTrace]
    known: int
    refused: list[NewRefusal]
    renamed: dict[str, str]


class _StoredAttempt(NamedTuple):
    episode_id: str
    attempt: int
    evidence: int
    id: int
    reader: str


def match_traces(other: Connection, ours: Connection, one: SharedCandidate) -> TraceMatches:
    """Match the traces of one candidate by their evidence."""
    named = {key: name for name, key in one.episodes_ours.items()}
    here = _held(ours, one.ours, named) if one.ours is not None else []
    there = _held(other, one.theirs, one.episodes_theirs)
    filled: dict[str, set[int]] = {}
    alike: dict[tuple[str, int], deque[int]] = {}
    for row in here:
        filled.setdefault(row.episode_id, set()).add(row.attempt)
        alike.setdefault((row.episode_id, row.evidence), deque()).append(row.attempt)
    last: Counter[str] = Counter()
    for row in (*here, *there):
        last[row.episode_id] = max(last[row.episode_id], row.attempt)
    found, known = TraceMatches([], 0, [], {}), 0
    theirs = _records(other, one.theirs)
    mine = _lines(ours, here) if one.ours is not None else {}
    names = _sessions(other) if here else {}
    for row in there:
        twins = alike.get((row.episode_id, row.evidence))
        taken = filled.setdefault(row.episode_id, set())
        line = {row.evidence, *(evidence for _, evidence in theirs.get(row.id, ()))}
        lineage = {mine[row.episode_id, e] for e in line if (row.episode_id, e) in mine}
        if twins:
            attempt = twins.popleft()
            known += 1
        elif lineage and (theirs.get(row.id) or (row.episode_id, row.evidence) in mine):
            attempt = min(lineage)
            if (row.episode_id, row.evidence) in mine:
                known += 1
            else:
                found.new.append(NewTrace(row.id, one.theirs, row.episode_id, attempt, True))
        elif (part := _of_session(other, ours, one, row, names.get(row.id, ()))) is not None:
            attempt = part
            found.new.append(NewTrace(row.id, one.theirs, row.episode_id, attempt, True))
        else:
            attempt = row.attempt
            if attempt in taken:
                attempt = last[row.episode_id] = last[row.episode_id] + 1
            taken.add(attempt)
            found.new.append(NewTrace(row.id, one.theirs, row.episode_id, attempt))
        for key, evidence in theirs.get(row.id, ()):
            if (row.episode_id, evidence) not in mine:
                more = NewTrace(REVISION + key, one.theirs, row.episode_id, attempt, True)
                found.new.append(more)
        if attempt != row.attempt:
            old = f"{one.prefix}/{row.episode_id}/{row.attempt}"
            found.renamed[old] = f"{one.prefix}/{row.episode_id}/{attempt}"
    return found._replace(known=known)


def _held(connection: Connection, candidate: int, names: Mapping[int, str]) -> list[_StoredAttempt]:
    rows = merging.attempts_by_evidence(connection, candidate)
    return [_StoredAttempt(names[row.episode], *row[1:]) for row in rows]


def _records(connection: Connection, candidate: int) -> dict[int, list[tuple[int, int]]]:
    """Return (id, evidence) of the records of each attempt that are not the one judged."""
    found: dict[int, list[tuple[int, int]]] = {}
    for trace, key, evidence in revisions_of_candidate(connection, candidate):
        found.setdefault(trace, []).append((key, evidence))
    return found


def _lines(connection: Connection, here: Sequence[_StoredAttempt]) -> dict[tuple[str, int], int]:
    """Return (episode, evidence) of every record that an attempt has here → the attempt's
    number."""
    found = {(row.episode_id, row.evidence): row.attempt for row in here}
    by_id = {row.id: row for row in here}
    for trace, row in by_id.items():
        for evidence in merging.revision_evidence(connection, trace):
            found[row.episode_id, evidence] = row.attempt
    return found


def _sessions(connection: Connection) -> dict[int, list[str]]:
    """Return the names that sources give the sessions of each attempt."""
    found: dict[int, list[str]] = {}
    for name, trace in merging.attempt_names(connection):
        if name.startswith(STRONG):
            found.setdefault(trace, []).append(name)
    return found


def _of_session(
    other: Connection,
    ours: Connection,
    one: SharedCandidate,
    row: _StoredAttempt,
    names: Iterable[str],
) -> int | None:
    """Return the attempt here that a trace there is a part of, as both are of one session."""
    episode = one.episodes_ours.get(row.episode_id)
    if one.ours is None or episode is None:
        return None
    for name in names:
        for here in attempts_named(ours, name, (one.ours, episode)):
            mine, theirs = judged_record(ours, here.trace), judged_record(other, row.id)
            if mine is None or theirs is None:
                continue
            if fits(name, [json.loads(mine)], json.loads(theirs)):
                return here.attempt
    return None


class TraceCarrier:
    """Reads traces of the other store and has them judged again, in groups that a `Batcher` takes.
    `problems` collects what could not be brought in, and why."""

    def __init__(self, other: Connection, path: Path, shared: Iterable[SharedCandidate]) -> None:
        self._other = other
        self._shared = {one.theirs: one for one in shared}
        self._order = MergeOrder(
            {key: (one.suite, one.candidate_id) for key, one in self._shared.items()}, str(path)
        )
        self._judge = GroupJudge(self._order)
        self._last: dict[str, Kind] = {}
        self._made = origins(other)
        self._sound: dict[tuple[str, ToolMap], bool] = {}
        self.problems: list[str] = []

    def origin(self, new: Sequence[NewTrace]) -> dict[str, Any]:
        """Return how these traces came into the other store, by its journal: which of them a runner
        made, and which were imported under a map of tools."""
        wanted = {one.id: self._shared[one.candidate] for one in new}
        runs: list[int] = []
        mapped: dict[ToolMap, list[int]] = {}
        for key, *place in merging.record_places(self._other, REVISION):
            if key in wanted and self._made.own(*place):
                runs.append(key)
            if key in wanted and (tools := self._tools(wanted[key], *place)) != NO_MAP:
                mapped.setdefault(tools, []).append(key)
        return {
            "runs": _listed(runs),
            "mapped": [
                {"records": _listed(keys), "map": tools.digest, "tools": dict(tools.names)}
                for tools, keys in mapped.items()
            ],
        }

    def _tools(self, one: SharedCandidate, source: int, record: int) -> ToolMap:
        """Return the map of tools of a trace; none for a map that could not be imported under
        here."""
        tools = self._made.tools(source, record)
        key = one.suite.suite_id, tools
        if key not in self._sound:
            self._sound[key] = not map_problems(one.suite, tools.names)
        return tools if self._sound[key] else NO_MAP

    def groups(self, new: Sequence[NewTrace]) -> Iterator[Group]:
        """Judge the traces, by their number in the other store; many of them in several processes.
        Raises StoreError for a payload that is damaged."""
        tasks = self._tasks(new)
        judged: Iterator[JudgedTask]
        if len(new) < WORTH or processes.workers() < 2:
            judged = map(self._judge.task, tasks)
        else:
            judged = judged_beside(tasks, self._order)
        for kind, groups, problems in judged:
            if kind is not None:
                self._last[self._shared[kind[0]].suite.suite_id] = kind
            self.problems += problems
            yield from groups

    def again(self, raw: bytes, suite_id: str, said: SourceVerdict | None) -> JudgedRecord | None:
        """Judge a record that was put together of parts, as those just read were."""
        kind = self._last.get(suite_id)
        return None if kind is None else self._judge.scorer(kind).again(raw, suite_id, said)

    def _tasks(self, new: Sequence[NewTrace]) -> Iterator[Task]:
        """Yield the traces as tasks: what lies in one pack together, so that its frame can be
        taken over."""
        # The judged record of an attempt comes before its other records.
        for candidate, run in groupby(
            sorted(new, key=lambda one: (one.candidate, one.id)), key=lambda one: one.candidate
        ):
            left, held = list(run), list[NewTrace]()
            rows: dict[int, TraceRow] = {}
            for start in range(0, len(left), READ_AT_ONCE):
                some = left[start : start + READ_AT_ONCE]
                rows = {one.id: rows[one.id] for one in held}
                rows |= _rows(self._other, [one.id for one in some])
                for one in some:
                    other_pack = held and rows[held[-1].id].pack != rows[one.id].pack
                    if len(held) == PACK_TRACES or (other_pack and len(held) >= FEW):
                        yield from self._apart(candidate, held, rows)
                        held = []
                    held.append(one)
            yield from self._apart(candidate, held, rows)

    def _apart(
        self, candidate: int, held: Sequence[NewTrace], rows: Mapping[int, TraceRow]
    ) -> Iterator[Task]:
        """Yield a task for each origin of the traces."""
        one = self._shared[candidate]
        apart: dict[tuple[bool, ToolMap], list[NewTrace]] = {}
        for new in held:
            place = rows[new.id].source, rows[new.id].record
            key = self._made.own(*place), self._tools(one, *place)
            apart.setdefault(key, []).append(new)
        for (own, tools), some in apart.items():
            yield self._task((candidate, own, tools), some, rows)

    def _task(self, kind: Kind, held: Sequence[NewTrace], rows: Mapping[int, TraceRow]) -> Task:
        judged = [new.id for new in held if new.id < REVISION]
        stated: dict[int, list[FindingRow]] = {}
        for finding in findings_of(self._other, judged):
            stated.setdefault(finding.trace, []).append(finding)
        evidence = merging.evidences_of(self._other, judged)
        for new in held:
            if new.id > REVISION:
                row, found, seen = revision_as_trace(self._other, new.id - REVISION)
                stated[row.id] = [FindingRow(row.id, *finding) for finding in found]
                evidence[new.id] = seen
        said: dict[int, tuple[SourceVerdict | None, str]] = {}
        if self._shared[kind[0]].suite.probe:
            said = dict(zip([new.id for new in held], self._said(held), strict=True))
        ran = any_ran(self._other, judged)
        records = [
            StoredRecord(
                new,
                rows[new.id],
                self._chunked(rows[new.id]),
                evidence[new.id],
                # What the other store's runner measured: its journal has been proved.
                None if not ran or new.id > REVISION else ran_of_trace(self._other, new.id),
                stated.get(rows[new.id].id, []),
                said.get(new.id),
            )
            for new in held
        ]
        packs = dict.fromkeys(row.pack for new in held if (row := rows[new.id]).pack is not None)
        return Task(kind, {key: pack_of(self._other, key) for key in packs if key}, records)

    def _chunked(self, row: TraceRow) -> bytes | None:
        return None if row.pack is not None else payload.large_record(self._other, row.id)

    def _said(self, held: Sequence[NewTrace]) -> Iterator[tuple[SourceVerdict | None, str]]:
        """Return the verdict that the source of each trace stated, and the title of its episode."""
        judged = [new.id for new in held if new.id < REVISION]
        others = [new.id - REVISION for new in held if new.id > REVISION]
        for one in merging.stated_verdicts(self._other, judged, others):
            said = SourceVerdict(passed=one.passed, reward=one.reward)
            yield (said if one.stated else None), one.title


def _listed(keys: Iterable[int]) -> list[list[int]]:
    return [list(span) for span in spans(keys)]


def new_refusals(
    other: Connection,
    ours: Connection,
    behind: int,
    suites: Iterable[str],
    more: Iterable[NewRefusal],
) -> list[NewRefusal]:
    """Return the other store's quarantine, numbered after `behind`, and `more`, less what this
    store's quarantine holds as often."""
    wanted, masked = {None, *suites}, redactor_of(RedactionRules()).masked
    there = list(more)
    for row in quarantine(other):
        if row.suite_id in wanted:
            named = [
                None if name is None else masked(str(name))
                for name in (row.candidate_id, row.episode_id, row.suite_id)
            ]
            told = tuple(masked(str(reason)) for reason in row.reasons)
            there.append(
                NewRefusal(behind + row.id, named[0], named[1], named[2], row.attempt, told)
            )
    here = Counter(row[1:] for row in quarantine(ours))
    found = []
    for one in there:
        if here[one[1:]]:
            here[one[1:]] -= 1
        else:
            found.append(one)
    return found


def _rows(connection: Connection, traces: Sequence[int]) -> dict[int, TraceRow]:
    judged = [key for key in traces if key < REVISION]
    found = {row.id: row for row in traces_by_id(connection, judged)}
    for key in traces:
        if key > REVISION:
            found[key] = revision_as_trace(connection, key - REVISION)[0]
    return found
