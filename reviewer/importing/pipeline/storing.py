"""Write judged records into the store: slots, packs and progress, in self-contained batches.

A batch is one durable transaction that includes the source's progress, so a killed import continues
where its last batch ended.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from reviewer.db import registry
from reviewer.db.connection import Connection, transaction
from reviewer.db.intake import NewRefusal, NewTrace, Progress, next_pack, write_batch
from reviewer.db.payload import Pack, compress, slices
from reviewer.db.queries import imports
from reviewer.db.slots import MOST_HELD, Placement, Shape, Slot, Slots
from reviewer.db.sources import settle_source, source_progress
from reviewer.db.verdict_changes import LateVerdict, compare_late, fill_late
from reviewer.importing.pipeline.compare import compare
from reviewer.importing.pipeline.outcome import Filled, Outcome, Tally
from reviewer.importing.pipeline.revising import Batch, JudgeAgain, Pending, Reviser
from reviewer.importing.pipeline.targets import (
    MOST_ALIKE,
    Key,
    NamedSlots,
    Target,
    Targets,
    record_of,
    stored_in,
)
from reviewer.importing.scored import Group, JudgedRecord
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, Suite

BATCH_BYTES = 8 << 20
BATCH_TRACES = 4000
VERDICT_LATER = "attempts already there had no verdict: this file's was taken"
OTHER_VERDICT = "attempts already there for which this file gives another verdict: failures hold"
NUMBERED_ON = "attempt numbers that another run had taken: numbered on"


class Manifest(NamedTuple):
    """A candidate's manifest in the suite folder."""

    candidate: Candidate
    raw: bytes


FindManifest = Callable[[str, str], Manifest | None]
"""Returns the manifest of (suite id, candidate id)."""
Begin = Callable[[], AbstractContextManager[object]]
"""Begins one durable write, or takes part in an enclosing one."""


class StoreKeys:
    """The store's keys for the names in an import. `suites` are those that records may name.

    New names are registered on the way; the episodes of a probe are named by its files, so they get
    placeholders until their batch is written.
    """

    def __init__(
        self,
        connection: Connection,
        suites: Mapping[str, Suite],
        manifests: FindManifest,
        now: Callable[[], str],
        begin: Begin,
    ) -> None:
        self._connection = connection
        self._suites, self._manifests, self._now, self._begin = suites, manifests, now, begin
        self._rows: dict[str, registry.SuiteRow] = {}
        self._candidates: dict[tuple[str, str], int] = {}
        self._episodes: dict[str, dict[str, int]] = {}
        self._fresh: list[tuple[str, Episode]] = []

    def of(self, record: JudgedRecord) -> Key:
        """Return (candidate key, episode key), registering new names; the episode's key is negative
        while it is a placeholder."""
        suite = self._suite(record.suite_id)
        candidate = self._candidates.get((record.suite_id, record.candidate_id))
        if candidate is None:
            manifest = self._manifests(record.suite_id, record.candidate_id)
            with self._begin():
                candidate = registry.register_candidate(
                    self._connection,
                    suite,
                    record.candidate_id,
                    manifest.candidate if manifest else None,
                    manifest.raw if manifest else None,
                    self._now(),
                ).id
            self._candidates[record.suite_id, record.candidate_id] = candidate
        episodes = self._episodes[record.suite_id]
        episode = episodes.get(record.episode_id)
        if episode is None and not suite.probe:  # an episode with a contract has a key
            episode = registry.episode_key(self._connection, suite.id, record.episode_id)
            if episode is not None:
                episodes[record.episode_id] = episode
        if episode is None:
            self._fresh.append(
                (record.suite_id, Episode(episode_id=record.episode_id, title=record.title))
            )
            episode = episodes[record.episode_id] = -len(self._fresh)
        return candidate, episode

    def candidate(self, suite_id: str, candidate_id: str) -> int:
        """Return the key of a candidate seen before."""
        return self._candidates[suite_id, candidate_id]

    def _suite(self, suite_id: str) -> registry.SuiteRow:
        row = self._rows.get(suite_id)
        if row is None:
            with self._begin():
                row = registry.register_suite(self._connection, self._suites[suite_id], self._now())
            self._rows[suite_id] = row
            self._episodes[suite_id] = {}
        return row

    def recall(self, wanted: Iterable[JudgedRecord]) -> None:
        """Look up the episodes that are not cached."""
        unknown: dict[str, set[str]] = {}
        for record in wanted:
            self._suite(record.suite_id)
            if record.episode_id not in self._episodes[record.suite_id]:
                unknown.setdefault(record.suite_id, set()).add(record.episode_id)
        for suite_id, names in unknown.items():
            row = self._rows[suite_id]
            self._episodes[suite_id] |= registry.episode_keys(self._connection, row.id, names)

    def plans(self) -> dict[int, registry.Plan]:
        """Return the plan of every candidate seen, as it is in this transaction: a run in another
        process may have declared its own meanwhile."""
        declared = registry.declared_plans(self._connection)
        return {
            key: registry.plan_of(self._suites[suite_id], declared.get(key))
            for (suite_id, _), key in self._candidates.items()
        }

    def settle(self) -> dict[int, int]:
        """Insert the new episodes inside the batch's transaction; return their keys by
        placeholder."""
        settled: dict[int, int] = {}
        for suite_id in dict.fromkeys(suite_id for suite_id, _ in self._fresh):
            row = self._rows[suite_id]
            fresh = [(n, e) for n, (name, e) in enumerate(self._fresh, 1) if name == suite_id]
            keys = registry.add_episodes(self._connection, row, [episode for _, episode in fresh])
            for number, episode in fresh:
                key = keys[episode.episode_id]
                settled[-number] = self._episodes[suite_id][episode.episode_id] = key
        self._fresh = []
        return settled

    def written(self) -> None:
        """Drop the caches that would grow with a benchmark."""
        for suite_id, episodes in self._episodes.items():
            if self._rows[suite_id].probe and len(episodes) > MOST_HELD:
                episodes.clear()


class _Place(NamedTuple):
    """The place of a record: its keys, its attempt, and the stored attempt that it revises."""

    record: JudgedRecord
    key: Key
    attempt: int
    target: Target | None = None


class Batcher:
    """Takes judged groups of one source, in file order, and writes them batch by batch.

    `suites` are those that the groups may name. `now` is the time for the journal. `retried` are
    record numbers in quarantine that are being read again. `share_evidence` says that attempts may
    be alike (a probe's are, and so are those of reviewer's runner: it made each of them),
    `number_on` that their numbers are valid within this source only. `earlier` are imports of an
    earlier state of the file, or of its companions by themselves. `begin` begins each write, when
    it is not to be a transaction of its own. `revises` says that a record which names a filled slot
    is one of that attempt (not so for records of reviewer's runner). `siblings` are other imports
    of the same file, for another candidate, map or suite, and `own_names` the candidate that each
    of its records names itself. `path` is where the source's records come from, and `again` judges
    a record that was joined from parts. `candidate_given` means that the import names the
    candidate, and the records do not.
    """

    def __init__(
        self,
        connection: Connection,
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
        candidate_given: bool = False,
        relied_on: Callable[[int], str] = lambda trace: "",
    ) -> None:
        self.connection = connection
        self.source = source
        self.outcome = Outcome(start)
        self._resumed_from = self._done = start.records
        self._told = start
        self._stored: tuple[int, int, int, int] = start
        self._shared = False
        self._now = now
        self._retried = retried
        self._met_again: set[int] = set()
        """Retried records that this reading has met."""
        self._begin: Begin = begin or partial(transaction, connection, store)
        self._keys = StoreKeys(connection, suites, manifests, now, self._begin)
        alike = share_evidence or any(suite.probe for suite in suites.values())
        self._slots = Slots(connection, alike, source, number_on)
        self._targets = Targets(connection, earlier, candidate_given)
        self._named = NamedSlots(connection) if revises and not number_on else None
        self._binds = again is not None
        self._reviser = Reviser(
            connection, source, path, self.outcome, now, again, self._known, alike, siblings,
            own_names, relied_on,
        )  # fmt: skip
        self._batch = Batch()
        self._late: list[LateVerdict] = []
        self._refused: list[NewRefusal] = []
        self._cleared: list[int] = []
        self._bytes = 0
        self._first_trace: int | None = None
        self._filled: set[Key] | None = set()
        """Candidates and episodes of the added attempts; None once they are many."""

    @property
    def tally(self) -> Tally:
        return self.outcome.tally

    def take(self, group: Group) -> None:
        """Place one group's records; those counted before (in a resumed import) are skipped."""
        last = group.first + group.records - 1
        self.outcome.count(records=max(last - max(self._done, group.first - 1), 0))
        self._done = max(self._done, last)
        for text, times in group.notes.items():
            self.outcome.note(text, times)
        for refused in group.refused:
            if self._wanted(refused.record):
                self.refuse(refused)
        self.outcome.flagged += [one for one in group.flagged if self._wanted(one.record)]
        wanted = [record for record in group.judged if self._wanted(record.number)]
        self._keys.recall(wanted)
        keyed = [(self._keys.of(record), record) for record in wanted]
        self._slots.look_up((key for key, _ in keyed), (record.trace.evidence for record in wanted))
        placed: list[_Place] = []
        added = 0
        for key, record in keyed:
            place = self._place(key, record, group.packs)
            if place is not None:
                placed.append(place)
                if place.target is None:  # the result of a revision is known when it is written
                    added += 1
                    self.outcome.add(record)
        self.outcome.count(added=added)
        self._store(group, placed)

    def say_late(self, said: LateVerdict) -> None:
        """Add the source's verdict to an existing attempt: stored if there was none yet."""
        answer = compare_late(self.connection, said)
        if answer != "other":
            self._late.append(said)
        if answer != "same":
            self.outcome.note(VERDICT_LATER if answer == "empty" else OTHER_VERDICT)

    def filled(self) -> tuple[Filled, ...]:
        """Return what was added and written, by suite and candidate."""
        revised = self._reviser.revised
        if self._first_trace is None and not revised:
            return ()
        if self._filled is not None and not revised and not self._shared:
            episodes = Counter(candidate for candidate, _ in self._filled)
        else:
            first = 1 << 62 if self._first_trace is None else self._first_trace
            episodes = Counter(imports.episodes_added(self.connection, self.source, first, revised))
        keys = self._keys
        return self.outcome.filled(
            lambda suite_id, candidate_id: episodes[keys.candidate(suite_id, candidate_id)]
        )

    def _note_filled(self, added: Iterable[NewTrace]) -> None:
        if self._filled is not None:
            self._filled.update(trace.slot[:2] for trace in added)
            if len(self._filled) > BATCH_TRACES:
                self._filled = None

    def _wanted(self, number: int) -> bool:
        return number > self._resumed_from or number in self._retried

    def refuse(self, refused: NewRefusal) -> None:
        """Quarantine one record."""
        self._refused.append(refused)
        self.outcome.refuse(refused)
        if refused.record not in self._retried:
            self.outcome.count(refused=1)
        self._met_again.add(refused.record)

    def clear_rest(self) -> None:
        """Remove from quarantine the records that this reading did not meet: they waited for files
        that have since arrived and took them."""
        for number in sorted(self._retried - self._met_again):
            self._cleared.append(number)
            self.outcome.count(refused=-1)

    def _place(self, key: Key, record: JudgedRecord, packs: list[Pack]) -> _Place | None:
        """Decide where a record goes; return None when it adds nothing."""
        trace = record.trace
        shape = trace.cost_usd, trace.latency_ms, trace.events
        if not self._slots.known(*key, trace.evidence):
            if self._binds and not record.another:
                # Where this record is evidence for other attempts, its findings count there too.
                for one in self._targets.bindings(key, record, packs):
                    self._batch.bindings.append((record, one))
            target = self._targets.of(key, record, packs)
            if target is not None:
                return self._revising(key, record, target, packs)
            twin = self._rewritten(key, shape, record, packs)
            if twin is not None:
                self._rewrote(key, record, twin)
                return None
        placed = self._slots.place(*key, record.attempt, trace.evidence, trace.sha256, shape)
        if placed.outcome == "slot_filled" and self._named and placed.holder is not None:
            target = self._named.target(placed.holder)
            if target is not None:
                return self._revising(key, record, target, packs)
        if placed.outcome not in ("new", "known"):
            self.refuse(self._taken(record, placed))
            return None
        self._clear(record)
        if placed.outcome == "known":
            self._known((*key, placed.attempt), record)
            return None
        if placed.holder is not None:
            self._batch.twice.add(record.number)
        if record.attempt not in (None, placed.attempt):
            self.outcome.note(NUMBERED_ON)
        elif self._named and record.attempt is not None:
            self._named.add((*key, placed.attempt))
        self._targets.note(key, placed.attempt, record, packs)
        return _Place(record, key, placed.attempt)

    def _rewritten(
        self, key: Key, shape: Shape, record: JudgedRecord, packs: list[Pack]
    ) -> int | None:
        """Find the attempt that is the same record, with other white space or member order."""
        alike = self._slots.alike(*key, shape) if self._named is not None else []
        if not alike:
            return None
        raw = record_of(record.trace, packs)
        for attempt in alike[:MOST_ALIKE] if raw is not None else ():
            slot = *key, attempt
            waiting = (one.trace for one in self._batch.pending if one.trace.slot == slot)
            mine = next(waiting, None)
            other = record_of(mine, self._batch.packs) if mine else stored_in(self.connection, slot)
            if raw is not None and other is not None and compare(other, raw).kind == "same":
                return attempt
        return None

    def _rewrote(self, key: Key, record: JudgedRecord, attempt: int) -> None:
        """Handle a record that exists in another writing: known, or refused as claimed for a second
        slot."""
        if record.attempt in (None, attempt):
            self._clear(record)
            self._known((*key, attempt), record)
        else:
            placed = Placement("duplicate_evidence", attempt, (*key, attempt))
            self.refuse(self._taken(record, placed))

    def _revising(
        self, key: Key, record: JudgedRecord, target: Target, packs: list[Pack]
    ) -> _Place:
        self._clear(record)
        self._targets.note(key, target.attempt, record, packs)
        return _Place(record, key, target.attempt, target)

    def _clear(self, record: JudgedRecord) -> None:
        if record.number in self._retried:
            self._cleared.append(record.number)
            self._met_again.add(record.number)
            self.outcome.count(refused=-1)

    def _known(self, slot: Slot, record: JudgedRecord) -> None:
        """Count a record that adds at most a verdict."""
        self.outcome.count(known=1)
        if record.names:
            self._batch.known.append((record, slot))
        if record.trace.verdict is not None:
            self.say_late(LateVerdict(*slot, *record.trace.verdict))

    def _store(self, group: Group, placed: list[_Place]) -> None:
        """Keep the group's packs, rebuilt without the payloads of records that add nothing."""
        packs = group.packs
        if len(placed) < len(group.judged):
            moved, packs = _repacked(packs, [one.record for one in placed])
            placed = [one._replace(record=new) for new, one in zip(moved, placed, strict=True)]
        base = len(self._batch.packs)
        self._batch.packs += packs
        self._bytes += sum(pack.size for pack in packs)
        for record, key, attempt, target in placed:
            if record.trace.chunks:
                self._bytes += sum(len(chunk.frame) for chunk in record.trace.chunks)
            trace = record.trace.at(key, attempt, record.number, base)
            self._batch.pending.append(Pending(trace, record, target))

    def full(self) -> bool:
        waiting = len(self._batch.pending) + len(self._refused)
        return self._bytes > BATCH_BYTES or waiting > BATCH_TRACES

    def flush(self, done: bool = False) -> None:
        """Write pending records and the source's progress as one transaction."""
        with self._begin():
            self._settle_episodes()
            if self._slots.refresh():
                self._claim_again()
            imports.clear(self.connection, self.source, self._cleared)
            stored = source_progress(self.connection, self.source)
            self._shared = self._shared or stored != self._stored
            tally = self._progress(stored)
            first_pack = next_pack(self.connection)
            pending = self._batch.pending
            fresh = [one.trace for one in pending if one.target is None]
            written = write_batch(
                self.connection,
                self.source,
                fresh,
                self._batch.packs,
                self._refused,
                Progress(*tally, done, self.outcome.note_lines()),
                self._keys.plans(),
                self._now(),
                first_pack,
            )
            if self._first_trace is None and written:
                self._first_trace = written[0]
            self._note_filled(fresh)
            if any(one.target is not None for one in pending):
                self._reviser.take_in(self._batch, first_pack)
            self._reviser.share(self._batch, written)
            self._reviser.reach(self._batch, first_pack)
            fill_late(self.connection, self._late, self._now())
            if self._shared:
                settle_source(self.connection, self.source)
            if not done:
                self._stored = source_progress(self.connection, self.source)
            self._told = self.tally
        self._slots.written()
        self._keys.written()
        self._targets.written()
        self._batch, self._bytes = Batch(), 0
        self._late, self._refused, self._cleared = [], [], []

    def _settle_episodes(self) -> None:
        """Replace the placeholders of new episodes by their keys."""
        settled = self._keys.settle()
        if settled:
            self._batch.pending = [
                one._replace(
                    trace=one.trace._replace(
                        episode=settled.get(one.trace.episode, one.trace.episode)
                    )
                )
                for one in self._batch.pending
            ]
            self._slots.rename(settled)

    def _progress(self, stored: tuple[int, int, int, int]) -> Tally:
        """Return the source's progress to store. Another process may be reading the same file: what
        it has added since stays counted, and its progress, which may be beyond this one's."""
        mine, told = self.tally, self._told
        if not self._shared:
            return Tally(*(s + m - t for s, m, t in zip(stored, mine, told, strict=True)))
        records = max(stored[0], mine.records)
        return Tally(records, stored[1] + mine.added - told.added, mine.known, mine.refused)

    def _claim_again(self) -> None:
        """Place the pending records again, inside the transaction: another process wrote since they
        were placed. One whose attempt now exists is a record of that attempt, exactly as if the
        other process had ended before this one began."""
        batch = self._batch
        pending, batch.pending = batch.pending, []
        placed_before = [one for one in pending if one.target is None or one.target.trace is None]
        numbers = {one.record.number for one in placed_before}
        batch.bindings = [one for one in batch.bindings if one[0].number not in numbers]
        batch.twice -= numbers
        for one in placed_before:
            self._take_back(one)
        self._slots.written()
        self._targets.refresh()
        self._slots.look_up(
            ((one.trace.candidate, one.trace.episode) for one in placed_before),
            (one.trace.evidence for one in placed_before),
        )
        for one in pending:
            if one.record.number not in numbers:
                batch.pending.append(one)
                continue
            trace = one.trace
            record = one.record.with_trace(pack=trace.pack, offset=trace.offset)
            place = self._place((trace.candidate, trace.episode), record, batch.packs)
            if place is None:
                continue
            trace = trace._replace(attempt=place.attempt)
            batch.pending.append(Pending(trace, one.record, place.target))
            if place.target is None:
                self.outcome.count(added=1)
                self.outcome.add(one.record)

    def _take_back(self, one: Pending) -> None:
        """Subtract what placing a pending record had counted."""
        record = one.record
        if one.target is None:
            self.outcome.count(added=-1)
            self.outcome.add(record, -1)
            if record.attempt not in (None, one.trace.attempt):
                self.outcome.note(NUMBERED_ON, -1)
        if record.number in self._met_again:  # it is still in quarantine
            self._met_again.remove(record.number)
            self._cleared.remove(record.number)
            self.outcome.count(refused=1)

    def _taken(self, record: JudgedRecord, placed: Placement) -> NewRefusal:
        """Return the refusal of a record, naming the trace that blocks it."""
        candidate_id, attempt = record.candidate_id, record.attempt
        if placed.holder is not None:
            candidate, _, attempt = placed.holder
            candidate_id = registry.candidate_name(self.connection, candidate)
        where = f"{record.suite_id}/{candidate_id}/{record.episode_id}/{attempt}"
        return record.refused(f"{placed.outcome}:{where}")


def _repacked(packs: list[Pack], kept: list[JudgedRecord]) -> tuple[list[JudgedRecord], list[Pack]]:
    """Return packs with only the payloads of `kept`, and the records that point into them."""
    held: dict[int, list[int]] = {}
    for position, record in enumerate(kept):
        if record.trace.pack is not None:
            held.setdefault(record.trace.pack, []).append(position)
    moved = list(kept)
    made: list[Pack] = []
    for old, positions in held.items():
        traces = [kept[p].trace for p in positions]
        payloads = slices(packs[old], [(one.offset or 0, one.length or 0) for one in traces])
        offset = 0
        for position, payload in zip(positions, payloads, strict=True):
            moved[position] = kept[position].with_trace(pack=len(made), offset=offset)
            offset += len(payload)
        made.append(compress(payloads))
    return moved, made
