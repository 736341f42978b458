"""Read the JSON values of a trace that a contract looks at, and word them for findings.

A trace is hostile input: whatever a raw field contains, these functions return a value and never
raise. Paths into values and their equality are those of `reviewer.suite.json_values`.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from reviewer.suite.json_values import MISSING, UNREADABLE, Nothing
from reviewer.trace.record import ABSENT
from reviewer.trace.safetext import visible_line

TEXT_LIMIT: Final = 200
"""Most characters of a tool name, path or wording in a code."""

_decode = msgspec.json.Decoder().decode


def parse(raw: Raw) -> Any:
    """Return the JSON value of a raw field; MISSING when absent, UNREADABLE when it cannot be
    decoded: invalid UTF-8, numbers out of range, or nesting beyond the decoder's limit."""
    if raw == ABSENT:
        return MISSING
    try:
        return _decode(raw)
    except (ValueError, RecursionError):
        return UNREADABLE


def text_of(value: Any) -> str:
    """Return the text of a message value: a string, or its `content` or `text`, or a list of
    those."""
    parts: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
        elif isinstance(item, list):
            pending.extend(reversed(item))
        elif isinstance(item, dict):
            pending.append(item.get("content", item.get("text")))
    return "\n".join(parts)


def clip(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text cut to `limit` characters, ending in an ellipsis if it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def named(tool: str) -> str:
    """Return a tool's name in a code or a sentence: as the trace has it, made visible, clipped."""
    return clip(visible_line(tool))


def show(value: Any) -> str:
    """Return a value as shown in a sentence: a string bare, anything else as JSON, clipped to 120
    characters."""
    if isinstance(value, Nothing):
        return value.why
    if isinstance(value, str):
        return clip(value, 120)
    try:
        return clip(msgspec.json.encode(value).decode(), 120)
    except (ValueError, RecursionError):
        return "a value too deep to print"


def usd(amount: float) -> str:
    """Return an amount in USD without its sign: three decimals, more (to nano-USD) when it has
    them."""
    text = f"{amount:.9f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<3}"


_EXACT = float(1 << 53)
"""Below this, every float that is a whole number is exactly one integer."""


def _whole(value: Any) -> Any:
    """Return a JSON value with every float that is a whole number as an integer."""
    if isinstance(value, float):
        return int(value) if abs(value) < _EXACT and value.is_integer() else value
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def canonical(arguments: Raw) -> bytes:
    """Return a call's arguments in canonical form: members in order, and 1.0 as 1 (RFC 8785).
    Absent, null and {} are the same."""
    value: Any = parse(arguments)
    if value is None or isinstance(value, Nothing) or value == {}:
        return b"{}"
    raw = bytes(arguments)
    try:
        if b"." in raw or b"e" in raw or b"E" in raw:  # else no number has a fraction
            value = _whole(value)
        return msgspec.json.encode(value, order="sorted")
    except (ValueError, RecursionError):
        return bytes(arguments)
