"""Add further records to existing attempts.

Nothing stored is removed: a record that continues an attempt is judged in its place and the
previous one is kept; one that contradicts it is kept beside it, and both count.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from reviewer.db import revisions
from reviewer.db.connection import Connection
from reviewer.db.intake import NewTrace
from reviewer.db.payload import Pack
from reviewer.db.queries import imports
from reviewer.db.queries.imports import StoredAttempt, filled
from reviewer.db.queries.relied_on import decision_on
from reviewer.db.revisions import Revision, judged_record, kept_records
from reviewer.db.slots import Slot
from reviewer.db.sources import MERGE_READER, RUN_READER, add_known, origins, source_by_id
from reviewer.db.verdict_changes import RUN_CONTINUES, settle_shared, withhold_passes
from reviewer.importing.pipeline.compare import Relation, compare, holds
from reviewer.importing.pipeline.outcome import Outcome
from reviewer.importing.pipeline.rejoining import A_PART, Again, part_of, rejoin, superseded
from reviewer.importing.pipeline.sessions import retold
from reviewer.importing.pipeline.targets import Binding, Target, record_of, rewritten
from reviewer.importing.scored import JudgedRecord
from reviewer.trace.record import SourceVerdict

UNREAD = "a record of it is not stored"
SAME_RUN = (
    "attempts that reviewer's own runner made: a copy adds at most what it shows against them"
)
WHOLE = "attempts of which an earlier import had a part: this record continues it and is scored"
BESIDE = "records that contradict the attempt they are of: kept next to it, and both count"
TOGETHER = "parts of sessions that came in several records: put together and judged as a whole"
PART_OF_JUDGED = "parts of sessions that are judged already: every act of them counts there"
UNJUDGED = "attempts of another suite continue here: not measured there before it is imported there"
REACHED = "attempts of which this record is evidence too, elsewhere: what it shows counts there"
RUN_IS_WHOLE = "reviewer's own runner made the attempt to its end, and nothing continues it"
TWICE = "the same evidence is held by another candidate: a pass counts only there"

JudgeAgain = Callable[[bytes, str, SourceVerdict | None], JudgedRecord | None]
"""Judges a joined record: (its bytes, its suite, the source's verdict) → the record."""


def came(
    connection: Connection,
    new: NewTrace,
    target: Target,
    raw: bytes | None,
    path: str = "",
    again: Again | None = None,
    read_with: frozenset[int] = frozenset(),
) -> list[Revision]:
    """Compare a record with an existing attempt, inside the transaction that adds it, and return
    the revisions to write; none when it adds nothing. `raw` is the record, None when it may not be
    stored, `path` where it comes from, `again` judges a record joined from parts, and `read_with`
    are imports whose files were read again for it."""
    there = filled(connection, new.slot)
    if made_by_runner(connection, there):
        found = _compared(connection, there, new, target, raw)
        return [] if found is None else [_beside_a_run(connection, found)]
    if read_with and raw is not None and again is not None:
        whole = superseded(connection, there, new, raw, read_with, again)
        if whole is not None:
            return whole
    found = _compared(connection, there, new, target, raw)
    if found is None:
        return []
    if found.holds or found.contained or raw is None or again is None:
        return [found]
    parts = rejoin(connection, there, [(new, raw)], path, again)
    return [found] if parts is None else parts


def made_by_runner(connection: Connection, there: StoredAttempt) -> bool:
    """Return whether reviewer's own runner made the judged record of an attempt: it saw the attempt
    to its end, so no file can tell how it went on."""
    source = source_by_id(connection, there.source)
    if source is None or source.reader not in (RUN_READER, MERGE_READER):
        return False
    return origins(connection).own(there.source, there.record)


def _beside_a_run(connection: Connection, found: Revision) -> Revision:
    """Return a record that contains that of the runner as one kept next to it: with the same acts
    it adds at most what it shows against the candidate."""
    if not found.holds:
        return found
    old = judged_record(connection, found.trace)
    same = old is not None and len(json.loads(old)["events"]) == found.new.events
    return found._replace(holds=False, whole=False, why=RUN_IS_WHOLE, contained=same)


def _compared(
    connection: Connection,
    there: StoredAttempt,
    new: NewTrace,
    target: Target,
    raw: bytes | None,
) -> Revision | None:
    """Compare one record with the judged one; return None when it adds nothing."""
    key = there.trace
    old = judged_record(connection, key)
    if old is None or raw is None:
        return None if there.sha256 == new.sha256 else Revision(key, new, False, False, UNREAD)
    kept = kept_records(connection, key, new.events)
    if any(one.raw is not None and compare(one.raw, raw).kind == "same" for one in kept):
        return None
    found = _without_ends(old, raw) if target.joined else compare(old, raw)
    if found.kind == "same":
        return None
    if found.kind != "holds" and retold(json.loads(old), json.loads(raw)):
        found = Relation("holds", "its spans are repeated, with more")
    if found.kind != "holds":
        if part_of(raw, old):
            return Revision(key, new, False, False, A_PART, contained=True, part=True)
        if target.merged and holds(raw, old):
            return Revision(key, new, False, False, "an earlier record of it", contained=True)
        return Revision(key, new, False, False, found.why)
    beside = [one for one in kept if not one.settled]
    whole = all(one.raw is not None and holds(one.raw, raw) for one in beside)
    return Revision(key, new, True, whole, found.why, target.joined or there.final_state is None)


def _without_ends(old: bytes, new: bytes) -> Relation:
    """Compare with the record of a result, which is judged until more of the attempt is known: its
    acts must be there, while its other facts remain in its files."""
    events = json.loads(old)["events"]
    bare = {"events": events, "final_state": None}
    found = compare(json.dumps(bare).encode(), new)
    return Relation("holds", "more of it is known") if found.kind == "same" else found


class Pending(NamedTuple):
    """A trace that has claimed its slot and waits for its batch, or a record of the existing
    attempt `target`."""

    trace: NewTrace
    record: JudgedRecord
    target: Target | None = None


class Batch(msgspec.Struct):
    """Everything that waits to be written in one transaction. `known` are records that add nothing
    to the attempt in their slot, `bindings` attempts elsewhere for which a record is evidence, and
    `twice` numbers of records whose evidence another candidate has too."""

    pending: list[Pending] = []
    packs: list[Pack] = []
    known: list[tuple[JudgedRecord, Slot]] = []
    bindings: list[tuple[JudgedRecord, Binding]] = []
    twice: set[int] = set()


class Reviser:
    """Adds a source's records to existing attempts, inside the transaction of a batch whose own
    traces are written. `path` is where its records come from; `siblings` are other imports of the
    same file, `own_names` the candidate that each of its records names itself. `alike` says that
    attempts may be alike. `known` counts a record that adds nothing; `relied_on` says who relied on
    an attempt as it is, which is then not continued."""

    def __init__(
        self,
        connection: Connection,
        source: int,
        path: str,
        outcome: Outcome,
        now: Callable[[], str],
        again: JudgeAgain | None,
        known: Callable[[Slot, JudgedRecord], None],
        alike: bool = False,
        siblings: Collection[int] = (),
        own_names: Mapping[int, str] | None = None,
        relied_on: Callable[[int], str] = lambda trace: "",
    ) -> None:
        self._connection, self._source, self._path = connection, source, path
        self._outcome, self._now, self._again_by, self._known = outcome, now, again, known
        self._alike, self._siblings = alike, siblings
        self._own_names = dict(own_names or {})
        self._relied_on = relied_on
        self.revised: set[int] = set()
        """Attempts to which a record was added."""

    def take_in(self, batch: Batch, first_pack: int) -> None:
        """Add the records of existing attempts. `first_pack` is the store's id of the batch's first
        pack."""
        outcome, before = self._outcome, self._outcome.tally
        waiting: dict[Slot, list[Revision]] = {}  # written together, per slot

        def enter() -> None:
            self._revise([one for new in waiting.values() for one in new], first_pack)
            waiting.clear()

        together = self._put_together(batch, first_pack)
        for pending in batch.pending:
            trace, record, target = pending
            if target is None or trace.slot in together:
                continue
            if trace.slot in waiting:
                enter()
            if record.names:
                self._link(record, filled(self._connection, trace.slot).trace)
            raw = record_of(trace, batch.packs)
            again = self._again(record) if self._again_by else None
            new = came(self._connection, trace, target, raw, self._path, again, record.read_with)
            if not new:
                self._known(trace.slot, record)
                continue
            if new[0].holds and (why := self._kept_apart(new[0])):
                new = [Revision(new[0].trace, trace, False, False, why)]
            waiting[trace.slot] = new
            found = new[0]
            self.revised.add(found.trace)
            if found.holds:
                outcome.count(added=1)
                outcome.note(WHOLE if len(new) == 1 else TOGETHER)
                outcome.add(record)
            elif found.part or (found.contained and found.why == RUN_IS_WHOLE):
                self._known(trace.slot, record)
                outcome.note(PART_OF_JUDGED if found.part else SAME_RUN)
            else:
                outcome.count(known=1)
                outcome.note(BESIDE)
                where = f"{record.suite_id}/{record.candidate_id}/{record.episode_id}"
                code = f"contradiction:revision of {where}/{trace.attempt}: {found.why}"
                outcome.beside.append(record.refused(code)._replace(attempt=trace.attempt))
        enter()
        added, known = outcome.tally.added - before.added, outcome.tally.known - before.known
        add_known(self._connection, self._source, added, known, outcome.note_lines())

    def _kept_apart(self, one: Revision) -> str:
        """Return in words who relied on the attempt that a record continues, or that a decision was
        signed on a failure that it would end; "" for nobody, or where it stays a failure."""
        if why := self._relied_on(one.trace):
            return why
        number = None if one.new.passed is False else self._failure_signed(one.trace)
        return "" if number is None else f"decision {number} was signed on a failure of the attempt"

    def _failure_signed(self, trace: int) -> int | None:
        """Return the decision that was signed on an attempt that fails."""
        failed = imports.failed(self._connection, trace)
        return decision_on(self._connection, trace) if failed else None

    def _put_together(self, batch: Batch, first_pack: int) -> set[Slot]:
        """Join the parts of each session of which the batch has several, in one step. Return the
        slots that are done."""
        held: dict[Slot, list[Pending]] = {}
        for one in batch.pending:
            if one.target is not None:
                held.setdefault(one.trace.slot, []).append(one)
        dealt: set[Slot] = set()
        for slot, some in held.items():
            session = all(one.target and one.target.session for one in some)
            if len(some) < 2 or not session or self._again_by is None:
                continue
            raws = [(one.trace, record_of(one.trace, batch.packs)) for one in some]
            news = [(trace, raw) for trace, raw in raws if raw is not None]
            if len(news) < len(some):
                continue
            there = filled(self._connection, slot)
            if self._relied_on(there.trace) or made_by_runner(self._connection, there):
                continue
            if self._failure_signed(there.trace) is not None:
                continue
            again = self._again(some[0].record)
            revised = rejoin(self._connection, there, news, self._path, again)
            if revised is None:
                continue
            dealt.add(slot)
            self._revise(revised, first_pack)
            self.revised.add(there.trace)
            for one in some:
                self._link(one.record, there.trace)
                if one is some[0] and revised and revised[0].holds:
                    self._outcome.count(added=1)
                    self._outcome.note(TOGETHER)
                    self._outcome.add(one.record)
                else:
                    self._known(slot, one.record)
                    self._outcome.note(PART_OF_JUDGED)
        return dealt

    def _revise(self, revised: Sequence[Revision], first_pack: int) -> None:
        revisions.revise(self._connection, self._source, revised, first_pack, self._now())

    def _again(self, record: JudgedRecord) -> Again:
        """Return a function that judges records joined from parts, in the slot of the new part
        `record`."""

        def judge(new: NewTrace, raw: bytes) -> NewTrace | None:
            return self._judged(raw, record.suite_id, new)

        return judge

    def _judged(self, raw: bytes, suite_id: str, new: NewTrace) -> NewTrace | None:
        assert self._again_by is not None
        word = None
        if new.verdict is not None:
            word = SourceVerdict(passed=new.verdict[0], reward=new.verdict[1])
        made = self._again_by(raw, suite_id, word)
        if made is None:
            return None
        return made.trace.at(new.slot[:2], new.attempt, new.record)._replace(verdict=new.verdict)

    def reach(self, batch: Batch, first_pack: int) -> None:
        """Add the written records to the other bindings of their evidence, or the records of those
        to their own: what either shows against a candidate counts for both."""
        pairs: dict[int, list[int]] = {}
        for record, one in batch.bindings:
            mine = imports.trace_of_record(self._connection, self._source, record.number)
            if mine is None:
                continue
            reached = self._reached(one.trace if one.grows else mine, one.raw, record)
            if reached is not None:
                if reached.holds and (why := self._kept_apart(reached)):
                    reached = reached._replace(holds=False, whole=False, why=why)
                self._revise([reached], first_pack)
                self._outcome.note(REACHED)
                pairs.setdefault(mine, []).append(one.trace)
            elif one.grows:
                self._unjudged(one.trace, mine, record)
        if pairs:
            self._settle(list(pairs), (), pairs)

    def _reached(self, trace: int, raw: bytes, record: JudgedRecord) -> Revision | None:
        """Return a record as a further one of another attempt than its own."""
        if self._again_by is None:
            return None
        there = imports.names_of(self._connection, trace)
        value = {**msgspec.json.decode(raw), "candidate_id": there.candidate_id}
        value["episode_id"] = there.episode_id
        if "attempt" in value:
            value["attempt"] = there.attempt
        body = msgspec.json.encode(value)
        key = there.candidate, there.episode
        own = record.trace.at(key, there.attempt, record.number)
        new = self._judged(body, there.suite_id, own)
        if new is None:
            return None
        return next(iter(came(self._connection, new, Target(trace, new.attempt), body)), None)

    def _unjudged(self, trace: int, mine: int, record: JudgedRecord) -> None:
        """Note an attempt of another suite whose run continues here: its contract is not available,
        so it is not measured there."""
        if imports.names_of(self._connection, trace).suite_id != record.suite_id:
            here = imports.names_of(self._connection, mine).trace_id
            withhold_passes(self._connection, {trace: here}, self._now(), RUN_CONTINUES)
            self._outcome.note(UNJUDGED)

    def share(self, batch: Batch, written: Sequence[int]) -> None:
        """Decide under which candidate a pass counts for records that another candidate has too,
        and store the source's names of the attempts just written (`written` are their traces)."""
        fresh = [one.record for one in batch.pending if one.target is None]
        own = list(zip(written, fresh, strict=True))
        names = [(record.identity, trace) for trace, record in own if record.identity]
        imports.add_names(self._connection, names)
        for trace, record in own:
            self._link(record, trace)
        for record, slot in batch.known:
            there = imports.attempt_in(self._connection, slot)
            if there is not None:
                self._link(record, there.trace)
        twice = {trace for trace, one in own if self._siblings or one.number in batch.twice}
        pairs = {} if self._alike else rewritten(self._connection, written)
        if twice or pairs:
            self._settle(list({*twice, *pairs}), self._siblings, pairs)

    def _settle(
        self, fresh: list[int], siblings: Collection[int], pairs: Mapping[int, Sequence[int]]
    ) -> None:
        lost = settle_shared(self._connection, fresh, siblings, self._own_names, self._now(), pairs)
        if lost:
            self._outcome.note(TWICE, lost)

    def _link(self, record: JudgedRecord, trace: int) -> None:
        """Store the names of an attempt, each also with the file that contains a part of it."""
        if record.names:
            linked = imports.linked_names(record.names, self._source)
            imports.add_names(self._connection, [(name, trace) for name in linked])
