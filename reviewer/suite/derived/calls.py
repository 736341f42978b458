"""Expected calls and texts, out of the shapes in which people and tools write them down.

A list of names; objects with a name and arguments under their usual names (DeepEval, ADK, plain);
OpenAI tool calls; or a whole conversation of OpenAI or LangChain messages.
"""

import json
from typing import Any, NamedTuple, TypeGuard

from reviewer.suite.derived.drafted import Unmade

_NAMES = ("name", "tool", "tool_name", "toolName", "function", "action")
_ARGUMENTS = (
    "arguments",
    "args",
    "input_parameters",
    "inputParameters",
    "tool_input",
    "params",
    "parameters",
    "input",
)
_ROLES = {"human": "user", "ai": "assistant", "AIMessage": "assistant", "HumanMessage": "user"}


class Wanted(NamedTuple):
    """One call that is expected; None when its arguments are free."""

    tool: str
    arguments: dict[str, Any] | None = None

    def step(self) -> dict[str, Any]:
        """As an episode says it."""
        if self.arguments is None:
            return {"tool": self.tool}
        return {"tool": self.tool, "arguments": self.arguments}


def calls_of(value: Any, member: str) -> list[Wanted]:
    """The calls that `value` (a list, or one of them) expects. Raises Unmade naming the place of
    what is no call."""
    entries = _opened(value)
    if isinstance(entries, dict) and is_conversation(entries.get("messages")):
        entries = entries["messages"]
    if is_conversation(entries):
        return [call for message in entries for call in _made_in(message, member)]
    if not isinstance(entries, list):
        entries = [entries]
    return [_wanted(entry, f"{member}[{number}]") for number, entry in enumerate(entries)]


def is_conversation(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value is a list of chat messages."""
    return isinstance(value, list) and bool(value) and all(_role(one) for one in value)


def said_in(messages: list[Any], role: str, *, last: bool) -> str:
    """The first or last text of `role` (user, assistant), "" when there is none."""
    ordered = reversed(messages) if last else iter(messages)
    for message in ordered:
        if _role(message) == role and (text := text_of(_inner(message).get("content"))):
            return text
    return ""


def text_of(value: Any) -> str:
    """Text, or the text parts of a message's content; "" for anything else."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") if isinstance(part, dict) else part for part in value]
    return "\n".join(part for part in parts if isinstance(part, str)).strip()


def texts_of(value: Any) -> list[str]:
    """A text, or a list of texts, each once."""
    values = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(text for one in values if (text := text_of(one))))


def _role(message: Any) -> str:
    if not isinstance(message, dict):
        return ""
    inner = _inner(message)
    kind = message.get("role") or inner.get("role") or message.get("type") or inner.get("type")
    named = _ROLES.get(kind, kind) if isinstance(kind, str) else ""
    return named if named in ("user", "assistant", "tool", "system", "developer") else ""


def _inner(message: dict[str, Any]) -> dict[str, Any]:
    """LangChain keeps the members of a message one level deeper."""
    for name in ("data", "kwargs"):
        if isinstance(message.get(name), dict):
            return {**message, **message[name]}
    return message


def _made_in(message: dict[str, Any], member: str) -> list[Wanted]:
    calls = _inner(message).get("tool_calls") if _role(message) == "assistant" else None
    listed = calls if isinstance(calls, list) else []
    return [_wanted(call, f"{member}: a tool call") for call in listed]


def _wanted(entry: Any, place: str) -> Wanted:
    if isinstance(entry, str) and entry.strip():
        return Wanted(entry.strip())
    if isinstance(entry, dict):
        inner = entry["function"] if isinstance(entry.get("function"), dict) else entry
        name = next((inner[one] for one in _NAMES if isinstance(inner.get(one), str)), "")
        given = next((inner[one] for one in _ARGUMENTS if inner.get(one) is not None), None)
        if name.strip():
            return Wanted(name.strip(), _arguments(given, place))
    raise Unmade(f"{place} names no tool")


def _arguments(given: Any, place: str) -> dict[str, Any] | None:
    """None when nothing is given: an empty object stands where nobody filled it in."""
    value = _opened(given)
    if value in (None, "", {}):
        return None
    if not isinstance(value, dict):
        raise Unmade(f"{place} has arguments that are no object")
    return value


def _opened(value: Any) -> Any:
    """JSON that stands in a text (a cell of a table, OpenAI's arguments) as what it says."""
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
