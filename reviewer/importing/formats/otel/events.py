"""The operations of an episode as events of a draft, in the order in which they happened.

Every model call repeats the history before it: each message is written once.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.draft import Draft, Status
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.otel import MOST, Span, ToolUse, plain
from reviewer.importing.formats.otel.messages import history, inputs, outputs
from reviewer.importing.formats.otel.outcome import (
    approvals_wanted,
    cost_of_call,
    last_output,
    usage_of_call,
)
from reviewer.importing.formats.otel.tree import AGENT, Actors, Call, Tree, actor_name
from reviewer.importing.messages.parts import Part, Role, Turn
from reviewer.importing.messages.text_calls import calls_in, results_in

# Messages into a draft ----------------------------------------------------------------------------

HISTORY_ONLY = "calls that are only in the message history have no times of their own"
UNNAMED = "unnamed-"
DENIED = "a call that waited for approval was answered without being run: taken as denied"


class OpenCall:
    """A call without a result. `begun` is whether a tool span was found that describes it."""

    def __init__(self, own: str, name: str, event: dict[str, Any]) -> None:
        self.own, self.name, self.event = own, name, event
        self.begun = False


class Conversation:
    """One draft, and how much of the conversation it contains so far."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.waiting: set[str] = set()
        """Ids of calls that wait for a person's approval according to the source."""
        self._told: Counter[object] = Counter()
        self._results = 0
        self._open: list[OpenCall] = []
        self._begun: Counter[str] = Counter()
        self._nameless: list[OpenCall] = []
        self._ids: dict[str, str] = {}
        self._made = 0

    def hear(self, given: list[Turn], actor: str, user: str = "user") -> None:
        """Write the new part of a whole history. Among equal messages, as many as were written
        before are old. `actor` is the speaker of the agent's lines, `user` of the user's."""
        seen: Counter[object] = Counter()
        results = 0
        for message in given:
            for part in message.parts:
                if part.kind == "result":
                    results += 1
                    self._hear_result(part, seen, results)
                    continue
                key = _key(part, message.role)
                seen[key] += 1
                if seen[key] <= self._told[key]:
                    continue
                if (
                    part.kind == "text"
                    and part.name
                    and (call := self._fitting("", part.name, None)) is not None
                ):
                    self._told[key] += 1
                    self._answer(call, part)
                    continue
                if part.kind == "call" and part.id and self._ran(part):
                    continue
                self._tell(part, message.role, actor, user)
                if part.kind == "call":
                    self.draft.note(HISTORY_ONLY)

    def say(self, answer: list[Turn], actor: str, **more: Any) -> dict[str, Any]:
        """Write a model's answer; `more` (time, tokens …) goes to the first event."""
        first: dict[str, Any] | None = None
        for message in answer:
            for part in message.parts:
                if part.kind == "result":
                    self._hear_result(part, Counter(), self._results + 1)
                    continue
                event = self._tell(part, "agent", actor, "user", **more)
                if event is not None:
                    first = first or event
                    more = {name: value for name, value in more.items() if name == "at"}
        return first or self.draft.message(actor, "", **more)

    def begin(self, part: Part, actor: str, at: Any) -> OpenCall | None:
        """Write the call that a tool span describes, unless a message contained it. Return None
        when another span describes the same call, or its result is known."""
        own = part.id
        if any(call.own == own and call.begun for call in self._open):
            return None
        call = self._fitting(own, part.name, part.value, fresh=True)
        if own:
            self._begun[own] += 1
            if call is None and self._begun[own] <= self._told["call", own]:
                return None
        if call is None:
            self._tell(part, "agent", actor, "user", at=at)
            call = self._open[-1]
        call.begun = True
        return call

    def _ran(self, part: Part) -> bool:
        """Return whether a call in the history, with its id, was so far only stated without an id,
        by a tool span or by an answer; the call then gets that id."""
        wanted = _arguments(part.value)
        for call in self._nameless:
            if call.name == part.name and call.event["arguments"] == wanted:
                self._nameless.remove(call)
                self._told["call", part.id] += 1
                self._told["result", part.id] += call not in self._open
                self._ids[part.id] = call.own
                return True
        return False

    def end(self, call: OpenCall, result: Part, status: Status, **more: Any) -> None:
        """Write the result that a tool span states, unless a message contained it."""
        if call in self._open:
            self._answer(call, result, status, **more)

    def close(self, arguments: Any) -> None:
        """Mark an open call with these arguments as done: it was no tool call but the answer
        itself."""
        for call in self._open:
            if call.event["arguments"] == arguments:
                call.event["status"] = "ok"
                self._open.remove(call)
                return

    def _tell(
        self, part: Part, role: str, actor: str, user: str, **more: Any
    ) -> dict[str, Any] | None:
        self._told[_key(part, role)] += 1
        if part.kind == "call":
            return self._call(part, actor, **more)
        if not part.value.strip():
            return None
        if part.kind == "reasoning":
            return self.draft.message(actor, {"reasoning": part.value}, **more)
        if part.name:
            return self.draft.message(actor_name(part.name), part.value, **more)
        who = {"user": user, "agent": actor, "": user}.get(role, "system")
        return self.draft.message(who, part.value, **more)

    def _call(self, part: Part, actor: str, **more: Any) -> dict[str, Any]:
        own = part.id
        if not own:
            self._made += 1
            own = f"{UNNAMED}{self._made}"
        event = self.draft.call(part.name, part.value, own, actor, **more)
        call = OpenCall(own, part.name, event)
        self._open.append(call)
        if not part.id:
            self._nameless.append(call)
        return event

    def finish(self) -> None:
        """Give calls of spans without an id the id that a later history uses for them."""
        ids = {made: own for own, made in self._ids.items()}
        for event in self.draft.events if ids else ():
            if (made := event.get("call_id")) in ids:
                event["call_id"] = ids[made]

    def _hear_result(self, part: Part, seen: Counter[object], number: int) -> None:
        if part.id:
            key = "result", part.id
            seen[key] += 1
            if seen[key] <= self._told[key]:
                return
        elif number <= self._results:
            return
        call = self._fitting(self._ids.get(part.id, part.id), part.name, None)
        if call is None:
            self._count(part)
            self.draft.result(part.value, part.id, part.name, part.status)
            return
        self._answer(call, part)

    def _fitting(self, own: str, name: str, made: Any, fresh: bool = False) -> OpenCall | None:
        """Return the matching open call: that of the id; without an id (or when calls have none)
        the oldest of that tool, preferably with those arguments. `fresh` calls have not begun."""
        calls = [call for call in self._open if not (fresh and call.begun)]
        for call in calls:
            if own and call.own == own:
                return call
        loose = [
            call
            for call in calls
            if (not own or call.own.startswith(UNNAMED)) and (not name or call.name == name)
        ]
        wanted = _arguments(made)
        exact = (call for call in loose if call.event["arguments"] == wanted)
        return next(exact, loose[0] if loose else None)

    def _answer(
        self, call: OpenCall, part: Part, status: Status | None = None, **more: Any
    ) -> None:
        self._open.remove(call)
        self._count(part._replace(id=call.own))
        status = status or part.status
        if status is None and call.own in self.waiting:
            status = "denied"
            self.draft.note(DENIED)
        self.draft.result(part.value, call.own, call.name, status, **more)

    def _count(self, part: Part) -> None:
        self._results += 1
        if part.id:
            self._told["result", part.id] += 1


def _key(part: Part, role: str) -> object:
    if part.kind != "call":
        return part.kind, bool(part.name), part.name or role or "user", part.value.strip()
    if part.id:
        return "call", part.id
    try:
        return "call", part.name, msgspec.json.encode(_arguments(part.value), order="sorted")
    except (TypeError, ValueError, RecursionError):
        return "call", part.name


def _arguments(value: Any) -> Any:
    """Return arguments as the draft keeps them."""
    parsed = parse_text(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else {"unparsed": value} if value else {}


# Operations ---------------------------------------------------------------------------------------


class Exchange(NamedTuple):
    """A model call with its input and its answer."""

    call: Call
    given: list[Turn]
    answer: list[Turn]


def exchange_of(call: Call) -> Exchange:
    """Return a call with its messages, from whichever of its spans has them in full."""
    spans = (call.span, *call.around)
    given = [found for span in spans if (found := inputs(span))]
    answers = [found for span in spans if (found := outputs(span))]
    # Some instrumentations write a whole conversation as one text; the enclosing span may have it
    # in full.
    full = next((one for one in given if len(one) > 1), given[0] if given else [])
    called = (one for one in answers if any(p.kind == "call" for m in one for p in m.parts))
    return Exchange(call, full, next(called, answers[0] if answers else []))


Act = tuple[int, int, Callable[[], None]]
"""When, its rank among those at the same time, and the function that writes it."""


def tell(tree: Tree, cast: Actors, calls: Sequence[Exchange], telling: Conversation) -> None:
    """Write everything in the order in which it began. The result of a tool within which an
    agent worked comes after that work, and facts that only an agent's span has come where the
    agent ends."""
    known = any(one.given or one.answer for one in calls)
    place = {id(span): number for number, span in enumerate(tree.spans)}
    tops = tree.tops()
    acts: list[Act] = []
    for one in calls:
        when = one.call.span.start or 0, place[id(one.call.span)]
        acts.append((*when, partial(_tell_call, one, cast, telling)))
    tools = tree.tools
    working = (*(span for span, _ in tools), *(one.call.span for one in calls))
    at_work = {id(above) for span in working for above in tree.above(span)}
    for span, use in tools:
        tool = _Tool(span, use, cast.actor(span)[0], telling)
        begun = span.start or 0
        ended = max(begun, span.end or 0) if id(span) in at_work else begun
        acts += [(begun, place[id(span)], tool.begin), (ended, place[id(span)], tool.end)]
    for span in tree.spans:
        if tree.kind(span) in ("agent", "chain"):
            alone = not known and any(span is top for top in tops)
            when = span.end or MOST, len(place) + place[id(span)]
            acts.append((*when, partial(_tell_end, span, telling, known=known, alone=alone)))
    if not known:
        for span in tops:
            telling.hear(_asked(span), AGENT)
    for _, _, act in sorted(acts, key=lambda one: one[:2]):
        act()
    if tops and not request(telling.draft):
        _ask_first(tops[0], telling)
    telling.finish()


def _tell_call(one: Exchange, cast: Actors, telling: Conversation) -> None:
    span = one.call.span
    actor, called = cast.actor(span)
    telling.hear(one.given, actor, "system" if called else "user")
    if span.error:
        text = _failure(span) or "the model call failed"
        telling.draft.error(text, at=span.stamp, latency_ms=span.lasted_ms)
    if one.answer or not span.error:
        telling.say(
            one.answer,
            actor,
            at=span.stamp,
            latency_ms=span.lasted_ms,
            cost_usd=cost_of_call(one.call),
            tokens=usage_of_call(one.call),
        )


class _Tool:
    """A tool span: it writes its call when it begins, the result when it ends."""

    def __init__(self, span: Span, use: ToolUse, actor: str, telling: Conversation) -> None:
        self._span, self._use, self._actor, self._telling = span, use, actor, telling
        self._call: OpenCall | None = None

    def begin(self) -> None:
        use = self._use
        part = Part("call", use.arguments, use.id, use.name)
        self._call = self._telling.begin(part, self._actor, self._span.stamp)

    def end(self) -> None:
        span, result = self._span, self._use.result
        status: Status = "ok"
        if span.error or self._use.failed or _asks_again(span, result):
            timed_out = "timeout" in _error_type(span).casefold()
            status = "timeout" if timed_out else "error"
            result = _failure(span) if result is None else result
        elif result is None and span.end is None:
            if self._call is not None:
                self._call.begun = False  # it has no result yet: another span may continue it
            return
        if self._call is not None:
            part, lasted = Part("result", result), span.lasted_ms
            self._telling.end(self._call, part, status, at=span.stamp, latency_ms=lasted)


def _asks_again(span: Span, result: Any) -> bool:
    """Return whether a result is PydanticAI's words to the model that a call failed: before 1.0 the
    span of such a call has no error."""
    return (
        isinstance(result, str)
        and span.scope.startswith("pydantic-ai")
        and result.rstrip().endswith("Fix the errors and try again.")
    )


def _tell_end(span: Span, telling: Conversation, *, known: bool, alone: bool) -> None:
    telling.waiting |= approvals_wanted(span)
    final = plain(span.first("final_result"))
    if isinstance(final, dict):
        telling.close(final)
    past = history(span)
    if known:
        results = [[part for part in one.parts if part.kind == "result"] for one in past]
        telling.hear([Turn("tool", "", parts) for parts in results if parts], AGENT)
    elif past:
        telling.hear(past, AGENT)
    elif alone and (answer := outputs(span) or _plain(last_output(span), "agent")):
        telling.say(answer, AGENT)


def _asked(span: Span) -> list[Turn]:
    """Return the request of a run, as far as its own span states it."""
    names = ("langfuse.observation.input", "input.value", "traceloop.entity.input")
    raw = span.first(*names, "lmnr.span.input")
    return inputs(span) or _plain(raw, "user")


def _plain(text: Any, role: Role) -> list[Turn]:
    if not isinstance(text, str) or not text.strip():
        return []
    return [Turn(role, "", [Part("text", text)])]


def _ask_first(top: Span, telling: Conversation) -> None:
    """Put the request of the run first, when no model call repeats it."""
    events = telling.draft.events
    before = len(events)
    telling.hear([one for one in _asked(top) if one.role == "user"], AGENT)
    events[:] = [*events[before:], *events[:before]]


def _failure(span: Span) -> str:
    """Return the error, in the source's words."""
    for event in span.events:
        if event.name == "exception":
            found = event.attributes.get("exception.message")
            if isinstance(found, str) and found:
                return found
    return span.said or _error_type(span)


def _error_type(span: Span) -> str:
    thrown = (e.attributes.get("exception.type") for e in span.events if e.name == "exception")
    found = span.first("error.type") or next(thrown, None)
    return found if isinstance(found, str) else ""


def request(draft: Draft) -> str:
    """Return the first message of the user."""
    for event in draft.events:
        if event["kind"] == "message" and event["actor"] == "user":
            return event["message"] if isinstance(event["message"], str) else ""
    return ""


# Calls that the agent wrote as text ---------------------------------------------------------------


def read_texts(tree: Tree, calls: list[Exchange]) -> list[Exchange]:
    """Return the model calls with the calls that the agent wrote as text decoded, and the texts
    that answer them as results. They stay unchanged where there is another form of call, or where a
    text is not understood: the accounting then reports what is left."""
    if tree.tools or any(part.kind == "call" for part in _all_parts(calls)):
        return calls
    texts = [
        p.value
        for p in _all_parts(calls, ("agent",))
        if p.kind == "text" and isinstance(p.value, str)
    ]
    found = [one for text in texts if (one := calls_in(text)) is not None]
    if not found or not all(one.understood and one.marked for one in found):
        return calls
    return [
        one._replace(given=_heard(one.given), answer=[_agents(message) for message in one.answer])
        for one in calls
    ]


def _all_parts(calls: Sequence[Exchange], roles: tuple[str, ...] = ()) -> list[Part]:
    told = [message for one in calls for message in (*one.given, *one.answer)]
    return [part for one in told if not roles or one.role in roles for part in one.parts]


def _heard(given: list[Turn]) -> list[Turn]:
    found: list[Turn] = []
    waiting = False
    for message in given:
        one = _agents(message) if message.role == "agent" else message
        if waiting and message.role in ("user", "tool"):
            one = _answers(message)
        waiting = any(part.kind == "call" for part in one.parts)
        found.append(one)
    return found


def _agents(message: Turn) -> Turn:
    parts: list[Part] = []
    for part in message.parts:
        found = (
            calls_in(part.value) if part.kind == "text" and isinstance(part.value, str) else None
        )
        if found is None:
            parts.append(part)
            continue
        if found.words:
            parts.append(part._replace(value=found.words))
        parts += [Part("call", given, "", name) for name, given in found.calls]
    return message._replace(parts=parts)


def _answers(message: Turn) -> Turn:
    parts: list[Part] = []
    for part in message.parts:
        seen = results_in(part.value) if part.kind == "text" and isinstance(part.value, str) else []
        parts += [Part("result", one) for one in seen] or [part]
    role = "tool" if all(part.kind == "result" for part in parts) else message.role
    return Turn(role, "", parts)
