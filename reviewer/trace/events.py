"""The calls an agent made, out of events in any of the forms a harness writes them.

Short form: `tool` and `arguments`. Combined: a `tool_call` that carries its own observation and
status. Long: a `tool_call` and, later, its `tool_result`.
"""

from collections import deque
from collections.abc import Container, Sequence
from typing import NamedTuple

from msgspec import Raw, Struct

from reviewer.trace.record import ABSENT, Event, Status, by_agent, is_user

_CALLS = frozenset({None, "tool_call"})


class Call(Struct, frozen=True, gc=False):
    """One tool call with what came of it.

    `status` is what the call and its result say together (`settled`), else `ok` in the short form,
    else None (the trace does not say). `result_seq` is the seq of a separate result. `observation`
    and `latency_ms` (milliseconds) are the call's own, else the result's.
    """

    seq: int
    tool: str
    status: Status | None
    arguments: Raw = ABSENT
    result_seq: int | None = None
    observation: Raw = ABSENT
    by_agent: bool = True
    latency_ms: float | None = None
    approval: Raw = ABSENT


class Deeds(NamedTuple):
    """The tool calls in order of their events, and `strays`: results and errors that name a tool of
    whose call the trace does not tell. Something answered, so it was called."""

    calls: list[Call]
    strays: list[Call]


def calls(events: Sequence[Event]) -> list[Call]:
    """The tool calls in order of their events; `events` as `check_events` accepts them."""
    return deeds(events).calls


def short_calls(events: Sequence[Event], tools: Container[str]) -> list[Call]:
    """The calls of these tools alone, of a trace in which no result or error stands apart."""
    return [
        short_call(position, event)
        for position, event in enumerate(events, 1)
        if event.tool in tools and event.kind in _CALLS
    ]


def deeds(events: Sequence[Event]) -> Deeds:
    """The tool calls, and what must have been called too; `events` as in `calls`."""
    found: list[Call] = []
    for position, event in enumerate(events, 1):
        kind = event.kind
        tool = event.tool
        if kind == "tool_result" or kind == "error":
            return _paired(events)
        if tool is not None and (kind is None or kind == "tool_call"):
            found.append(short_call(position, event))
    return Deeds(found, [])


def short_call(position: int, event: Event) -> Call:
    """Return the call that this event alone tells: it names a tool, and has no separate result."""
    assert event.tool is not None
    return Call(
        event.seq or position,
        event.tool,
        event.status or ("ok" if event.kind is None else None),
        event.arguments,
        None,
        event.observation,
        not is_user(event.actor),
        event.latency_ms,
        event.approval,
    )


def settled(call: Status | None, result: Status | None) -> Status | None:
    """The status of a call that says one thing when its result says another: the worse one counts.
    A result settles what was pending; one that went well leaves of a denial only doubt (None)."""
    if call is None or call == "pending":
        return result or call
    if result is None or result == call:
        return call
    if {call, result} == {"ok", "denied"}:
        return None
    return max(call, result, key=_WORSE.index)


_WORSE: tuple[Status, ...] = ("ok", "pending", "error", "denied", "timeout")


def _paired(events: Sequence[Event]) -> Deeds:
    made: list[tuple[int, Event]] = []
    results: dict[int, tuple[int, Event]] = {}  # place in `made` -> seq and event of its result
    unpaired = _Unpaired()
    alone: list[tuple[int, Event]] = []
    for position, event in enumerate(events, 1):
        seq = event.seq or position
        if event.kind == "tool_result":
            place = unpaired.claim(event)
            if place is not None:
                results[place] = (seq, event)
            elif event.tool is not None:
                alone.append((seq, event))
        elif event.kind == "error" and event.tool is not None:
            alone.append((seq, event))
        elif event.tool is not None and event.kind in (None, "tool_call"):
            unpaired.add(len(made), event)
            made.append((seq, event))
    return Deeds(
        [_call(seq, event, results.get(place)) for place, (seq, event) in enumerate(made)],
        _strays(made, alone),
    )


def _strays(made: list[tuple[int, Event]], alone: list[tuple[int, Event]]) -> list[Call]:
    """Of what found no call, that which cannot be a second answer to one: of a tool that is never
    called, or to a call id that no call has."""
    if not alone:
        return []
    tools = {call.tool for _, call in made}
    ids = {call.call_id for _, call in made}
    return [
        _call(seq, event, None)
        for seq, event in alone
        if event.tool not in tools
        or (event.kind == "tool_result" and event.call_id is not None and event.call_id not in ids)
    ]


def _call(seq: int, event: Event, result: tuple[int, Event] | None) -> Call:
    status, observation, latency_ms = event.status, event.observation, event.latency_ms
    result_seq = None
    if result is not None:
        result_seq, answer = result
        status = settled(status, answer.status)
        observation = answer.observation if observation == ABSENT else observation
        latency_ms = answer.latency_ms if latency_ms is None else latency_ms
    if status is None and event.kind is None:
        status = "ok"
    assert event.tool is not None
    return Call(
        seq,
        event.tool,
        status,
        event.arguments,
        result_seq,
        observation,
        by_agent(event),
        latency_ms,
        event.approval,
    )


class _Unpaired:
    """Calls that still wait for a result.

    A result goes to the earliest waiting call of its call id (ids may repeat) and, where it names
    one, of its tool; without such a call to the nearest earlier one of its tool; and, naming no
    tool, to the call just before it. A call and a result whose ids differ, or whose tools differ,
    are never a pair: a wrong pair would lend one call the status of another.
    """

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str | None], deque[int]] = {}
        self._by_tool: dict[tuple[str, bool], list[int]] = {}
        self._claimed: set[int] = set()
        self._last: tuple[int, Event] | None = None

    def add(self, place: int, event: Event) -> None:
        assert event.tool is not None
        self._last = (place, event)
        self._by_tool.setdefault((event.tool, event.call_id is not None), []).append(place)
        if event.call_id is not None:
            for tool in (event.tool, None):
                self._by_id.setdefault((event.call_id, tool), deque()).append(place)

    def claim(self, result: Event) -> int | None:
        place = self._match(result)
        if place is not None:
            self._claimed.add(place)
        return place

    def _match(self, result: Event) -> int | None:
        if result.call_id is not None:
            same_id = self._by_id.get((result.call_id, result.tool), deque())
            while same_id:
                place = same_id.popleft()
                if place not in self._claimed:
                    return place
        if result.tool is not None:
            places = [self._nearest(result.tool, False)]
            if result.call_id is None:
                places.append(self._nearest(result.tool, True))
            return max((place for place in places if place is not None), default=None)
        if self._last is None or self._last[0] in self._claimed:
            return None
        place, call = self._last
        return place if result.call_id is None or call.call_id is None else None

    def _nearest(self, tool: str, with_id: bool) -> int | None:
        waiting = self._by_tool.get((tool, with_id), [])
        while waiting and waiting[-1] in self._claimed:
            waiting.pop()
        return waiting[-1] if waiting else None
