"""Calls within a call: harnesses let a model make several at once under one name.

What is called that way was called; it proves nothing, since no result of its own is told.
"""

from collections.abc import Iterable, Set
from typing import Any

import msgspec
from msgspec import Raw

from reviewer.gates.values import parse
from reviewer.trace.events import Call
from reviewer.trace.patterns import late

_NAME = late(r"(?:.*[._/:])?(?:multi_tool_use(?:[._]+parallel)?|parallel|batch(?:_tool)?)\Z")
_CALLER = late(
    r"(?:.*[._/:])?(?:(?:use|call|invoke|execute|exec|run|dispatch)_?(?:mcp_?)?"
    r"(?:tools?|functions?|actions?)|mcp(?:_?call)?(?:_?tool)?)\Z"
)
"""Tools whose one act is to call another, which their arguments name."""
_VERB = late(r"(?:.*[._/:])?(?:use|call|invoke|execute|exec|run|dispatch)\Z")
"""Tools that call another where their arguments name one as a tool, and else do something else."""
_LISTS = ("tool_uses", "invocations", "tool_calls", "calls")
_TOOLS = ("recipient_name", "tool_name", "toolName", "tool", "function_name")
_NAMES = (*_TOOLS, "name")
_ARGUMENTS = ("parameters", "arguments", "input", "args")
_LONGEST = 512
_MEMO = 4096
_SINGLE: set[str] = set()
"""Names met by now whose calls hold no others."""


def wrappers_among(tools: Set[str]) -> Set[str]:
    """Those whose calls hold others."""
    unknown = tools - _SINGLE
    if not unknown:
        return unknown
    wrappers = {tool for tool in unknown if wraps(tool) or _VERB.fullmatch(_named(tool))}
    if len(_SINGLE) < _MEMO:
        _SINGLE.update(unknown - wrappers)
    return wrappers


def wraps(tool: str) -> bool:
    """Return whether calls of that name hold others."""
    name = _named(tool)
    return _NAME.fullmatch(name) is not None or _CALLER.fullmatch(name) is not None


def _named(tool: str) -> str:
    return tool.strip().casefold().replace("-", "_")


def calls_within(call: Call) -> Iterable[Call]:
    """The calls that one of a wrapper holds. One whose name cannot be read has a name that says
    nothing, so that nobody takes it for an allowed one."""
    arguments = parse(call.arguments)
    held = arguments if isinstance(arguments, dict) else {}
    lists = (_opened(held.get(name)) for name in _LISTS)
    parts = [one for listed in lists if isinstance(listed, list) for one in listed]
    if not parts and _CALLER.fullmatch(_named(call.tool)) and _name(held) != "?":
        parts = [held]
    if not parts and _VERB.fullmatch(_named(call.tool)) and _name(held, _TOOLS) != "?":
        parts = [held]
    if not parts and "multi_tool_use" in call.tool.casefold():
        parts = [None]  # it is a wrapper by its name, and what it holds cannot be read
    for one in parts:
        yield msgspec.structs.replace(call, tool=_name(one), arguments=_arguments(one))


def _name(one: Any, names: tuple[str, ...] = _NAMES) -> str:
    """Return what a part names as its tool: by one of `names`, or within the call or the tool it
    holds."""
    if not isinstance(one, dict):
        return "?"
    inside = [one.get("function"), one.get("tool")]
    if one.get("method") == "tools/call":  # of MCP
        inside.append(one.get("params"))
    places = [(one, names), *((part, _NAMES) for part in inside if isinstance(part, dict))]
    for place, members in places:
        for name in members:
            if isinstance(place.get(name), str) and place[name]:
                return "?" if wraps(place[name]) else str(place[name])[:_LONGEST]
    return "?"


def _arguments(one: Any) -> Raw:
    for name in _ARGUMENTS if isinstance(one, dict) else ():
        if isinstance(given := _opened(one.get(name)), dict):
            return Raw(msgspec.json.encode(given))
    return Raw(b"{}")


def _opened(value: Any) -> Any:
    """A value out of the JSON text it may be written as."""
    return parse(Raw(value.encode("utf-8", "replace"))) if isinstance(value, str) else value
