"""Histories of AutoGen before 0.4 and of AG2 before 1.0, from the agent that starts the chat.

In such a history the messages of the initiator have the role `assistant` and those of the agent
that answers have the role `user`: the task has the role `assistant`, the last answer `user`. Calls
and results have the roles that a model's API requires.
"""

import re
from typing import Any

from reviewer.importing.formats.base import at_path, mapping, objects

_RESULT = frozenset(("chat_history", "cost", "human_input"))
_TOTALS = "usage_including_cached_inference"
_PEOPLE = re.compile(r"user|human|customer|client", re.IGNORECASE)
_CALLS = ("tool_calls", "function_call")


def is_result(value: Any) -> bool:
    """Return whether this is a chat's result: its history, with what it cost."""
    return (
        isinstance(value, dict)
        and value.keys() >= _RESULT
        and isinstance(value["chat_history"], list)
        and bool(value["chat_history"])
    )


def as_record(value: Any) -> Any:
    """Return a chat's result as a record of messages with their tokens; any other value
    unchanged."""
    if not is_result(value):
        return value
    models = {
        name: one
        for name, one in mapping(at_path(value, "cost", _TOTALS)).items()
        if isinstance(one, dict)
    }
    found: dict[str, Any] = {"messages": told(value["chat_history"], certain=True)}
    if len(models) == 1:
        found["model"] = next(iter(models))
    names = ("prompt_tokens", "completion_tokens")
    if models and all(type(one.get(name)) is int for one in models.values() for name in names):
        found["usage"] = {name: sum(one[name] for one in models.values()) for name in names}
    return found


def told(messages: list[Any], certain: bool = False) -> list[Any]:
    """Return the messages of such a history with the roles that their speakers had in the task;
    any other list unchanged. `certain` says that it is one."""
    name = _initiator(messages)
    if not name or not (certain or _is_history(messages, name)):
        return messages
    return [_turned(one, name) for one in messages]


def is_unclear(messages: list[Any]) -> bool:
    """Return whether nobody can say which side an agent is on: a list that begins with a named
    assistant may be such a history."""
    name = _initiator(messages)
    return bool(name) and not _is_history(messages, name)


def _initiator(messages: list[Any]) -> str:
    """Return the name of the agent that began the chat, if this may be its own history."""
    first = mapping(messages[0] if messages else None)
    name = first.get("name")
    if first.get("role") != "assistant" or not isinstance(name, str) or _calls(first):
        return ""
    rest = objects(messages[1:])
    others = [one for one in rest if one.get("role") == "user"]
    if any(one.get("role") not in ("user", "assistant", "tool", "function") for one in rest):
        return ""
    named = all(isinstance(one.get("name"), str) and one["name"] != name for one in others)
    return name if named and (others or any("tool_responses" in one for one in rest)) else ""


def _is_history(messages: list[Any], name: str) -> bool:
    if any("tool_responses" in one for one in objects(messages)):
        return True
    others = {one["name"] for one in objects(messages) if one.get("role") == "user"}
    return bool(_PEOPLE.search(name)) and not any(map(_PEOPLE.search, others))


def _turned(message: Any, name: str) -> Any:
    if not isinstance(message, dict) or message.get("role") not in ("assistant", "user"):
        return message
    if _calls(message) or not isinstance(message.get("name"), str):
        return message
    return {**message, "role": "user" if message["name"] == name else "assistant"}


def _calls(message: dict[str, Any]) -> bool:
    return any(message.get(one) for one in _CALLS)
