"""The events of one trace as they are shown: lines of a list, and one complete event."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

import msgspec

from reviewer.db.connection import Connection
from reviewer.db.queries.traces import FindingRow, TraceRow, findings_of, findings_on
from reviewer.desk.traces.previews import call_words, result_words, state_words
from reviewer.desk.traces.records import Records, TracePlace, position_of
from reviewer.desk.traces.states import event_changes
from reviewer.desk.traces.text import brief_of, text_of
from reviewer.desk.traces.views import EventDetail, Field
from reviewer.desk.views import EventRow, Mark
from reviewer.gates.approvals import granted
from reviewer.gates.model import Finding
from reviewer.gates.values import parse
from reviewer.suite.model import Suite
from reviewer.trace.jsontree import Buffer
from reviewer.trace.record import ABSENT, Event, kind_of

REACH, REACH_LARGE = 32, 8
"""Events read beyond either side of a window, and the same for a trace that is kept in chunks; a
longer group is shown only as far as they reach."""


def together(events: Sequence[Event]) -> list[tuple[int, int]]:
    """Return (place, size) of each event within its group, from 1; (0, 0) for an event outside any
    group.

    A group is a series of calls of one actor that wait for their results, which then follow; or of
    calls whose times overlap. Calls without any results are no group: the source may simply not
    record results.
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
    """Return whether the result of a call is another event."""
    return call.kind is not None and call.call_id is not None and call.observation == ABSENT


def _overlap(first: Event, second: Event) -> bool:
    """Return whether the second call began before the first had ended."""
    if not (first.started_at and second.started_at and first.latency_ms):
        return False
    try:
        begun = datetime.fromisoformat(first.started_at)
        later = datetime.fromisoformat(second.started_at)
        return 0 <= (later - begun).total_seconds() * 1000 < first.latency_ms
    except (ValueError, TypeError):  # not a known form of time, or one with a zone and one without
        return False


TITLE_CHARS = 200
SAYING = ("message", "error", "state_snapshot")
"""Kinds of events whose observation, if there is one, is not the answer to a call."""
FIELDS = ("message", "arguments", "observation", "approval", "state")
"""Fields of an event that are shown, in the order of reading."""


def event_window(
    connection: Connection, records: Records, row: TraceRow, first: int, count: int
) -> list[EventRow]:
    """Return the list lines of the events at positions first..first+count-1, from 0."""
    return _rows(connection, row, _near(records, connection, row, first, count))


class _Near(NamedTuple):
    """An event with the facts derived from the events around it."""

    event: Event
    seq: int
    group: tuple[int, int]
    state: str


def _near(
    records: Records, connection: Connection, row: TraceRow, first: int, count: int
) -> list[_Near]:
    reach = _reach(row)
    start = max(0, first - reach)  # a group of calls may extend across the edge
    events = records.events(connection, row, start, first - start + count + reach)
    groups, states = together(events), _states(events)
    return [
        _Near(event, event.seq or at + 1, group, state)
        for at, (event, group, state) in enumerate(zip(events, groups, states, strict=True), start)
        if first <= at < first + count
    ]


def _rows(connection: Connection, row: TraceRow, near: Sequence[_Near]) -> list[EventRow]:
    """Return the list lines of these events. A trace may have tens of thousands of findings: only
    those on these events are read."""
    by_seq = _by_seq(findings_on(connection, row.id, [each.seq for each in near]))
    return [
        _event_row(event, seq, by_seq.get(seq, []), group, state)
        for event, seq, group, state in near
    ]


def rows_of(events: Sequence[Event], found: Sequence[Finding]) -> list[EventRow]:
    """Return the list lines of all events of a record that is not in a store."""
    by_seq: dict[int, list[Finding]] = {}
    for finding in found:
        if finding.seq is not None and finding.severity != "note":
            by_seq.setdefault(finding.seq, []).append(finding)
    return [
        _event_row(event, seq, by_seq.get(seq, []), group, state)
        for event, seq, group, state in (
            (event, event.seq or at, group, state)
            for at, (event, group, state) in enumerate(
                zip(events, together(events), _states(events), strict=True), 1
            )
        )
    ]


def findings_by_seq(connection: Connection, row: TraceRow) -> dict[int, list[FindingRow]]:
    """Return the findings on each event, by its number; without notes."""
    return _by_seq(findings_of(connection, [row.id]))


def _by_seq(findings: Sequence[FindingRow]) -> dict[int, list[FindingRow]]:
    by_seq: dict[int, list[FindingRow]] = {}
    for finding in findings:
        if finding.seq is not None and finding.severity != "note":
            by_seq.setdefault(finding.seq, []).append(finding)
    return by_seq


def event_rows(
    connection: Connection, records: Records, row: TraceRow, places: Sequence[int]
) -> list[EventRow]:
    """Return the list lines of the events at these positions."""
    found: list[_Near] = []
    for _, run in groupby(enumerate(places), key=lambda each: each[1] - each[0]):
        near = [place for _, place in run]
        found += _near(records, connection, row, near[0], len(near))
    return _rows(connection, row, found)


def worst_of(found: Sequence[FindingRow | Finding]) -> Mark | None:
    """Return the mark of an event with these findings."""
    worst = {f.severity for f in found}
    if not worst:
        return None
    return "critical" if "critical" in worst else "fail" if "fail" in worst else "not_measured"


def _states(events: Sequence[Event]) -> list[str]:
    """Return what each state snapshot changed since the state recorded before it, as far as the
    given events show; empty for other events."""
    before: Buffer = ABSENT
    told = []
    for event in events:
        snapshot = kind_of(event) == "state_snapshot"
        told.append(state_words(event.state, before) if snapshot else "")
        before = before if event.state == ABSENT else event.state
    return told


def _reach(row: TraceRow) -> int:
    return REACH_LARGE if row.pack is None else REACH


def _event_row(
    event: Event,
    seq: int,
    found: Sequence[FindingRow | Finding],
    group: tuple[int, int],
    state: str,
) -> EventRow:
    kind = kind_of(event)
    status = event.status
    if status is None and event.kind is None and event.tool is not None:
        status = "ok"
    return EventRow(
        seq=seq,
        kind=kind,
        title=title_of(event, kind),
        actor=event.actor,
        status=status,
        latency_ms=event.latency_ms,
        cost_usd=event.cost_usd,
        mark=worst_of(found),
        codes=tuple(f.code for f in found),
        group=group,
        call=call_words(event.arguments, " ".join(f"{f.code} {f.detail}" for f in found)),
        result=state if kind in SAYING else result_words(event.observation),
    )


def title_of(event: Event, kind: str) -> str:
    """Return the title of an event in a list: a tool, the words of a message or of an error; for an
    approval, whether it was granted."""
    if kind == "message":
        return brief_of(event.message, TITLE_CHARS)
    if kind == "approval" and event.approval != ABSENT:
        word = "granted" if granted(parse(event.approval)) else "not granted"
        return f"{event.tool}: {word}" if event.tool is not None else word
    if event.tool is not None:
        return event.tool
    if kind == "state_snapshot":
        return "state snapshot"
    said = event.message if kind == "error" and event.message != ABSENT else event.observation
    return brief_of(said, TITLE_CHARS) or kind


def event_detail(
    connection: Connection, records: Records, place: TracePlace, suite: Suite, seq: int
) -> EventDetail:
    """Return one complete event. Raises DeskError when the trace has no such event."""
    row = place.row
    position = position_of(connection, records, row, seq)
    event = records.events(connection, row, position, 1)[0]
    approval = event.approval
    return EventDetail(
        row=event_window(connection, records, row, position, 1)[0],
        position=position,
        fields=tuple(
            Field(name=name, raw=bytes(raw))
            for name in FIELDS
            if (raw := getattr(event, name)) != ABSENT
        ),
        granted=None if approval == ABSENT else granted(parse(approval)),
        state_changes=event_changes(connection, records, place, suite, position),
        started_at=event.started_at,
        tokens=text_of(event.tokens),
        raw=_raw(event),
        related=_related(connection, records, row, position),
    )


def _raw(event: Event) -> bytes:
    """Return the event as JSON; members that its file did not have are left out."""
    members = {
        name: value
        for name in event.__struct_fields__
        if (value := getattr(event, name)) is not None and value != ABSENT
    }
    return msgspec.json.encode(members)


def _related(
    connection: Connection, records: Records, row: TraceRow, position: int
) -> tuple[EventRow, ...]:
    """Return the other events of the same call that are near. A reused id begins another call."""
    start = max(0, position - _reach(row))
    events = records.events(connection, row, start, position - start + 1 + _reach(row))
    here = position - start
    called = events[here].call_id
    if called is None:
        return ()
    same = [n for n, event in enumerate(events) if event.call_id == called]
    calls = [n for n in same if kind_of(events[n]) == "tool_call"]
    first = max((n for n in calls if n <= here), default=same[0])
    end = min((n for n in calls if n > first and n > here), default=len(events))
    found = (start + n for n in same if first <= n < end and n != here)
    return tuple(event_window(connection, records, row, at, 1)[0] for at in found)
