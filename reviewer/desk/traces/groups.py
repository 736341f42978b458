"""Calls that were made together: several before the first of them was answered."""

from collections.abc import Sequence
from datetime import datetime

from reviewer.trace.record import ABSENT, Event, kind_of

REACH, REACH_LARGE = 32, 8
"""Events looked at beyond a window at either side, and of a trace that is kept in chunks; a longer
group is told as far as that."""


def together(events: Sequence[Event]) -> list[tuple[int, int]]:
    """(place, of) of each event within its group, from 1; (0, 0) for one that stands alone.

    A group is a row of calls of one actor that wait for their results, which then follow; or of
    calls whose times overlap. Calls that nothing answers are no group: the source may just not
    record what they returned.
    """
    groups = [(0, 0)] * len(events)
    at = 0
    while at < len(events):
        end = at + 1
        while end < len(events) and _joined(events[end - 1], events[end]):
            end += 1
        waiting = end - at > 1 and not _overlap(events[at], events[at + 1])
        answered = end < len(events) and kind_of(events[end]) == "tool_result"
        if end - at > 1 and (answered or not waiting):
            for place in range(at, end):
                groups[place] = place - at + 1, end - at
        at = end
    return groups


def _joined(first: Event, second: Event) -> bool:
    if kind_of(first) != "tool_call" or kind_of(second) != "tool_call":
        return False
    if first.actor != second.actor:
        return False
    return (_waits(first) and _waits(second)) or _overlap(first, second)


def _waits(call: Event) -> bool:
    """Whether its result is another event."""
    return call.kind is not None and call.call_id is not None and call.observation == ABSENT


def _overlap(first: Event, second: Event) -> bool:
    """Whether the second began before the first had ended."""
    if not (first.started_at and second.started_at and first.latency_ms):
        return False
    try:
        begun = datetime.fromisoformat(first.started_at)
        later = datetime.fromisoformat(second.started_at)
        return 0 <= (later - begun).total_seconds() * 1000 < first.latency_ms
    except (ValueError, TypeError):  # no time that we read, or one with a zone and one without
        return False
