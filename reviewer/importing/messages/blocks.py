"""The parts of a message's content, block by block, whichever dialect wrote it."""

from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Status
from reviewer.importing.messages import anthropic, items, vercel
from reviewer.importing.messages.calls import call_of, given
from reviewer.importing.messages.converse import held
from reviewer.importing.messages.parts import ANNOTATIONS, Part, first, text_of

_TEXTS = frozenset(("text", "input_text", "output_text", "summary_text", "refusal"))
_WORDS = ("text", "content", "refusal", "value")
_THOUGHTS = frozenset(
    ("thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought", "think")
)
_QUIET = frozenset(
    (
        *("image", "image_url", "input_image", "input_audio", "audio", "output_audio", "video"),
        *("video_url", "document", "file", "input_file", "media", "blob", "uri", "text-plain"),
        *("source", "source-url", "source-document", "search_result", "container_upload"),
        *("step-start", "step-finish", "cache_point", "guard_content", "computer_screenshot"),
        *("tool_reference", "citation", "plaintext", "image-data", "file-data", "input_video"),
    )
)
"""Types that are no act: pictures, files, sources, marks between steps. What they hold is still
looked through for acts."""
_BARE = frozenset(
    (
        *("image", "document", "video", "audio", "cachePoint", "guardContent", "inlineData"),
        *("fileData", "inline_data", "file_data", "reasoningContent", "citationsContent", "s3"),
        *("searchResult", "videoMetadata"),
    )
)
"""Members that name a block without a type that is no act."""
_PLAIN = frozenset((None, *_TEXTS, *_THOUGHTS, *_QUIET))
_OF_CALLS = frozenset(
    (
        *("arguments", "args", "input", "parameters", "tool_input", "rawInput", "partial_json"),
        *("toolName", "tool_name", "toolCallId", "tool_use_id", "tool_call_id", "call_id"),
        *("toolUseId", "recipient_name"),
    )
)
"""Members that a text or a picture has not: a block with one of them is no such block."""
_CALLS = ("tool_call", "toolCall", "function", "function_call", "server_tool_call")
_RESULTS = ("tool_call_response", "server_tool_result", "server_tool_call_response", "tool_result")


def parts_of(content: Any, account: Account) -> list[Part] | None:
    """The parts of a message's content; None when it has a shape that no dialect gives it. Blocks
    of no known kind are left in the account."""
    if content is None or isinstance(content, str):
        return [Part("text", content)] if content else []
    if isinstance(content, dict):
        if "parts" in content and isinstance(content["parts"], list):
            account.read(content, ("role", "parts"))
            return parts_of(content["parts"], account)
        return block_of(content, account)
    if not isinstance(content, list):
        return None
    account.every(content)
    account.read(content, ())
    if len(content) == 1 and isinstance(content[0], dict):
        return block_of(content[0], account) or []
    found: list[Part] = []
    for one in content:
        if isinstance(one, str):
            found.append(Part("text", one))
        elif isinstance(one, dict):
            found += block_of(one, account) or ()
    return found


def block_of(value: dict[str, Any], account: Account) -> list[Part] | None:
    """The parts of one block; None when it is of no known kind, and is left."""
    kind = value.get("type", value.get("block_type"))
    if kind in _PLAIN and not value.keys().isdisjoint(_OF_CALLS):
        return None
    if kind in _TEXTS or (kind is None and isinstance(value.get("text"), str)):
        return _text(value, account)
    if not isinstance(kind, str):
        return _typeless(value, account) if kind is None else None
    reader = anthropic.BLOCKS.get(kind) or vercel.BLOCKS.get(kind)
    if reader is not None and not (kind == "tool_result" and "tool_call_id" in value):
        return reader(value, account)
    if kind in _THOUGHTS:
        account.read(value, ("type", "thinking", "text", "signature", "data", "content"))
        return [Part("reasoning", value.get("thinking", value.get("text")), holder=value)]
    if kind in _CALLS:
        if kind == "server_tool_call" and isinstance(value.get("server_tool_call"), dict):
            return _server_call(value, account)
        part = call_of(value, account)
        return None if part is None else [part]
    if kind in ("invalid_tool_call", "tool_call_chunk"):
        part = call_of(value, account)
        return None if part is None else [part._replace(status="error", certain=False)]
    if kind in _RESULTS:
        return [_result(value, account)]
    if kind.endswith(anthropic.RESULT):
        return anthropic.tool_result(value, account)
    if kind in items.ITEMS:
        return items.item_of(value, account)
    if kind.startswith(vercel.TOOL) and "toolCallId" in value:
        return vercel.tool_part(value, account)
    if kind in _QUIET or kind.startswith("data-"):
        account.read(value, ("type",))
        return [Part("text", f"[{kind}]")] if kind in _QUIET and "-" not in kind else []
    if kind == "non_standard" and isinstance(inner := value.get("value"), dict):
        account.read(value, ("type", "value", *ANNOTATIONS), strict=True)
        return block_of(inner, account)
    return held(value, account)


def _text(value: dict[str, Any], account: Account) -> list[Part]:
    words = next((value[name] for name in _WORDS if isinstance(value.get(name), str)), None)
    if value.get("thought") is True:
        account.read(value, ("type", "text", "thought", "thoughtSignature", "thought_signature"))
        return [Part("reasoning", words, holder=value)]
    if words is None:
        account.read(value, ("type",))
        account.whole(inner := value.get("text"))
        held_text = inner.get("value") if isinstance(inner, dict) else None  # Assistants
        return [Part("text", held_text)] if isinstance(held_text, str) else []
    account.read(value, ("type", *_WORDS))
    return [Part("text", words)]


def _typeless(value: dict[str, Any], account: Account) -> list[Part] | None:
    found = held(value, account)
    if found is not None:
        return found
    if value.keys() & _BARE:
        account.read(value, ())
        if "reasoningContent" in value:
            return [Part("reasoning", holder=value)]
        return [Part("text", f"[{next(iter(sorted(value.keys() & _BARE)))}]")]
    if isinstance(value.get("json"), (dict, list)):
        account.read(value, ("json",))
        return [Part("text", "[json]")]
    if set(value) <= {"thought", "thoughtSignature", "thought_signature", "text"}:
        account.read(value, tuple(value))
        return []
    return None


def _server_call(value: dict[str, Any], account: Account) -> list[Part]:
    """OpenTelemetry's call of a tool that the provider runs."""
    inner = value["server_tool_call"]
    account.read(value, {"type", "name", "server_tool_call", *ANNOTATIONS}, strict=True)
    account.whole(inner)
    arguments = {name: one for name, one in inner.items() if name != "type"}
    own = first(value, "id")
    return [Part("call", arguments, own, text_of(value.get("name")), None, value)]


def _result(value: dict[str, Any], account: Account) -> Part:
    names = ("response", "result", "output", "content", "server_tool_call_response")
    member, seen = given(value, *names)
    own = first(value, "tool_call_id", "call_id", "id")
    beside = {"type", "tool_call_id", "call_id", "name", "is_error", member, *ANNOTATIONS}
    account.read(value, beside, strict=True)
    account.whole(seen)
    failed = value.get("is_error") is True or value.get("status") == "error"
    status: Status | None = "error" if failed else None
    return Part("result", seen, own, text_of(value.get("name")), status, value)
