"""What went into a model, an agent or a chain and what came out, in the dialects of their spans."""

import re
from typing import Any

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.messages import Message, Role, messages
from reviewer.importing.formats._spans.value import Attributes, Happening, Span

_INPUTS = (
    "gen_ai.input.messages",
    "gen_ai.prompt.*",
    "llm.input_messages.*",
    "ai.prompt.messages",
    "gcp.vertex.agent.llm_request",
    "ai.prompt",
    "gen_ai.prompt",
    "langfuse.observation.input",
    "traceloop.entity.input",
    "input.value",
)
_OUTPUTS = (
    "gen_ai.output.messages",
    "gen_ai.completion.*",
    "llm.output_messages.*",
    "gcp.vertex.agent.llm_response",
    "gen_ai.completion",
    "langfuse.observation.output",
    "traceloop.entity.output",
    "output.value",
)
_SAID = ("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
_CALLED = ("ai.response.toolCalls", "ai.result.toolCalls")


def inputs(span: Span) -> list[Message]:
    """The messages a span was given, the whole history as it repeats it."""
    found = _read(span.attributes, _INPUTS, "user")
    if system := span.first("gen_ai.system_instructions"):
        found = messages(system, "system") + found
    return found or _told(span)[0]


def outputs(span: Span) -> list[Message]:
    """The messages a span gave back."""
    said, called = span.first(*_SAID), span.first(*_CALLED)
    if said is not None or called is not None:
        text = [Message("agent", part.parts) for part in _verbatim(said)]
        return text + messages(called, "agent")
    return _read(span.attributes, _OUTPUTS, "agent") or _told(span)[1]


def _verbatim(said: Any) -> list[Message]:
    found = messages([{"role": "assistant", "content": said}], "agent")
    return [one for one in found if any(part.value for part in one.parts)]


def history(span: Span) -> list[Message]:
    """All messages of a run as its agent's span lists them at the end."""
    found = messages(span.first("pydantic_ai.all_messages"), "user")
    return found or _both(_listed(span.first("all_messages_events")))


def _read(attributes: Attributes, names: tuple[str, ...], role: Role) -> list[Message]:
    for name in names:
        value = tree(attributes, name[:-2]) if name.endswith(".*") else attributes.get(name)
        if value is not None and (found := messages(value, role)):
            return found
    return []


MOST_STEPS = 12
_NUMBERED = re.compile(r"\d{1,9}\Z")


def tree(attributes: Attributes, prefix: str) -> list[Any] | None:
    """The list that stands flattened under `prefix` (`prefix.0.role`, `prefix.0.content` …), in
    the order of its numbers; None when nothing stands there."""
    whole = attributes.get(prefix)
    if isinstance(whole, list):
        return whole
    start = prefix + "."
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(start):
            continue
        *above, last = name[len(start) :].split(".", MOST_STEPS)
        node = root
        for step in above:
            inner = node.setdefault(step, {})
            if not isinstance(inner, dict):
                break  # the name of a value and of a list: the first one stays
            node = inner
        else:
            node.setdefault(last, value)
    found = numbered(root)
    return found if isinstance(found, list) else None


def numbered(value: Any) -> Any:
    """Objects whose members are all numbers, as lists in their order."""
    if not isinstance(value, dict):
        return value
    if value and all(_NUMBERED.match(name) for name in value):
        return [numbered(value[name]) for name in sorted(value, key=int)]
    return {name: numbered(inner) for name, inner in value.items()}


_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message\Z")


def _told(span: Span) -> tuple[list[Message], list[Message]]:
    """(inputs, outputs) out of events: those on the span, or those listed in an attribute."""
    given: list[Any] = []
    answered: list[Any] = []
    for name, event in [*map(_opened, span.events), *_listed(span.first("events"))]:
        if _EVENT.match(name):
            role = name.split(".")[1]
            given.append({"role": role, **event, "tool_call_id": event.get("id")})
        elif name == "gen_ai.choice":
            answered.append(event if isinstance(event.get("message"), dict) else
                            {"role": "assistant", **event})  # fmt: skip
        elif name == "gen_ai.content.prompt":
            given.append(event.get("gen_ai.prompt"))
        elif name == "gen_ai.content.completion":
            answered.append(event.get("gen_ai.completion"))
        elif name == "gen_ai.client.inference.operation.details":
            given.append(event.get("gen_ai.input.messages"))
            answered.append(event.get("gen_ai.output.messages"))
    return messages(given, "user"), messages(answered, "agent")


def _both(events: list[tuple[str, Attributes]]) -> list[Message]:
    return messages([{"role": name.split(".")[1], **event} for name, event in events
                     if _EVENT.match(name)], "user")  # fmt: skip


def _opened(event: Happening) -> tuple[str, Attributes]:
    """An event with its body, which some keep as JSON text in one attribute."""
    for name in ("event_body", "gen_ai.event.content", "body"):
        body = event.attributes.get(name)
        value = parse_text(body) if isinstance(body, str) else body
        if isinstance(value, dict):
            return event.name, value
    opened = {
        name: parse_text(value) or value
        if isinstance(value, str) and value[:1] in ("{", "[")
        else value
        for name, value in event.attributes.items()
    }
    return event.name, opened


def _listed(value: Any) -> list[tuple[str, Attributes]]:
    found = parse_text(value) if isinstance(value, str) else value
    if not isinstance(found, list):
        return []
    return [
        (one["event.name"], one)
        for one in found
        if isinstance(one, dict) and isinstance(one.get("event.name"), str)
    ]
