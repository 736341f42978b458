"""What single messages of a mini-swe-agent trajectory hold, whichever dialect they are in."""

import re
from typing import Any

from reviewer.importing.draft import Status, amount, measured, tokens, words
from reviewer.importing.foreign_json import parse_text
from reviewer.trace.strictjson import Repeated

_RETURNED = re.compile(r"\s*<returncode>\s*(-?\d{1,9})\s*</returncode>")
_ACTION = frozenset(("command", "tool_call_id"))
_TIMED_OUT = "The last command <command>"


def stamp(message: dict[str, Any]) -> float | None:
    """When a message was made, in seconds of the epoch; None when it does not say."""
    extra = message.get("extra")
    found = extra.get("timestamp") if isinstance(extra, dict) else None
    return measured(message.get("timestamp") if found is None else found)


def extra_of(message: dict[str, Any]) -> dict[str, Any]:
    extra = message.get("extra")
    return extra if isinstance(extra, dict) else {}


def text_of(message: dict[str, Any]) -> Any:
    """What a message says, in the shape of its dialect."""
    items = message.get("output")
    if isinstance(items, list):
        spoken = [item.get("content") for item in items if _spoken(item)]
        return "\n".join(str(words(one)) for one in spoken)
    if message.get("type") == "function_call_output":
        return words(items)
    return words(message.get("content"))


def _spoken(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "message"


def ran(action: Any) -> tuple[dict[str, Any], Any] | None:
    """(arguments, call id) of a recorded action; None where it is none of this form."""
    if not isinstance(action, dict) or isinstance(action, Repeated):
        return None
    if "command" not in action or not action.keys() <= _ACTION:
        return None
    return {"command": action["command"]}, action.get("tool_call_id")


def returned(text: Any) -> bool:
    """Return whether this is what a command returned."""
    return isinstance(text, str) and _RETURNED.match(text) is not None


def reply_of(response: Any) -> Any:
    """The text of a stored chat completion."""
    choices = response.get("choices") if isinstance(response, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return words(message.get("content")) if isinstance(message, dict) else None


def created_of(extra: dict[str, Any]) -> float | None:
    response = extra.get("response")
    return measured(response.get("created")) if isinstance(response, dict) else None


def arguments_of(given: Any) -> Any:
    value = parse_text(given)
    return value if isinstance(value, dict) else given


def tokens_of(usage: dict[str, Any]) -> dict[str, int] | None:
    """Chat Completions and Responses names; zero tokens are no measurement."""
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    thought = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    thought = thought if isinstance(thought, dict) else {}
    sent = measured(usage.get("prompt_tokens") or usage.get("input_tokens"))
    if sent is None:
        return None
    return tokens(
        input_tokens=sent,
        output_tokens=amount(usage.get("completion_tokens", usage.get("output_tokens"))),
        cached_tokens=amount(details.get("cached_tokens")),
        reasoning_tokens=amount(thought.get("reasoning_tokens")),
    )


def observed(extra: dict[str, Any], text: Any) -> tuple[Any, Status | None]:
    """(what came back, its status): the recorded output, else the text that was sent back."""
    code, trouble = extra.get("returncode"), extra.get("exception_info")
    told = text if isinstance(text, str) else ""
    found = _RETURNED.match(told)
    if not isinstance(code, int) and found is not None:
        code = int(found.group(1))
    if not isinstance(code, int):
        return text, "timeout" if told.startswith(_TIMED_OUT) else None
    if "returncode" not in extra:
        return text, "ok" if code == 0 else "error"
    observation: dict[str, Any] = {"returncode": code, "output": extra.get("raw_output", text)}
    if trouble:
        observation["exception"] = trouble
    status: Status = "ok" if code == 0 and not trouble else "error"
    if isinstance(trouble, str) and "timed out" in trouble:
        status = "timeout"
    return observation, status
