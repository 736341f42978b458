"""Find the stored attempt that a record is a further record of. See `compare` for the rule."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec
import zstandard

from reviewer.db import payload
from reviewer.db.connection import Connection
from reviewer.db.intake import NewTrace
from reviewer.db.payload import Pack
from reviewer.db.queries import imports
from reviewer.db.queries.imports import StoredAttempt
from reviewer.db.revisions import judged_record, kept_records
from reviewer.db.slots import Slot
from reviewer.importing.pipeline.compare import compare, own_attempt
from reviewer.importing.pipeline.sessions import STRONG, TIMED, fits
from reviewer.importing.scored import JudgedRecord

Key = tuple[int, int]
"""(candidate, episode)"""
_run = msgspec.json.Decoder(list[msgspec.Raw])


class Target(NamedTuple):
    """An attempt that exists, or is written before its record is added (`trace` is None). `joined`
    says that another file described it, and that its end was that file's; `merged`, that the record
    comes from another store, and may be the earlier one; `session`, that both are of one session,
    and may be parts of it."""

    trace: int | None
    attempt: int
    joined: bool = False
    merged: bool = False
    session: bool = False


class Binding(NamedTuple):
    """An attempt of another candidate, or at another episode, for which a record is evidence too:
    `grows` says that the record continues it, else it continues the record."""

    trace: int
    raw: bytes
    grows: bool


class Targets:
    """Attempts that a record may belong to: by its reader's statement, by its name, and by the path
    that it was read from. `earlier` are the imports of that path; `candidate_given` means that only
    the import names the candidate of its records."""

    def __init__(
        self, connection: Connection, earlier: Collection[int], candidate_given: bool = False
    ) -> None:
        self._connection = connection
        self._candidate_given = candidate_given
        self._earlier = frozenset(earlier)
        self._at_path: dict[int, list[StoredAttempt]] | None = None
        self._any_named = imports.any_named(connection)
        self._held: dict[Key, list[StoredAttempt]] = {}
        self._taken: set[int] = set()
        self._waiting: dict[
            tuple[int, int, str], list[tuple[int, JudgedRecord, Sequence[Pack]]]
        ] = {}
        self._read: dict[int, bytes | None] = {}

    def of(self, key: Key, record: JudgedRecord, packs: Sequence[Pack]) -> Target | None:
        """Return the attempt of this candidate and episode that a record belongs to; None when it
        is an attempt of its own."""
        if record.another and record.attempt is not None:
            return Target(None, record.attempt, merged=True)
        found = self._replaced(key, record.replaces) if record.replaces is not None else None
        if found is None and record.identity:
            found = self._of_session(key, record, packs)
            if found is not None and found.trace is not None:
                self._taken.add(found.trace)  # it is no other record's at this path
        if found is None and self._earlier:
            found = self._of_path(key, record, packs)
        return found

    def note(self, key: Key, attempt: int, record: JudgedRecord, packs: Sequence[Pack]) -> None:
        """Remember a record that waits to be written as an attempt of its session, or as a part of
        one."""
        if record.identity:
            waiting = self._waiting.setdefault((*key, record.identity), [])
            waiting.append((attempt, record, packs))

    def written(self) -> None:
        """Forget the waiting records, which are written."""
        self._any_named = self._any_named or bool(self._waiting)
        self._waiting.clear()
        self._read.clear()

    def refresh(self) -> None:
        """Forget what was read of the store, and the waiting records: another process wrote, and
        waiting records are placed again."""
        self._any_named = imports.any_named(self._connection)
        self._at_path = None
        self._held.clear()
        self._waiting.clear()
        self._read.clear()

    def bindings(self, key: Key, record: JudgedRecord, packs: Sequence[Pack]) -> list[Binding]:
        """Return attempts elsewhere of which this record contains more, or that contain more of it:
        by the path that it was read from, and by its session. At one path a shorter record that
        names its candidate is of another run; one that does not may be the longer one, cut off."""
        if not (self._earlier or (self._any_named and record.identity)):
            return []
        rows = list(self._from_path().get(record.number, ())) if self._earlier else []
        by_path = len(rows)
        if self._any_named and record.identity.startswith(STRONG):
            rows += imports.attempts_named(self._connection, record.identity)
        elsewhere = [(n < by_path, one) for n, one in enumerate(rows) if one.key != key]
        mine = record_of(record.trace, packs) if elsewhere else None
        if mine is None:
            return []
        found: dict[int, Binding] = {}
        for at_path, one in elsewhere:
            theirs = judged_record(self._connection, one.trace)
            if theirs is None:
                continue
            if _goes_on(theirs, mine):
                found[one.trace] = Binding(one.trace, mine, True)
            elif (self._candidate_given or not at_path) and _goes_on(mine, theirs):
                found[one.trace] = Binding(one.trace, theirs, False)
        return list(found.values())

    def _from_path(self) -> dict[int, list[StoredAttempt]]:
        """Return attempts imported from this path, by the number of their record."""
        if self._at_path is None:
            self._at_path = {}
            for one in imports.attempts_from(self._connection, self._earlier):
                self._at_path.setdefault(one.record, []).append(one)
        return self._at_path

    def _of_session(self, key: Key, record: JudgedRecord, packs: Sequence[Pack]) -> Target | None:
        """Find the attempt of the same session that this record is a part of, or continues."""
        found: dict[int, list[bytes | None]] = {}
        traces: dict[int, int] = {}
        rows = [
            one
            for name in ((record.identity, *record.names) if self._any_named else ())
            for one in imports.attempts_named(self._connection, name, key)
        ]
        for one in dict.fromkeys(rows):
            kept = kept_records(self._connection, one.trace)
            if any(k.source in self._earlier and k.record == record.number for k in kept):
                # the part from the same place, again
                return Target(one.trace, one.attempt, session=True)
            head = judged_record(self._connection, one.trace)
            found[one.attempt] = [head, *(other.raw for other in kept)]
            traces[one.attempt] = one.trace
        for attempt, other, theirs in self._waiting.get((*key, record.identity), ()):
            if other.number not in self._read:
                self._read[other.number] = record_of(other.trace, theirs)
            found.setdefault(attempt, []).append(self._read[other.number])
        raw = record_of(record.trace, packs) if found else None
        for attempt, records in found.items():
            if record.attempt not in (None, attempt) and not record.identity.startswith(TIMED):
                continue
            known = [json.loads(one) for one in records if one is not None]
            unknown = raw is None or len(known) < len(records)
            if unknown or fits(record.identity, known, json.loads(raw or b"{}")):
                return Target(traces.get(attempt), attempt, session=True)
        return None

    def _replaced(self, key: Key, replaces: tuple[int, int]) -> Target | None:
        one = imports.attempt(self._connection, replaces[0])
        if one is None or one.key != key or one.trace in self._taken:
            return None
        self._taken.add(one.trace)
        return Target(one.trace, one.attempt, joined=True)

    def _of_path(self, key: Key, record: JudgedRecord, packs: Sequence[Pack]) -> Target | None:
        there = self._held.get(key)
        if there is None:
            there = self._held[key] = imports.attempts_of(self._connection, key, self._earlier)
        left = [one for one in there if one.trace not in self._taken]
        same = [one for one in left if one.record == record.number]
        one = same[0] if same else left[0] if len(left) == 1 == len(there) else None
        if one is None:
            return None
        old = judged_record(self._connection, one.trace)
        new = record_of(record.trace, packs)
        if old is not None and new is not None:
            if not same and record.identity and _name_in(old) not in ("", record.identity):
                return None  # the source calls them by two names
            if record.attempt is not None and own_attempt(old) != record.attempt:
                return None
            if compare(old, new).kind == "other":
                return None
        self._taken.add(one.trace)
        return Target(one.trace, one.attempt)


def _name_in(raw: bytes) -> str:
    """Return the name by which the source calls the attempt of a record, empty without one."""
    held = json.loads(raw).get("source")
    name = held.get("session") if isinstance(held, dict) else None
    return name if isinstance(name, str) else ""


def _goes_on(theirs: bytes, mine: bytes) -> bool:
    """Return whether a record contains another one and more, whatever slot and source each
    names."""
    names = {name: value for name, value in json.loads(mine).items() if name in _SLOT_AND_SOURCE}
    other = {name: v for name, v in json.loads(theirs).items() if name not in _SLOT_AND_SOURCE}
    found = compare(json.dumps({**other, **names}).encode(), mine)
    return found.kind == "holds"


_SLOT_AND_SOURCE = frozenset({"candidate_id", "episode_id", "attempt", "schema", "source"})


class NamedSlots:
    """Slots whose record itself names its attempt: another record that names one is of the same
    attempt. A number that was assigned to a record which names none identifies no attempt."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._fresh: set[Slot] = set()

    def add(self, slot: Slot) -> None:
        """Add a slot that is about to be filled by name."""
        self._fresh.add(slot)

    def target(self, slot: Slot) -> Target | None:
        """Return the attempt in this slot, None when its record does not name it."""
        one = imports.attempt_in(self._connection, slot)
        if one is None:
            return Target(None, slot[2]) if slot in self._fresh else None
        old = judged_record(self._connection, one.trace)
        # A record with raw identifiers is not stored; its slot was named like this one.
        return Target(one.trace, slot[2]) if old is None or own_attempt(old) == slot[2] else None


def stored_in(connection: Connection, slot: Slot) -> bytes | None:
    """Return the judged record in a slot; None when there is none, or it may not be stored."""
    one = imports.attempt_in(connection, slot)
    return None if one is None else judged_record(connection, one.trace)


def record_of(new: NewTrace, packs: Sequence[Pack]) -> bytes | None:
    """Return the JSON of a record that waits for its batch; None when its payload may not be
    stored."""
    if new.pack is not None:
        [raw] = payload.slices(packs[new.pack], [(new.offset or 0, new.length or 0)])
        return raw
    if not new.chunks:
        return None
    opened = zstandard.ZstdDecompressor().decompress
    members = msgspec.json.decode(opened(new.chunks[0].frame))
    members["events"] = [
        event for chunk in new.chunks[1:] for event in _run.decode(opened(chunk.frame))
    ]
    return msgspec.json.encode(members)


MOST_ALIKE = 8
"""Most attempts of one cost, latency and length that a record is compared with."""


def rewritten(connection: Connection, written: Sequence[int]) -> dict[int, list[int]]:
    """Return, for those of these traces of private suites that are the same record as a trace of
    another candidate, with other white space or member order, those other traces.

    The bytes of such a record differ, and so does the identity of its evidence; its cost, duration
    and number of events do not. A record without times is not compared: such runs may be alike.
    """
    found: dict[int, list[int]] = {}
    for trace, others in imports.alike_elsewhere(connection, written, MOST_ALIKE).items():
        mine = judged_record(connection, trace)
        heads = [(other, judged_record(connection, other)) for other in others]
        same = [
            other
            for other, theirs in heads
            if mine is not None and theirs is not None and compare(theirs, mine).kind == "same"
        ]
        if same:
            found[trace] = same
    return found
