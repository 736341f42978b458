"""Calls as chat APIs list them: OpenAI's function, custom and legacy calls, and flat ones
(LangChain, AgentDojo, pi, AutoGen)."""

from functools import lru_cache
from typing import Any

from reviewer.importing.account import Account
from reviewer.importing.messages.parts import ANNOTATIONS, Part, first, text_of

GIVEN = (
    *("arguments", "args", "input", "parameters", "tool_input", "action_input", "kwargs"),
    *("partial_json", "rawInput", "tool_kwargs"),
)
"""Members that may hold what a call is given, in the order they are looked for."""
_NAMED = ("name", "toolName", "tool_name", "tool", "recipient_name")
_OWN = frozenset(
    ("id", "call_id", "tool_call_id", "toolCallId", "type", "block_type", "error", *ANNOTATIONS)
)


_WITH_FUNCTION = _OWN | {"function"}


@lru_cache(maxsize=256)
def _taken(name: str, member: str) -> frozenset[str]:
    return _OWN | {name, member}


def given(value: dict[str, Any], *names: str) -> tuple[str, Any]:
    """(member, value) of what a call is given: the first that is there and not empty."""
    empty = ""
    for name in names or GIVEN:
        found = value.get(name)
        if found not in (None, "", {}, []):
            return name, found
        if name in value:
            empty = empty or name
    return empty, None


def call_of(value: Any, account: Account) -> Part | None:
    """One entry of a list of calls; None when it has no shape of one."""
    if not isinstance(value, dict):
        return None
    function, custom = value.get("function"), value.get("custom")
    if isinstance(function, str) and function.lstrip()[:1] in ("{", "["):
        return None  # no name: a call as JSON text
    if isinstance(function, dict):
        account.read(value, _WITH_FUNCTION, strict=True)
        return _named(value, function, account)
    if isinstance(custom, dict):
        account.read(value, _OWN | {"custom"}, strict=True)
        part = _named(value, custom, account)
        return part._replace(value=as_text(part.value))
    if isinstance(function, str):  # AgentDojo
        member, arguments = given(value)
        account.read(value, {*_OWN, "function", "placeholder_args", member}, strict=True)
        account.whole(arguments, value.get("placeholder_args"))
        return Part("call", arguments, first(value, "id"), function, None, value)
    return _named(value, value, account)


def _named(value: dict[str, Any], named: dict[str, Any], account: Account) -> Part:
    name = next((one for one in _NAMED if one in named), "name")
    member, arguments = given(named)
    account.read(named, _taken(name, member), strict=True)
    account.whole(arguments)
    own = first(value, "id", "call_id", "tool_call_id", "toolCallId")
    return Part("call", arguments, own, text_of(named.get(name)), None, value)


def as_text(arguments: Any) -> Any:
    """Return what a custom tool is given: a text, which is its one argument."""
    if arguments is None:
        return {}
    return {"input": arguments} if isinstance(arguments, str) else arguments


def calls_of(value: Any, account: Account) -> list[Part] | None:
    """Every call of a list; None when it is no list. What is no call in it is left."""
    if not isinstance(value, list):
        return None
    account.every(value)
    return [part for one in value if (part := call_of(one, account)) is not None]


def legacy_call(value: Any, account: Account) -> Part | None:
    """`function_call` of a message."""
    return _named(value, value, account) if isinstance(value, dict) else None
