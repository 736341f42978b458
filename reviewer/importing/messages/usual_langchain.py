"""The usual messages of LangChain's `messages_to_dict`, read at once; see `usual`."""

from typing import Any

from reviewer.importing.account import inert
from reviewer.importing.draft import Status
from reviewer.importing.messages.parts import ROLES, Part, Turn
from reviewer.trace.strictjson import Repeated, has_repeats

_KINDS = frozenset(("human", "ai", "system", "tool"))
_MESSAGE = {"type", "data"}
_SPOKEN = frozenset(
    (
        *("content", "additional_kwargs", "response_metadata", "type", "name", "id", "example"),
        *("tool_calls", "invalid_tool_calls", "usage_metadata"),
    )
)
_RETURNED = frozenset(
    (
        *("content", "additional_kwargs", "response_metadata", "type", "name", "id"),
        *("tool_call_id", "artifact", "status"),
    )
)
_EMPTY = ("additional_kwargs", "invalid_tool_calls", "artifact")
"""Members that are to be empty."""
_TEXT = (str, type(None))
_CALL = {"name", "args", "id", "type"}
_STATUS: dict[Any, Status | None] = {None: None, "success": "ok", "error": "error"}


def usual_langchain(message: dict[str, Any]) -> Turn | None:
    """A message of which nothing can be left when it is read so; None for any other."""
    if message.keys() != _MESSAGE or type(message) is not dict:
        return None
    kind, held = message["type"], message["data"]
    if type(kind) is not str or kind not in _KINDS or type(held) is not dict:
        return None
    if not held.keys() <= (_RETURNED if kind == "tool" else _SPOKEN):
        return None
    said, name = held.get("content"), held.get("name")
    if type(said) is not str or type(name) not in _TEXT or type(held.get("id")) not in _TEXT:
        return None
    if type(held.get("type")) not in _TEXT or type(held.get("example")) in (dict, list, Repeated):
        return None
    for empty in _EMPTY:
        if held.get(empty):
            return None
    for told in (held.get("response_metadata"), held.get("usage_metadata")):
        if told and not inert(told):
            return None
    if kind == "tool":
        own, status = held.get("tool_call_id"), held.get("status")
        if type(own) is not str or type(status) not in _TEXT or status not in _STATUS:
            return None
        return Turn("tool", kind, [Part("result", said, own, name or "", _STATUS[status], held)])
    parts = [Part("text", said)] if said else []
    calls = held.get("tool_calls") or []
    if type(calls) is not list:
        return None
    for call in calls:
        if kind != "ai" or type(call) is not dict or call.keys() != _CALL:
            return None
        called, given, own = call["name"], call["args"], call["id"]
        if not (type(called) is type(call["type"]) is str) or type(given) is not dict:
            return None
        if has_repeats(given):
            return None
        if type(own) not in _TEXT:
            return None
        parts.append(Part("call", given or None, own or "", called, None, call))
    return Turn(ROLES[kind], kind, parts)
