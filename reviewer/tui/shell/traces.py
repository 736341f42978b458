"""A trace read before its screen stands, so that the first frame of the screen shows it."""

from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.traces.views import NoteView
from reviewer.desk.views import EventRow, TraceView

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk


BLOCK = 32
"""Lines that are read at once."""


SHORT_LIST = 2 * BLOCK
"""Events of a trace at most, for their list to be read with it."""


class Ready(NamedTuple):
    """A trace, what people noted on it, and the list of its events where that is short."""

    trace: TraceView
    notes: list[NoteView]
    blocks: tuple[list[EventRow], ...] = ()


def listed(trace: TraceView) -> int:
    """Return how many events a list can show: none where the record itself was withheld."""
    return trace.events if trace.payload else 0


def read_whole(desk: "Desk", trace_id: str) -> Ready:
    """What the first frame of a trace shows. Raises DeskError."""
    trace, notes = desk.traces.view(trace_id), desk.traces.notes(trace_id)
    if listed(trace) > SHORT_LIST:
        return Ready(trace, notes)
    firsts = range(0, listed(trace), BLOCK)
    counts = [min(BLOCK, listed(trace) - first) for first in firsts]
    blocks = map(desk.traces.events, [trace_id] * len(counts), firsts, counts)
    return Ready(trace, notes, tuple(map(list, blocks)))
