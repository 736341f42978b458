"""JSON as other tools write it: read with forgiveness, and every forgiveness noted.

Bare NaN and infinities, and numbers beyond a double, become null, lone surrogates U+FFFD, a byte
order mark is passed over. Depth is bounded before anything is parsed. An object in which a name
is repeated is a `Repeated`: the member that lost may have been a call.
"""

import json
import re
from typing import Any

import msgspec

from reviewer.importing.extent import MAX_DEPTH
from reviewer.trace.patterns import late
from reviewer.trace.strictjson import Repeated, has_many_digits, keeps_all

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
    """The bytes are no JSON value; the text says why and quotes nothing."""


def parse(raw: bytes, notes: set[str] | None = None) -> Any:
    """The value of `raw`; what had to be forgiven is added to `notes`. Raises NotJson."""
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
        kept = Repeated(value)
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
        if value - value != 0:  # 1e999
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
        if not isinstance(value, Repeated):
            return mended
        kept = Repeated(mended)
        kept.shadowed = tuple((name, _mended(one, notes)) for name, one in value.shadowed)
        return kept
    return value


def parse_text(text: Any, notes: set[str] | None = None) -> Any:
    """JSON that stands inside a string; None when it is no string or no JSON."""
    if not isinstance(text, str):
        return None
    try:
        return parse(text.encode("utf-8", "replace"), notes)
    except NotJson:
        return None
