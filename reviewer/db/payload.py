"""Trace payloads: pack them for the store, and read one, or a window of one, back.

Payloads of up to 1 MB are kept together, up to 64 in a zstd frame. A larger trace has its head (all
but the events) and its events in frames of about 256 KB, so that opening it reads one frame.
"""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import zstandard

from reviewer.db.connection import StoreError
from reviewer.db.payload_archives import chunk_frame, pack_frame
from reviewer.trace.record import Event, TraceRecord

LARGE = 1 << 20
CHUNK_BYTES = 256 * 1024
PACK_TRACES = 64
PACK_BYTES = 512 * 1024
MOST_BYTES = 256 << 20
"""No valid frame holds more: a record is at most 64 MiB."""
_LEVEL = 1
_MOST_EVENTS = 1 << 40
_T = TypeVar("_T")


class Pack(NamedTuple):
    size: int
    sha256: bytes
    frame: bytes


class Chunk(NamedTuple):
    """Part of a large trace: `first_seq` is 0 for its head."""

    first_seq: int
    events: int
    frame: bytes


class _RawEvents(msgspec.Struct):
    """A record cut at its events, both sides as raw bytes."""

    events: list[msgspec.Raw]


_record = msgspec.json.Decoder(TraceRecord)
_events = msgspec.json.Decoder(list[Event])
_raw_events = msgspec.json.Decoder(_RawEvents)
_raws = msgspec.json.Decoder(list[msgspec.Raw])
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Packer:
    """Makes packs one after another, in one thread: starting a compressor costs a fifth of the work
    on one pack."""

    def __init__(self) -> None:
        self._squeeze = zstandard.ZstdCompressor(level=_LEVEL)

    def pack(self, payloads: Sequence[bytes]) -> Pack:
        """Compress several payloads, in order, end to end, into one frame."""
        raw = b"".join(payloads)
        frame = self._squeeze.compress(raw)
        return Pack(len(raw), hashlib.sha256(frame).digest(), frame)


class CopyingPacker(Packer):
    """Makes packs. Where a frame of another store holds exactly the same payloads in the same
    order, that frame is copied instead of compressed again."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: list[tuple[bytes, Pack]] = []

    def open(self, packs: Mapping[int, Pack]) -> dict[int, bytes]:
        """Open packs of another store, by key, so that `pack` can copy their frames. Raises
        StoreError for one that does not match its digest."""
        opened: dict[int, bytes] = {}
        self._opened = []
        for key, pack in packs.items():
            try:
                raw = opened[key] = open_pack(key, pack, alone=True)
            except StoreError:  # the frame has trailing data, or does not open at all
                opened[key] = open_pack(key, pack)
                continue
            if zstandard.frame_content_size(pack.frame) == len(raw) >= len(pack.frame):
                self._opened.append((raw, pack))
        return opened

    def pack(self, payloads: Sequence[bytes]) -> Pack:
        raw = b"".join(payloads)
        for held, pack in self._opened:
            if held == raw:
                return pack._replace(size=len(raw))
        return super().pack(payloads)


def compress(payloads: Sequence[bytes]) -> Pack:
    """Return one pack, as a `Packer` makes it."""
    return Packer().pack(payloads)


def slices(pack: Pack, places: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the payloads at some (offset, length) of a pack."""
    raw = zstandard.ZstdDecompressor().decompress(pack.frame, max_output_size=pack.size)
    return [raw[offset : offset + length] for offset, length in places]


def chunk(payload: bytes) -> list[Chunk]:
    """Cut a large record into its head and runs of events, each its own frame."""
    squeeze = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    members = _members.decode(payload)
    events = _raw_events.decode(payload).events
    members["events"] = msgspec.Raw(b"[]")
    chunks = [Chunk(0, 0, squeeze.compress(msgspec.json.encode(members)))]
    held: list[msgspec.Raw] = []
    size, first = 0, 1
    for position, event in enumerate(events, 1):
        held.append(event)
        size += len(memoryview(event))
        if size >= CHUNK_BYTES or position == len(events):
            body = b"[" + b",".join(bytes(e) for e in held) + b"]"
            chunks.append(Chunk(first, len(held), squeeze.compress(body)))
            held, size, first = [], 0, position + 1
    return chunks


def frame_bytes(connection: sqlite3.Connection, pack: int) -> bytes:
    """Return a pack, decompressed. Raises StoreError when it does not match its digest."""
    return open_pack(pack, pack_of(connection, pack))


def pack_of(connection: sqlite3.Connection, pack: int) -> Pack:
    """Return a pack as it is stored. Raises StoreError when it is missing."""
    row = connection.execute("SELECT size, sha256, frame FROM pack WHERE id=?", (pack,)).fetchone()
    if row is None:
        raise StoreError(f"pack {pack} is missing from the store: restore a backup")
    held = Pack(*row)
    if not held.frame and (frame := pack_frame(connection, pack)) is not None:
        return held._replace(frame=frame)
    return held


def open_pack(key: int, pack: Pack, alone: bool = False) -> bytes:
    """Decompress a pack that was read. Raises StoreError when it does not match its digest, and
    with `alone` when data follows its frame."""
    size, digest, frame = pack
    if not isinstance(frame, bytes) or hashlib.sha256(frame).digest() != digest:
        raise StoreError(f"pack {key} does not match its digest: the file is damaged")
    return _opened(frame, f"pack {key}", size, alone)


def open_chunk(trace: int, frame: object) -> bytes:
    """Decompress a frame of a trace that is kept in chunks. Raises StoreError."""
    return _opened(frame, f"a chunk of trace {trace}")


def _opened(frame: object, name: str, size: int = 0, alone: bool = False) -> bytes:
    """Decompress a frame. Raises StoreError; a damaged header may claim any size at all."""
    if not isinstance(frame, bytes):
        raise StoreError(f"{name} is not a frame: the file is damaged")
    try:
        if zstandard.frame_content_size(frame) > MOST_BYTES:
            raise StoreError(f"{name} claims an impossible size: the file is damaged")
        return zstandard.ZstdDecompressor().decompress(
            frame, max_output_size=size, allow_extra_data=not alone
        )
    except zstandard.ZstdError as error:
        raise StoreError(f"{name} does not open: the file is damaged ({error})") from error


def _decoded(decoder: msgspec.json.Decoder[_T], raw: bytes, name: str) -> _T:
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise StoreError(f"{name} is not a stored trace: the file is damaged") from error


def _chunks(connection: sqlite3.Connection, trace: int, where: str, *values: int) -> list[bytes]:
    rows = connection.execute(
        f"SELECT n, frame FROM chunk WHERE trace=? AND {where} ORDER BY n", (trace, *values)
    ).fetchall()
    name = f"a chunk of trace {trace}"
    return [_opened(frame or chunk_frame(connection, trace, n), name) for n, frame in rows]


def pack_keys(connection: sqlite3.Connection) -> list[int]:
    """Return the keys of every pack whose frame should be in the store, in order."""
    rows = connection.execute(
        "SELECT id FROM pack WHERE length(frame) > 0 OR id NOT IN (SELECT pack FROM archived_pack)"
        " ORDER BY id"
    ).fetchall()
    return [key for (key,) in rows]


def chunked_traces(connection: sqlite3.Connection) -> list[int]:
    """Return the keys of every trace that has chunks in the store (of a revision: its negative
    id)."""
    rows = connection.execute(
        "SELECT DISTINCT trace FROM chunk c WHERE length(frame) > 0 OR NOT EXISTS"
        " (SELECT 1 FROM archived_chunk a WHERE a.trace = c.trace AND a.n = c.n) ORDER BY trace"
    ).fetchall()
    return [key for (key,) in rows]


def raw_record(
    connection: sqlite3.Connection,
    pack: int | None,
    offset: int | None,
    length: int | None,
) -> bytes | None:
    """Return the record as stored, None when its payload was refused or is kept in chunks."""
    if pack is None or offset is None or length is None:
        return None
    return frame_bytes(connection, pack)[offset : offset + length]


def large_head(connection: sqlite3.Connection, trace: int) -> TraceRecord | None:
    """Return the head of a chunked trace: everything but its events; None when it is not
    chunked."""
    raw = large_head_bytes(connection, trace)
    return None if raw is None else _decoded(_record, raw, f"the head of trace {trace}")


def large_head_bytes(connection: sqlite3.Connection, trace: int) -> bytes | None:
    """Return the head of a chunked trace as it is stored, for callers that read a part of it: a
    decoded head does not encode again, as absent members have no bytes. None when it is not
    chunked."""
    heads = _chunks(connection, trace, "n=0")
    return heads[0] if heads else None


class ChunkPlace(NamedTuple):
    """The events in a chunk of a large trace: `events` of them from number `first_seq` on."""

    n: int
    first_seq: int
    events: int


def chunk_places(
    connection: sqlite3.Connection, trace: int, first: int, count: int
) -> list[ChunkPlace]:
    """Return the chunks that hold events at positions first..first+count-1 (from 0), in order."""
    rows = connection.execute(
        "SELECT n, first_seq, events FROM chunk WHERE trace=? AND first_seq > 0 AND first_seq <= ?"
        " AND first_seq + events > ? ORDER BY n",
        (trace, first + count, first + 1),
    ).fetchall()
    return [ChunkPlace(*row) for row in rows]


def chunk_events(connection: sqlite3.Connection, trace: int, n: int) -> tuple[list[Event], int]:
    """Return the events of one chunk, and their size in bytes."""
    name = f"a chunk of trace {trace}"
    raw = b"".join(_chunks(connection, trace, "n=?", n))
    return _decoded(_events, raw, name), len(raw)


def large_events(connection: sqlite3.Connection, trace: int, first: int, count: int) -> list[Event]:
    """Return the events at positions first..first+count-1 (from 0) of a chunked trace."""
    found: list[Event] = []
    for place in chunk_places(connection, trace, first, count):
        start = place.first_seq - 1
        events, _ = chunk_events(connection, trace, place.n)
        found += events[max(first - start, 0) : max(first + count - start, 0)]
    return found


def large_record(connection: sqlite3.Connection, trace: int) -> bytes | None:
    """Join a chunked trace again: the same JSON as was imported, except for its white space. Return
    None when it is not chunked. Raises StoreError when a chunk does not open."""
    frames = _chunks(connection, trace, "1=1")
    if not frames:
        return None
    name = f"a chunk of trace {trace}"
    members = _decoded(_members, frames[0], f"the head of trace {trace}")
    events = [event for frame in frames[1:] for event in _decoded(_raws, frame, name)]
    members["events"] = msgspec.Raw(msgspec.json.encode(events))
    return msgspec.json.encode(members)


def stored_record(
    connection: sqlite3.Connection,
    trace: int,
    pack: int | None,
    offset: int | None,
    length: int | None,
) -> bytes | None:
    """Return the record as stored, in a pack or in chunks (of a revision: under the negative of its
    id); None when its payload was refused. Raises StoreError."""
    raw = raw_record(connection, pack, offset, length)
    return large_record(connection, trace) if raw is None else raw


def decode_record(raw: bytes) -> TraceRecord:
    """Decode a stored record. It was valid when it was written, so StoreError means damage."""
    return _decoded(_record, raw, "a payload")


def damaged_payloads(connection: sqlite3.Connection) -> str:
    """Return which compressed frames contradict their digest or their own checksum, in words; empty
    when there are none."""
    bad = []
    for key in pack_keys(connection):
        try:
            frame_bytes(connection, key)
        except StoreError:
            bad.append(f"pack {key}")
    for key in chunked_traces(connection):
        try:
            large_head(connection, key)
            large_events(connection, key, 0, _MOST_EVENTS)
        except StoreError:
            bad.append(f"trace {key}")
    return f"damaged: {', '.join(bad[:5])}" if bad else ""
