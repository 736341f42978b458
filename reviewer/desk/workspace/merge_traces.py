"""The traces of another store: finding those that are new here, and bringing them in.

A trace is identified by its evidence: evidence of an episode that this store has as often as the
other adds nothing. A new trace keeps its attempt number, or takes the next free one when that slot
holds other evidence. Where one of its records belongs to an attempt here, it is that attempt, and
all its records come in as revisions. Everything is judged again from its payload, by the code that
imports files.
"""

import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from reviewer.db import payload
from reviewer.db.codec import CRITICAL, FAIL, PASS
from reviewer.db.codec import UNKNOWN as UNMEASURED
from reviewer.db.connection import Connection
from reviewer.db.intake import NewRefusal
from reviewer.db.payload import PACK_TRACES, Packer
from reviewer.db.queries import merging
from reviewer.db.queries.imports import attempts_named
from reviewer.db.queries.quarantine import quarantine
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, traces_by_id
from reviewer.db.ran import ran_of_trace
from reviewer.db.revisions import judged_record, revision_as_trace, revisions_of_candidate
from reviewer.db.sources import origins, spans
from reviewer.gates.custom import CHECKED_GATES
from reviewer.gates.model import CUSTOM, CUSTOM_UNKNOWN, Finding
from reviewer.importing.formats import foreign_readers
from reviewer.importing.pipeline.scoring import MOST_USD, ImportOptions, Order, Packing, Scorer
from reviewer.importing.pipeline.sessions import STRONG, fits
from reviewer.importing.pipeline.split import Piece
from reviewer.importing.reader import Foreign
from reviewer.importing.scored import (
    MASKED_CODE,
    Group,
    JudgedRecord,
    TargetSuite,
    score_unredacted,
)
from reviewer.suite.gates import GATES, in_force
from reviewer.suite.model import RedactionRules, Suite
from reviewer.suite.tool_names import NO_MAP, ToolMap, map_problems
from reviewer.trace.record import SourceVerdict, TraceRecord
from reviewer.trace.redaction import redactor_of

READER = "merge/1"
MADE = ("run/1", READER)
"""Readers of attempts that were really made: two of their attempts may be equal."""
REVISION = 1 << 40
"""Revisions of the other store are numbered after this."""
_REDACTION = 2 * GATES.index("redaction")
_AUTHORITY = 2 * GATES.index("authority")
_UNKNOWN = 2
_WORSE = (PASS, UNMEASURED, FAIL, CRITICAL)


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


class NewTrace(NamedTuple):
    """A trace of the other store to bring in, under this attempt number."""

    id: int
    candidate: int
    episode_id: str
    attempt: int
    another: bool = False
    """Whether it is one more record of an attempt that exists here. Its `id` is then after
    REVISION, or it is the record that is judged there."""


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
    """Judges traces of the other store again, in groups that a `Batcher` takes. `problems` collects
    what could not be brought in, and why."""

    def __init__(self, other: Connection, path: Path, shared: Iterable[SharedCandidate]) -> None:
        self._other, self._path = other, path
        self._shared = {one.theirs: one for one in shared}
        self._judges: dict[tuple[int, bool, ToolMap], Scorer] = {}
        self._last: dict[str, Scorer] = {}
        self._made = origins(other)
        self._sound: dict[tuple[str, ToolMap], bool] = {}
        self._probes = {s.suite.suite_id for s in self._shared.values() if s.suite.probe}
        self._packer, self._text = Packer(), redactor_of(RedactionRules())
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
        """Judge the traces, by their number in the other store."""
        # The judged record of an attempt comes before its other records.
        for candidate, run in groupby(
            sorted(new, key=lambda one: (one.candidate, one.id)), key=lambda one: one.candidate
        ):
            held: list[NewTrace] = []
            for one in run:
                held.append(one)
                if len(held) == PACK_TRACES:
                    yield from self._judged(self._shared[candidate], held)
                    held = []
            yield from self._judged(self._shared[candidate], held)

    def _judged(self, one: SharedCandidate, held: Sequence[NewTrace]) -> Iterator[Group]:
        rows = _rows(self._other, [new.id for new in held])
        apart: dict[tuple[bool, ToolMap], list[NewTrace]] = {}
        for new in held:
            place = rows[new.id].source, rows[new.id].record
            key = self._made.own(*place), self._tools(one, *place)
            apart.setdefault(key, []).append(new)
        if len(apart) > 1:
            for some in apart.values():
                yield from self._judged(one, some)
            return
        ((own, tools),) = apart or ((False, NO_MAP),)
        found = findings_of(self._other, [key for key in rows if key < REVISION])
        for number in rows:
            if number > REVISION:
                stated = revision_as_trace(self._other, number - REVISION)[1]
                found += [FindingRow(rows[number].id, *finding) for finding in stated]
        pieces: list[Piece] = []
        bare: list[tuple[NewTrace, TraceRow]] = []
        for new in held:
            raw = self._raw(rows[new.id])
            if raw is None:
                bare.append((new, rows[new.id]))
            elif rows[new.id].pack is not None and sha256(raw).digest() != rows[new.id].sha256:
                wrong = "its payload is not the record that was imported"
                self.problems.append(f"trace {rows[new.id].id}: {wrong}")
            else:
                pieces.append(Piece(new.id, raw, "", 0))
        numbers = {new.id: new for new in held}
        if pieces:
            group = self._judge(one, pieces, own, tools).group(pieces, pieces[0].number)
            kept = [self._placed(f, rows[f.number], numbers[f.number], found) for f in group.judged]
            yield group._replace(judged=kept, records=0)
        for new, row in bare:
            yield from self._without_payload(one, new, row, found)

    def _raw(self, row: TraceRow) -> bytes | None:
        raw = payload.raw_record(self._other, row.pack, row.offset, row.length)
        return payload.large_record(self._other, row.id) if raw is None else raw

    def _judge(
        self, one: SharedCandidate, pieces: Sequence[Piece], own: bool, tools: ToolMap
    ) -> Scorer:
        judge = self._judges.get((one.theirs, own, tools))
        asked = ImportOptions(one.suite.suite_id, one.candidate_id, tools=tools)
        if judge is None:
            reader = foreign_readers()[0].name if one.suite.probe else "native"
            suites = () if one.suite.probe else (one.suite,)
            judge = Scorer(Order(suites, asked, reader, str(self._path), own))
            self._judges[one.theirs, own, tools] = judge
        self._last[one.suite.suite_id] = judge
        if one.suite.probe:
            judge.read_with(_StoredReader(self._said([piece.number for piece in pieces])))
        return judge

    def again(self, raw: bytes, suite_id: str, said: SourceVerdict | None) -> JudgedRecord | None:
        """Judge a record that was put together of parts, as those just read were."""
        judge = self._last.get(suite_id)
        return None if judge is None else judge.again(raw, suite_id, said)

    def _said(self, traces: Sequence[int]) -> Iterator[tuple[SourceVerdict | None, str]]:
        """Return the verdict that the source of each trace stated, and the title of its episode."""
        judged = [key for key in traces if key < REVISION]
        others = [key - REVISION for key in traces if key > REVISION]
        for one in merging.stated_verdicts(self._other, judged, others):
            said = SourceVerdict(passed=one.passed, reward=one.reward)
            yield (said if one.stated else None), one.title

    def _placed(
        self, one: JudgedRecord, row: TraceRow, new: NewTrace, found: Sequence[FindingRow]
    ) -> JudgedRecord:
        """Return the judged record in its slot, or with the verdict that was stated of it."""
        here = any(finding.code == MASKED_CODE for finding in one.trace.findings)
        evidence = self._evidence(row.id)
        # A chunked record was put together again: its whitespace, and so its digest, differs.
        # One that is masked only here has a digest of its own.
        digest = one.trace.sha256 if here else row.sha256
        placed = one._replace(attempt=new.attempt, another=new.another)
        placed = placed.with_trace(sha256=digest, evidence=evidence, ran=self._ran(row))
        stated = [f for f in found if f.trace == row.id]
        masked = [f for f in stated if f.code == MASKED_CODE]
        if masked and one.suite_id not in self._probes:
            return _as_stated(placed, row, stated)
        if not masked:
            return _with_lost_checks(placed, stated)
        detail = self._text.masked(masked[0].detail)[:200]
        note = Finding("redaction", "masked", "note", None, detail)
        gates = placed.trace.gates & ~(3 << _REDACTION) | _UNKNOWN << _REDACTION
        return placed.with_trace(gates=gates, findings=(note, *placed.trace.findings))

    def _without_payload(
        self, one: SharedCandidate, new: NewTrace, row: TraceRow, found: Sequence[FindingRow]
    ) -> Iterator[Group]:
        """Return a trace that held raw identifiers: its slot fails, as it did in the other
        store."""
        hits = [
            (self._text.masked(f.code.partition(":")[2]), f.seq)
            for f in found
            if f.trace == row.id and f.code.startswith("unredacted:")
        ]
        if not hits or one.suite.probe:
            self.problems.append(f"trace {row.id}: it has no payload, and nothing says why")
            return
        record = TraceRecord(
            episode_id=new.episode_id,
            candidate_id=one.candidate_id,
            events=[],
            final_state=msgspec.Raw(b"null"),
            cost_usd=_believed(row.cost_usd, MOST_USD),
            latency_ms=_believed(row.latency_ms, math.inf),
        )
        force = in_force(one.suite.policy.limits)
        judged = score_unredacted(record, b"", hits, force)
        judged = judged._replace(sha256=row.sha256, evidence=self._evidence(row.id))
        packing = Packing(self._packer)
        made = packing.add(TargetSuite(one.suite), judged, new.id, "")
        made = made._replace(attempt=new.attempt, another=new.another)
        made = made.with_trace(events=row.events, ran=self._ran(row))
        yield Group(new.id, 0, [made], packing.packs, [], {}, [])

    def _ran(self, row: TraceRow) -> bytes | None:
        """Return what the other store's runner measured: its journal has been proved."""
        return None if row.id < 0 else ran_of_trace(self._other, row.id)

    def _evidence(self, trace: int) -> int:
        if trace < 0:
            return revision_as_trace(self._other, -trace)[2]
        return merging.evidence_of(self._other, trace)


def _with_lost_checks(one: JudgedRecord, stated: Sequence[FindingRow]) -> JudgedRecord:
    """Return the judged record with what a check of the suite found in the other store, where that
    check is not measured here: evidence is never lost by a machine that cannot run it."""
    unknown = {
        f"{CUSTOM}:{finding.code.partition(':')[2]}"
        for finding in one.trace.findings
        if finding.code.startswith(f"{CUSTOM_UNKNOWN}:")
    }
    lost = [
        Finding(f.gate, f.code, f.severity, f.seq, f.detail)
        for f in stated
        if f.code in unknown and f.gate in CHECKED_GATES and f.severity in ("fail", "critical")
    ]
    if not lost:
        return one
    gates = one.trace.gates
    for finding in lost:
        place = 2 * GATES.index(finding.gate)
        code = CRITICAL if finding.severity == "critical" else FAIL
        gates = gates & ~(3 << place) | max(gates >> place & 3, code, key=_WORSE.index) << place
    return one.with_trace(
        gates=gates,
        passed=False,
        critical=one.trace.critical or any(f.severity == "critical" for f in lost),
        infra=False,
        findings=(*one.trace.findings, *lost),
    )


def _as_stated(one: JudgedRecord, row: TraceRow, stated: Sequence[FindingRow]) -> JudgedRecord:
    """Return the verdict that was stated on a record before it was masked, with the authority
    findings of the masked record: the rest cannot be judged again."""
    findings = [Finding(f.gate, f.code, f.severity, f.seq, f.detail) for f in stated]
    then = one.with_trace(
        gates=row.gates,
        passed=None if row.passed is None else bool(row.passed),
        critical=bool(row.critical),
        infra=bool(row.infra),
        findings=tuple(findings),
    )
    codes = {finding.code for finding in findings}
    more = [f for f in one.trace.findings if f.gate == "authority" and f.severity == "critical"]
    more = [finding for finding in more if finding.code not in codes]
    if not more:
        return then
    gates = then.trace.gates & ~(3 << _AUTHORITY) | CRITICAL << _AUTHORITY
    return then.with_trace(
        gates=gates, passed=False, critical=True, infra=False, findings=(*more, *findings)
    )


class _StoredReader:
    """Reads stored records of a probe, with the verdict that the source of each stated."""

    name, version, probe = "stored", "1", True

    def __init__(self, said: Iterable[tuple[SourceVerdict | None, str]]) -> None:
        self._said = iter(said)

    def sniff(self, first: Any) -> bool:
        return False

    def suite_id(self, path: Path) -> str:
        return ""

    def candidate_id(self, path: Path) -> str:
        return ""

    def read(self, raw: bytes, candidate_id: str) -> Foreign:
        verdict, title = next(self._said)
        return Foreign(raw, verdict, title=title)


def _listed(keys: Iterable[int]) -> list[list[int]]:
    return [list(span) for span in spans(keys)]


def _believed(value: float | None, most: float) -> float | None:
    return value if value is not None and 0 <= value < most else None


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
