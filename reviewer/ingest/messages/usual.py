"""The usual messages of chat APIs, read at once: words with a role, an agent's function calls, a
tool's answer. Most messages are of a few shapes, by the names of their members; whatever else one
holds is for `turns`, which says the same of these."""

from functools import lru_cache
from typing import Any, NamedTuple

from reviewer.ingest.messages.parts import ROLES, Part, Role, Turn
from reviewer.trace.strictjson import Repeated

_SCALARS = frozenset(
    (
        *("id", "name", "tool_call_id", "created_at", "timestamp", "model", "author"),
        *("stop_reason", "finish_reason", "reasoning_content", "reasoning", "thinking", "thought"),
    )
)
"""Members that are no act in a message, as long as they hold no object and no list."""
_ABSENT = frozenset(("refusal", "function_call", "audio", "annotations", "parts", "status"))
"""Members that say nothing as long as they are null."""
_HOLD = frozenset((dict, list, Repeated))
_MEMO = 1024


class _Shape(NamedTuple):
    """The members of a message that are to be looked at before it is one of the usual ones."""

    scalars: tuple[str, ...]
    absent: tuple[str, ...]
    calls: bool


@lru_cache(_MEMO)
def _shape(names: tuple[str, ...]) -> _Shape | None:
    left = set(names) - {"role", "content", "tool_calls"}
    if "role" not in names or not left <= _SCALARS | _ABSENT:
        return None
    calls = "tool_calls" in names
    if not calls and "content" not in names:
        return None
    return _Shape(tuple(left & _SCALARS), tuple(left & _ABSENT), calls)


def usual(message: dict[str, Any]) -> Turn | None:
    """A message of which nothing is left when it is read so; None for any other."""
    shape = _shape(tuple(message))
    if shape is None or type(message) is not dict:
        return None
    role = message["role"]
    side = ROLES.get(role) if type(role) is str else None
    if side is None or role == "function_call":
        return None
    for name in shape.scalars:
        if type(message[name]) in _HOLD:
            return None
    for name in shape.absent:
        if message[name] is not None:
            return None
    said = message.get("content")
    if shape.calls and (calls := message["tool_calls"]):
        return _with_calls(side, role, said, calls)
    if type(said) is not str:
        return None
    if side == "tool":
        own, named = message.get("tool_call_id"), message.get("name")
        if not (type(own) is str or own is None) or not (type(named) is str or named is None):
            return None
        return Turn(side, role, [Part("result", said, own or "", named or "", None, message)])
    return Turn(side, role, [Part("text", said)] if said else [])


def _with_calls(side: Role, role: str, said: Any, calls: Any) -> Turn | None:
    if side != "agent" or type(calls) is not list:
        return None
    if said is None:
        parts = []
    elif type(said) is str:
        parts = [Part("text", said)] if said else []
    else:
        return None
    for call in calls:
        if type(call) is not dict or call.keys() != _CALL:
            return None
        function, own = call["function"], call["id"]
        if type(function) is not dict or function.keys() != _FUNCTION:
            return None
        name, given = function["name"], function["arguments"]
        if not (type(own) is type(name) is type(given) is type(call["type"]) is str):
            return None
        parts.append(Part("call", given or None, own, name, None, call))
    return Turn(side, role, parts)


_CALL = {"id", "type", "function"}
_FUNCTION = {"name", "arguments"}
