"""One recorded attempt as its messages and calls, in order, with answers as JSON values. Pure."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.recorded import NotUsable
from reviewer.trace.events import tool_calls
from reviewer.trace.record import ABSENT, Event, TraceRecord, is_user, kind_of

MOST_CALLS = 8_000
"""Most calls of a trace from which an episode is made: that takes about ten seconds."""
AGENT = frozenset({None, "agent", "assistant"})
_STOP = re.compile(r"\s*###[A-Z-]+###\s*")
"""Words by which simulated users of benchmarks end a conversation."""
_LIMITS = frozenset(1 << power for power in range(10, 19)) | {10_000, 12_000, 30_000, 100_000}
"""Lengths at which exporters and harnesses commonly cut a text."""
_CUT = re.compile(r"(?:…|\.{3,}|\[?\(?<?truncated>?\)?\]?\.{0,3})\s*\Z", re.I)


class Said(NamedTuple):
    """A message of the user or of the agent."""

    seq: int
    by_user: bool
    text: str


class Made(NamedTuple):
    """A call that the agent made. `answer` is a JSON value where the answer was the text of one;
    `answered` is False where none is recorded. `cut` says why the answer looks cut off."""

    seq: int
    tool: str
    arguments: dict[str, Any]
    status: str
    answer: Any
    answered: bool
    cut: str = ""


class Story(NamedTuple):
    """One attempt. `name` is the name of its trace in messages."""

    name: str
    steps: tuple[Said | Made, ...]
    started_at: str | None
    of_user: tuple[str, ...] = ()
    """The tools that the user called. These calls are no steps."""

    @property
    def calls(self) -> list[Made]:
        return [step for step in self.steps if isinstance(step, Made)]

    @property
    def said(self) -> list[Said]:
        return [step for step in self.steps if isinstance(step, Said)]


def story_of(record: TraceRecord, name: str) -> Story:
    """Return a record as messages and calls. Raises NotUsable for one without calls, and for one
    with unread parts that may be calls."""
    if record.unread:
        raise NotUsable(
            f"{name}: its reader could not read {record.unread[0].path}, which may be a call: "
            "what the agent did is not known in full",
            "give a trace that was read whole",
        )
    found = tool_calls(record.events)
    steps: list[Said | Made] = [_made(call) for call in found.calls if call.by_agent]
    if not steps:
        raise NotUsable(
            f"{name}: has no tool call: there is no world to make of it",
            "give a trace in which the agent called a tool",
        )
    if len(steps) > MOST_CALLS:
        raise NotUsable(
            f"{name}: has {len(steps):,} calls: an episode is made of {MOST_CALLS:,} at most",
            "give a trace of one task",
        )
    steps += _said(record.events)
    steps.sort(key=lambda step: step.seq)
    final = (record.final_message or "").strip()
    if final and not any(isinstance(step, Said) and final in step.text for step in steps):
        steps.append(Said(max(step.seq for step in steps) + 1, False, final))
    users = sorted({call.tool for call in found.calls if not call.by_agent})
    return Story(name, tuple(steps), record.started_at, tuple(users))


def _said(events: Iterable[Event]) -> Iterator[Said]:
    for place, event in enumerate(events, 1):
        if kind_of(event) != "message" or event.message == ABSENT:
            continue
        text = _text(msgspec.json.decode(event.message))
        by_user = is_user(event.actor)
        if by_user:
            text = _STOP.sub("", text).strip()
        if text and (by_user or event.actor in AGENT):
            yield Said(event.seq or place, by_user, text)


def _text(message: Any) -> str:
    if isinstance(message, str):
        return message.strip()
    return "" if message is None else json.dumps(message, ensure_ascii=False)


def _made(call: Any) -> Made:
    arguments = {} if call.arguments == ABSENT else msgspec.json.decode(call.arguments)
    answered = call.observation != ABSENT and call.status not in ("pending", "denied")
    answer = msgspec.json.decode(call.observation) if call.observation != ABSENT else None
    cut = cut_off(answer) if answered else ""
    return Made(
        call.seq,
        call.tool,
        arguments if isinstance(arguments, dict) else {"unparsed": arguments},
        call.status or "ok",
        as_value(answer),
        answered,
        cut,
    )


def as_value(answer: Any) -> Any:
    """Return the value of a text with a JSON object or list, also when it is the only block of an
    answer in blocks, as in MCP; any other answer unchanged."""
    match answer:
        case [{"type": "text", "text": str(text)}] | {
            "content": [{"type": "text", "text": str(text)}]
        }:
            return as_value(text)
    if isinstance(answer, str) and answer.strip()[:1] in ("{", "["):
        try:
            return parse(answer.strip().encode("utf-8", "surrogatepass"))
        except NotJson:
            return answer
    return answer


def cut_off(answer: Any) -> str:
    """Return why an answer looks cut off, "" where it does not: an exporter or a harness may cut
    answers at a limit."""
    if not isinstance(answer, str):
        inner: Iterable[Any] = ()
        if isinstance(answer, dict):
            inner = answer.values()
        elif isinstance(answer, list):
            inner = answer
        return next((why for why in map(cut_off, inner) if why), "")
    text = answer.strip()
    if text.endswith("…") or (_CUT.search(text) and len(text) > 200):
        return "ends in “…”"
    if len(answer) in _LIMITS:
        return f"is exactly {len(answer):,} characters long, as a limit cuts it"
    if text[:1] in ("{", "[") and text[1:2] in ('"', "{", "[") and isinstance(as_value(text), str):
        opened = sum(map(text.count, "{[")) - sum(map(text.count, "}]"))
        return "begins as JSON and does not end" if opened > 0 else ""
    return ""
