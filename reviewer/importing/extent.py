"""Where a JSON value ends and how deep it is, found at the speed of a compiled parser.

Both are shortcuts with an answer that says "unknown": whoever asks then looks at every bracket.
"""

import re

import msgspec

MAX_DEPTH = 64
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_BEHIND = re.compile(r"trailing characters \(byte (\d+)\)")
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_BLANK = b" \t\r\n"
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"{}[]")
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def extent(buffer: bytes, start: int = 0) -> int | None:
    """The length of the object or array that stands at `start`; 0 when the buffer ends inside it,
    None when that cannot be said (it is no strict JSON)."""
    view = memoryview(buffer)[start:]
    try:
        size = len(memoryview(_skip(view)))
    except RecursionError:
        return None
    except msgspec.DecodeError as error:
        stop = _stop(error)
        if stop is None:
            return 0 if "truncated" in str(error) else None
        # Blanks before what follows are not the value's.
        size = len(bytes(view[: max(stop - _OFF, 0)]).rstrip(_BLANK))
    fits = size > 1 and _CLOSING.get(view[0]) == view[size - 1]
    return size if fits else None


def _stop(error: Exception) -> int | None:
    """Where the parser met something behind a whole value: it says so in words only."""
    behind = _BEHIND.search(str(error))
    return int(behind.group(1)) if behind else None


def _off() -> int:
    """How far behind a value's end the parser says that it stopped; far beyond any file where it
    does not say so."""
    value = b'{"a":1}'
    try:
        _skip(value + b"}")
    except msgspec.DecodeError as error:
        stop = _stop(error)
        return 1 << 62 if stop is None else stop - len(value)
    return 1 << 62


_OFF = _off()


def deep(raw: bytes) -> bool:
    """Whether a value nests deeper than MAX_DEPTH. Brackets inside texts may hide a level or two
    from this, never from what reads records (`trace.validate`)."""
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH:
        return False
    levels, left = _levels(raw)
    if levels + left <= MAX_DEPTH:
        return False
    return levels > MAX_DEPTH or _levels(_TEXT.sub(b"", raw))[0] > MAX_DEPTH


def _levels(raw: bytes) -> tuple[int, int]:
    """(levels of brackets that pair, brackets left over)."""
    marks, levels = raw.translate(None, _NO_BRACKET), 0
    while marks and levels <= MAX_DEPTH:
        inner = marks.replace(b"{}", b"").replace(b"[]", b"")
        if len(inner) == len(marks):
            break
        marks, levels = inner, levels + 1
    return levels, len(marks)
