"""Find a trace in the store, and read its record, windows of its events, and its message."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import NamedTuple, Protocol

import msgspec

from reviewer.db import payload, registry
from reviewer.db.bulk import Packs
from reviewer.db.connection import Connection, StoreError
from reviewer.db.payload import ChunkPlace, large_head
from reviewer.db.queries.traces import TraceRow, trace_at
from reviewer.desk.errors import DeskError
from reviewer.report.formatting import counted
from reviewer.trace.record import ABSENT, Event, TraceRecord

CACHED_RECORDS = 8
CACHED_BYTES = 16 << 20
"""Bytes of decoded events of large traces that are cached; at least two chunks are, however
large."""
WINDOW = 500


class TracePlace(NamedTuple):
    """The place of a trace in the store."""

    suite: registry.SuiteRow
    candidate: registry.CandidateRow
    episode: int
    episode_id: str
    row: TraceRow

    @property
    def trace_id(self) -> str:
        names = self.suite.suite_id, self.candidate.candidate_id, self.episode_id
        return "/".join((*names, str(self.row.attempt)))


def locate(connection: Connection, trace_id: str) -> TracePlace:
    """Find a trace by `<suite>/<candidate>/<episode>/<attempt>`; ids may themselves contain
    slashes.

    Raises DeskError when there is no such trace.
    """
    head, _, attempt = trace_id.rpartition("/")
    if attempt.isascii() and attempt.isdigit() and 0 < len(attempt) < 20 and int(attempt) < 1 << 63:
        for suite in registry.suites(connection):
            if not head.startswith(suite.suite_id + "/"):
                continue
            rest = head[len(suite.suite_id) + 1 :]
            for candidate in registry.candidates(connection, suite.id):
                if not rest.startswith(candidate.candidate_id + "/"):
                    continue
                episode_id = rest[len(candidate.candidate_id) + 1 :]
                key = registry.episode_key(connection, suite.id, episode_id)
                if key is None:
                    continue
                row = trace_at(connection, candidate.id, key, int(attempt))
                if row is not None:
                    return TracePlace(suite, candidate, key, episode_id, row)
    raise DeskError(
        f"no trace {trace_id} in this store; a trace id is <suite>/<candidate>/<episode>/<attempt>",
        "reviewer search WORD lists the traces that contain it",
    )


class Snapshot(NamedTuple):
    """An event with a state: its position, from 0, and its number."""

    position: int
    seq: int


Key = tuple[int, bytes]
"""A trace, and the digest of its judged record: a revision may replace that record."""


class Records:
    """Decoded records by trace, a few at a time. Safe to share between threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[Key, TraceRecord] = OrderedDict()
        self._snapshots: OrderedDict[Key, list[Snapshot]] = OrderedDict()
        self._places: OrderedDict[Key, list[ChunkPlace]] = OrderedDict()
        self._chunks: OrderedDict[tuple[Key, int], tuple[list[Event], int]] = OrderedDict()
        self._lock = Lock()

    def whole(self, connection: Connection, row: TraceRow) -> TraceRecord | None:
        """Return the record with its events; None when the payload was refused, or is kept in
        chunks."""
        key = row.id, row.sha256
        with self._lock:
            record = self._held.get(key)
            if record is not None:
                self._held.move_to_end(key)
                return record
        raw = payload.raw_record(connection, row.pack, row.offset, row.length)
        if raw is None:
            return None
        record = payload.decode_record(raw)
        with self._lock:
            self._held[key] = record
            while len(self._held) > CACHED_RECORDS:
                self._held.popitem(last=False)
        return record

    def events(self, connection: Connection, row: TraceRow, first: int, count: int) -> list[Event]:
        """Return the events at positions first..first+count-1, from 0."""
        record = self.whole(connection, row)
        if record is not None:
            return record.events[first : first + count]
        found: list[Event] = []
        for place in self._places_of(connection, row):
            if place.first_seq > first + count or place.first_seq + place.events <= first + 1:
                continue
            events = self._chunk(connection, row, place.n)
            start = place.first_seq - 1
            found += events[max(first - start, 0) : max(first + count - start, 0)]
        return found

    def _places_of(self, connection: Connection, row: TraceRow) -> list[ChunkPlace]:
        """Return which events each chunk of a large trace has, cached. Reading that takes longer
        than reading a chunk: the rows are far apart."""
        key = row.id, row.sha256
        with self._lock:
            found = self._places.get(key)
            if found is not None:
                self._places.move_to_end(key)
                return found
        found = payload.chunk_places(connection, row.id, 0, row.events)
        with self._lock:
            self._places[key] = found
            while len(self._places) > CACHED_RECORDS:
                self._places.popitem(last=False)
        return found

    def _chunk(
        self, connection: Connection, row: TraceRow, n: int, keep: bool = True
    ) -> list[Event]:
        key = (row.id, row.sha256), n
        with self._lock:
            held = self._chunks.get(key)
            if held is not None:
                self._chunks.move_to_end(key)
                return held[0]
        events, size = payload.chunk_events(connection, row.id, n)
        if not keep:
            return events
        with self._lock:
            self._chunks[key] = events, size
            while (
                len(self._chunks) > 2
                and sum(size for _, size in self._chunks.values()) > CACHED_BYTES
            ):
                self._chunks.popitem(last=False)
        return events

    def each(self, connection: Connection, row: TraceRow) -> Iterator[tuple[int, list[Event]]]:
        """Yield every event in windows, each with the position of its first. A large trace is read
        chunk by chunk, and what is cached of it stays cached."""
        if (record := self.whole(connection, row)) is not None:
            for first in range(0, row.events, WINDOW):
                yield first, record.events[first : first + WINDOW]
            return
        for place in self._places_of(connection, row):
            yield place.first_seq - 1, self._chunk(connection, row, place.n, keep=False)

    def snapshots(self, connection: Connection, row: TraceRow) -> list[Snapshot]:
        """Return the events with a state, in order. Reads the whole trace once."""
        key = row.id, row.sha256
        with self._lock:
            if key in self._snapshots:
                self._snapshots.move_to_end(key)
                return self._snapshots[key]
        found = [
            Snapshot(at, event.seq or at + 1)
            for first, events in self.each(connection, row)
            for at, event in enumerate(events, first)
            if event.state != ABSENT
        ]
        with self._lock:
            self._snapshots[key] = found
            while len(self._snapshots) > CACHED_RECORDS:
                self._snapshots.popitem(last=False)
        return found


def position_of(connection: Connection, records: Records, row: TraceRow, seq: int) -> int:
    """Return the position of event `seq` in the list: usually seq - 1, else searched backward from
    there."""
    at = min(seq, row.events) - 1
    while at >= 0:
        event = records.events(connection, row, at, 1)
        if not event:
            break
        number = event[0].seq or at + 1
        if number == seq:
            return at
        if number < seq:
            break
        at -= 1
    raise DeskError(
        f"this trace has no event {seq}: it has {counted(row.events, 'event')}",
        "reviewer show TRACE_ID --by turns lists them",
    )


class Kept(Protocol):
    """The fields that locate a trace's record in this store, and identify the trace in any
    store."""

    @property
    def id(self) -> int: ...
    @property
    def key(self) -> tuple[int, int]: ...
    @property
    def pack(self) -> int | None: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def length(self) -> int | None: ...


KEPT_MESSAGES = 50_000
"""Messages kept in memory; a trace never changes, so they stay valid."""


class _Final(msgspec.Struct):
    """The final message of a record, without its other members."""

    final_message: str | None = None


_final = msgspec.json.Decoder(_Final)


class FinalMessages:
    """Final messages by trace. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], str | None] = {}
        self._lock = Lock()

    def of(self, connection: Connection, traces: Sequence[Kept]) -> dict[int, str | None]:
        """Return the message of each trace, None when it ended without one. A trace whose payload
        was not stored is absent: its message is not known. Raises StoreError for a damaged
        payload."""
        with self._lock:
            found = {t.id: self._kept[t.key] for t in traces if t.key in self._kept}
        missing = [trace for trace in traces if trace.id not in found]
        if missing:
            read = _read_messages(connection, missing)
            found.update(read)
            with self._lock:
                if len(self._kept) + len(read) > KEPT_MESSAGES:
                    self._kept.clear()
                self._kept.update((t.key, read[t.id]) for t in missing if t.id in read)
        return found


def _read_messages(connection: Connection, traces: Sequence[Kept]) -> dict[int, str | None]:
    packs: dict[int, list[Kept]] = {}
    found: dict[int, str | None] = {}
    for trace in traces:
        if trace.pack is not None:
            packs.setdefault(trace.pack, []).append(trace)
            continue
        head = large_head(connection, trace.id)
        if head is not None:
            found[trace.id] = head.final_message
    opened = Packs(connection)
    for held in packs.values():
        for trace in held:
            if (raw := opened.record(trace.pack, trace.offset, trace.length)) is not None:
                found[trace.id] = _message(raw, trace.id)
    return found


def _message(payload: bytes, trace: int) -> str | None:
    try:
        return _final.decode(payload).final_message
    except msgspec.DecodeError as error:
        raise StoreError(f"trace {trace} is not a stored trace: the file is damaged") from error
