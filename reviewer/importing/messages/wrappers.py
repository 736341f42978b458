"""Calls that hold calls: one that a model made to make several at once."""

import re
from typing import Any

from reviewer.importing.foreign_json import parse_text

_WRAPPER = re.compile(r"(?:.*[._/])?(?:multi_tool_use(?:[._]parallel)?|parallel|batch(?:_tool)?)\Z")
_LISTS = ("tool_uses", "invocations", "tool_calls", "calls")
_NAMES = ("recipient_name", "name", "tool", "tool_name")
_ARGUMENTS = ("parameters", "arguments", "args", "input", "tool_input")
_OURS = "functions."
"""The namespace OpenAI puts in front of the names a request gives it."""


def wraps(name: str) -> bool:
    """Return whether calls of that name may hold others."""
    known = _known.get(name)
    if known is None:
        known = _WRAPPER.match(name) is not None
        if len(_known) < _MEMO and len(name) <= _LONGEST:
            _known[name] = known
    return known


_known: dict[str, bool] = {}
_MEMO = 1024
_LONGEST = 200


def inner_calls(name: str, arguments: Any) -> list[tuple[str, Any]] | None:
    """The calls that a call holds; None for a call that is one itself. Empty when it is a wrapper
    and what it holds was not understood."""
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
