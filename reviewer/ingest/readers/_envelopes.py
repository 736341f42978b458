"""What stands around chat messages: lists, objects that hold them, and pairs of a request with its
answer."""

from typing import Any

from reviewer.ingest.foreign_json import parse_text
from reviewer.ingest.messages import is_message

LISTS = ("messages", "conversation", "conversations", "contents", "input", "prompt")
_MOST_LOOKED_AT = 8
_REQUESTS = ("request", "req", "request_body", "requestBody", "body")
_ANSWERS = ("response", "res", "output", "answer", "completion", "response_body")


def are_messages(value: Any) -> bool:
    """Whether this is a list of chat messages, not an empty one: what it begins with is one, and
    so is most of what follows."""
    if not isinstance(value, list) or not value or not is_message(value[0]):
        return False
    looked = value[:_MOST_LOOKED_AT]
    return 2 * sum(map(is_message, looked)) > len(looked)


def list_in(value: Any) -> tuple[str, list[Any]] | None:
    """(member, messages) of an object that holds a list of them."""
    if not isinstance(value, dict):
        return None
    for name in LISTS:
        found = value.get(name)
        if isinstance(found, list) and are_messages(found):
            return name, found
    return None


def is_pair(value: Any) -> bool:
    """Whether this is a request with what was answered."""
    return parts_of_pair(value) is not None


def parts_of_pair(value: Any) -> tuple[str, str] | None:
    """(member of the request, member of its answer)."""
    if not isinstance(value, dict):
        return None
    for name in _REQUESTS:
        if list_in(value.get(name)) is not None:
            return name, next((other for other in _ANSWERS if other in value), "response")
    return None


def opened_answer(value: Any) -> Any:
    """An answer out of the JSON text it may be kept as."""
    return parse_text(value) if isinstance(value, str) else value


def answered(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The message of the first choice of an answer."""
    for name, inner in (("choices", "message"), ("candidates", "content")):
        listed = answer.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], dict):
            message = listed[0].get(inner)
            return message if isinstance(message, dict) else None
    output = answer.get("output")
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        return dict_of(output["message"])
    if answer.get("type") == "message" or {"role", "content"} <= answer.keys():
        return answer
    return dict_of(answer.get("message"))


def dict_of(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


_ENDS = {
    "stop": "stop",
    "STOP": "stop",
    "end_turn": "end_turn",
    "stop_sequence": "stop",
    "length": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "MAX_TOKENS": "max_output_tokens",
    "content_filter": "content_filter",
    "content-filter": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
    "SAFETY": "content_filter",
}


def ended(answer: Any) -> str | None:
    """Why an answer ended, in our words; None where it does not say."""
    if not isinstance(answer, dict):
        return None
    holders = [answer]
    for name in ("choices", "candidates"):
        listed = answer.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], dict):
            holders.append(listed[0])
    members = ("finish_reason", "stop_reason", "finishReason", "stopReason")
    for holder in holders:
        for name in members:
            if isinstance(reason := holder.get(name), str):
                return _ENDS.get(reason)
    return None


def spent(answer: Any) -> Any:
    """What an answer states of its tokens."""
    if not isinstance(answer, dict):
        return None
    names = ("usage", "usageMetadata", "usage_metadata", "totalUsage")
    return next((answer[name] for name in names if isinstance(answer.get(name), dict)), None)
