"""Messages of any chat format, as parts that were said, called or returned; and the inputs and
outputs of a model, an agent or a chain, in the dialects of their spans.

Known shapes: OpenTelemetry's `parts`, OpenAI's chat and Responses, Anthropic's content blocks,
Gemini's contents, Vercel's model messages, LangChain's messages (plain and serialized).
"""

import re
from collections.abc import Iterator
from typing import Any

from reviewer.importing.draft import Status, words
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import at_path, mapping
from reviewer.importing.formats.base import text as text_of
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent, plain
from reviewer.importing.messages.parts import Part, Role, Turn
from reviewer.importing.messages.text_calls import holds_blocks

# Messages -----------------------------------------------------------------------------------------

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "HumanMessage"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "AIMessage", "AIMessageChunk"), "agent"),
    **dict.fromkeys(("system", "developer", "SystemMessage"), "system"),
    **dict.fromkeys(("tool", "function", "ToolMessage"), "tool"),
}
DEEP = 6


def messages(value: Any, role: Role) -> list[Turn]:
    """Return the messages in any JSON value or JSON text; a bare text is one message of the role
    `role`. Empty when nothing in it looks like a message."""
    return [found for found in _any(value, role, 0) if found.parts]


def _any(value: Any, role: Role, depth: int) -> Iterator[Turn]:
    if depth > DEEP:
        return
    if isinstance(value, str):
        parsed = parse_text(value) if value[:1] in ("[", "{", '"') else None
        if isinstance(parsed, (dict, list, str)) and parsed != value:
            yield from _any(parsed, role, depth + 1)
        elif value.strip():
            yield Turn(role, "", [Part("text", value)])
    elif _is_pair(value):
        yield Turn(_ROLES[value[0]], "", [Part("text", value[1])])
    elif isinstance(value, list):
        for one in value:
            yield from _any(one, role, depth + 1)
    elif isinstance(value, dict):
        yield from _object(value, role, depth)


def _is_pair(value: Any) -> bool:
    """Return whether a list is a message in LangChain's short form: the speaker and the text."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    return all(isinstance(one, str) for one in value) and _ROLES.get(value[0], "tool") != "tool"


def _object(value: dict[str, Any], role: Role, depth: int) -> Iterator[Turn]:
    if isinstance(inner := value.get("message"), dict):  # a choice, or OpenInference's nesting
        if "role" not in inner and isinstance(inner.get("content"), str) and role != "tool":
            yield from _message(inner, role)
        else:
            yield from _any(inner, role, depth + 1)
    elif isinstance(kwargs := value.get("kwargs"), dict) and isinstance(value.get("id"), list):
        kind = value["id"][-1] if value["id"] else ""
        yield from _object({"type": kind, **kwargs}, role, depth + 1)
    elif isinstance(value.get("data"), dict) and isinstance(value.get("type"), str):
        yield from _object({**value["data"], "type": value["type"]}, role, depth + 1)
    elif (own := _role(value)) is not None:
        yield from _message(value, own)
    elif isinstance(name := value.get("role"), str) and isinstance(value.get("content"), str):
        yield Turn("", name, [Part("text", value["content"], name=name)])
    elif (part := part_of(value)) is not None:
        side: Role = "agent" if part.kind == "call" else "tool" if part.kind == "result" else role
        yield Turn(side, "", [part])
    else:
        yield from _holder(value, role, depth)


def _role(value: dict[str, Any]) -> Role | None:
    for name in ("role", "type"):
        if isinstance(found := value.get(name), str) and found in _ROLES:
            if name == "type" and not ({"content", "tool_calls"} & value.keys()):
                continue
            return _ROLES[found]
    return None


_HOLDERS = ("messages", "contents", "choices", "candidates", "generations", "output", "content")


def _holder(value: dict[str, Any], role: Role, depth: int) -> Iterator[Turn]:
    """Yield the messages in a request or an answer."""
    for system in (value.get("system"), at_path(value, "config", "system_instruction")):
        if isinstance(system, (str, list)):
            yield from _any(system, "system", depth + 1)
    for name in _HOLDERS:
        inner = value.get(name)
        if isinstance(inner, (list, dict)) and inner:
            yield from _any(inner, role, depth + 1)
            return
    for name in ("prompt", "input", "query", "text", "completion", "response", "args"):
        if isinstance(value.get(name), (str, list)):
            yield from _any(value[name], role, depth + 1)
            return
    if isinstance(parts := value.get("parts"), list):
        yield Turn(role, "", list(_parts(parts)))


def _message(value: dict[str, Any], role: Role) -> Iterator[Turn]:
    content = value.get("parts", value.get("content", value.get("contents")))
    if isinstance(content, str) and (calls := _calls_as_text(content)):
        yield Turn("agent", "", calls)
        return
    if role == "tool":
        yield from _tool_message(value, content)
        return
    if isinstance(content, str) and content[:2] == "[{" and holds_blocks(content):
        content = parse_text(content)  # blocks, as a text
    parts = list(_parts(content if isinstance(content, list) else [content]))
    extra = value.get("additional_kwargs")
    for calls_of in (value, mapping(extra)):
        listed = calls_of.get("tool_calls") or calls_of.get("toolCalls")
        if isinstance(listed, list) and listed and not any(p.kind == "call" for p in parts):
            parts += [part for call in listed if isinstance(call, dict) for part in _call(call)]
    if isinstance(legacy := value.get("function_call"), dict):
        parts += _call(legacy)
    yield Turn(role, "", list(_together(parts)))


def _together(parts: list[Part]) -> Iterator[Part]:
    """Yield parts, joining consecutive texts: a message is one event, with its pictures."""
    waiting: list[str] = []
    for part in parts:
        if part.kind == "text" and isinstance(part.value, str) and not part.name:
            waiting.append(part.value)
            continue
        if waiting:
            yield Part("text", "\n".join(waiting))
            waiting = []
        yield part
    if waiting:
        yield Part("text", "\n".join(waiting))


def _calls_as_text(content: str) -> list[Part]:
    """Return the calls that a tool wrote as the JSON text of a message."""
    if content[:2] != "[{" or '"function"' not in content[:4096]:
        return []
    value = parse_text(content)
    if not isinstance(value, list):
        return []
    found = [
        part
        for call in value
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
        for part in _call(call)
    ]
    return found if len(found) == len(value) else []


def _tool_message(value: dict[str, Any], content: Any) -> Iterator[Turn]:
    if isinstance(content, list):
        parts = [part for part in _parts(content) if part.kind == "result"]
        if parts:
            yield Turn("tool", "", parts)
            return
    if isinstance(content, dict) and isinstance(content.get("function"), dict):
        return  # the definition of a tool, which some write among the messages
    own = text_of(value.get("tool_call_id") or value.get("toolCallId"))
    status: Status | None = "error" if value.get("status") == "error" else None
    part = Part("result", plain(words(content)), own, text_of(value.get("name")), status)
    yield Turn("tool", "", [part])


def _parts(values: list[Any]) -> Iterator[Part]:
    for value in values:
        if isinstance(value, str):
            yield Part("text", value)
        elif isinstance(value, dict):
            inner = value.get("message_content")
            yield part_of(inner if isinstance(inner, dict) else value) or _unknown(value)


def _unknown(value: dict[str, Any]) -> Part:
    kind = value.get("type", value.get("modality"))
    return Part("text", f"[{kind}]" if isinstance(kind, str) else "[part]")


_CALLS = ("tool_call", "tool-call", "tool_use", "function_call", "function", "tool-input")
_REASONING = re.compile("reasoning|thinking", re.IGNORECASE)
_RESULTS = ("tool_call_response", "tool-result", "tool_result", "function_call_output")


def part_of(value: dict[str, Any]) -> Part | None:
    """Return one content part or item, None when its kind is unknown."""
    kind = value.get("type")
    for name in ("function_call", "functionCall", "tool_call"):
        if isinstance(inner := value.get(name), dict):
            return next(iter(_call(inner)), None)
    for name in ("function_response", "functionResponse"):
        if isinstance(inner := value.get(name), dict):
            return _result({**inner, "result": inner.get("response")})
    if kind is None and (part := _converse(value)) is not None:
        return part
    if kind in _CALLS or (kind is None and ({"toolCallId", "function"} & value.keys())):
        return next(iter(_call(value)), None)
    if kind in _RESULTS:
        return _result(value)
    if value.get("thought") is True or (isinstance(kind, str) and _REASONING.search(kind)):
        return Part("reasoning", _said(value, "content", "text", "thinking", "summary"))
    if kind in (None, "text", "input_text", "output_text", "refusal"):
        found = _said(value, "text", "refusal", *(("content",) if kind else ()))
        return Part("text", found) if found or kind else None
    return None


def _converse(value: dict[str, Any]) -> Part | None:
    """Return the part that a block of Bedrock's Converse API states by its only member."""
    if isinstance(inner := value.get("toolUse"), dict):
        return next(iter(_call({**inner, "id": inner.get("toolUseId")})), None)
    if isinstance(inner := value.get("toolResult"), dict):
        content = inner.get("content")
        seen = [one.get("json", one) if isinstance(one, dict) else one for one in content or ()]
        alone = len(seen) == 1 and isinstance(content, list) and "json" in mapping(content[0])
        failed = inner.get("status") == "error"
        return _result(
            {
                "result": seen[0] if alone else content,
                "id": inner.get("toolUseId"),
                "is_error": failed,
            }
        )
    if isinstance(inner := value.get("reasoningContent"), dict):
        return Part("reasoning", text_of(at_path(inner, "reasoningText", "text")))
    return None


def _said(value: dict[str, Any], *names: str) -> str:
    for name in names:
        found = value.get(name)
        if isinstance(found, str):
            return found
        if isinstance(found, list) and isinstance(text := words(found), str):
            return text
    return ""


def _call(value: dict[str, Any]) -> list[Part]:
    inner = value.get("tool_call")
    value = inner if isinstance(inner, dict) else value
    function = value.get("function")
    named = function if isinstance(function, dict) else value
    name = text_of(named.get("name") or named.get("toolName"))
    given = (named.get(key) for key in ("arguments", "args", "input", "parameters"))
    arguments = next((one for one in given if one is not None), None)
    own = value.get("call_id") or value.get("toolCallId") or value.get("id")
    return [Part("call", arguments, text_of(own), name)] if name else []


def _result(value: dict[str, Any]) -> Part:
    given = (value.get(key) for key in ("result", "response", "output", "content"))
    found = next((one for one in given if one is not None), None)
    failed = value.get("is_error") is True or value.get("isError") is True
    if isinstance(found, dict) and set(found) == {"type", "value"}:
        failed = failed or str(found["type"]).startswith("error")
        found = found["value"]
    own = next(
        (value[key] for key in ("tool_use_id", "call_id", "toolCallId", "id") if value.get(key)), ""
    )
    text = words(found) if isinstance(found, list) else found
    name = text_of(value.get("name") or value.get("toolName"))
    return Part("result", plain(text), text_of(own), name, "error" if failed else None)


# Inputs and outputs of a span ---------------------------------------------------------------------

INPUTS = (
    "gen_ai.input.messages", "gen_ai.prompt.*", "llm.input_messages.*", "ai.prompt.messages",
    "gcp.vertex.agent.llm_request", "ai.prompt", "gen_ai.prompt", "langfuse.observation.input",
    "traceloop.entity.input", "input.value", "lmnr.span.input", "request_data",
)  # fmt: skip
OUTPUTS = (
    "gen_ai.output.messages", "gen_ai.completion.*", "llm.output_messages.*",
    "gcp.vertex.agent.llm_response", "gen_ai.completion", "langfuse.observation.output",
    "traceloop.entity.output", "output.value", "lmnr.span.output", "response_data",
)  # fmt: skip
_SAID = ("ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
CALLED = ("ai.response.toolCalls", "ai.result.toolCalls")


def inputs(span: Span) -> list[Turn]:
    """Return the messages given to a span, with the whole history as it repeats it."""
    found = _read(span.attributes, INPUTS, "user")
    if system := span.first("gen_ai.system_instructions"):
        found = messages(system, "system") + found
    return found or _told(span)[0]


def outputs(span: Span) -> list[Turn]:
    """Return the messages that a span returned."""
    said, called = span.first(*_SAID), span.first(*CALLED)
    if said is not None or called is not None:
        text = [Turn("agent", "", part.parts) for part in _verbatim(said)]
        return text + messages(called, "agent")
    return _read(span.attributes, OUTPUTS, "agent") or _told(span)[1]


def _verbatim(said: Any) -> list[Turn]:
    found = messages([{"role": "assistant", "content": said}], "agent")
    return [one for one in found if any(part.value for part in one.parts)]


def history(span: Span) -> list[Turn]:
    """Return all messages of a run as its agent's span lists them at the end."""
    found = messages(span.first("pydantic_ai.all_messages"), "user")
    return found or _both(_listed(span.first("all_messages_events")))


def _read(attributes: Attributes, names: tuple[str, ...], role: Role) -> list[Turn]:
    for name in names:
        value = nested(attributes, name[:-2]) if name.endswith(".*") else attributes.get(name)
        if value is not None and (found := messages(value, role)):
            return found
    return []


MOST_STEPS = 12
_NUMBERED = re.compile(r"\d{1,9}\Z")


def nested(attributes: Attributes, prefix: str) -> list[Any] | None:
    """Return the list that is flattened under `prefix` (`prefix.0.role`, `prefix.0.content` …), in
    the order of its numbers; None when nothing is there."""
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
                break  # a name both of a value and of a list: the first one is kept
            node = inner
        else:
            node.setdefault(last, value)
    found = numbered(root)
    return found if isinstance(found, list) else None


def numbered(value: Any) -> Any:
    """Return objects whose members are all numbers as lists in their order."""
    if not isinstance(value, dict):
        return value
    if value and next(iter(value))[:1].isdigit() and all(map(_NUMBERED.match, value)):
        return [numbered(value[name]) for name in sorted(value, key=int)]
    return {
        name: numbered(inner) if isinstance(inner, dict) else inner for name, inner in value.items()
    }


_EVENT = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message\Z")


def _told(span: Span) -> tuple[list[Turn], list[Turn]]:
    """Return (inputs, outputs) from events: those on the span, or those listed in an attribute."""
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


def _both(events: list[tuple[str, Attributes]]) -> list[Turn]:
    return messages([{"role": name.split(".")[1], **event} for name, event in events
                     if _EVENT.match(name)], "user")  # fmt: skip


def _opened(event: SpanEvent) -> tuple[str, Attributes]:
    """Return an event with its body, which some instrumentations write as JSON text in one
    attribute."""
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
