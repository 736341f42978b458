"""Parts of a sample of which nothing can be left, found quickly: messages and events in the shapes
that Inspect writes, whose calls and answers the trace has.

The account of a record (`importing.account`) goes through every object of it. A part is settled
here if the account would leave nothing of it: its member names are known, no text in its sample is
an act written as JSON, and its calls repeat those of the trace. The account examines all other
parts.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from reviewer.importing.account import HOLDERS, could_act, holds_parts, text_acts
from reviewer.importing.draft import Draft, plain_id
from reviewer.importing.formats.base import mapping, sequence
from reviewer.importing.formats.inspect_ai import Attachments, Parts
from reviewer.trace.strictjson import has_repeats

# Shapes -------------------------------------------------------------------------------------------

Number = bool | int | float | None
Numbers = dict[str, Number]
Settings = dict[str, bool | int | float | str | list[str] | None]


class _Shape(Struct, forbid_unknown_fields=True, gc=False):
    pass


class _Text(_Shape, tag_field="type", tag="text"):
    text: str
    refusal: bool | None = None
    cache_breakpoint: bool | None = None
    citations: None = None
    internal: None = None


class _Reasoning(_Shape, tag_field="type", tag="reasoning"):
    reasoning: str
    summary: str | None = None
    signature: str | None = None
    redacted: bool = False
    internal: None = None


class _Image(_Shape, tag_field="type", tag="image"):
    image: str
    detail: str = ""
    internal: None = None


Content = list[_Text | _Reasoning | _Image]


class _Call(_Shape):
    id: str
    function: str
    arguments: dict[str, Any]
    type: str = ""
    parse_error: None = None
    view: None = None
    internal: None = None


class _Given(_Shape, tag_field="role"):
    content: str | Content | None
    id: str | None = None
    source: str | None = None
    metadata: Numbers | None = None
    internal: None = None


class _System(_Given, tag="system"):
    pass


class _User(_Given, tag="user"):
    tool_call_id: None = None


class _Assistant(_Given, tag="assistant"):
    model: str | None = None
    tool_calls: list[_Call] | None = None


class _Answer(_Shape, tag_field="role", tag="tool"):
    content: str
    tool_call_id: str
    id: str | None = None
    function: str | None = None
    source: str | None = None
    error: Any = None


_Message = _System | _User | _Assistant | _Answer


class _Choice(_Shape):
    message: _Assistant
    stop_reason: str | None = None
    stop_details: None = None
    logprobs: None = None


class _Output(_Shape):
    model: str = ""
    choices: list[_Choice] = []
    completion: str = ""
    usage: Numbers | None = None
    input_context_tokens: int | None = None
    time: Number = None
    metadata: Numbers | None = None
    error: str | None = None
    response_id: str | None = None
    fallback: None = None


class _Event(_Shape, tag_field="event"):
    uuid: str | None = None
    span_id: str | None = None
    timestamp: str | None = None
    working_start: Number = None
    pending: bool | None = None
    metadata: Numbers | None = None
    completed: str | None = None
    working_time: Number = None


class _Model(_Event, tag="model"):
    output: _Output = msgspec.field(default_factory=_Output)
    input: list[_Message] = []
    config: Settings = {}
    model: str | None = None
    role: str | None = None
    requested_model: str | None = None
    input_refs: list[list[int]] | None = None
    retries: int | None = None
    error: str | None = None
    cache: str | None = None
    tools: Any = None
    tool_choice: Any = None
    call: Any = None


class _Seen(_Shape):
    content: str = ""
    title: str | None = None
    format: str = ""


class _View(_Shape):
    context: _Seen | None = None
    call: Any = None


class _Approval(_Event, tag="approval"):
    message: str | None = None
    approver: str | None = None
    decision: str | None = None
    explanation: str | None = None
    view: _View | None = None
    call: Any = None
    modified: None = None


class _Change(_Shape):
    op: str
    path: str
    value: Any = None
    replaced: Any = None


class _State(_Event, tag="state"):
    changes: list[_Change] = []


class _Store(_Event, tag="store"):
    changes: list[_Change] = []


_EVENTS: dict[Any, type[_Event]] = {
    "model": _Model,
    "approval": _Approval,
    "state": _State,
    "store": _Store,
}
_KINDS = (*_EVENTS, "tool")
_MESSAGES: dict[Any, type[_Shape]] = {
    "system": _System,
    "user": _User,
    "assistant": _Assistant,
    "tool": _Answer,
}
_TOOL = frozenset(
    (
        *("uuid", "span_id", "timestamp", "working_start", "pending", "metadata", "event", "type"),
        *("id", "function", "arguments", "view", "result", "truncated", "error", "events"),
        *("completed", "working_time", "agent", "agent_span_id", "message_id", "failed"),
    )
)
"""Members of a tool event."""
_ANSWERING = frozenset(("tool", "function", "toolResult", "tool_response", "observation"))
"""Roles of a tool's result."""
_SPARE = 32
"""Most times per reference that one referenced text is inserted."""


_OUTPUT = {None: _Output}


def _shaped(value: Any, shapes: Mapping[Any, type[_Shape]], kind: Any) -> Any:
    """Return a value decoded by the shape of its kind; None where it has another shape."""
    shape = shapes.get(kind) if kind is None or type(kind) is str else None
    if shape is None:
        return None
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return None


class Settled:
    """The settled parts of one sample, once its trace is written."""

    def __init__(self, draft: Draft, texts: Attachments) -> None:
        self._texts = texts
        self._calls = {plain_id(e): e for e in draft.events if e["kind"] == "tool_call"}
        self._answered = draft.index().answered

    def event(self, event: dict[str, Any]) -> bool:
        """Return whether nothing can be left of an event."""
        kind = event.get("event")
        if kind == "tool":
            return event.keys() <= _TOOL and self._copy(
                event.get("id"), event.get("function"), event.get("arguments")
            )
        found = _shaped(event, _EVENTS, kind)
        if found is None:
            return False
        if isinstance(found, _Model):
            return (
                found.role not in _ANSWERING
                and (not found.config or self._still(found.config))
                and all(map(self._told, found.input))
                and self._output(found.output)
            )
        if isinstance(found, _Approval):
            return True
        return all(self._still(one.value) and self._still(one.replaced) for one in found.changes)

    def message(self, message: Any) -> bool:
        """Return whether nothing can be left of a message."""
        found = _shaped(message, _MESSAGES, mapping(message).get("role"))
        return found is not None and self._told(found)

    def output(self, output: Any) -> bool:
        """Return whether nothing can be left of a model's output."""
        found = _shaped(output, _OUTPUT, None)
        return found is not None and self._output(found)

    def _output(self, output: _Output) -> bool:
        return all(self._told(choice.message) for choice in output.choices)

    def _told(self, message: Any) -> bool:
        if isinstance(message, _Assistant):
            calls = message.tool_calls
            return not calls or all(
                self._copy(call.id, call.function, call.arguments) for call in calls
            )
        return not isinstance(message, _Answer) or message.tool_call_id in self._answered

    def _copy(self, own: Any, tool: Any, arguments: Any) -> bool:
        """Return whether the trace has exactly this call."""
        call = self._calls.get(own) if own and type(own) is str else None
        if call is None or call["tool"] != tool or type(arguments) is not dict:
            return False
        known = call["arguments"]
        return bool(arguments == known or self._texts.whole(arguments) == known)

    def _still(self, value: Any) -> bool:
        """Return whether a value is no act and contains none."""
        kind = type(value)
        if kind is dict:
            if "role" in value and self.message(value):
                return True
            if HOLDERS.isdisjoint(value) and not holds_parts(value) and not could_act(value):
                return all(map(self._still, value.values()))
            return False
        return kind is not list or all(map(self._still, value))


def settled(sample: dict[str, Any], parts: Parts, draft: Draft, texts: Attachments) -> list[Any]:
    """Return parts of the sample, as they are in it, of which nothing can be left. None where a
    name is repeated, where no call was made (words may then be one), and where a text may be an act
    or a reference leads to nothing, or to more than a record may have."""
    if not draft.calls() or has_repeats(sample) or not _plain(parts, draft, texts):
        return []
    found = Settled(draft, texts)
    pool = mapping(sample.get("events_data")).get("messages") or sample.get("message_pool")
    events = [one for one in sequence(sample.get("events")) if type(one) is dict]
    done = [one for one in events if one.get("event") in _KINDS and found.event(one)]
    for messages in (sample.get("messages"), pool):
        done += [one for one in sequence(messages) if type(one) is dict and found.message(one)]
    output = sample.get("output")
    return [*done, output] if found.output(output) else done


def _plain(parts: Parts, draft: Draft, texts: Attachments) -> bool:
    """Return whether no text of a sample is an act, and all its references lead to texts."""
    if parts.texts is None:
        return False
    if any(text_acts(one, draft) for one in parts.texts.openings):
        return False
    if not (keys := parts.texts.references):
        return True
    kept: Mapping[str, Any] = parts.attachments
    led = [kept.get(key) for key in set(keys)]
    longest = max(len(one) if isinstance(one, str) else 0 for one in led)
    there = all(isinstance(one, str) for one in led)
    return there and texts.affords(_SPARE * len(keys) * longest)
