"""The strict JSON reader, which keeps everything that a lenient reader would lose.

The standard decoder accepts NaN, turns 1e400 into infinity, and silently keeps the last of two
members with one name. Here a value that no JSON number can hold stays in the tree as a non-finite
float, and replaced members are kept beside their object, so that code which walks the tree with
`members` sees everything in the file. `reviewer.suite.strict_json` reads with it the files that
people write, and refuses all of this with the place.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

from reviewer.trace import late

MAX_DEPTH = 64
"""Objects and arrays inside one another. Recursive readers stay far from their limits."""

Reason = Literal["empty", "bom", "utf8", "too_deep", "syntax", "lone_surrogate", "not_an_object"]

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_TOKEN = late(rf"{_STRING}|[\[{{\]}}]", re.DOTALL)
_NO_BRACKET = late(rf'(?:[^"\[\]{{}}]++|{_STRING})+', re.DOTALL)
_LONE_SURROGATE = late(
    r"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*+(\\u)", re.DOTALL
)
_FINITE_DIGITS = 300
"""An integer this short is below the largest float, whatever its digits."""
_STRIDE = 25
_DIGITS, _SHOWN = b"0" * 11, bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
"""Of a run of 300 digits every `_STRIDE`th byte shows at least eleven, one after another; by chance
no other text does, be it as long and as random as an encrypted one."""


@lru_cache(1)
def _codec() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    import msgspec  # which asking for the state of a suite's folder need not load

    return msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


@lru_cache(1)
def _searches() -> tuple[Any, Any]:
    """Return searches for a run of 300 digits, and for numbers that may overflow."""
    import re2  # 15 ms, which reading a file that people wrote need not take

    latin1 = re2.Options()
    latin1.encoding = re2.Options.Encoding.LATIN1
    latin1.log_errors = False
    overflow = rb"NaN|Infinity|[0-9][eE]\+?[0-9]{3,}[ \t\r\n,}\]]|[0-9]{300}|[0-9]{200}[0-9.]*[eE]"
    many = re2.compile(rb"[0-9]{300}", latin1)
    return many.search, re2.compile(overflow, latin1).search


class NotJson(ValueError):
    """The bytes are not one JSON value. `offset` is a byte offset; no value is quoted."""

    def __init__(self, reason: Reason, offset: int, detail: str) -> None:
        super().__init__(f"{detail} (byte {offset})")
        self.reason: Reason = reason
        self.offset = offset


class RepeatedMembers(dict[str, Any]):
    """An object in which a name occurred twice: the last of each wins, `shadowed` holds the
    others."""

    shadowed: tuple[tuple[str, Any], ...] = ()
    met: ClassVar[bool] = False
    """True once this process has made one. While it has not, no search is needed."""

    def __new__(cls, *args: Any, **more: Any) -> "RepeatedMembers":
        RepeatedMembers.met = True
        return super().__new__(cls, *args, **more)


def members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every member that the text had, also those a later one of the same name replaced."""
    if isinstance(value, RepeatedMembers):
        yield from value.shadowed
    yield from value.items()


def parse(raw: bytes) -> Any:
    """Return the value of `raw`: UTF-8 without BOM, at most MAX_DEPTH deep, no lone surrogates.

    NaN, Infinity and numbers beyond a double are floats that are not finite; an object with a
    repeated name is a `RepeatedMembers`. Raises NotJson.
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise NotJson("bom", 0, "the text starts with a byte order mark; save it without")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise NotJson("utf8", error.start, "not UTF-8") from None
    return _parsed(text, _CAREFUL_DECODER if has_many_digits(raw) else _DECODER)


def parse_text(text: str) -> Any:
    """Parse text already decoded, as `parse` does; but integers of any length stay integers."""
    return _parsed(text, _DECODER)


def read_value(text: str, start: int) -> tuple[Any, int]:
    """Return the value that starts at this character, and where it ends; what follows is not looked
    at.

    As deep as it may be, and with lone surrogates. Raises json.JSONDecodeError, RecursionError.
    """
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python agrees to read as one integer
        return _CAREFUL_DECODER.raw_decode(text, start)


def _parsed(text: str, decoder: json.JSONDecoder) -> Any:

    def refuse(reason: Reason, at: int, detail: str) -> NotJson:
        return NotJson(reason, len(text[:at].encode(errors="surrogatepass")), detail)

    if not text.strip():
        raise NotJson("empty", 0, "nothing there")
    too_deep = first_too_deep(text)
    if too_deep is not None:
        raise refuse("too_deep", too_deep, f"nested more than {MAX_DEPTH} deep")
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise refuse("syntax", error.pos, error.msg.split(":")[0].lower()) from None
    except ValueError:  # more digits than Python agrees to read as one integer
        return _parsed(text, _CAREFUL_DECODER)
    if "\\u" in text:
        lone = _LONE_SURROGATE.match(text)
        if lone is not None:
            raise refuse("lone_surrogate", lone.start(1), "half of a surrogate pair")
    return value


def has_repeats(value: object) -> bool:
    """Return whether a `RepeatedMembers` is anywhere in the value."""
    if not RepeatedMembers.met:
        return False
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value, RepeatedMembers):
                return True
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return False


def names_unique(raw: bytes) -> bool:
    """Return whether no object of this JSON has a name twice. Quick for the usual texts
    (`keeps_all`). Raises NotJson."""
    try:
        if keeps_all(raw, _codec()[0](raw)):
            return True
    except (ValueError, OverflowError, RecursionError):
        pass
    return not has_repeats(parse(raw))


def keeps_all(raw: bytes, value: Any) -> bool:
    """Return whether `value`, which msgspec decoded from `raw`, holds every member of it: True is
    certain, False is not. A member that was lost took the quotes of its name along, and nothing but
    a quote that is spelled as a number adds one when the value is written again."""
    if raw.find(b":", raw.find(b":") + 1) < 0:
        return True  # one member at most
    written = _codec()[1](value)
    if written == raw:  # as most programs write it: without blanks
        return True
    if raw.count(b'"') != written.count(b'"'):
        return False
    return b"\\" not in raw or b"\\u0022" not in raw


def has_many_digits(raw: bytes) -> bool:
    """Return whether 300 digits are together: an integer that long would break arithmetic."""
    if len(raw) < _FINITE_DIGITS or _DIGITS not in raw[::_STRIDE].translate(_SHOWN):
        return False
    return _searches()[0](raw) is not None


def may_overflow(raw: bytes) -> bool:
    """Return whether these bytes may hold a number that is not a finite double (True for some that
    do not, such as text that says NaN)."""
    return _searches()[1](raw) is not None


def first_too_deep(text: str, most: int = MAX_DEPTH) -> int | None:
    """Return where JSON text opens an array or object within `most` others, if anywhere."""
    if text.count("[") + text.count("{") <= most:
        return None
    depth = 0
    for bracket in _NO_BRACKET.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > most:
            break
    else:
        return None
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token.group()[0], 0)
        if depth > most:
            return token.start()
    return None


def _whole_number(digits: str) -> int | float:
    if len(digits) <= _FINITE_DIGITS or math.isfinite(float(digits)):
        return int(digits)
    return float(digits)


def whole_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these members: a `RepeatedMembers` where a name occurs twice. A hook for
    `json`."""
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    repeated = RepeatedMembers(plain)
    last = {name: position for position, (name, _) in enumerate(pairs)}
    repeated.shadowed = tuple(
        pair for position, pair in enumerate(pairs) if last[pair[0]] != position
    )
    return repeated


_DECODER = json.JSONDecoder(object_pairs_hook=whole_object)
_CAREFUL_DECODER = json.JSONDecoder(object_pairs_hook=whole_object, parse_int=_whole_number)


# JSON values within a text: alone, one below the other, behind a word, in a fence.
#
# A tool's answer is often a text that holds JSON, and a text that holds it twice encoded is
# itself a JSON string. Whatever starts like a value is read from there; what stops being JSON is
# tried again one bracket further in, so that the complete parts of an answer that was cut off are
# found.


_BLANK = " \t\r\n\ufeff"
_SPACE = r"[ \t\r\n]*"
# An array or object that is not empty; a quote only where escaped JSON follows it, as `"{\"a\"…`.
_BEGIN = late(
    rf'\[{_SPACE}[\[{{"\-0-9tfnNI]|\{{{_SPACE}"|"(?=(?:[\[{{ \t]|\\[nrt])*+\\+")', re.ASCII
)
_WINDOW = 512
_LONGEST_WORD = 16
_PATIENCE = 16
"""Times that each character may be read without success before failed parts are skipped, so that
time is linear."""


class EmbeddedValue(NamedTuple):
    """A value and the half-open span of the text it was read from."""

    start: int
    end: int
    value: Any


class _Failure(NamedTuple):
    """Where a text stops being JSON, and whether more of it might have been."""

    at: int
    cut: bool


def embedded(text: str) -> list[EmbeddedValue]:
    """Return every value at most MAX_DEPTH deep, from left to right, none within another."""
    whole = len(text) - len(text.lstrip(_BLANK))
    if text.startswith('"', whole):
        read = _read(text, whole)
        if not isinstance(read, _Failure) and not text[read.end :].strip(_BLANK):
            return [read]
    found: list[EmbeddedValue] = []
    budget = _PATIENCE * len(text)
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        start = begin.start()
        # A look at the next characters first: to fail within the whole text costs all of it.
        read = _read(text[start : start + _WINDOW], 0)
        if not isinstance(read, _Failure):
            read = EmbeddedValue(start, start + read.end, read.value)
        elif not read.cut or start + _WINDOW >= len(text):
            read = _Failure(start + read.at, False)
            budget -= read.at - start
        elif budget > 0:
            read = _read(text, start)
            budget -= len(text) if isinstance(read, _Failure) else 0
        else:
            read = _Failure(start + _WINDOW, False)
        if not isinstance(read, _Failure):
            deep = first_too_deep(text[start : read.end])
            if deep is None:
                found.append(read)
                at = read.end
                continue
            budget -= read.end - start
            read = _Failure(start + deep, False)
        at = start + 1 if budget > 0 else read.at
    return found


def _read(text: str, start: int) -> EmbeddedValue | _Failure:
    try:
        value, end = read_value(text, start)
    except json.JSONDecodeError as error:
        unfinished = error.pos >= len(text) - _LONGEST_WORD or error.msg.startswith("Unterminated")
        return _Failure(max(error.pos, start + 1), unfinished)
    except RecursionError:
        return _Failure(start + MAX_DEPTH, False)
    return EmbeddedValue(start, end, value)
