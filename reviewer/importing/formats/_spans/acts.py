"""The operations of an episode, told in the order they happened."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, Status
from reviewer.importing.formats._spans.content import history, inputs, outputs
from reviewer.importing.formats._spans.ending import approvals_wanted, last_output
from reviewer.importing.formats._spans.messages import Message, Part, Role
from reviewer.importing.formats._spans.summing import cost_of_call, usage_of_call
from reviewer.importing.formats._spans.telling import Open, Telling
from reviewer.importing.formats._spans.tools import ToolUse, plain
from reviewer.importing.formats._spans.tree import AGENT, Call, Cast, Tree
from reviewer.importing.formats._spans.value import MOST, Span


class Prepared(NamedTuple):
    """A model call with what it was given and what it answered."""

    call: Call
    given: list[Message]
    answer: list[Message]


def prepared(call: Call) -> Prepared:
    """A call with its messages, from whichever of its spans has them in full."""
    spans = (call.span, *call.around)
    given = [found for span in spans if (found := inputs(span))]
    answers = [found for span in spans if (found := outputs(span))]
    # Some instrumentations write a whole conversation as one text; the span around may know it.
    full = next((one for one in given if len(one) > 1), given[0] if given else [])
    called = (one for one in answers if any(p.kind == "call" for m in one for p in m.parts))
    return Prepared(call, full, next(called, answers[0] if answers else []))


Act = tuple[int, int, Callable[[], None]]
"""When, which of those at the same time, and what then is to be told."""


def tell(tree: Tree, cast: Cast, calls: Sequence[Prepared], telling: Telling) -> None:
    """Tell everything in the order it began. The result of a tool that had an agent at work stands
    behind that work, and what an agent's span alone knows where the agent ends."""
    known = any(one.given or one.answer for one in calls)
    place = {id(span): number for number, span in enumerate(tree.spans)}
    tops = tree.tops()
    acts: list[Act] = []
    for one in calls:
        when = one.call.span.start or 0, place[id(one.call.span)]
        acts.append((*when, partial(_tell_call, one, cast, telling)))
    tools = tree.tools()
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


def _tell_call(one: Prepared, cast: Cast, telling: Telling) -> None:
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
    """A tool span: its call when it begins, the result when it ends."""

    def __init__(self, span: Span, use: ToolUse, actor: str, telling: Telling) -> None:
        self._span, self._use, self._actor, self._telling = span, use, actor, telling
        self._call: Open | None = None

    def begin(self) -> None:
        use = self._use
        part = Part("call", use.arguments, use.id, use.name)
        self._call = self._telling.begin(part, self._actor, self._span.stamp)

    def end(self) -> None:
        span, result = self._span, self._use.result
        status: Status = "ok"
        if span.error or self._use.failed:
            timed_out = "timeout" in _error_type(span).casefold()
            status = "timeout" if timed_out else "error"
            result = _failure(span) if result is None else result
        elif result is None and span.end is None:
            return  # it has not come back
        if self._call is not None:
            part, lasted = Part("result", result), span.lasted_ms
            self._telling.end(self._call, part, status, at=span.stamp, latency_ms=lasted)


def _tell_end(span: Span, telling: Telling, *, known: bool, alone: bool) -> None:
    telling.waiting |= approvals_wanted(span)
    final = plain(span.first("final_result"))
    if isinstance(final, dict):
        telling.close(final)
    past = history(span)
    if known:
        results = [tuple(part for part in one.parts if part.kind == "result") for one in past]
        telling.hear([Message("tool", parts) for parts in results if parts], AGENT)
    elif past:
        telling.hear(past, AGENT)
    elif alone and (answer := outputs(span) or _plain(last_output(span), "agent")):
        telling.say(answer, AGENT)


def _asked(span: Span) -> list[Message]:
    """What a run was asked, as far as its own span says."""
    raw = span.first("langfuse.observation.input", "input.value", "traceloop.entity.input")
    return inputs(span) or _plain(raw, "user")


def _plain(text: Any, role: Role) -> list[Message]:
    if not isinstance(text, str) or not text.strip():
        return []
    return [Message(role, (Part("text", text),))]


def _ask_first(top: Span, telling: Telling) -> None:
    """Put what the run was asked in front, when no model call repeats it."""
    events = telling.draft.events
    before = len(events)
    telling.hear([one for one in _asked(top) if one.role == "user"], AGENT)
    events[:] = [*events[before:], *events[:before]]


def _failure(span: Span) -> str:
    """What went wrong, in the source's words."""
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
    """The first thing the user said."""
    for event in draft.events:
        if event["kind"] == "message" and event["actor"] == "user":
            return event["message"] if isinstance(event["message"], str) else ""
    return ""
