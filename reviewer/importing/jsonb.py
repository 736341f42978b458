"""JSONB, the binary form in which SQLite keeps JSON (https://sqlite.org/jsonb.html), as JSON text.

Each element is a header, with its kind and the size of its content, and the content: numbers and
texts as they are in JSON, arrays and objects as elements in a row. The elements of JSON5 are
refused: JSON that `jsonb()` was given has none.
"""

import json

from reviewer.importing.foreign_json import MAX_DEPTH, NotJson

_PLAIN = {0: b"null", 1: b"true", 2: b"false"}
_NUMBERS = (3, 5)
_QUOTED, _RAW = (7, 8), 10
_ARRAY, _OBJECT = 11, 12
_SIZES = {12: 1, 13: 2, 14: 4, 15: 8}
"""In place of a size: the number of bytes after the header's first one that hold it."""


def as_json(raw: bytes) -> bytes:
    """Return the JSON text of one element that fills `raw`. Raises NotJson."""
    found: list[bytes] = []
    end = _write(raw, 0, len(raw), found, 0)
    if end != len(raw):
        raise NotJson("JSONB with bytes after its value")
    return b"".join(found)


def _write(raw: bytes, start: int, stop: int, found: list[bytes], depth: int) -> int:
    """Write the element at `start`, which ends before `stop`; return where it ends."""
    kind, begin, end = _header(raw, start, stop)
    if kind in _PLAIN and begin == end:
        found.append(_PLAIN[kind])
    elif kind in _NUMBERS:
        found.append(raw[begin:end])
    elif kind in _QUOTED:
        found += (b'"', raw[begin:end], b'"')
    elif kind == _RAW:
        found.append(_escaped(raw[begin:end]))
    elif kind in (_ARRAY, _OBJECT):
        if depth >= MAX_DEPTH:
            raise NotJson(f"nested deeper than {MAX_DEPTH}")
        _write_all(raw, begin, end, found, depth, kind == _OBJECT)
    else:
        raise NotJson(f"JSONB of kind {kind}")
    return end


def _write_all(
    raw: bytes, begin: int, end: int, found: list[bytes], depth: int, named: bool
) -> None:
    found.append(b"{" if named else b"[")
    number = 0
    while begin < end:
        if number:
            found.append(b":" if named and number % 2 else b",")
        if named and not number % 2 and raw[begin] & 15 not in (*_QUOTED, _RAW):
            raise NotJson("JSONB with a name that is no text")
        begin = _write(raw, begin, end, found, depth + 1)
        number += 1
    if named and number % 2:
        raise NotJson("JSONB with a name without a value")
    found.append(b"}" if named else b"]")


def _header(raw: bytes, start: int, stop: int) -> tuple[int, int, int]:
    """Return the kind of an element, and where its content begins and ends."""
    if start >= stop:
        raise NotJson("JSONB is cut off")
    size, begin = raw[start] >> 4, start + 1
    if width := _SIZES.get(size):
        size, begin = int.from_bytes(raw[begin : begin + width], "big"), begin + width
    if begin + size > stop:
        raise NotJson("JSONB is cut off")
    return raw[start] & 15, begin, begin + size


def _escaped(raw: bytes) -> bytes:
    try:
        return json.dumps(raw.decode()).encode()
    except UnicodeDecodeError:
        raise NotJson("JSONB with a text that is not UTF-8") from None
