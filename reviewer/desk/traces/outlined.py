"""Read a trace for its outline, and the lines of a listing of it."""

from collections.abc import Sequence

from reviewer.db.connection import Connection
from reviewer.db.queries.traces import TraceRow
from reviewer.desk.traces.events import event_rows, findings_by_seq, worst_of
from reviewer.desk.traces.listing import Listing
from reviewer.desk.traces.outline import Outline, outline_of
from reviewer.desk.traces.records import Records
from reviewer.desk.traces.views import GroupRow
from reviewer.desk.views import EventRow


def read_outline(connection: Connection, records: Records, row: TraceRow) -> Outline:
    """Return the outline of a trace. Reads the whole trace once, a window at a time."""
    by_seq = findings_by_seq(connection, row)
    marks = {seq: mark for seq, found in by_seq.items() if (mark := worst_of(found)) is not None}
    events = (event for _, window in records.each(connection, row) for event in window)
    return outline_of(events, marks)


def listed_rows(
    connection: Connection, records: Records, row: TraceRow, listing: Listing, keys: Sequence[int]
) -> list[EventRow | GroupRow]:
    """Return the lines with these keys of a listing."""
    places = [key if key >= 0 else listing.nodes[-1 - key].says for key in keys]
    if any(place >= row.events for place in places):
        return []  # the trace is changing
    rows = event_rows(connection, records, row, places)
    return [
        event if key >= 0 else _group(listing, -1 - key, event)
        for key, event in zip(keys, rows, strict=True)
    ]


def _group(listing: Listing, number: int, quoted: EventRow) -> GroupRow:
    node, outline = listing.nodes[number], listing.outline
    return GroupRow(
        kind=node.kind,
        node=number,
        depth=node.depth,
        seq=outline.seqs[node.first],
        numbers=node.numbers,
        name=outline.names[node.thread],
        quoted=quoted,
        events=node.totals.events,
        calls=node.totals.calls,
        wrong=node.totals.wrong,
        took_ms=node.totals.took_ms,
        mark=node.totals.mark,
    )
