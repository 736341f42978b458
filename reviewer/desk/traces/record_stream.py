"""Read many stored records, one after another, opening each frame once."""

from collections.abc import Iterable, Iterator

from reviewer.db import payload
from reviewer.db.bulk import Packs
from reviewer.db.connection import Connection
from reviewer.desk.traces.records import Kept
from reviewer.trace.record import TraceRecord


def each_record(
    connection: Connection, traces: Iterable[Kept]
) -> Iterator[tuple[int, TraceRecord]]:
    """Yield (trace, record) for those traces whose payload is stored. Raises StoreError for a
    damaged payload."""
    packs: dict[int, list[Kept]] = {}
    for trace in traces:
        if trace.pack is not None:
            packs.setdefault(trace.pack, []).append(trace)
        elif (raw := payload.large_record(connection, trace.id)) is not None:
            yield trace.id, payload.decode_record(raw)
    opened = Packs(connection)
    for held in packs.values():
        for trace in held:
            if (raw := opened.record(trace.pack, trace.offset, trace.length)) is not None:
                yield trace.id, payload.decode_record(raw)
