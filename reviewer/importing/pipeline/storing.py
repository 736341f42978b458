"""Judged records into the store: slots, packs and progress, in batches that stand on their own.

A batch is one durable transaction with the source's own progress in it, so a killed import goes
on where its last batch ended.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from reviewer.db import registry, revisions
from reviewer.db.connection import transaction
from reviewer.db.intake import NewRefusal, NewTrace, Pack, Progress, write_batch
from reviewer.db.payload import compress, slices
from reviewer.db.revisions import Revision
from reviewer.db.slots import Placement, Slots
from reviewer.db.sources import add_known, settle_source, source_progress
from reviewer.db.verdict_changes import (
    RUN_CONTINUES,
    LateVerdict,
    compare_late,
    fill_late,
    settle_shared,
    withhold_passes,
)
from reviewer.importing.pipeline.compare import compare, rewritten
from reviewer.importing.pipeline.gathering import linked
from reviewer.importing.pipeline.keys import Begin, FindManifest, Manifest, StoreKeys
from reviewer.importing.pipeline.revising import (
    Binding,
    Named,
    Target,
    Targets,
    came,
    came_together,
    record_of,
    stored,
)
from reviewer.importing.scored import Facts, Group
from reviewer.suite.model import Suite
from reviewer.trace.record import SourceVerdict

__all__ = ["Batcher", "Filled", "FindManifest", "Manifest", "Tally", "new_trace"]

BATCH_BYTES = 8 << 20
BATCH_TRACES = 4000
VERDICT_LATER = "attempts already there had no verdict: this file's was taken"
OTHER_VERDICT = "attempts already there for which this file gives another verdict: failures hold"
NUMBERED_ON = "attempt numbers that another run had taken: numbered on"
WHOLE = "attempts of which an earlier import had a part: this one goes on and is judged"
BESIDE = "records that contradict the attempt they are of: kept beside it, and both count"
TOGETHER = "parts of sessions that came in several records: put together and judged as a whole"
A_PART = "parts of sessions that are judged already: every act of them counts there"
UNJUDGED = "attempts of another suite go on here: not measured there before it is imported there"
REACHED = "attempts of which this record is evidence too, elsewhere: what it shows counts there"
TWICE = "the same evidence stands under another candidate: a pass counts there alone"
MOST_ALIKE = 8
"""Attempts of one cost, latency and length that a record is compared with."""
MOST_TOLD = 1000  # refusals kept to be told; all of them stand in quarantine


JudgeAgain = Callable[[bytes, str, SourceVerdict | None], Facts | None]


class Tally(NamedTuple):
    """What has come of a file so far."""

    records: int
    added: int
    known: int
    refused: int


class Filled(NamedTuple):
    """What one import added for one candidate of one suite. `cost_usd` sums what is known;
    `unpriced` attempts have no cost, `measured` ones have a verdict."""

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


class _Pending(NamedTuple):
    """A trace that has claimed its slot and waits for its batch, or a record of the `target`, an
    attempt that is there."""

    trace: NewTrace
    facts: Facts
    target: Target | None = None


class _Place(NamedTuple):
    """Where a record goes: its keys, its attempt, and the one there that it is a record of."""

    facts: Facts
    key: tuple[int, int]
    attempt: int
    target: Target | None = None


class _Added:
    """Running sums of what one candidate got."""

    def __init__(self) -> None:
        self.attempts = self.unpriced = self.passed = self.measured = 0
        self.cost = 0.0
        self.unmeasured: dict[str, int] = {}


class Batcher:
    """Takes judged groups of one source, in file order, and writes them batch by batch.

    `suites` are those the groups may name. `now` gives the journal its clock. `retried` are record
    numbers that stand in quarantine and are being read again. `share_evidence` says that attempts
    may be alike (a probe's are, and so are those of our own runner: it made each of them),
    `number_on` that their numbers hold within this source only. `earlier` are imports of the same
    file as it was then, or of its companions by themselves. `begin` begins each write, when not
    one of its own is wanted. `revises` says that a record which names a filled slot is one of that
    attempt (not so of what our own runner made). `siblings` are other imports of the very file,
    for another candidate, map or suite, and `own_names` the candidate that each of its records
    names itself. `path` is where the source's records come from, and `again` judges a record that
    was put together of parts: (its bytes, its suite, the source's word) → its facts. `asked` says
    that the import names the candidate, and the records do not.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        store: Path,
        source: int,
        start: Tally,
        suites: Mapping[str, Suite],
        manifests: FindManifest,
        now: Callable[[], str],
        retried: frozenset[int] = frozenset(),
        share_evidence: bool = False,
        number_on: bool = False,
        earlier: Collection[int] = (),
        begin: Begin | None = None,
        revises: bool = False,
        siblings: Collection[int] = (),
        own_names: Mapping[int, str] | None = None,
        path: str = "",
        again: JudgeAgain | None = None,
        asked: bool = False,
    ) -> None:
        self.connection = connection
        self.source = source
        self.tally = start
        self.notes: dict[str, int] = {}
        self.refusals: list[NewRefusal] = []
        self.flagged: list[NewRefusal] = []
        self.beside: list[NewRefusal] = []
        self._resumed_from = self._done = start.records
        self._told = start
        self._stored: tuple[int, int, int, int] = start
        self._shared = False
        self._now = now
        self._retried = retried
        self._again: set[int] = set()  # of those, what was met in this reading
        self._begin: Begin = begin or partial(transaction, connection, store)
        self._keys = StoreKeys(connection, suites, manifests, now, self._begin)
        may_be_alike = share_evidence or any(suite.probe for suite in suites.values())
        self._slots = Slots(connection, may_be_alike, source, number_on)
        self._alike = may_be_alike
        self._siblings, self._own_names = siblings, dict(own_names or {})
        self._twice: set[int] = set()
        self._targets = Targets(connection, earlier, asked)
        self._path, self._again_by = path, again
        self._named = Named(connection) if revises and not number_on else None
        self._pending: list[_Pending] = []
        self._spread: list[tuple[Facts, Binding]] = []
        self._met: list[tuple[Facts, tuple[int, int, int]]] = []
        self._added: dict[tuple[str, str], _Added] = {}
        self._late: list[LateVerdict] = []
        self._first_trace: int | None = None
        self._refused: list[NewRefusal] = []
        self._cleared: list[int] = []
        self._packs: list[Pack] = []
        self._raw = 0

    def take(self, group: Group) -> None:
        """Place one group's records; those counted before (a resumed import) are passed over."""
        last = group.first + group.records - 1
        self._count(records=max(last - max(self._done, group.first - 1), 0))
        self._done = max(self._done, last)
        for text, times in group.notes.items():
            self.notes[text] = self.notes.get(text, 0) + times
        for refused in group.refused:
            if self._wanted(refused.record):
                self.refuse(refused)
        self.flagged += [one for one in group.flagged if self._wanted(one.record)]
        wanted = [facts for facts in group.facts if self._wanted(facts.number)]
        self._keys.recall(wanted)
        keyed = [(self._keys.of(facts), facts) for facts in wanted]
        self._slots.look_up((key for key, _ in keyed), (facts.evidence for facts in wanted))
        found = (self._place(key, facts, group.packs) for key, facts in keyed)
        placed = [place for place in found if place is not None]
        for place in placed:
            self._note_added(place)
        self._store(group, placed)

    def say_late(self, said: LateVerdict) -> None:
        """Note what this source says of an attempt that is there: taken where nothing was said
        yet."""
        answer = compare_late(self.connection, said)
        if answer != "other":
            self._late.append(said)
        if answer != "same":
            self._note(VERDICT_LATER if answer == "empty" else OTHER_VERDICT)

    def _note(self, text: str) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1

    def _note_added(self, place: _Place) -> None:
        facts = place.facts
        if place.target is not None:  # what it comes to is known when it is written
            return
        self._count(added=1)
        self._sum(facts)

    def _sum(self, facts: Facts) -> None:
        key = facts.suite_id, facts.candidate_id
        added = self._added.get(key)
        if added is None:
            added = self._added[key] = _Added()
        added.attempts += 1
        if facts.cost_usd is None:
            added.unpriced += 1
        else:
            added.cost += facts.cost_usd
        if facts.passed is not None:
            added.measured += 1
            added.passed += facts.passed
        elif not facts.infra:
            for kind in {
                finding.code.partition(":")[0]
                for finding in facts.findings
                if finding.severity == "not_measured"
            }:
                added.unmeasured[kind] = added.unmeasured.get(kind, 0) + 1

    def filled(self) -> tuple[Filled, ...]:
        """What was added and written, by suite and candidate."""
        if self._first_trace is None and not self._targets.revised:
            return ()
        first = 1 << 62 if self._first_trace is None else self._first_trace
        episodes: dict[int, int] = dict(
            self.connection.execute(
                "SELECT candidate, count(DISTINCT episode) FROM ("
                "SELECT candidate, episode FROM trace WHERE id >= ? AND source = ? UNION "
                "SELECT candidate, episode FROM trace WHERE id IN (SELECT value FROM json_each(?))"
                ") GROUP BY candidate",
                (first, self.source, json.dumps(list(self._targets.revised))),
            ).fetchall()
        )
        return tuple(
            Filled(
                *key,
                episodes.get(self._keys.candidate(*key), 0),
                a.attempts,
                a.cost,
                a.unpriced,
                a.passed,
                a.measured,
                tuple(sorted(a.unmeasured.items())),
            )
            for key, a in self._added.items()
        )

    def _wanted(self, number: int) -> bool:
        return number > self._resumed_from or number in self._retried

    def refuse(self, refused: NewRefusal) -> None:
        """Quarantine one record."""
        self._refused.append(refused)
        if len(self.refusals) < MOST_TOLD:
            self.refusals.append(refused)
        if refused.record not in self._retried:
            self._count(refused=1)
        self._again.add(refused.record)

    def clear_rest(self) -> None:
        """Take out of quarantine what this reading had no word of: it was held for want of files
        that are there by now, which took it."""
        for number in sorted(self._retried - self._again):
            self._cleared.append(number)
            self._count(refused=-1)

    def _count(self, records: int = 0, added: int = 0, known: int = 0, refused: int = 0) -> None:
        t = self.tally
        self.tally = Tally(
            t.records + records, t.added + added, t.known + known, t.refused + refused
        )

    def _place(self, key: tuple[int, int], facts: Facts, packs: list[Pack]) -> _Place | None:
        """Where this record goes, None when it adds nothing."""
        if not self._slots.known(*key, facts.evidence):
            self._note_bindings(key, facts, packs)
            target = self._targets.of(key, facts, packs)
            if target is not None:
                return self._revising(key, facts, target, packs)
            twin = self._rewritten(key, facts, packs) if self._named is not None else None
            if twin is not None:
                self._rewrote(key, facts, twin)
                return None
        shape = facts.cost_usd, facts.latency_ms, facts.events
        placed = self._slots.place(*key, facts.attempt, facts.evidence, facts.sha256, shape)
        if placed.outcome == "slot_filled" and self._named and placed.holder is not None:
            target = self._named.target(placed.holder)
            if target is not None:
                return self._revising(key, facts, target, packs)
        if placed.outcome not in ("new", "known"):
            self.refuse(self._taken(facts, placed))
            return None
        self._clear(facts)
        if placed.outcome == "known":
            self._known(key, placed.attempt, facts)
            return None
        if placed.holder is not None:
            self._twice.add(facts.number)
        if facts.attempt not in (None, placed.attempt):
            self._note(NUMBERED_ON)
        elif self._named and facts.attempt is not None:
            self._named.add((*key, placed.attempt))
        self._targets.note(key, placed.attempt, facts, packs)
        return _Place(facts, key, placed.attempt)

    def _note_bindings(self, key: tuple[int, int], facts: Facts, packs: list[Pack]) -> None:
        """Note where else this record is evidence: what it shows counts there too."""
        if self._again_by is None or facts.another:
            return
        for one in self._targets.bindings(key, facts, packs):
            self._spread.append((facts, one))

    def _rewritten(self, key: tuple[int, int], facts: Facts, packs: list[Pack]) -> int | None:
        """The attempt whose very record this is, with other blanks or in another order."""
        alike = self._slots.alike(*key, (facts.cost_usd, facts.latency_ms, facts.events))
        if not alike or self._named is None:
            return None
        raw = record_of(new_trace(facts, key, 0, 0), packs)
        for attempt in alike[:MOST_ALIKE] if raw is not None else ():
            slot = *key, attempt
            waiting = (one.trace for one in self._pending if one.trace[:3] == slot)
            mine = next(waiting, None)
            other = record_of(mine, self._packs) if mine else stored(self.connection, slot)
            if raw is not None and other is not None and compare(other, raw).kind == "same":
                return attempt
        return None

    def _rewrote(self, key: tuple[int, int], facts: Facts, attempt: int) -> None:
        """A record that stands there in other writing: known, or claimed for a second slot."""
        if facts.attempt in (None, attempt):
            self._clear(facts)
            self._known(key, attempt, facts)
        else:
            self.refuse(
                self._taken(facts, Placement("duplicate_evidence", attempt, (*key, attempt)))
            )

    def _revising(
        self, key: tuple[int, int], facts: Facts, target: Target, packs: list[Pack]
    ) -> _Place:
        self._clear(facts)
        self._targets.note(key, target.attempt, facts, packs)
        return _Place(facts, key, target.attempt, target)

    def _clear(self, facts: Facts) -> None:
        if facts.number in self._retried:
            self._cleared.append(facts.number)
            self._again.add(facts.number)
            self._count(refused=-1)

    def _known(self, key: tuple[int, int], attempt: int, facts: Facts) -> None:
        """Count a record that adds nothing but, perhaps, a verdict."""
        self._count(known=1)
        if facts.names:
            self._met.append((facts, (*key, attempt)))
        if facts.verdict is not None:
            word, reward, detail = facts.verdict
            self.say_late(LateVerdict(*key, attempt, word, reward, detail))

    def _store(self, group: Group, placed: list[_Place]) -> None:
        """Keep the group's packs, made anew without the payloads of records that add nothing."""
        packs = group.packs
        if len(placed) < len(group.facts):
            moved, packs = _repacked(packs, [one.facts for one in placed])
            placed = [one._replace(facts=new) for new, one in zip(moved, placed, strict=True)]
        base = len(self._packs)
        self._packs += packs
        self._raw += sum(pack.size for pack in packs)
        for facts, key, attempt, target in placed:
            if facts.chunks:
                self._raw += sum(len(chunk.frame) for chunk in facts.chunks)
            trace = new_trace(facts, key, attempt, base)
            self._pending.append(_Pending(trace, facts, target))

    def full(self) -> bool:
        return self._raw > BATCH_BYTES or len(self._pending) + len(self._refused) > BATCH_TRACES

    def flush(self, done: bool = False) -> None:
        """Write what is pending and the source's progress as one transaction."""
        with self._begin():
            self._settle_episodes()
            if self._slots.refresh():
                self._claim_again()
            for record in self._cleared:
                self.connection.execute(
                    "DELETE FROM quarantine WHERE source=? AND record=?", (self.source, record)
                )
            stored = source_progress(self.connection, self.source)
            self._shared = self._shared or stored != self._stored
            tally = self._joined(stored)
            (pack,) = self.connection.execute("SELECT coalesce(max(id), 0) FROM pack").fetchone()
            written = write_batch(
                self.connection,
                self.source,
                [pending.trace for pending in self._pending if pending.target is None],
                self._packs,
                self._refused,
                Progress(*tally, done, self.note_lines()),
                self._keys.plans(),
                self._now(),
            )
            if self._first_trace is None and written:
                self._first_trace = written[0]
            if any(pending.target is not None for pending in self._pending):
                self._revise(pack + 1)
            self._share(written)
            self._reach(pack + 1)
            fill_late(self.connection, self._late, self._now())
            self._late = []
            if self._shared:
                settle_source(self.connection, self.source)
            self._stored = source_progress(self.connection, self.source)
            self._told = self.tally
        self._slots.written()
        self._keys.written()
        self._targets.written()
        self._pending, self._refused, self._cleared, self._packs, self._raw = [], [], [], [], 0

    def _revise(self, first_pack: int) -> None:
        """Take in what came to attempts that are there, once the batch's own are written."""
        before = self.tally
        waiting: dict[tuple[int, int, int], list[Revision]] = {}  # entered together, a slot once

        def enter() -> None:
            taken = [one for new in waiting.values() for one in new]
            revisions.revise(self.connection, self.source, taken, first_pack, self._now())
            waiting.clear()

        together = self._put_together(first_pack)
        for pending in self._pending:
            if pending.target is None or pending.trace[:3] in together:
                continue
            facts, trace = pending.facts, pending.trace
            if trace[:3] in waiting:
                enter()
            if facts.names:
                row = self.connection.execute(_OF_SLOT, trace[:3]).fetchone()
                self.connection.executemany(_NAME, self._links(facts, row[0]))
            raw = record_of(trace, self._packs)
            again = partial(self._judged_again, facts) if self._again_by else None
            new = came(
                self.connection, trace, pending.target, raw, self._path, again, facts.read_with
            )
            if not new:
                self._known(trace[:2], trace.attempt, facts)
                continue
            waiting[trace[:3]] = new
            found = new[0]
            self._targets.revised.add(found.trace)
            if found.holds:
                self._count(added=1)
                self._note(WHOLE if len(new) == 1 else TOGETHER)
                self._sum(facts)
            elif found.part:
                self._known(trace[:2], trace.attempt, facts)
                self._note(A_PART)
            else:
                self._count(known=1)
                self._note(BESIDE)
                where = f"{facts.suite_id}/{facts.candidate_id}/{facts.episode_id}/{trace.attempt}"
                self.beside.append(
                    NewRefusal(
                        facts.number, facts.candidate_id, facts.episode_id, facts.suite_id,
                        trace.attempt, (f"contradiction:revision of {where}: {found.why}",),
                    )
                )  # fmt: skip
        enter()
        added, known = self.tally.added - before.added, self.tally.known - before.known
        add_known(self.connection, self.source, added, known, self.note_lines())

    def _put_together(self, first_pack: int) -> set[tuple[int, int, int]]:
        """Take in parts of one session that this batch holds several of, each session at once.
        Returns the slots that are dealt with."""
        held: dict[tuple[int, int, int], list[_Pending]] = {}
        for one in self._pending:
            if one.target is not None:
                held.setdefault(one.trace[:3], []).append(one)
        dealt: set[tuple[int, int, int]] = set()
        for slot, some in held.items():
            whole = all(one.target and one.target.session for one in some)
            if len(some) < 2 or not whole or self._again_by is None:
                continue
            news = [(one.trace, record_of(one.trace, self._packs)) for one in some]
            again = partial(self._judged_again, some[0].facts)
            taken = came_together(self.connection, news, self._path, again)
            if taken is None:
                continue
            dealt.add(slot)
            revisions.revise(self.connection, self.source, taken, first_pack, self._now())
            (trace,) = self.connection.execute(_OF_SLOT, slot).fetchone()
            self._targets.revised.add(trace)
            for one in some:
                self.connection.executemany(_NAME, self._links(one.facts, trace))
                if one is some[0] and taken and taken[0].holds:
                    self._count(added=1)
                    self._note(TOGETHER)
                    self._sum(one.facts)
                else:
                    self._known(slot[:2], slot[2], one.facts)
                    self._note(A_PART)
        return dealt

    def _reach(self, first_pack: int) -> None:
        """Bring what was written to the other bindings of it, or what they hold to its own: what
        either shows against a candidate counts for both."""
        spread, self._spread = self._spread, []
        pairs: dict[int, list[int]] = {}
        for facts, one in spread:
            row = self.connection.execute(_OF_RECORD, (self.source, facts.number)).fetchone()
            mine = None if row is None else row[0]
            if mine is None:
                continue
            reached = self._reached(one.trace if one.grows else mine, one.raw, facts)
            if reached is not None:
                revisions.revise(self.connection, self.source, [reached], first_pack, self._now())
                self._note(REACHED)
                pairs.setdefault(mine, []).append(one.trace)
            elif one.grows:
                self._unjudged(one.trace, mine, facts)
        if pairs:
            lost = settle_shared(
                self.connection, list(pairs), (), self._own_names, self._now(), pairs
            )
            if lost:
                self.notes[TWICE] = self.notes.get(TWICE, 0) + lost

    def _unjudged(self, trace: int, mine: int, facts: Facts) -> None:
        """An attempt of another suite whose run goes on here: its contract is not at hand, so it is
        not measured there."""
        (suite_id,) = self.connection.execute(_SUITE_OF, (trace,)).fetchone()
        if suite_id != facts.suite_id:
            (name,) = self.connection.execute(
                "SELECT trace_id FROM traces WHERE trace=?", (mine,)
            ).fetchone()
            withhold_passes(self.connection, {trace: name}, self._now(), RUN_CONTINUES)
            self._note(UNJUDGED)

    def _reached(self, trace: int, raw: bytes, facts: Facts) -> Revision | None:
        """A record as one more of another attempt than its own."""
        *slot, suite_id, candidate_id, episode_id = self.connection.execute(
            _CALLED, (trace,)
        ).fetchone()
        value = {**msgspec.json.decode(raw), "candidate_id": candidate_id}
        value["episode_id"] = episode_id
        if "attempt" in value:
            value["attempt"] = slot[2]
        body = msgspec.json.encode(value)
        word = _word(facts.verdict)
        made = self._again_by(body, suite_id, word) if self._again_by is not None else None
        if made is None:
            return None
        made = made._replace(number=facts.number, verdict=facts.verdict)
        new = new_trace(made, (slot[0], slot[1]), slot[2], 0)
        return next(iter(came(self.connection, new, Target(trace, slot[2]), body)), None)

    def _judged_again(self, facts: Facts, new: NewTrace, raw: bytes) -> NewTrace | None:
        """A record that was put together, judged in the slot of a new part of it."""
        assert self._again_by is not None
        made = self._again_by(raw, facts.suite_id, _word(new.verdict))
        if made is None:
            return None
        made = made._replace(number=new.record, verdict=new.verdict)
        return new_trace(made, new[:2], new.attempt, 0)

    def _share(self, written: list[int]) -> None:
        """Say whose a pass is of records that stand under another candidate too, and keep what the
        source calls the attempts just written."""
        fresh = [one for one in self._pending if one.target is None]
        names = [
            (one.facts.identity, key)
            for key, one in zip(written, fresh, strict=True)
            if one.facts.identity
        ]
        names += [
            link
            for key, one in zip(written, fresh, strict=True)
            for link in self._links(one.facts, key)
        ]
        self.connection.executemany(_NAME, names)
        twice = [
            key
            for key, one in zip(written, fresh, strict=True)
            if self._siblings or one.facts.number in self._twice
        ]
        pairs = {} if self._alike else rewritten(self.connection, written)
        for facts, slot in self._met:
            row = self.connection.execute(_OF_SLOT, slot).fetchone()
            if row is not None:
                self.connection.executemany(_NAME, self._links(facts, row[0]))
        self._met.clear()
        if twice or pairs:
            known = list({*twice, *pairs})
            lost = settle_shared(
                self.connection, known, self._siblings, self._own_names, self._now(), pairs
            )
            if lost:
                self.notes[TWICE] = self.notes.get(TWICE, 0) + lost
        self._twice.clear()

    def _links(self, facts: Facts, trace: int) -> list[tuple[str, int]]:
        """The names of an attempt, each also with the file that holds a part of it."""
        held = [(name, trace) for name in facts.names]
        return held + [(linked(name, self.source), trace) for name in facts.names]

    def _settle_episodes(self) -> None:
        """Put the keys of new episodes in the place of their placeholders."""
        settled = self._keys.settle()
        if settled:
            self._pending = [
                one._replace(
                    trace=one.trace._replace(
                        episode=settled.get(one.trace.episode, one.trace.episode)
                    )
                )
                for one in self._pending
            ]
            self._slots.rename(settled)

    def _joined(self, stored: tuple[int, int, int, int]) -> Tally:
        """What to store as the source's progress. Another process may be reading the very same
        file: what it has added since stays counted, and how far it came, which may be beyond where
        this one is."""
        mine, told = self.tally, self._told
        if not self._shared:
            return Tally(*(s + m - t for s, m, t in zip(stored, mine, told, strict=True)))
        records = max(stored[0], mine.records)
        return Tally(records, stored[1] + mine.added - told.added, mine.known, mine.refused)

    def note_lines(self) -> tuple[str, ...]:
        return tuple(
            text if count == 1 else f"{text} ({count} records)"
            for text, count in self.notes.items()
        )

    def _claim_again(self) -> None:
        """Another process wrote since these slots were claimed: claim them again, in here."""
        kept: list[_Pending] = []
        self._slots.written()
        self._slots.look_up(
            ((one.trace.candidate, one.trace.episode) for one in self._pending),
            (one.trace.evidence for one in self._pending),
        )
        for pending in self._pending:
            trace = pending.trace
            if pending.target is not None:
                kept.append(pending)
                continue
            placed = self._slots.place(
                trace.candidate,
                trace.episode,
                pending.facts.attempt,
                trace.evidence,
                trace.sha256,
                (trace.cost_usd, trace.latency_ms, trace.events),
            )
            if placed.outcome == "new":
                trace = trace._replace(attempt=placed.attempt)
                kept.append(pending._replace(trace=trace))
                continue
            self._count(added=-1)
            if placed.outcome == "known":
                self._count(known=1)
            else:
                self.refuse(self._taken(pending.facts, placed))
        self._pending = kept

    def _taken(self, facts: Facts, placed: Placement) -> NewRefusal:
        """The refusal of a record, naming the trace that stands in its way."""
        where = f"{facts.suite_id}/{facts.candidate_id}/{facts.episode_id}/{facts.attempt}"
        if placed.holder is not None:
            candidate, _, attempt = placed.holder
            name = registry.candidate_name(self.connection, candidate)
            where = f"{facts.suite_id}/{name}/{facts.episode_id}/{attempt}"
        return NewRefusal(
            facts.number,
            facts.candidate_id,
            facts.episode_id,
            facts.suite_id,
            facts.attempt,
            (f"{placed.outcome}:{where}",),
        )


_SUITE_OF = (
    "SELECT s.suite_id FROM trace t JOIN candidate c ON c.id = t.candidate"
    " JOIN suite s ON s.id = c.suite WHERE t.id=?"
)
_NAME = "INSERT OR IGNORE INTO attempt_name VALUES (?, ?)"
_OF_SLOT = "SELECT id FROM trace WHERE candidate=? AND episode=? AND attempt=?"
_OF_RECORD = "SELECT id FROM trace WHERE source=? AND record=? ORDER BY id DESC LIMIT 1"
_CALLED = (
    "SELECT t.candidate, t.episode, t.attempt, s.suite_id, c.candidate_id, e.episode_id"
    " FROM trace t JOIN candidate c ON c.id = t.candidate JOIN suite s ON s.id = c.suite"
    " JOIN episode e ON e.id = t.episode WHERE t.id=?"
)


def _word(said: tuple[bool | None, float | None, str] | None) -> SourceVerdict | None:
    return None if said is None else SourceVerdict(passed=said[0], reward=said[1])


def _repacked(packs: list[Pack], kept: list[Facts]) -> tuple[list[Facts], list[Pack]]:
    """Packs that hold the payloads of `kept` only, and the facts that point into them."""
    held: dict[int, list[int]] = {}
    for position, facts in enumerate(kept):
        if facts.pack is not None:
            held.setdefault(facts.pack, []).append(position)
    moved = list(kept)
    made: list[Pack] = []
    for old, positions in held.items():
        places = [(kept[p].offset or 0, kept[p].length or 0) for p in positions]
        payloads = slices(packs[old], places)
        offset = 0
        for position, payload in zip(positions, payloads, strict=True):
            moved[position] = kept[position]._replace(pack=len(made), offset=offset)
            offset += len(payload)
        made.append(compress(payloads))
    return moved, made


def new_trace(facts: Facts, key: tuple[int, int], attempt: int, base: int) -> NewTrace:
    """A judged record in its slot. `base` is the number of packs before its group's own."""
    return NewTrace(
        *key,
        attempt,
        facts.gates,
        facts.passed,
        facts.critical,
        facts.infra,
        facts.cost_usd,
        facts.latency_ms,
        facts.steps,
        facts.timeouts,
        facts.events,
        facts.termination,
        facts.final_state,
        facts.evidence,
        facts.sha256,
        facts.number,
        None if facts.pack is None else base + facts.pack,
        facts.offset,
        facts.length,
        facts.diagnostics,
        facts.findings,
        facts.chunks,
        facts.verdict,
    )
