"""The steps of the agents of one trace, in one pass over its events.

A step is one message of an agent, the calls that it makes with it, and their results. Private
reasoning begins no step of its own. The steps of a conversation are joined into turns, from one
message of a user to the next. An agent that was started by another one is a thread of its own.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import intern
from typing import NamedTuple

from msgspec import Raw

from reviewer.desk.traces.events import together
from reviewer.trace.record import ABSENT, Event, is_user, kind_of

MOST_STEPS = 8
"""In a conversation, most steps of an agent for each message of a user. With more, as in the
sessions of coding agents, each step is a turn."""
DEEPEST = 8
"""Deepest nesting of agents; agents that are started further down are listed beside the top
ones."""
_REASONING = re.compile(rb'\s*\{\s*"reasoning"\s*:')
_GIVEN, _PRIVATE = Raw(b"0"), Raw(b"1")
_NO_AGENT = frozenset({"system", "environment", "tool", "world"})
MAIN = "agent"


def slim(event: Event) -> Event:
    """Return the event without its content: a field only says that it exists, and a message whether
    it is private reasoning."""
    message = event.message
    if message != ABSENT:
        private = _REASONING.match(bytes(memoryview(message)[:64])) is not None
        message = _PRIVATE if private else _GIVEN
    return Event(
        kind=event.kind,
        seq=event.seq,
        tool=event.tool and intern(event.tool),
        status=event.status,
        observation=ABSENT if event.observation == ABSENT else _GIVEN,
        message=message,
        approval=ABSENT if event.approval == ABSENT else _GIVEN,
        state=ABSENT if event.state == ABSENT else _GIVEN,
        started_at=event.started_at,
        latency_ms=event.latency_ms,
        call_id=event.call_id,
        actor=event.actor and intern(event.actor),
    )


def is_private(event: Event) -> bool:
    """Return whether a slim event is private reasoning."""
    return event.message == _PRIVATE


class Turn(NamedTuple):
    """One step of a conversation: its thread, and the positions of its events, in order."""

    thread: int
    places: tuple[int, ...]


class Turns:
    """The turns of a trace by their first event, in columns: a large trace may have as many turns
    as events."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self.threads = array("i")
        self._places, self._starts = array("i"), array("i", [0])
        for thread, places in turns:
            self.threads.append(thread)
            self._places.extend(places)
            self._starts.append(len(self._places))

    def __len__(self) -> int:
        return len(self.threads)

    def __getitem__(self, number: int) -> Turn:
        return Turn(self.threads[number], self.places(number))

    def __iter__(self) -> Iterator[Turn]:
        return map(self.__getitem__, range(len(self)))

    def places(self, number: int) -> tuple[int, ...]:
        """Return the positions of the events of a turn."""
        starts = self._starts
        return tuple(self._places[starts[number] : starts[number + 1]])


class Thread(NamedTuple):
    """A running agent. `call` is the position of the call that started it and `under` the turn in
    which it was started, each -1 where the source does not show it."""

    name: str
    call: int
    under: int
    turns: "array[int]"


class _Step:
    """A turn under construction."""

    __slots__ = ("called", "places", "spoke", "thread", "user")

    def __init__(self, thread: "_Thread") -> None:
        self.thread = thread
        self.places: list[int] = []
        self.user = self.spoke = self.called = False


class _Thread:
    def __init__(self, number: int, name: str, call: int, under: "_Step | None") -> None:
        self.number, self.name, self.call, self.under = number, name, call, under
        self.depth: int = 0 if under is None else under.thread.depth + 1
        self.step: _Step | None = None


class _Pass:
    """One pass over the slim events of a trace."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._groups = together(events)
        self._step_at: list[_Step] = []
        self._calls: dict[str, int] = {}
        self._waiting: dict[int, None] = {}
        self._now: dict[str, _Thread] = {}
        self._last: _Thread | None = None
        self.threads: list[_Thread] = []
        self.steps: list[_Step] = []

    def run(self) -> None:
        for at, event in enumerate(self._events):
            step = self._step(at, event)
            step.places.append(at)
            self._step_at.append(step)

    def _step(self, at: int, event: Event) -> _Step:
        kind, actor = kind_of(event), event.actor
        call = self._calls.get(event.call_id or "")
        if call is not None and kind in ("tool_result", "approval"):
            if kind == "tool_result":
                self._waiting.pop(call, None)
            return self._step_at[call]
        acts = kind in ("message", "tool_call")
        if not acts or actor in _NO_AGENT:
            thread = self._last or self._main()
            return thread.step or self._begin(thread)
        if is_user(actor):
            thread = self._last = self._main()
            step = thread.step
            if step is None or step.spoke or step.called:
                step = self._begin(thread)
            step.user = True
            return step
        thread = self._last = self._thread(at, actor)
        step = thread.step or self._begin(thread)
        if kind == "message":
            if step.spoke or step.called:
                step = self._begin(thread)
            step.spoke = not is_private(event)
            return step
        if step.called and self._groups[at][0] <= 1 and not self._goes_on(step, at):
            step = self._begin(thread)
        step.called = True
        if event.call_id is not None:
            self._calls[event.call_id] = at
            if event.observation == ABSENT:
                self._waiting[at] = None
        return step

    def _goes_on(self, step: _Step, at: int) -> bool:
        """Return whether a call was made together with the last call of a step, which still waits
        for an agent that it started and that has acted meanwhile."""
        last = step.places[-1]
        return last in self._waiting and last < at - 1

    def _begin(self, thread: _Thread) -> _Step:
        thread.step = _Step(thread)
        self.steps.append(thread.step)
        return thread.step

    def _main(self) -> _Thread:
        return self._now.get(MAIN) or self._start(MAIN, -1, None)

    def _start(self, name: str, call: int, under: _Step | None) -> _Thread:
        if under is not None and under.thread.depth >= DEEPEST:
            call, under = -1, None
        thread = self._now[name] = _Thread(len(self.threads), name, call, under)
        self.threads.append(thread)
        return thread

    def _thread(self, at: int, actor: str | None) -> _Thread:
        """Return the thread of an agent: the running one of that name, or a new one after the call
        that started it."""
        if actor is None or actor == MAIN:
            return self._main()
        found = self._now.get(actor)
        before = at - 1 if at - 1 in self._waiting else -1
        if before >= 0 and self._events[before].actor == actor:
            before = -1
        if found is not None:
            again = (
                found.call >= 0
                and before > found.call
                and self._events[before].tool == self._events[found.call].tool
            )
            if not again and (found.call < 0 or found.call in self._waiting):
                return found
        call = before
        if call < 0 and len(self._waiting) == 1:
            call = next(iter(self._waiting))
            call = -1 if self._events[call].actor == actor else call
        if call >= 0:
            return self._start(actor, call, self._step_at[call])
        if found is not None:
            return found
        waits = bool(self._waiting) and self._last is not None
        return self._start(actor, -1, self._last.step if waits and self._last else None)


def turns_of(events: Sequence[Event]) -> tuple[Turns, list[Thread]]:
    """Return the turns of a trace by their first event, and the agents running in it. Takes slim
    events."""
    told = _Pass(events)
    told.run()
    begun_in = {id(each.under) for each in told.threads}
    numbers: dict[int, int] = {}
    """Step → its turn, for the steps in which agents were started."""
    made: list[_Step] = []
    whole = _is_conversation(told)
    open_turn = -1
    for step in told.steps:
        main = step.thread.name == MAIN
        if whole and main and not step.user and open_turn >= 0:
            made[open_turn].places.extend(step.places)
            if id(step) in begun_in:
                numbers[id(step)] = open_turn
            continue
        if id(step) in begun_in:
            numbers[id(step)] = len(made)
        open_turn = len(made) if main else open_turn
        made.append(step)
    turns = Turns(Turn(step.thread.number, tuple(sorted(step.places))) for step in made)
    threads = [
        Thread(
            each.name, each.call, -1 if each.under is None else numbers[id(each.under)], array("i")
        )
        for each in told.threads
    ]
    for number, step in enumerate(made):
        threads[step.thread.number].turns.append(number)
    return turns, threads


def _is_conversation(told: _Pass) -> bool:
    """Return whether users speak more than once, with only a few steps in between."""
    mine = [step for step in told.steps if step.thread.name == MAIN]
    asked = sum(step.user for step in mine)
    return asked > 1 and len(mine) <= asked * MOST_STEPS
