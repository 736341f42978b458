"""The usual messages of chat APIs and of LangChain's `messages_to_dict`, read quickly: words with a
role, an agent's function calls, a tool's answer. Most messages have one of a few shapes, by the
names of their members; `turns` reads any other, and would read these with the same result.

Also calls that contain calls: one that a model made in order to make several at once.
"""

import re
from typing import Any, NamedTuple

from reviewer.importing.account import inert
from reviewer.importing.draft import UNNAMED, Draft, Status, name_of
from reviewer.importing.foreign_json import Remembered, parse_text
from reviewer.importing.messages.parts import ROLES, Part, Role, Turn, thoughts
from reviewer.importing.messages.text_calls import calls_in, holds_blocks, results_in
from reviewer.trace.events import marked
from reviewer.trace.strictjson import RepeatedMembers, has_repeats

_WRAPPER = re.compile(r"(?:.*[._/])?(?:multi_tool_use(?:[._]parallel)?|parallel|batch(?:_tool)?)\Z")
_LISTS = ("tool_uses", "invocations", "tool_calls", "calls")
_NAMES = ("recipient_name", "name", "tool", "tool_name")
_ARGUMENTS = ("parameters", "arguments", "args", "input", "tool_input")
_OURS = "functions."
"""The namespace that OpenAI puts before the names in a request."""


_wraps = Remembered[str, bool](lambda name: bool(_WRAPPER.match(name)), 1024, 200)


def wraps(name: str) -> bool:
    """Return whether calls of that name may contain others."""
    return _wraps[name]


def inner_calls(name: str, arguments: Any) -> list[tuple[str, Any]] | None:
    """Return the calls within a call; None for an ordinary call. Empty for a wrapper whose content
    was not understood."""
    if not wraps(name):
        return None
    value = parse_text(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(value, dict):
        return [] if name.startswith("multi_tool_use") else None
    listed = next((n for n in _LISTS if isinstance(value.get(n), (list, str, dict))), None)
    if listed is None:
        return [] if name.startswith("multi_tool_use") else None
    held = value[listed]
    held = parse_text(held) if isinstance(held, str) else held
    if not isinstance(held, list) or len(value) > 1 or not held:
        return []
    found: list[tuple[str, Any]] = []
    for one in held:
        if not isinstance(one, dict):
            return []
        inner = one.get("function")
        call = inner if isinstance(inner, dict) else one
        names = [n for n in _NAMES if isinstance(call.get(n), str) and call[n].strip()]
        given = [n for n in _ARGUMENTS if n in call]
        known = {"type", "id", "function", *names[:1], *given[:1]}
        if len(names) != 1 or len(given) > 1 or set(one) - known or set(call) - known:
            return []
        arguments = call[given[0]] if given else None
        found.append((call[names[0]].removeprefix(_OURS), arguments))
    return found


_SCALARS = frozenset(
    (
        *("id", "name", "tool_call_id", "created_at", "timestamp", "model", "author"),
        *("stop_reason", "finish_reason", "reasoning_content", "reasoning", "thinking", "thought"),
    )
)
"""Members that are no act in a message, as long as they contain no object and no list."""
_ABSENT = frozenset(("refusal", "function_call", "audio", "annotations", "parts", "status"))
"""Members that mean nothing as long as they are null."""
_HOLD = frozenset((dict, list, RepeatedMembers))
_SIDES: dict[str, Role] = {role: side for role, side in ROLES.items() if role != "function_call"}
_ACTORS = {"agent": "agent", "system": "system"}


class _Shape(NamedTuple):
    """The members of a message that have to be checked before it counts as usual."""

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


_shapes = Remembered(_shape)


def side_of(message: Any) -> Role:
    """Return the speaker of a usual message, of which nothing is left unread when it is read as
    one; empty for any other."""
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
    """Return a usual message as a turn; None for any other."""
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
        given = function["arguments"] or {}
        parts.append(Part("call", given, call["id"], function["name"], None, call))
    return Turn(side, role, parts)


def tell_usual(draft: Draft, messages: list[Any], user: str) -> bool:
    """Write messages into the draft if all are usual ones, as their turns would be written. Return
    False, with nothing written, when one is not usual or a text may be more than words."""
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
    """Return whether no text has to be examined, and every call is a single call."""
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
        if side == "agent" and (holds_blocks(said) or (not made and calls_in(said))):
            return False
        if not made and side != "agent" and results_in(said):
            return False
    return True


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
"""Members that must be empty."""
_LANGCHAIN_CALL = {"name", "args", "id", "type"}
_STATUS: dict[Any, Status | None] = {None: None, "success": "ok", "error": "error"}


def usual_langchain(message: dict[str, Any]) -> Turn | None:
    """Return a usual message of LangChain as a turn; None for any other."""
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
    if type(held.get("type")) not in _TEXT or type(held.get("example")) in _HOLD:
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
        if kind != "ai" or type(call) is not dict or call.keys() != _LANGCHAIN_CALL:
            return None
        called, given, own = call["name"], call["args"], call["id"]
        if not (type(called) is type(call["type"]) is str) or type(given) is not dict:
            return None
        if has_repeats(given):
            return None
        if type(own) not in _TEXT:
            return None
        parts.append(Part("call", given, own or "", called, None, call))
    return Turn(ROLES[kind], kind, parts)
