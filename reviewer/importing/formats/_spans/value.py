"""One span, the same for every envelope, and how ids and times are read."""

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

Attributes = dict[str, Any]


class Happening(NamedTuple):
    """An event on a span."""

    name: str
    attributes: Attributes


class Span(NamedTuple):
    """One operation. `start` and `end` are nanoseconds since 1970, None when not stated; `stamp`
    is the start as the file writes it. Attributes are flat: dotted name to any JSON value.
    `resource` says what emitted it. `said` is the text of its status."""

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    end: int | None
    stamp: Any
    error: bool
    said: str
    attributes: Attributes
    resource: Attributes
    events: tuple[Happening, ...] = ()
    scope: str = ""

    @property
    def lasted_ms(self) -> float | None:
        """How long it was open, None when it has no end or ends before it starts."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return round((self.end - self.start) / 1e6, 6)

    def has(self, *names: str) -> bool:
        """Whether one of these attributes says anything."""
        return self.first(*names) is not None

    def first(self, *names: str) -> Any:
        """The first of these attributes that says anything, else None."""
        for name in names:
            value = self.attributes.get(name)
            if value is not None and value != "":
                return value
        return None

    def text(self, *names: str) -> str:
        """As `first`, when it is text or a whole number; else empty."""
        value = self.first(*names)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value if isinstance(value, str) else ""


_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{1,32})\Z")
_NOTHING = re.compile(r"0*\Z")


def hex_id(value: Any) -> str:
    """A trace or span id as lower-case hex, whether the file has it as hex (any case) or, as
    protobuf's JSON has it, as base64. Other texts stay; empty when there is none or it is zero."""
    if not isinstance(value, str):
        return ""
    found = _HEX.match(value)
    text: str = value if found is None else found.group(1).lower()
    if found is None and len(text) in (12, 24):
        try:
            text = base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return "" if _NOTHING.match(text) else text[:128]


MOST = 1 << 63


def nanos(value: Any, scale: int = 1) -> int | None:
    """A time as nanoseconds since 1970: a number (of `scale` nanoseconds), digits, `[seconds,
    nanoseconds]` or an ISO 8601 text; a text without a zone is read as UTC, for its order only."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if value.isdecimal() and len(value) < 20:
            value = int(value)
        else:
            return _iso(value)
    if isinstance(value, list):
        return _pair(value)
    if isinstance(value, float):
        value = int(value) if -1e19 < value < 1e19 else 0
    if not isinstance(value, int):
        return None
    return value * scale if 0 < value * scale < MOST else None


def of_unknown_unit(value: Any) -> int | None:
    """As `nanos`, for numbers whose unit only their size tells (s, ms, µs or ns)."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        scale = next(
            (s for s, top in ((10**9, 1e11), (10**6, 1e14), (1000, 1e17)) if value < top), 1
        )
        return nanos(int(value * scale)) if 0 < value < MOST else None
    return nanos(value)


def _pair(value: list[Any]) -> int | None:
    if len(value) != 2 or not all(type(one) is int and 0 <= one < MOST for one in value):
        return None
    return nanos(value[0] * 10**9 + value[1])


_FRACTION = re.compile(r"\.(\d+)")


def _iso(text: str) -> int | None:
    if len(text) > 64:
        return None
    fraction = _FRACTION.search(text)
    whole = _FRACTION.sub("", text, count=1)
    try:
        moment = datetime.fromisoformat(whole.strip())
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
    rest = int(fraction.group(1)[:9].ljust(9, "0")) if fraction else 0
    return nanos(seconds * 10**9 + rest)
