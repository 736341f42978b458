"""Which dialect a list of messages is written in, by what only that one writes."""

import re
from collections.abc import Iterator
from typing import Any

_ANTHROPIC = re.compile(
    r"(?:server_|mcp_)?tool_use|(?:\w+_)?tool_result|thinking|redacted_thinking"
)
_VERCEL = ("tool-call", "tool-result", "tool-error", "tool-approval-request")
_GENAI = ("tool_call", "tool_call_response", "server_tool_call")
_MARKUP = re.compile(
    r"<tool_call>|<tool_response>|<function_calls?>|<function=|\[TOOL_CALLS\]|^Action Input:",
    re.MULTILINE,
)


def dialect_of(messages: list[Any]) -> str:
    """The name of the dialect; empty for what any of them could have written."""
    as_text = structured = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        if found := next(_marks(message), ""):
            return found
        as_text = as_text or _calls_as_text(message)
        structured = structured or bool(message.get("tool_calls") or message.get("function_call"))
    return "hermes" if as_text and not structured else ""


def _calls_as_text(message: dict[str, Any]) -> bool:
    content = message.get("content")
    spoken = message.get("role") in ("assistant", "tool")
    return spoken and isinstance(content, str) and _MARKUP.search(content) is not None


def _marks(message: dict[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    if isinstance(calls, list) and any(
        isinstance(one, dict) and isinstance(one.get("function"), str) for one in calls
    ):
        yield "agentdojo"
    if isinstance(message.get("toolInvocations"), list):
        yield "vercel-ai-ui"
    if isinstance(parts := message.get("parts"), list):
        yield from _of_parts(parts)
    if isinstance(content := message.get("content"), list):
        yield from _of_blocks(content)
    if isinstance(message.get("from"), str) and "value" in message:
        yield "hermes"
    if isinstance(message.get("source"), str) and str(message.get("type"))[-5:] in _AUTOGEN:
        yield "autogen"
    if message.get("role") == "toolResult":
        yield "pi"


_AUTOGEN = ("ssage", "Event")


def _of_parts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind in _GENAI or (kind == "text" and "content" in part):
            yield "genai-messages"
        elif isinstance(kind, str):
            yield "vercel-ai-ui"
        else:
            yield "gemini"


def _of_blocks(blocks: list[Any]) -> Iterator[str]:
    bare = 0
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind is None:
            if isinstance(block.get("toolUse"), dict) or isinstance(block.get("toolResult"), dict):
                yield "bedrock-converse"
            bare += isinstance(block.get("text"), str)
        elif not isinstance(kind, str):
            continue
        elif kind in _VERCEL:
            yield "vercel-ai-model"
        elif kind == "toolCall":
            yield "pi"
        elif kind == "text" and isinstance(block.get("content"), str) and "text" not in block:
            yield "agentdojo"
        elif _ANTHROPIC.fullmatch(kind):
            yield "anthropic-messages"
    if bare and bare == len(blocks):
        yield "bedrock-converse"
