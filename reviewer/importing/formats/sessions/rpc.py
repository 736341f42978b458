"""JSON-RPC as it was logged: bare, or within a logger's record."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from reviewer.importing.formats.base import text
from reviewer.importing.formats.sessions import Line

_AROUND = ("message", "msg", "payload", "data", "body", "request", "response", "params")
_WAYS = ("direction", "dir", "from", "sender", "source")
_TIMES = ("timestamp", "time", "ts", "at")


class Message(NamedTuple):
    """One message; `way` is the logger's word for its direction, empty where it has none."""

    number: int
    way: str
    at: Any
    value: dict[str, Any]

    @property
    def method(self) -> str:
        """Return the method of a request or a notification; empty for an answer."""
        return text(self.value.get("method"))

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of a request, by name."""
        held = self.value.get("params")
        return held if isinstance(held, dict) else {}

    @property
    def answers(self) -> bool:
        """Return whether this is an answer."""
        return "method" not in self.value and "id" in self.value


def messages_in(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages in a record, none where it contains none."""
    held: Any = value
    if "jsonrpc" not in value:
        held = next((value[name] for name in _AROUND if _is_rpc(value.get(name))), None)
    found = held if isinstance(held, list) else [held]
    return [one for one in found if isinstance(one, dict) and one.get("jsonrpc") == "2.0"]


def _is_rpc(held: Any) -> bool:
    first = held[0] if isinstance(held, list) and held else held
    return isinstance(first, dict) and first.get("jsonrpc") == "2.0"


def messages_of(lines: list[Line]) -> Iterator[Message]:
    """Yield the messages of lines, in order; a line that occurs twice, with its time, only once."""
    seen: set[str] = set()
    for line in lines:
        way = next((text(line.value[name]) for name in _WAYS if text(line.value.get(name))), "")
        at = next((line.value[name] for name in _TIMES if line.value.get(name)), None)
        if at is not None:
            whole = json.dumps(line.value, sort_keys=True)
            if whole in seen:
                continue
            seen.add(whole)
        for one in messages_in(line.value):
            yield Message(line.number, way, at, one)


class Requests:
    """Requests that wait for an answer. Both sides number their own, so an answer is also matched
    by its direction where the log states it."""

    def __init__(self) -> None:
        self._open: list[Message] = []

    def asked(self, message: Message) -> None:
        self._open.append(message)

    def answered(self, message: Message) -> Message | None:
        """Return the request that a message answers, None where there is none."""
        own = message.value.get("id")
        for place, one in enumerate(self._open):
            another_way = not message.way or not one.way or message.way != one.way
            same = one.value.get("id") == own and type(one.value.get("id")) is type(own)
            if same and another_way:
                return self._open.pop(place)
        return None
