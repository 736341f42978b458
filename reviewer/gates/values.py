"""Reading and comparing the JSON values a contract looks at: paths, equality, wording.

A trace is hostile input: whatever a raw field holds, these functions answer with a value and
never raise. Equality is JSON's: 1 equals 1.0, true equals neither, objects ignore member order.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw

from reviewer.trace import late
from reviewer.trace.record import ABSENT
from reviewer.trace.safetext import visible_line

TEXT_LIMIT: Final = 200
"""Longest tool name, path or wording in a code."""

Path = tuple[str | int, ...]
"""Members (text) and indexes (numbers, from 0), outermost first."""

_INDEXED = late(r"([^\[\]]*)((?:\[[0-9]{1,9}\])+)")
_INDEX = late(r"[0-9]+")
_decode = msgspec.json.Decoder().decode


class Nothing:
    """A value that is not there; equal to no JSON value. `why` says it in words."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


MISSING: Final = Nothing("nothing")
UNREADABLE: Final = Nothing("nothing readable")


def parse(raw: Raw) -> Any:
    """Return the JSON value of a raw field; MISSING when absent, UNREADABLE when it cannot be
    decoded.

    Undecodable are invalid UTF-8, numbers out of range and nesting past the decoder's limit.
    """
    if raw == ABSENT:
        return MISSING
    try:
        return _decode(raw)
    except (ValueError, RecursionError):
        return UNREADABLE


def path_of(text: str) -> Path:
    """Return the steps of a dotted path: `items[0].sku` is ("items", 0, "sku").

    Total: a part that is no member with indexes is taken as a member of that very name.
    """
    steps: list[str | int] = []
    for part in text.split("."):
        indexed = _INDEXED.fullmatch(part)
        if indexed is None:
            steps.append(part)
            continue
        if indexed[1]:
            steps.append(indexed[1])
        steps.extend(int(index) for index in _INDEX.findall(indexed[2]))
    return tuple(steps)


def at(value: Any, path: Path) -> Any:
    """Return the value at a path, or MISSING."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return MISSING
            value = value[step]
        else:
            if not isinstance(value, dict) or step not in value:
                return MISSING
            value = value[step]
    return value


_NUMBER = (int, float)  # written as a union, it would be made again at each call


def same(wanted: Any, found: Any) -> bool:
    """JSON equality of a contract's value with a trace's, as deep as the contract's goes."""
    if isinstance(wanted, str):
        return isinstance(found, str) and wanted == found
    if wanted is None or isinstance(wanted, bool):
        return wanted is found
    if isinstance(wanted, _NUMBER):
        return isinstance(found, _NUMBER) and not isinstance(found, bool) and wanted == found
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and wanted.keys() == found.keys()
            and all(same(value, found[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(wanted) == len(found)
            and all(same(left, right) for left, right in zip(wanted, found, strict=True))
        )
    return False


def text_of(value: Any) -> str:
    """Return the words of a message value: a string, or its `content` or `text`, or a list of
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
    """Text cut to `limit` characters, an ellipsis telling that it was."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def named(tool: str) -> str:
    """Return a tool's name in a code or a sentence: as the trace has it, made visible, clipped."""
    return clip(visible_line(tool))


def show(value: Any) -> str:
    """Return a value in a sentence: a string bare, anything else as JSON, clipped to 120
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
"""Below it every whole float is one integer."""


def _whole(value: Any) -> Any:
    """Return a JSON value with every float that is a whole number as an integer."""
    if isinstance(value, float):
        return int(value) if abs(value) < _EXACT and value.is_integer() else value
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def canonical(arguments: Raw) -> bytes:
    """Return a call's arguments without the accidents of writing: members in order, and 1.0 as 1
    (RFC 8785). Absent, null and {} are the same."""
    value: Any = parse(arguments)
    if value is None or isinstance(value, Nothing) or value == {}:
        return b"{}"
    raw = bytes(arguments)
    try:
        if b"." in raw or b"e" in raw or b"E" in raw:  # else no number is written with a fraction
            value = _whole(value)
        return msgspec.json.encode(value, order="sorted")
    except (ValueError, RecursionError):
        return bytes(arguments)
