"""The events of a sample as the events of a trace, in the order of the list; and the store of a
sample as its events change it.

The list is not sorted by time: an approval precedes its tool event, whose timestamp is earlier; a
call that hands over to a sub-agent precedes that agent's events. So a result is written when the
span of its tool ends. Since 0.3.9x events have the id of their span; earlier logs have `step` begin
and end marks.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from reviewer.importing.draft import Draft, elapsed_ms, measured
from reviewer.importing.formats.base import mapping, sequence, text
from reviewer.importing.formats.inspect_ai import Attachments, Parts
from reviewer.importing.formats.inspect_ai.conversation import PENDING, MessageWriter, Scope, Turns

# Spans --------------------------------------------------------------------------------------------

MOST_SPANS = 100_000


class Spans:
    """The spans and steps that are open or have ended."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}
        self._steps: list[Scope] = []
        self._outer: list[Scope] = []
        self._tools: dict[str, str] = {}

    def begin_span(self, event: dict[str, Any]) -> None:
        own, parent = event.get("id"), event.get("parent_id")
        if not isinstance(own, str) or len(self._scopes) >= MOST_SPANS:
            return
        kind, name = text(event.get("type")), event.get("name")
        around = self._scopes.get(parent) if isinstance(parent, str) else None
        self._scopes[own] = (around or self._top()).inner(kind, name)
        if kind == "tool" and isinstance(name, str):
            self._tools[name] = own

    def step(self, event: dict[str, Any]) -> None:
        """Read a step mark. An end closes the innermost open step, whatever its name."""
        if event.get("action") == "begin":
            self.enter(text(event.get("type")), event.get("name"))
        else:
            self.leave()

    def enter(self, kind: str, name: Any) -> None:
        if len(self._steps) < MOST_SPANS:
            self._outer.append(self._top())
            self._steps.append(self._top().inner(kind, name))

    def leave(self) -> None:
        if self._steps:
            self._steps.pop()
            self._outer.pop()

    def scope(self, event: dict[str, Any]) -> Scope:
        """Return the scope an event is in."""
        found = self._scopes.get(event["span_id"]) if _has_span(event) else None
        return found or self._top()

    def caller(self, event: dict[str, Any]) -> Scope:
        """Return the scope of a tool's caller: a step may enclose the tool event itself."""
        if not _has_span(event) and self._steps and self._top().tool == event.get("function"):
            return self._outer[-1]
        return self.scope(event)

    def claim_tool(self, name: Any) -> str:
        """Return the span that just began for a call of this tool, empty when there is none."""
        return self._tools.pop(name, "") if isinstance(name, str) else ""

    def _top(self) -> Scope:
        return self._steps[-1] if self._steps else Scope()


def _has_span(event: dict[str, Any]) -> bool:
    return isinstance(event.get("span_id"), str)


def speaks(events: list[Any]) -> bool:
    """Return whether the agent's model calls are among the events of a sample."""
    spans = Spans()
    for event in map(mapping, events):
        if event.get("event") == "span_begin":
            spans.begin_span(event)
        elif event.get("event") == "step":
            spans.step(event)
        elif event.get("event") == "model":
            if not spans.scope(event).scoring:
                return True
        elif speaks(sequence(event.get("events"))):
            return True
    return False


# Stores -------------------------------------------------------------------------------------------

MOST_STATES = 4 << 20
"""Most bytes of state snapshots stored for one attempt: a growing store is repeated at every
step."""
MOST_WORK = 20_000_000
"""Most members copied while following one store; each change copies the containers on its path."""
TOO_MUCH = "state snapshots beyond 4 MiB were left out (the final state is kept)"
LOST = "a change of the store could not be followed: state snapshots end there"


class NoPatch(Exception):
    """A change that does not fit its value, or one change too many."""


class Stores:
    """Follows the store through the spans of one sample.

    Every span reports its own changes at its end, so one change is reported once per enclosing
    span: a span's changes are applied to the store as it was when that span began, and count only
    when the store then differs from the known one.
    """

    def __init__(self, start: Any) -> None:
        self.state: dict[str, Any] = mapping(start)
        self._begun: dict[str, dict[str, Any]] = {}
        self._steps: list[dict[str, Any]] = []
        self._left = MOST_STATES
        self._patch = _Patch()

    def begin(self, span: Any = None) -> None:
        """Begin a span (with an id) or a step (without)."""
        if isinstance(span, str):
            self._begun[span] = self.state
        else:
            self._steps.append(self.state)

    def end(self) -> None:
        """End the innermost step."""
        if self._steps:
            self._steps.pop()

    def change(self, span: Any, changes: list[Any]) -> bool:
        """Apply a span's changes; return whether the store differs now. Raises NoPatch."""
        before = self._before(span)
        after: Any = before
        for one in changes:
            after = self._patch.applied(after, one)
        if not isinstance(after, dict):
            raise NoPatch
        self._patch.spend(len(before) + len(after) + len(self.state))
        # Spans may overlap: parts that this span did not change stay as the others left them.
        merged = dict(self.state)
        for name in dict.fromkeys((*before, *after)):
            if name not in after:
                merged.pop(name, None)
            elif name not in before or _differ(before[name], after[name]):
                merged[name] = after[name]
        news = _differ(merged, self.state)
        self.state = merged
        return news

    def affords(self) -> bool:
        """Return whether a snapshot of the store may still be stored."""
        self._left -= len(msgspec.json.encode(self.state))
        return self._left >= 0

    def _before(self, span: Any) -> dict[str, Any]:
        if isinstance(span, str):
            return self._begun.get(span, self.state)
        return self._steps[-1] if self._steps else self.state


def _differ(one: Any, two: Any) -> bool:
    return one is not two and bool(one != two)


class _Patch:
    """JSON Patch operations on shared values: only changed parts are copied."""

    def __init__(self) -> None:
        self._work = MOST_WORK

    def spend(self, members: int) -> None:
        self._work -= members
        if self._work < 0:
            raise NoPatch

    def applied(self, value: Any, change: Any) -> Any:
        """Return `value` after one operation. Raises NoPatch."""
        named = mapping(change)
        kind, keys = named.get("op"), _keys(named.get("path"))
        if kind in ("add", "replace"):
            return self._put(value, keys, named.get("value"), kind == "add")
        if kind == "remove":
            return self._removed(value, keys)
        if kind in ("move", "copy"):
            source = _keys(named.get("from", named.get("from_")))
            moved = _at(value, source)
            rest = self._removed(value, source) if kind == "move" else value
            return self._put(rest, keys, moved, True)
        if kind == "test":
            return value
        raise NoPatch

    def _put(self, value: Any, keys: list[str], new: Any, insert: bool) -> Any:
        if not keys:
            return new
        key, rest = keys[0], keys[1:]
        copy = self._copy(value)
        if isinstance(copy, dict):
            copy[key] = self._put(_at(copy, [key]), rest, new, insert) if rest else new
        elif insert and not rest:
            copy.insert(len(copy) if key == "-" else _index(key, len(copy)), new)
        else:
            place = _index(key, len(copy) - 1)
            copy[place] = self._put(copy[place], rest, new, insert)
        return copy

    def _removed(self, value: Any, keys: list[str]) -> Any:
        if not keys:
            raise NoPatch
        copy = self._copy(value)
        place: Any = keys[0] if isinstance(copy, dict) else _index(keys[0], len(copy) - 1)
        if isinstance(copy, dict) and place not in copy:
            raise NoPatch
        if keys[1:]:
            copy[place] = self._removed(copy[place], keys[1:])
        else:
            del copy[place]
        return copy

    def _copy(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            raise NoPatch
        self.spend(1 + len(value))
        return value.copy()


def _keys(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or len(pointer) > 10_000:
        raise NoPatch
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list):
            value = value[_index(key, len(value) - 1)]
        else:
            raise NoPatch
    return value


def _index(key: str, most: int) -> int:
    if not key.isascii() or not key.isdecimal() or len(key) > 9 or int(key) > most:
        raise NoPatch
    return int(key)


# The trajectory -----------------------------------------------------------------------------------

CHANGED = "an approver changed a call before it ran: the call is shown as it ran"
BRANCHED = "the trajectory branches: replayed steps may be there twice"
_REFUSED = frozenset({"reject", "terminate"})


class Trajectory:
    """Reads the events of one sample into a draft.

    `limit` is the event that says which limit stopped the sample; `first` and `last` are the times
    between which the agent worked.
    """

    def __init__(self, draft: Draft, parts: Parts, texts: Attachments) -> None:
        self.draft = draft
        self.limit: dict[str, Any] = {}
        self.first = self.last = ""
        self._texts = texts
        self._parts = parts
        self._talk = MessageWriter(draft, texts)
        self.turns = Turns(draft, self._talk, parts, texts)
        self._spans = Spans()
        self._stores: Stores | None = Stores({})
        self._results: dict[str, Callable[[], None]] = {}
        self._speaks = speaks(parts.events)

    def read(self) -> None:
        """Write the whole sample."""
        messages = sequence(self._parts.sample.get("messages"))
        if not self._speaks:
            self.turns.conversation(messages)
        for event in self._parts.events:
            self._take(mapping(event))
        for tell in list(self._results.values()):
            tell()
        self._results.clear()
        if self._speaks:
            self.turns.rest(messages)

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "span_begin":
            self._spans.begin_span(event)
            if self._stores is not None:
                self._stores.begin(text(event.get("id")))
        elif kind == "span_end":
            self._tell(text(event.get("id")))
        elif kind == "step":
            self._step(event)
        elif isinstance(kind, str) and kind in _READERS:
            scope = self._spans.scope(event)
            if not scope.scoring:
                started = text(event.get("timestamp"))
                self.first = self.first or started
                self.last = text(event.get("completed")) or started or self.last
            _READERS[kind](self, event, scope)

    def _step(self, event: dict[str, Any]) -> None:
        self._spans.step(event)
        if self._stores is not None:
            (self._stores.begin if event.get("action") == "begin" else self._stores.end)()

    def _tell(self, span: str) -> None:
        """Write the result of a tool whose span ended."""
        waiting = self._results.pop(span, None)
        if waiting is not None:
            waiting()

    def _init(self, event: dict[str, Any], scope: Scope) -> None:
        start = mapping(mapping(event.get("state")).get("store"))
        self._stores = Stores(self._texts.whole(start))

    def _tool(self, event: dict[str, Any], scope: Scope) -> None:
        self.turns.returned(event)
        told = not self._speaks and text(event.get("id")) in self._talk.called
        if scope.scoring or told:
            return
        call = self._talk.waiting(event.get("id"))
        if call is None:
            call = self._talk.call(self._spans.caller(event).actor, event)
        if (at := self.draft.at(event.get("timestamp"))) is not None:
            call["started_at"] = at
        self._inside(event, "tool", event.get("agent") or event.get("function"))
        if event.get("pending") and not event.get("completed"):
            self.draft.note(PENDING)
            return
        span = self._spans.claim_tool(event.get("function"))
        tell = partial(self._returned, event, self._talk.taken(event.get("id")))
        if span:
            self._results[span] = tell
        else:
            tell()

    def _returned(self, event: dict[str, Any], call: dict[str, Any] | None) -> None:
        worked = measured(event.get("working_time"))  # without the wait for an approval
        if worked is None:
            took = elapsed_ms(event.get("timestamp"), event.get("completed"))
        else:
            took = worked * 1000
        self._talk.result(
            call,
            event.get("id"),
            event,
            self._texts.whole(event.get("result")),
            event.get("failed") is True,
            at=event.get("completed"),
            latency_ms=took,
        )

    def _inside(self, event: dict[str, Any], kind: str, name: Any) -> None:
        """Read the events that old logs keep inside the event of a tool or a subtask."""
        inner = sequence(event.get("events"))
        if inner:
            self._spans.enter(kind, name)
            for one in inner:
                self._take(mapping(one))
            self._spans.leave()

    def _subtask(self, event: dict[str, Any], scope: Scope) -> None:
        self._inside(event, "subtask", event.get("name"))

    def _branch(self, event: dict[str, Any], scope: Scope) -> None:
        self.draft.note(BRANCHED)

    def _approval(self, event: dict[str, Any], scope: Scope) -> None:
        given = mapping(event.get("call"))
        told = not self._speaks and text(given.get("id")) in self._talk.called
        call = self._talk.waiting(given.get("id"))
        if call is None and not told:
            call = self._talk.call(scope.actor, given)
        decision = text(event.get("decision"))
        said: dict[str, Any] = {"decision": decision, **_texts_in(event, "approver", "explanation")}
        if decision == "modify":
            self.draft.note(CHANGED)
            changed = mapping(self._texts.whole(event.get("modified")))
            ran = {name: changed.get(name) for name in ("function", "arguments")}
            said = {**said, "decision": "approve", "in_source": "modify", "modified": ran}
            self._changed(call, ran, said)
        elif decision in _REFUSED and call is not None:
            self._talk.deny(call)
        own, tool = (call.get("call_id"), call["tool"]) if call else (given.get("id"), None)
        self.draft.approval(said, own, tool=tool, at=event.get("timestamp"))

    def _changed(
        self, call: dict[str, Any] | None, ran: dict[str, Any], said: dict[str, Any]
    ) -> None:
        """Set the arguments with which a call ran; the approval keeps the requested ones. A call
        that ran as another tool, or in an unknown form, counts as not understood."""
        given = ran["arguments"]
        if call is None or ran["function"] != call["tool"] or not isinstance(given, dict):
            self.draft.unread("approval.modified")
        else:
            said["asked"], call["arguments"] = call["arguments"], given

    def _review(self, event: dict[str, Any], scope: Scope) -> None:
        """Read a review that is not an approval of a call: one of its result, or by a monitor."""
        decided = text(event.get("decision")) or text(event.get("action"))
        call_id = mapping(event.get("call")).get("id") or event.get("step_id")
        if decided:
            said = {"review": decided, **_texts_in(event, "reviewer", "factory", "explanation")}
            self.draft.approval(said, call_id, at=event.get("timestamp"))

    def _input(self, event: dict[str, Any], scope: Scope) -> None:
        """Read what a person typed or was shown at the terminal."""
        typed = event.get("content") or text(event.get("input")).strip()
        if typed:
            self.draft.message("user", typed, at=event.get("timestamp"))

    def _store(self, event: dict[str, Any], scope: Scope) -> None:
        self._tell(text(event.get("span_id")))
        if self._stores is None:
            return
        try:
            changes = sequence(self._texts.whole(event.get("changes")))
            news = self._stores.change(event.get("span_id"), changes)
        except NoPatch:
            self._stores = None
            self.draft.note(LOST)
            return
        if news and not scope.scoring:
            if self._stores.affords():
                self.draft.state(self._stores.state, at=event.get("timestamp"))
            else:
                self.draft.note(TOO_MUCH)

    def _error(self, event: dict[str, Any], scope: Scope) -> None:
        message = mapping(event.get("error")).get("message")
        self.draft.error(text(message), at=event.get("timestamp"))

    def _limited(self, event: dict[str, Any], scope: Scope) -> None:
        self.limit = event
        self.draft.error(text(event.get("message")), at=event.get("timestamp"))

    def _interrupt(self, event: dict[str, Any], scope: Scope) -> None:
        said = f"interrupted ({text(event.get('source'))}): {text(event.get('interrupted'))}"
        self.draft.error(said, at=event.get("timestamp"))


def _texts_in(event: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: event[name] for name in names if isinstance(event.get(name), str)}


# In the class and not in each instance: bound methods in an attribute form a reference cycle, which
# would keep the whole sample in memory until the garbage collector runs.
_READERS: dict[str, Callable[[Trajectory, dict[str, Any], Scope], None]] = {
    "sample_init": Trajectory._init,
    "model": lambda told, event, scope: told.turns.model(event, scope),
    "tool": Trajectory._tool,
    "approval": Trajectory._approval,
    "review": Trajectory._review,
    "sentinel": Trajectory._review,
    "input": Trajectory._input,
    "store": Trajectory._store,
    "error": Trajectory._error,
    "sample_limit": Trajectory._limited,
    "interrupt": Trajectory._interrupt,
    "subtask": Trajectory._subtask,
    "branch": Trajectory._branch,
}
