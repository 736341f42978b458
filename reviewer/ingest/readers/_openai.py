"""Chat messages in OpenAI's form, as many tools write them: read into a draft."""

from collections.abc import Iterable, Sequence
from typing import Any

from reviewer.ingest.draft import Draft, tokens

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_ACTORS = {"assistant": "agent", "developer": "system"}


def is_message(value: Any) -> bool:
    """Whether this is a chat message of a role we know."""
    return isinstance(value, dict) and value.get("role") in ROLES and "type" not in value


def are_messages(value: Any) -> bool:
    """Whether this is a list of chat messages, not an empty one."""
    return isinstance(value, list) and bool(value) and all(map(is_message, value))


def say(draft: Draft, messages: Iterable[Any], user: str = "user") -> None:
    """Append messages to a draft. `user` is the actor of the user's turns."""
    for message in messages:
        if not isinstance(message, dict):
            draft.note("something that is no message stands among the messages: left out")
            continue
        _one(draft, message, user)


def _one(draft: Draft, message: dict[str, Any], user: str) -> None:
    role, content = message.get("role"), message.get("content")
    if role in ("tool", "function"):
        failed = message.get("status") == "error" or message.get("is_error") is True
        draft.result(
            content,
            message.get("tool_call_id"),
            message.get("name"),
            "error" if failed else None,
        )
        return
    calls = _calls(message)
    actor = user if role == "user" else _ACTORS.get(str(role), str(role or "unstated"))
    refusal = message.get("refusal")
    if content not in (None, "", []) or (not calls and not refusal):
        draft.message(actor, content)
    if isinstance(refusal, str) and refusal:
        draft.message(actor, refusal)
    for call in calls:
        function = call.get("function")
        held = function if isinstance(function, dict) else call
        draft.call(held.get("name"), held.get("arguments", held.get("args")), call.get("id"))


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    old = message.get("function_call")
    return [*found, {"function": old}] if isinstance(old, dict) else found


def usage_of(usages: Sequence[Any]) -> dict[str, int] | None:
    """Token counts of several answers together; None when no answer says any."""
    counts: dict[str, int] = {}
    for usage in usages:
        for name, number in (_usage(usage) or {}).items():
            counts[name] = counts.get(name, 0) + number
    return counts or None


def _usage(usage: Any) -> dict[str, int] | None:
    if not isinstance(usage, dict):
        return None
    inside = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}
    outside = usage.get("output_tokens_details") or usage.get("completion_tokens_details") or {}
    return tokens(
        input_tokens=usage.get("input_tokens", usage.get("prompt_tokens")),
        output_tokens=usage.get("output_tokens", usage.get("completion_tokens")),
        cached_tokens=inside.get("cached_tokens") if isinstance(inside, dict) else None,
        reasoning_tokens=outside.get("reasoning_tokens") if isinstance(outside, dict) else None,
        total_tokens=usage.get("total_tokens"),
    )


def tokens_of(usage: Any) -> dict[str, int] | None:
    """Token counts of one answer."""
    return _usage(usage)
