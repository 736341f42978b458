"""The usual messages of chat APIs, read at once: words with a role, an agent's function calls, a
tool's answer. Most messages are of a few shapes, by the names of their members; whatever else one
holds is for `turns`, which says the same of these."""

from typing import Any, NamedTuple

from reviewer.importing.bynames import ByNames
from reviewer.importing.draft import UNNAMED, Draft, name_of
from reviewer.importing.messages.astext import answers, holds_blocks, written
from reviewer.importing.messages.parts import ROLES, Part, Role, Turn, thoughts
from reviewer.importing.messages.wrappers import wraps
from reviewer.trace.events import marked
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
_SIDES: dict[str, Role] = {role: side for role, side in ROLES.items() if role != "function_call"}
_ACTORS = {"agent": "agent", "system": "system"}


class _Shape(NamedTuple):
    """The members of a message that are to be looked at before it is one of the usual ones."""

    scalars: tuple[str, ...]
    absent: tuple[str, ...]
    calls: bool


def _shape(names: tuple[str, ...]) -> _Shape | None:
    left = set(names) - {"role", "content", "tool_calls"}
    if "role" not in names or not left <= _SCALARS | _ABSENT:
        return None
    calls = "tool_calls" in names
    if not calls and "content" not in names:
        return None
    return _Shape(tuple(left & _SCALARS), tuple(left & _ABSENT), calls)


_shapes = ByNames(_shape)


def side_of(message: Any) -> Role:
    """Return whose words a usual message is, of which nothing can be left when it is read as one;
    empty for any other."""
    if type(message) is not dict:
        return ""
    shape = _shapes[tuple(message)]
    if shape is None:
        return ""
    scalars, absent, calls = shape
    role = message["role"]
    side = _SIDES.get(role, "") if type(role) is str else ""
    for name in scalars:
        if type(message[name]) in _HOLD:
            return ""
    for name in absent:
        if message[name] is not None:
            return ""
    if calls and (made := message["tool_calls"]):
        return side if side == "agent" and _all_calls(message.get("content"), made) else ""
    if type(message.get("content")) is not str:
        return ""
    if side == "tool" and scalars:
        for name in ("tool_call_id", "name"):
            if type(message.get(name)) not in _TEXT:
                return ""
    return side


_TEXT = (str, type(None))


def _all_calls(said: Any, calls: Any) -> bool:
    """Return whether these are function calls as OpenAI lists them, beside a text or nothing."""
    if type(calls) is not list or type(said) not in _TEXT:
        return False
    for call in calls:
        if type(call) is not dict or call.keys() != _CALL:
            return False
        function = call["function"]
        if type(function) is not dict or function.keys() != _FUNCTION:
            return False
        if not (
            type(call["id"])
            is type(call["type"])
            is type(function["name"])
            is type(function["arguments"])
            is str
        ):
            return False
    return True


_CALL = {"id", "type", "function"}
_FUNCTION = {"name", "arguments"}


def usual(message: Any) -> Turn | None:
    """A usual message as a turn; None for any other."""
    side = side_of(message)
    if not side:
        return None
    role, said = message["role"], message.get("content")
    if side == "tool":
        own, named = message.get("tool_call_id") or "", message.get("name") or ""
        return Turn(side, role, [Part("result", said, own, named, None, message)])
    parts = [*thoughts(message), *([Part("text", said)] if said else ())]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        given = function["arguments"] or None
        parts.append(Part("call", given, call["id"], function["name"], None, call))
    return Turn(side, role, parts)


def tell_usual(draft: Draft, messages: list[Any], user: str) -> bool:
    """Write messages that are all usual ones into the draft, as their turns would be written; False
    when one is not, or a text may be more than words, and nothing was written."""
    sides = [side_of(message) for message in messages]
    if "" in sides or not _only_words(messages, sides):
        return False
    for message, side in zip(messages, sides, strict=True):
        said = message.get("content")
        if side == "tool":
            name = message.get("name") or ""
            event = draft.result(said, message.get("tool_call_id") or "", name or None)
            if name and event["tool"] != name:
                draft.unread(f"results[{len(draft.events)}].name")
            continue
        calls = message.get("tool_calls")
        if said or not calls:
            draft.message(user if side == "user" else _ACTORS[side], said)
        for call in calls or ():
            function = call["function"]
            draft.call(function["name"], function["arguments"], call["id"])
    return True


def _only_words(messages: list[Any], sides: list[Role]) -> bool:
    """Return whether no text is to be looked into, and every call is one call."""
    made = [call for message in messages for call in message.get("tool_calls") or ()]
    for call in made:
        name = call["function"]["name"]
        if wraps(name) or name_of(name) == UNNAMED:
            return False
    for message, side in zip(messages, sides, strict=True):
        said = message.get("content")
        if not made and any(marked(one.value) for one in thoughts(message)):
            return False
        if not said:
            continue
        if side == "agent" and (holds_blocks(said) or (not made and written(said))):
            return False
        if not made and side != "agent" and answers(said):
            return False
    return True
