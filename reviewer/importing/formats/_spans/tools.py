"""What a tool span says of the call it made."""

import re
from typing import Any, NamedTuple

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats._spans.value import Span


class ToolUse(NamedTuple):
    """A tool span: `id` is that of the call it answers, if stated; `result` is None when the span
    gives none; `failed` is whether the result says of itself that it is an error."""

    name: str
    id: str
    arguments: Any
    result: Any
    failed: bool


_TOOL_PREFIX = re.compile(r"^(?:execute_tool|running tool:|tools/call|tool\.)\s*")


def tool_use(span: Span) -> ToolUse:
    """The call a tool span describes."""
    name = span.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
    returned = _returned(span)
    message = tool_message(returned) or {}
    result = plain(message["content"] if message else returned)
    failed = message.get("status") == "error" or (
        isinstance(result, dict) and result.get("isError") is True  # as MCP has it
    )
    return ToolUse(
        name or _TOOL_PREFIX.sub("", span.name) or "unnamed",
        span.text("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id")
        or message.get("tool_call_id", ""),
        _arguments(span),
        result,
        failed,
    )


_GIVEN = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args",
    "ai.toolCall.input",
    "traceloop.entity.input",
    "langfuse.observation.input",
    "input.value",
    "tool.parameters",
)
_BACK = (
    "gen_ai.tool.call.result",
    "tool_response",
    "gcp.vertex.agent.tool_response",
    "ai.toolCall.result",
    "traceloop.entity.output",
    "langfuse.observation.output",
    "output.value",
)
TOLD_BY_TOOLS = frozenset((*_GIVEN, *_BACK))
"""What a tool span was given and gave back: neither holds another call."""


def _arguments(span: Span) -> Any:
    found = span.first(*_GIVEN)
    value = parse_text(found) if isinstance(found, str) else found
    if isinstance(value, dict):
        for name in ("kwargs", "inputs", "input"):
            rest = {other for other in value if other not in (name, "args", "tags", "metadata")}
            if isinstance(value.get(name), dict) and not rest and not value.get("args"):
                return value[name]
        return value
    return found


def _returned(span: Span) -> Any:
    return span.first(*_BACK)


def tool_message(value: Any) -> dict[str, Any] | None:
    """LangChain's message of what a tool returned, which names the call it answers."""
    parsed = plain(value)
    if isinstance(parsed, dict) and isinstance(parsed.get("kwargs"), dict):
        parsed = parsed["kwargs"]
    named = isinstance(parsed, dict) and isinstance(parsed.get("tool_call_id"), str)
    return parsed if named and "content" in parsed else None


def plain(value: Any) -> Any:
    """A value out of the JSON text it may be written as; other texts stay."""
    if value == "null":
        return None
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        parsed = parse_text(value)
        return value if parsed is None else parsed
    return value
