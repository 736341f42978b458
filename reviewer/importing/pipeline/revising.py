"""Of which stored attempt a record is another one, and what it comes to. See `revisions`."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec
import zstandard

from reviewer.db import payload
from reviewer.db.intake import Chunk, NewTrace, Pack
from reviewer.db.revisions import Revision, judged_record, kept_records
from reviewer.importing.pipeline.compare import Relation, compare, holds, own_attempt
from reviewer.importing.pipeline.rejoining import A_PART, Again, part_of, rejoin, superseded
from reviewer.importing.pipeline.sessions import STRONG, TIMED, fits, retold
from reviewer.importing.scored import Facts

UNREAD = "a record of it is not stored"
_THERE = (
    "SELECT id, attempt, record, pack, offset, length FROM trace WHERE candidate=? AND episode=?"
    " AND source IN (SELECT value FROM json_each(?)) ORDER BY id"
)
_NAMED = (
    "SELECT t.id, t.attempt FROM attempt_name n JOIN trace t ON t.id = n.trace"
    " WHERE n.name=? AND t.candidate=? AND t.episode=? ORDER BY t.id"
)
_BY_PATH = (
    "SELECT record, id, candidate, episode, attempt FROM trace"
    " WHERE source IN (SELECT value FROM json_each(?))"
)
_ELSEWHERE = (
    "SELECT t.id, t.candidate, t.episode, t.attempt FROM attempt_name n"
    " JOIN trace t ON t.id = n.trace WHERE n.name=? ORDER BY t.id"
)
_run = msgspec.json.Decoder(list[msgspec.Raw])


class Target(NamedTuple):
    """An attempt that is there, or is written before its record is taken in (`trace` is None).
    `joined` says that another file told of it: what it ended with was that file's; `merged`, that
    the record comes from another store, and may be the earlier one; `session`, that both are of
    one session, and may be parts of it."""

    trace: int | None
    attempt: int
    joined: bool = False
    merged: bool = False
    session: bool = False


class Paths:
    """The paths of everything that was imported before. Asked of every file, so the store is read
    once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known = {hash(path) for (path,) in connection.execute("SELECT path FROM source")}

    def sources(self, paths: Iterable[str]) -> frozenset[int]:
        """The imports of files at these paths."""
        found = [path for path in paths if hash(path) in self._known]
        if not found:
            return frozenset()
        rows = self._connection.execute(
            "SELECT id FROM source WHERE path IN (SELECT value FROM json_each(?))",
            (json.dumps(found),),
        )
        return frozenset(source for (source,) in rows.fetchall())


class Binding(NamedTuple):
    """An attempt of another candidate, or at another episode, that a record is evidence of too:
    `grows` says that the record goes on with it, else it goes on with the record."""

    trace: int
    candidate: int
    episode: int
    attempt: int
    raw: bytes
    grows: bool


class _There(NamedTuple):
    """An attempt that an earlier import of the file left."""

    trace: int
    attempt: int
    record: int
    pack: int | None
    offset: int | None
    length: int | None


class Targets:
    """Attempts that a record may be another one of: by what its reader says, by its name, and by
    the path that it stands at. `earlier` are the imports of that path; `asked` says that whose the
    records are was said by the import alone."""

    def __init__(
        self, connection: sqlite3.Connection, earlier: Collection[int], asked: bool = False
    ) -> None:
        self._connection = connection
        self._asked = asked
        self._earlier = json.dumps(sorted(earlier)) if earlier else ""
        self._sources = frozenset(earlier)
        self._left: dict[int, list[tuple[int, int, int, int]]] | None = None
        self._names = (
            connection.execute("SELECT 1 FROM attempt_name LIMIT 1").fetchone() is not None
        )
        self._held: dict[tuple[int, int], list[_There]] = {}
        self._taken: set[int] = set()
        self._waiting: dict[tuple[int, int, str], list[tuple[int, Facts, Sequence[Pack]]]] = {}
        self._read: dict[int, bytes | None] = {}
        self.revised: set[int] = set()
        """Attempts of which a record was taken in."""

    def of(self, key: tuple[int, int], facts: Facts, packs: Sequence[Pack]) -> Target | None:
        """The attempt of this candidate and episode that it is another record of; None when it is
        an attempt of its own."""
        if facts.another and facts.attempt is not None:
            return Target(None, facts.attempt, merged=True)
        if facts.replaces is not None:
            found = self._joined(key, facts.replaces)
            if found is not None:
                return found
        if facts.identity:
            found = self._of_session(key, facts, packs)
            if found is not None:
                return found
        return self._at_path(key, facts, packs) if self._earlier else None

    def note(self, key: tuple[int, int], attempt: int, facts: Facts, packs: Sequence[Pack]) -> None:
        """Note a record that waits to be written as an attempt of its session, or as a part of
        one."""
        if facts.identity:
            self._waiting.setdefault((*key, facts.identity), []).append((attempt, facts, packs))

    def written(self) -> None:
        """Return what waited is written."""
        self._names = self._names or bool(self._waiting)
        self._waiting.clear()
        self._read.clear()

    def bindings(self, key: tuple[int, int], facts: Facts, packs: Sequence[Pack]) -> list[Binding]:
        """Attempts elsewhere of which this record says more, or that say more of it: by the path
        that it stands at, and by its session. At one path a shorter record that names its
        candidate is another's run; one that does not may be the longer one, cut."""
        rows = list(self._elsewhere().get(facts.number, ())) if self._earlier else []
        by_path = len(rows)
        if self._names and facts.identity.startswith(STRONG):
            rows += self._connection.execute(_ELSEWHERE, (facts.identity,)).fetchall()
        rows = [row for row in rows if row[1:3] != key]
        mine = _of_facts(facts, packs) if rows else None
        found: dict[int, Binding] = {}
        for place, (trace, candidate, episode, attempt) in enumerate(rows):
            theirs = judged_record(self._connection, trace) if mine is not None else None
            if theirs is None or mine is None:
                continue
            if _goes_on(theirs, mine):
                found[trace] = Binding(trace, candidate, episode, attempt, mine, True)
            elif (self._asked or place >= by_path) and _goes_on(mine, theirs):
                found[trace] = Binding(trace, candidate, episode, attempt, theirs, False)
        return list(found.values())

    def _elsewhere(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """Attempts that imports of this path left, by the number of their record."""
        if self._left is None:
            self._left = {}
            for record, *row in self._connection.execute(_BY_PATH, (self._earlier,)).fetchall():
                self._left.setdefault(record, []).append((row[0], row[1], row[2], row[3]))
        return self._left

    def _named(self, name: str, key: tuple[int, int]) -> list[tuple[int, int]]:
        if not self._names:
            return []
        return self._connection.execute(_NAMED, (name, *key)).fetchall()

    def _of_session(
        self, key: tuple[int, int], facts: Facts, packs: Sequence[Pack]
    ) -> Target | None:
        """The attempt of the same session that this record is a part of, or goes on with."""
        found: dict[int, list[bytes | None]] = {}
        traces: dict[int, int] = {}
        rows = [row for name in (facts.identity, *facts.names) for row in self._named(name, key)]
        for trace, attempt in dict.fromkeys(rows):
            kept = kept_records(self._connection, trace)
            if any(one.source in self._sources and one.record == facts.number for one in kept):
                return Target(trace, attempt, session=True)  # the part that stood there, again
            head = judged_record(self._connection, trace)
            found[attempt] = [head, *(one.raw for one in kept)]
            traces[attempt] = trace
        for attempt, other, theirs in self._waiting.get((*key, facts.identity), ()):
            if other.number not in self._read:
                self._read[other.number] = _of_facts(other, theirs)
            found.setdefault(attempt, []).append(self._read[other.number])
        raw = _of_facts(facts, packs) if found else None
        for attempt, records in found.items():
            if facts.attempt not in (None, attempt) and not facts.identity.startswith(TIMED):
                continue
            known = [json.loads(one) for one in records if one is not None]
            unknown = raw is None or len(known) < len(records)
            if unknown or fits(facts.identity, known, json.loads(raw or b"{}")):
                return Target(traces.get(attempt), attempt, session=True)
        return None

    def _joined(self, key: tuple[int, int], replaces: tuple[int, int]) -> Target | None:
        row = self._connection.execute(
            "SELECT id, attempt FROM trace WHERE id=? AND candidate=? AND episode=?",
            (replaces[0], *key),
        ).fetchone()
        if row is None or row[0] in self._taken:
            return None
        self._taken.add(row[0])
        return Target(row[0], row[1], True)

    def _at_path(self, key: tuple[int, int], facts: Facts, packs: Sequence[Pack]) -> Target | None:
        there = self._held.get(key)
        if there is None:
            rows = self._connection.execute(_THERE, (*key, self._earlier)).fetchall()
            there = self._held[key] = [_There(*row) for row in rows]
        left = [one for one in there if one.trace not in self._taken]
        same = [one for one in left if one.record == facts.number]
        one = same[0] if same else left[0] if len(left) == 1 == len(there) else None
        if one is None:
            return None
        old = payload.stored_record(self._connection, one.trace, *one[3:])
        new = _of_facts(facts, packs)
        if old is not None and new is not None:
            if facts.attempt is not None and own_attempt(old) != facts.attempt:
                return None
            if compare(old, new).kind == "other":
                return None
        self._taken.add(one.trace)
        return Target(one.trace, one.attempt)


def _goes_on(theirs: bytes, mine: bytes) -> bool:
    """Return whether a record holds another one, whoever and whatever each is called, and more."""
    names = {name: value for name, value in json.loads(mine).items() if name in _CALLED}
    other = {name: value for name, value in json.loads(theirs).items() if name not in _CALLED}
    found = compare(json.dumps({**other, **names}).encode(), mine)
    return found.kind == "holds"


_CALLED = frozenset({"candidate_id", "episode_id", "attempt", "schema", "source"})


class Named:
    """Slots whose record names its attempt itself: another record that names one is of the same
    attempt. A number that was given to a record which names none is nobody's name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fresh: set[tuple[int, int, int]] = set()

    def add(self, slot: tuple[int, int, int]) -> None:
        """Note a slot that is about to be filled by name."""
        self._fresh.add(slot)

    def target(self, slot: tuple[int, int, int]) -> Target | None:
        """The attempt in this slot, None when its record does not name it."""
        row = self._connection.execute(
            "SELECT id, pack, offset, length FROM trace"
            " WHERE candidate=? AND episode=? AND attempt=?",
            slot,
        ).fetchone()
        if row is None:
            return Target(None, slot[2]) if slot in self._fresh else None
        old = payload.stored_record(self._connection, *row)
        # What held raw identifiers is not stored; its slot was named as this one is.
        return Target(row[0], slot[2]) if old is None or own_attempt(old) == slot[2] else None


def came(
    connection: sqlite3.Connection,
    new: NewTrace,
    target: Target,
    raw: bytes | None,
    path: str = "",
    again: Again | None = None,
    read_with: frozenset[int] = frozenset(),
) -> list[Revision]:
    """What a record is to the attempt that is there, inside the transaction that takes it in; empty
    when it adds nothing. `raw` is the record, None when it may not be stored, `path` where it comes
    from, `again` judges what is put together of parts, and `read_with` are imports whose files were
    read for it once more."""
    if read_with and raw is not None and again is not None:
        whole = superseded(connection, new, raw, read_with, again)
        if whole is not None:
            return whole
    found = _came(connection, new, target, raw)
    if found is None or found.holds or raw is None or again is None:
        return [] if found is None else [found]
    if found.contained:
        return [found]
    parts = rejoin(connection, found.trace, [(new, raw)], path, again)
    return [found] if parts is None else parts


def came_together(
    connection: sqlite3.Connection,
    news: Sequence[tuple[NewTrace, bytes | None]],
    path: str,
    again: Again,
) -> list[Revision] | None:
    """As `came`, of several parts of one session that come at once; None where they are no such
    parts, or one of them may not be stored."""
    (key,) = connection.execute(
        "SELECT id FROM trace WHERE candidate=? AND episode=? AND attempt=?", news[0][0][:3]
    ).fetchone()
    known = [(new, raw) for new, raw in news if raw is not None]
    return rejoin(connection, key, known, path, again) if len(known) == len(news) else None


def _came(
    connection: sqlite3.Connection, new: NewTrace, target: Target, raw: bytes | None
) -> Revision | None:
    key, state, sha256 = connection.execute(
        "SELECT id, final_state, sha256 FROM trace WHERE candidate=? AND episode=? AND attempt=?",
        new[:3],
    ).fetchone()
    old = judged_record(connection, key)
    if old is None or raw is None:
        if sha256 == new.sha256:
            return None
        return Revision(key, new, False, False, UNREAD)
    if any(one.raw is not None and compare(one.raw, raw).kind == "same"
           for one in kept_records(connection, key)):  # fmt: skip
        return None
    found = _without_ends(old, raw) if target.joined else compare(old, raw)
    if found.kind == "same":
        return None
    if found.kind != "holds" and retold(json.loads(old), json.loads(raw)):
        found = Relation("holds", "its spans are told again, with more")
    if found.kind != "holds" and part_of(raw, old):
        return Revision(key, new, False, False, A_PART, contained=True, part=True)
    if found.kind != "holds" and target.merged and holds(raw, old):
        return Revision(key, new, False, False, "an earlier record of it", contained=True)
    if found.kind != "holds":
        return Revision(key, new, False, False, found.why)
    beside = [one for one in kept_records(connection, key) if not one.settled]
    whole = all(one.raw is not None and holds(one.raw, raw) for one in beside)
    return Revision(key, new, True, whole, found.why, target.joined or state is None)


def _without_ends(old: bytes, new: bytes) -> Relation:
    """A result's record stands for its attempt until more of it is known: its acts must be there,
    and whatever else it says is said by its files still."""
    events = json.loads(old)["events"]
    bare = {"events": events, "final_state": None}
    found = compare(json.dumps(bare).encode(), new)
    return Relation("holds", "more of it is known") if found.kind == "same" else found


def stored(connection: sqlite3.Connection, slot: tuple[int, int, int]) -> bytes | None:
    """The record that is judged in a slot; None when there is none, or it may not be stored."""
    row = connection.execute(
        "SELECT id FROM trace WHERE candidate=? AND episode=? AND attempt=?", slot
    ).fetchone()
    return None if row is None else judged_record(connection, row[0])


def record_of(new: NewTrace, packs: Sequence[Pack]) -> bytes | None:
    """The JSON of a record that waits for its batch; None when its payload may not be stored."""
    return _raw(new.pack, new.offset, new.length, new.chunks, packs)


def _of_facts(facts: Facts, packs: Sequence[Pack]) -> bytes | None:
    return _raw(facts.pack, facts.offset, facts.length, facts.chunks, packs)


def _raw(
    pack: int | None,
    offset: int | None,
    length: int | None,
    chunks: Sequence[Chunk],
    packs: Sequence[Pack],
) -> bytes | None:
    if pack is not None:
        [raw] = payload.slices(packs[pack], [(offset or 0, length or 0)])
        return raw
    if not chunks:
        return None
    opened = zstandard.ZstdDecompressor().decompress
    members = msgspec.json.decode(opened(chunks[0].frame))
    members["events"] = [event for one in chunks[1:] for event in _run.decode(opened(one.frame))]
    return msgspec.json.encode(members)
