"""The events of one trace on one line: by time where the source has times, else by event."""

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from math import isnan, nan
from typing import NamedTuple

from reviewer.desk.views import Mark
from reviewer.trace.record import Event, is_user, kind_of

TOLD, AGENT, CALL, WRONG, UNSURE, FAIL, CRITICAL = range(1, 8)
"""What a column can show, by rising weight: a column with several events shows the heaviest."""
_FOUND: dict[Mark | None, int] = {"critical": CRITICAL, "fail": FAIL, "not_measured": UNSURE}


class Moments(NamedTuple):
    """When each event began and ended, in seconds since the first, NaN where that is not known; and
    its kind. `known` counts the events with a time, `longest` is the last end; 0 where no time
    passes."""

    began: Sequence[float]
    ended: Sequence[float]
    what: Sequence[int]
    known: int
    longest: float


class Line(NamedTuple):
    """A line of columns. `seconds` is the time that it covers, None where it is by event."""

    columns: Sequence[int]
    seconds: float | None
    known: int


def moments_of(events: Sequence[Event], marks: Sequence[Mark | None]) -> Moments:
    """Return the moments of slim events with these marks."""
    began, ended, what = array("d"), array("d"), bytearray()
    first = nan
    known = 0
    for event, mark in zip(events, marks, strict=True):
        at = _seconds(event.started_at)
        if not isnan(at):
            known += 1
            first = at if isnan(first) else min(first, at)
        began.append(at)
        ended.append(at + (event.latency_ms or 0.0) / 1000)
        what.append(_what(event, mark))
    if known:
        began = array("d", (at - first for at in began))
        ended = array("d", (at - first for at in ended))
    longest = max((at for at in ended if not isnan(at)), default=0.0) if known else 0.0
    return Moments(began, ended, what, known, longest)


def _seconds(stamp: str | None) -> float:
    if not stamp:
        return nan
    try:
        at = datetime.fromisoformat(stamp)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):  # not a known form of time
        return nan


def _what(event: Event, mark: Mark | None) -> int:
    if mark in _FOUND:
        return _FOUND[mark]
    kind = kind_of(event)
    if kind == "error" or event.status not in (None, "ok"):
        return WRONG
    if kind in ("tool_call", "tool_result"):
        return CALL
    told = is_user(event.actor) or event.actor in ("system", "environment")
    return AGENT if kind == "message" and not told else TOLD


def line_of(moments: Moments, width: int) -> Line:
    """Return the line of a trace with so many columns. By time, an event without a time is placed
    where the event before it ended."""
    many = len(moments.what)
    timed = moments.longest > 0
    width = width if timed else min(width, many)
    edges = {what: [0] * (width + 1) for what in range(TOLD, CRITICAL + 1)}
    now = 0.0
    for place, what in enumerate(moments.what):
        if timed:
            known = not isnan(moments.began[place])
            start, stop = moments.began[place] if known else now, moments.ended[place]
            stop = stop if known else now
            now = max(now, stop)
            left, right = (int(at / moments.longest * (width - 1)) for at in (start, stop))
        else:
            left = right = place * width // many
        edges[what][left] += 1
        edges[what][right + 1] -= 1
    columns = bytearray(width)
    for what, changes in edges.items():
        for column, count in enumerate(accumulate(changes[:width])):
            columns[column] = what if count else columns[column]
    return Line(columns, moments.longest if timed else None, moments.known)


def column_of(moments: Moments, place: int, width: int) -> int:
    """Return the column of an event; by time, an event without a time is placed where the last
    event with a time ended."""
    if moments.longest <= 0:
        return place * min(width, len(moments.what)) // len(moments.what)
    at = moments.began[place]
    while isnan(at) and place > 0:
        place -= 1
        at = moments.ended[place]
    return 0 if isnan(at) else int(at / moments.longest * (width - 1))
