"""What is around chat messages (lists, objects that hold them, pairs of a request with its answer),
and which dialect a list of them is written in."""

import re
from collections.abc import Iterator
from typing import Any

from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.values import at_path, objects
from reviewer.importing.messages import is_message
from reviewer.importing.messages.items import ITEMS
from reviewer.importing.messages.streams import assembled

# Envelopes ----------------------------------------------------------------------------------------

LISTS = ("messages", "conversation", "conversations", "contents", "input", "prompt")
_MOST_LOOKED_AT = 8
_REQUESTS = ("request", "req", "request_body", "requestBody", "body")
_ANSWERS = (
    *("response", "res", "resp", "output", "answer", "completion", "response_body"),
    *("responseBody", "outputs"),
)
_BODIES = ("body", "json", "postData", "data", "payload", "content", "text", "response")
"""Where a log of HTTP keeps what was sent."""
_ASKS = ("messages", "input", "contents", "prompt", "conversation")
_ANSWERING = (
    *("choices", "candidates", "output", "role", "message", "error", "content", "completion"),
    *("type", "stream"),
)


def are_messages(value: Any) -> bool:
    """Return whether this is a list of chat messages, not an empty one: what it begins with is one,
    and so is most of what follows."""
    if not isinstance(value, list) or not value or not is_message(value[0]):
        return False
    looked = value[:_MOST_LOOKED_AT]
    return 2 * sum(is_message(one) or _is_item(one) for one in looked) > len(looked)


def _is_item(value: Any) -> bool:
    kind = at_path(value, "type")
    return isinstance(kind, str) and kind in ITEMS


def list_in(value: Any) -> tuple[str, list[Any]] | None:
    """Return (member, messages) of an object that holds a list of them."""
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and are_messages(found):
            return name, found
    return None


def is_pair(value: Any) -> bool:
    """Return whether this is a request with what was answered."""
    return parts_of_pair(value) is not None


def parts_of_pair(value: Any) -> tuple[str, str] | None:
    """Return (member of the request, member of its answer)."""
    if not isinstance(value, dict):
        return None
    for name in _REQUESTS:
        if list_in(value.get(name)) is not None:
            return name, next((other for other in _ANSWERS if other in value), "response")
    return None


def opened_pair(value: Any) -> Any:
    """Return a pair with its request and its answer out of the JSON text, the HTTP body or the
    stream they are kept in; what was around them is kept, under `around`. Anything else as it
    is."""
    if not isinstance(value, dict):
        return value
    asked = next((name for name in _REQUESTS if name in value), "")
    request = opened_request(value[asked]) if asked else None
    if not isinstance(request, dict) or not any(name in request for name in _ASKS):
        return value
    told = next((name for name in _ANSWERS if name in value), "")
    answer = opened_answer(value[told]) if told else None
    if request is value[asked] and (not told or answer is value[told]):
        return value
    return {**value, asked: request, **({told: answer} if told else {})}


def opened_request(value: Any) -> Any:
    """Return a request out of the JSON text or the HTTP body it is kept in."""
    return _opened(value, _ASKS)


def opened_answer(value: Any) -> Any:
    """Return an answer out of the JSON text, the HTTP body or the stream it is kept in."""
    if isinstance(value, (str, list)):
        parsed = parse_text(value) if isinstance(value, str) else None
        if parsed is None:
            whole = assembled(value)
            return value if whole is None else whole
        value = parsed if isinstance(parsed, (dict, list)) else value
        if isinstance(value, list):
            return opened_answer(value)
    if isinstance(value, dict) and isinstance(value.get("stream"), list):
        whole = assembled(value)
        return value if whole is None else whole
    return _opened(value, _ANSWERING)


def _opened(value: Any, wanted: tuple[str, ...]) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        parsed = parse_text(value)
        value = parsed if isinstance(parsed, dict) else value
    if not isinstance(value, dict) or any(_says(value, name) for name in wanted):
        return value
    for name in _BODIES:
        inner = value.get(name)
        if not isinstance(inner, (dict, str)) or not inner:
            continue
        found = opened_answer(inner) if wanted is _ANSWERING else opened_request(inner)
        if isinstance(found, dict) and any(_says(found, one) for one in wanted):
            around = {one: held for one, held in value.items() if one != name}
            return {**found, "around": around} if around else found
    return value


def _says(value: dict[str, Any], name: str) -> bool:
    """Return whether an object has this member and not the body of a request or an answer in it."""
    found = value.get(name)
    if name == "content" and isinstance(found, dict):
        return "parts" in found
    if name == "content" and isinstance(found, str):
        return "role" in value
    if name == "type":
        return found == "message"
    return name in value


def answered(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the message of the first choice of an answer."""
    for name, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(first := at_path(answer, name, 0), dict):
            return dict_of(first.get(inner))
    if isinstance(message := at_path(answer, "output", "message"), dict):
        return message
    if answer.get("type") == "message" or {"role", "content"} <= answer.keys():
        return answer
    return dict_of(answer.get("message"))


def answers_beside(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (member, answer) of what a record of messages keeps of the answer to them."""
    for name in ("choices", "candidates"):
        if isinstance(value.get(name), list) and value[name]:
            yield name, {name: value[name], "usage": value.get("usage")}
    for name in _ANSWERS:
        held = value.get(name)
        if isinstance(held, dict) or (isinstance(held, str) and held.lstrip()[:1] == "{"):
            answer = opened_answer(held)
            if isinstance(answer, dict):
                yield name, answer


def dict_of(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


_ENDS = {
    **dict.fromkeys(("stop", "STOP", "stop_sequence"), "stop"),
    "end_turn": "end_turn",
    **dict.fromkeys(("length", "max_tokens", "MAX_TOKENS"), "max_output_tokens"),
    **dict.fromkeys(("content_filter", "content-filter", "refusal", "SAFETY"), "content_filter"),
    "guardrail_intervened": "content_filter",
}


def ended(answer: Any) -> str | None:
    """Return why an answer ended, in our terms; None where it does not say."""
    if not isinstance(answer, dict):
        return None
    firsts = [at_path(answer, name, 0) for name in ("choices", "candidates")]
    holders = [answer, *objects(firsts)]
    members = ("finish_reason", "stop_reason", "finishReason", "stopReason")
    for holder in holders:
        for name in members:
            if isinstance(reason := holder.get(name), str):
                return _ENDS.get(reason)
    return None


def spent(answer: Any) -> Any:
    """Return what an answer states of its tokens."""
    if not isinstance(answer, dict):
        return None
    names = ("usage", "usageMetadata", "usage_metadata", "totalUsage")
    return next((answer[name] for name in names if isinstance(answer.get(name), dict)), None)


# Dialects -----------------------------------------------------------------------------------------

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
    """Return the name of the dialect; empty for what any of them could have written."""
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
