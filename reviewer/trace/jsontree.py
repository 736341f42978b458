"""A JSON value one level at a time: the parts below a node are read when it is opened.

The parts of a value stay slices of its own bytes, so a number stays as it was written, and the top
of 50 MB is available before the rest is read.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

Buffer = msgspec.Raw | bytes
Kind = Literal["object", "array", "text", "scalar"]
WITHIN = "#"
"""In a pointer, the place where the JSON within a text begins: `/observation#/user/name`."""

_BLANK = b" \t\r\n"
_KINDS: dict[bytes, Kind] = {b"{": "object", b"[": "array", b'"': "text"}
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_string = msgspec.json.Decoder(str)
_PLAIN = re.compile(r"[A-Za-z0-9_.\- ]+")
_ESCAPE = re.compile(r"\\(?:u([dD][89abAB]..)\\u([dD][c-fC-F]..)|u(....)|.)")


class Members(NamedTuple):
    """The members directly below a node, in order: names, or numbers from 0, and their bytes."""

    names: Sequence[str | int]
    values: Sequence[Buffer]


class Hit(NamedTuple):
    """One place of a text: the node that holds it, and where in its name or in its text."""

    pointer: str
    in_name: bool
    position: int


NOTHING = Members((), ())


def kind(raw: Buffer) -> Kind:
    """Return the kind of a value, by its first character."""
    return _KINDS.get(bytes(memoryview(raw)[:64]).lstrip(_BLANK)[:1], "scalar")


def members(raw: Buffer) -> Members:
    """Return one level of an object or array; empty for a scalar, a text, and bytes that are no
    JSON."""
    what = kind(raw)
    if what not in ("object", "array"):
        return NOTHING
    try:
        if what == "array":
            values = _array.decode(raw)
            return Members(range(len(values)), values)
        found = _object.decode(raw)
        return Members(list(found), list(found.values()))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _forgiving(raw)


def _forgiving(raw: Buffer) -> Members:
    """Return the members of JSON that the quick decoder refuses: with a lone surrogate."""
    try:
        value = json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return NOTHING
    if isinstance(value, dict):
        return Members(list(value), [_bytes(each) for each in value.values()])
    return Members(range(len(value)), [_bytes(each) for each in value])


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def step(name: str | int) -> str:
    """Return one step of a JSON pointer (RFC 6901), with `~2` for the sign that begins the JSON
    within a text."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1").replace(WITHIN, "~2")


def above(pointer: str) -> list[str]:
    """Return the nodes on the way to a node, from the top, without itself."""
    ends = [at for at, sign in enumerate(pointer) if sign == "/"]
    return [pointer[:at].removesuffix(WITHIN) for at in ends]


def text_in(raw: Buffer) -> str:
    """Return the text of a JSON string."""
    try:
        return _string.decode(raw)
    except msgspec.DecodeError:
        return str(json.loads(bytes(raw)))


def held(text: str) -> bytes | None:
    """Return the object or array that a text is, if it is nothing else, as in the answers of many
    tools."""
    start, end = text[:64].lstrip()[:1], text[-64:].rstrip()[-1:]
    if start + end not in ("{}", "[]"):
        return None
    raw = text.encode("utf-8", "surrogatepass").strip(_BLANK)
    return raw if members(raw).values or raw[1:-1].strip(_BLANK) == b"" else None


def indented(raw: Buffer) -> str:
    """Return a value as a person reads it, by two blanks a level; numbers as written, letters as
    letters.

    Raises ValueError for what is no JSON.
    """
    try:
        text = msgspec.json.format(bytes(raw), indent=2).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return json.dumps(json.loads(bytes(raw)), indent=2, ensure_ascii=False)
    return _ESCAPE.sub(_letter, text) if "\\u" in text else text


def _letter(match: re.Match[str]) -> str:
    """Return an escaped letter as itself; what a string cannot hold bare stays escaped."""
    high, low, code = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    if not code:
        return match.group()
    letter = chr(int(code, 16))
    bare = letter >= " " and letter not in '"\\' and not "\ud800" <= letter <= "\udfff"
    return letter if bare else match.group()


def find(raw: Buffer, wanted: str) -> Iterator[Hit]:
    """Yield every place of `wanted` below and in a value, in any letter case, in the order of
    reading: in names, in texts as they read, in scalars as written."""
    if wanted:
        yield from _find(raw, "", _Query(wanted))


class _Query:
    """The text to find. A part whose bytes cannot hold it is skipped as a whole."""

    def __init__(self, wanted: str) -> None:
        self.pattern = re.compile(re.escape(wanted), re.IGNORECASE)
        plain = max(_PLAIN.findall(wanted), key=len, default="")
        self._quick = re.compile(re.escape(plain.encode()), re.IGNORECASE) if plain else None

    def maybe(self, raw: Buffer) -> bool:
        if self._quick is None:
            return True
        data = memoryview(raw)
        return self._quick.search(data) is not None or b"\\u00" in bytes(data)


def _find(raw: Buffer, pointer: str, wanted: _Query) -> Iterator[Hit]:
    if not wanted.maybe(raw):
        return
    below, inner = members(raw), None
    if not below.values and kind(raw) == "text":
        text = text_in(raw)
        inner = held(text)
        below = NOTHING if inner is None else members(inner)
    elif not below.values:  # a scalar, or JSON in a text that is deeper than can be walked
        text = bytes(raw).decode("utf-8", "replace")
    if below.values:
        yield from _below(below, pointer if inner is None else pointer + WITHIN, wanted)
        return
    for found in wanted.pattern.finditer(text):
        yield Hit(pointer, False, found.start())


def _below(level: Members, pointer: str, wanted: _Query) -> Iterator[Hit]:
    for name, value in zip(*level, strict=True):
        place = pointer + step(name)
        if isinstance(name, str):
            for found in wanted.pattern.finditer(name):
                yield Hit(place, True, found.start())
        yield from _find(value, place, wanted)
