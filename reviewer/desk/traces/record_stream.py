"""Many stored records, one after another, each frame opened once."""

from collections.abc import Iterable, Iterator

from reviewer.db import payload
from reviewer.db.connection import Connection
from reviewer.desk.traces.records import Kept
from reviewer.trace.record import TraceRecord


def each_record(
    connection: Connection, traces: Iterable[Kept]
) -> Iterator[tuple[int, TraceRecord]]:
    """Yield (trace, record) of those whose payload is stored. Raises StoreError for a damaged
    payload."""
    packs: dict[int, list[Kept]] = {}
    for trace in traces:
        if trace.pack is not None:
            packs.setdefault(trace.pack, []).append(trace)
        elif (raw := payload.large_record(connection, trace.id)) is not None:
            yield trace.id, payload.decode_record(raw)
    for pack, held in packs.items():
        frame = payload.frame_bytes(connection, pack)
        for trace in held:
            start = trace.offset or 0
            yield trace.id, payload.decode_record(frame[start : start + (trace.length or 0)])
