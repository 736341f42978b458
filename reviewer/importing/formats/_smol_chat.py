"""Chat messages as agents keep them, into a draft: the roles of chat APIs and those of smolagents,
which writes tool calls as text."""

import re
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.draft import Draft, Status, words
from reviewer.importing.formats._python_text import NotLiteral, literal
from reviewer.importing.messages.blocks import parts_of
from reviewer.importing.messages.parts import Part

_ACTORS = {"user": "user", "assistant": "agent", "system": "system", "developer": "system"}
_CALLING = re.compile(r"\s*Calling tools:\s*(?=\[)")
_CALL_ID = re.compile(r"\s*Call id: (\S{1,200})\s*\n")
_SEEN = re.compile(r"\s*(Observation|Error):[ \t]*\n?")


def role_of(message: dict[str, Any]) -> str:
    """`tool-call` also where it is written `MessageRole.TOOL_CALL`."""
    return str(message.get("role")).rpartition(".")[2].casefold().replace("_", "-")


def add_message(draft: Draft, message: dict[str, Any], **more: Any) -> None:
    """One message, with the calls it makes or the result it brings."""
    blocks, acts = _taken_apart(message.get("content"))
    role, content = role_of(message), words(blocks)
    text = content if isinstance(content, str) else ""
    if role == "tool-call":
        _add_text_calls(draft, text)
    elif role == "tool-response":
        _add_text_result(draft, text)
    elif role in ("tool", "function"):
        draft.result(content, message.get("tool_call_id"), message.get("name"))
    else:
        made = message.get("tool_calls")
        calls = made if isinstance(made, list) else []
        if content not in ("", None) or not (calls or acts):
            draft.message(_ACTORS.get(role, role[:100]), content, **more)
        for call in calls:
            if isinstance(call, dict):
                add_call(draft, call)
    for act in acts:
        if act.kind == "call":
            draft.call(act.name, act.value, act.id)
        else:
            draft.result(act.value, act.id, act.name or None, act.status)


def _taken_apart(content: Any) -> tuple[Any, list[Part]]:
    """Return what a message says, and the calls and results among its blocks, whichever
    provider's."""
    if not isinstance(content, list):
        return content, []
    parts = parts_of(content, Account()) or []
    acts = [part for part in parts if part.kind in ("call", "result")]
    held = {id(part.holder) for part in acts}
    return [block for block in content if id(block) not in held], acts


def add_call(draft: Draft, call: dict[str, Any]) -> None:
    """A call as chat APIs write it: `{"id", "function": {"name", "arguments"}}`, or flat."""
    inner = call.get("function")
    function = inner if isinstance(inner, dict) else call
    arguments = function.get("arguments")
    if function.get("name") == "python_interpreter" and isinstance(arguments, str):
        arguments = {"code": arguments}
    draft.call(function.get("name"), arguments, call.get("id"))


def _add_text_calls(draft: Draft, text: str) -> None:
    start = _CALLING.match(text)
    try:
        calls = literal(text[start.end() :]) if start else None
    except NotLiteral:
        calls = None
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        draft.note("tool calls written as text could not be read: kept as text")
        draft.unread(f"calls[{draft.calls()}]", len(draft.events) + 1)
        draft.call("unparsed", {"text": text})
        return
    draft.note("tool calls stand in the file as text and were read out of it")
    for call in calls:
        add_call(draft, call)


def _add_text_result(draft: Draft, text: str) -> None:
    own = _CALL_ID.match(text)
    rest = text[own.end() :] if own else text
    seen = _SEEN.match(rest)
    status: Status | None = None
    if seen:
        status = "error" if seen.group(1) == "Error" else "ok"
        rest = rest[seen.end() :]
    answered = sum(event["kind"] == "tool_result" for event in draft.events)
    if status == "error" and answered >= draft.calls():
        draft.error(rest)  # a reply that could not be read as a call
        return
    draft.result(rest, own.group(1) if own else None, status=status)
