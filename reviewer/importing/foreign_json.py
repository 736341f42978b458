"""Parse JSON that others wrote: where a value ends and how deeply it nests, lenient parsing, and a
cache of conclusions from the member names of an object."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from reviewer.trace import late
from reviewer.trace.strictjson import RepeatedMembers, has_many_digits, keeps_all

MAX_DEPTH = 64
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_BEHIND = re.compile(r"trailing characters \(byte (\d+)\)")
_CLOSING = {ord("{"): ord("}"), ord("["): ord("]")}
_BLANK = b" \t\r\n"
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"{}[]")
_NO_MARK = bytes(byte for byte in range(256) if byte not in b'{}[]"\\\0\1')
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def extent(buffer: bytes, start: int = 0) -> int | None:
    """Return the length of the object or array that begins at `start`; 0 when the buffer ends
    inside it, None when that cannot be determined (it is not strict JSON)."""
    view = memoryview(buffer)[start:]
    try:
        size = len(memoryview(_skip(view)))
    except RecursionError:
        return None
    except msgspec.DecodeError as error:
        stop = _stop(error)
        if stop is None:
            return 0 if "truncated" in str(error) else None
        # White space before the next value does not belong to this one.
        size = len(bytes(view[: max(stop - _OFF, 0)]).rstrip(_BLANK))
    fits = size > 1 and _CLOSING.get(view[0]) == view[size - 1]
    return size if fits else None


def is_whole(raw: bytes) -> bool:
    """Return whether these bytes are exactly one strict JSON value. Quicker than `extent`, which
    has to find out where a value ends."""
    try:
        _skip(raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _stop(error: Exception) -> int | None:
    """Return where the parser met something after a complete value: only its message says so."""
    behind = _BEHIND.search(str(error))
    return int(behind.group(1)) if behind else None


def _off() -> int:
    """Return by how much the parser's reported position lies beyond a value's end; far beyond any
    file where it does not report the position."""
    value = b'{"a":1}'
    try:
        _skip(value + b"}")
    except msgspec.DecodeError as error:
        stop = _stop(error)
        return 1 << 62 if stop is None else stop - len(value)
    return 1 << 62


_OFF = _off()


def deep(raw: bytes) -> bool:
    """Return whether a value nests deeper than MAX_DEPTH. Brackets inside texts may hide a level or
    two from this check, never from the validation of records (`trace.validate`)."""
    levels, left = _levels(raw)
    if levels + left <= MAX_DEPTH:
        return False
    return levels > MAX_DEPTH or _levels(_outside_texts(raw))[0] > MAX_DEPTH


def _outside_texts(raw: bytes) -> bytes:
    """Return the brackets of JSON that are outside its texts. Splits at quotes where backslashes
    are only in texts, as in all valid JSON; else uses the pattern, which takes ten times as
    long."""
    marked = raw.replace(b"\\\\", b"\0").replace(b'\\"', b"\1").translate(None, _NO_MARK)
    # Most texts have no bracket, and most of the parts between them have none: neither need be
    # split.
    parts = marked.replace(b'""', b"").split(b'"')
    outside = b"".join(parts[::2])
    if len(parts) % 2 and not any(mark in outside for mark in (b"\\", b"\0", b"\1")):
        return outside
    return _TEXT.sub(b"", raw)


def _levels(raw: bytes) -> tuple[int, int]:
    """Return (levels of brackets that pair, brackets left over); brackets too few to exceed the
    limit are not paired."""
    marks, levels = raw.translate(None, _NO_BRACKET), 0
    if len(marks) <= MAX_DEPTH:
        return 0, len(marks)
    while marks and levels <= MAX_DEPTH:
        inner = marks.replace(b"{}", b"").replace(b"[]", b"")
        if len(inner) == len(marks):
            break
        marks, levels = inner, levels + 1
    return levels, len(marks)


NAN = "NaN or Infinity in the file was read as null"
HUGE = "a number in the file that no double holds was read as null"
SURROGATE = "a lone surrogate in the file was replaced"
NOT_UTF8 = "bytes that are not UTF-8 were replaced"
REPEATED = "a name is repeated in an object of the file: the last one was read"
_decode = msgspec.json.Decoder().decode
_TOKEN = late(rb'"(?:[^"\\]++|\\.)*+"|([{\[])|[}\]]', re.DOTALL)
_MOST_DIGITS = 300
_LONE = late("[\ud800-\udfff]")


class NotJson(ValueError):
    """The bytes are not a JSON value; the text is the reason and quotes nothing."""


def parse(raw: bytes, notes: set[str] | None = None) -> Any:
    """Return the value of `raw`; deviations that were tolerated are added to `notes`. Raises
    NotJson."""
    try:
        if not has_many_digits(raw):
            value = _decode(raw)
            if keeps_all(raw, value):
                return value
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError:
        raise NotJson(f"nested deeper than {MAX_DEPTH}") from None
    told = set() if notes is None else notes
    return _forgiving(raw, told)


def glance(raw: bytes) -> Any:
    """Return the value that `parse` returns, for looking at a file only: repeated names in it are
    not detected. Raises NotJson."""
    try:
        if not has_many_digits(raw):
            return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    except RecursionError:
        raise NotJson(f"nested deeper than {MAX_DEPTH}") from None
    return _forgiving(raw, set())


def _forgiving(raw: bytes, notes: set[str]) -> Any:
    if _depth(raw) > MAX_DEPTH:
        raise NotJson(f"nested deeper than {MAX_DEPTH}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("utf-8-sig", "replace")
        notes.add(NOT_UTF8)

    def constant(_: str) -> None:
        notes.add(NAN)

    def together(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        notes.add(REPEATED)
        kept = RepeatedMembers(value)
        last = {name: place for place, (name, _) in enumerate(pairs)}
        kept.shadowed = tuple(pair for place, pair in enumerate(pairs) if last[pair[0]] != place)
        return kept

    try:
        value = json.loads(
            text,
            parse_constant=constant,
            parse_float=_finite(notes),
            parse_int=_held(notes),
            object_pairs_hook=together,
            strict=False,
        )
    except (ValueError, RecursionError) as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise NotJson(f"not valid JSON{where}") from None
    return _mended(value, notes) if "\\u" in text else value


def _finite(notes: set[str]) -> Any:
    def number(text: str) -> float | None:
        value = float(text)
        if value - value != 0:  # 1e999, which is infinite
            notes.add(NAN)
            return None
        return value

    return number


def _held(notes: set[str]) -> Any:
    def number(text: str) -> int | None:
        if len(text) > _MOST_DIGITS:
            notes.add(HUGE)
            return None
        return int(text)

    return number


def _depth(raw: bytes) -> int:
    deepest = depth = 0
    for token in _TOKEN.finditer(raw):
        if token.group(1):
            depth += 1
            deepest = max(deepest, depth)
        elif token.group() in b"}]":
            depth -= 1
    return deepest


def _mended(value: Any, notes: set[str]) -> Any:
    if isinstance(value, str):
        if _LONE.search(value):
            notes.add(SURROGATE)
            return _LONE.sub("\ufffd", value)
        return value
    if isinstance(value, list):
        return [_mended(one, notes) for one in value]
    if isinstance(value, dict):
        mended = {_mended(name, notes): _mended(one, notes) for name, one in value.items()}
        if not isinstance(value, RepeatedMembers):
            return mended
        kept = RepeatedMembers(mended)
        kept.shadowed = tuple((name, _mended(one, notes)) for name, one in value.shadowed)
        return kept
    return value


_ENDS = {ord("{"): ord("}"), ord("["): ord("]"), ord('"'): ord('"')}
_WORDS = (b"true", b"false", b"null", b"NaN", b"Infinity")


def surely_no_json(raw: bytes) -> bool:
    """Return whether bytes cannot be a JSON value, judging only by their beginning and end: prose,
    or a line from the middle of a printed value. `parse` takes a hundred times as long to find out,
    and says why."""
    text = raw.strip(_BLANK)
    if not text:
        return True
    first = text[0]
    if (end := _ENDS.get(first)) is not None:
        return text[-1] != end
    if first in b"-0123456789":
        return text[-1] not in b"0123456789y"  # the y of -Infinity
    return first != 0xEF and text not in _WORDS  # a byte order mark may come first


def parse_text(text: Any) -> Any:
    """Parse JSON inside a string; return None for a value that is not a string or not JSON."""
    if not isinstance(text, str):
        return None
    raw = text.encode("utf-8", "replace")
    try:
        return None if surely_no_json(raw) else parse(raw)
    except NotJson:
        return None


Key = TypeVar("Key", bound=Iterable[str])
Value = TypeVar("Value")


class Remembered(dict[Key, Value], Generic[Key, Value]):
    """A cache: `self[key]` is what `work` returns for a text, or for member names in this order. At
    most `most` keys are cached, none longer than `longest` characters."""

    def __init__(self, work: Callable[[Key], Value], most: int = 4096, longest: int = 2000) -> None:
        super().__init__()
        self._work, self._most, self._longest = work, most, longest

    def __missing__(self, key: Key) -> Value:
        value = self._work(key)
        if len(self) < self._most and sum(map(len, key)) <= self._longest:
            self[key] = value
        return value
