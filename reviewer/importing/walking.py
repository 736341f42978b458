"""Walk one large JSON document without holding it: one relevant part at a time.

A document is a container of attempts (`simulations[]`, `samples[]`, spans three levels down).
`walk` descends only where a pattern leads and returns every other value whole, as bytes, so memory
is bounded by the largest part and not by the file.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import BinaryIO, NamedTuple

import msgspec

from reviewer.importing.foreign_json import MAX_DEPTH, deep, extent
from reviewer.importing.pipeline.split import (
    QUICK,
    Cutter,
    Unreadable,
    bracketed,
    scalar,
    too_large,
)

EACH = "*"
"""In a pattern: every element of an array, every member of an object."""

Path = tuple[str | int, ...]
Pattern = tuple[str, ...]


class Part(NamedTuple):
    """One value in a document: its path, its bytes (empty with `problem`), and the file offset
    after it."""

    path: Path
    raw: bytes
    problem: str
    end: int


_BLANK = b" \t\r\n"
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_BETWEEN = re.compile(rb"[ \t\r\n,]*+")
_text = msgspec.json.Decoder(str).decode
_cut = msgspec.json.Decoder(list[msgspec.Raw]).decode
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
MOST_KEY = 1 << 16


def walk(handle: BinaryIO, *patterns: Pattern) -> Iterator[Part]:
    """Yield every value of the first document in `handle`, whole, except the containers that lie
    above the end of a pattern: those are entered. `walk(f, ("tasks", EACH), ("simulations", EACH))`
    yields each task, each simulation, and each other top-level member.

    A part that cannot be cut ends the walk with its `problem` set. Raises Unreadable when what
    follows is not JSON.
    """
    start = handle.tell()
    if handle.read(3) != b"\xef\xbb\xbf":
        handle.seek(start)
    yield from _walk(Cutter(handle), _way(patterns))


class _Way:
    """The remaining patterns at one place: the place is entered while there are any."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._patterns = tuple(dict.fromkeys(pattern for pattern in patterns if pattern))
        self._below: dict[str | int, _Way] = {}
        self._each: _Way | None = None

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def to(self, step: str | int) -> "_Way":
        """Return the remaining patterns after one member or element."""
        if isinstance(step, int):  # all elements alike
            if self._each is None:
                self._each = _Way(rest[1:] for rest in self._patterns if rest[0] == EACH)
            return self._each
        way = self._below.get(step)
        if way is None:
            way = _Way(rest[1:] for rest in self._patterns if rest[0] in (EACH, step))
            if len(self._below) < MOST_KNOWN:
                self._below[step] = way
        return way


@lru_cache(64)
def _way(patterns: tuple[Pattern, ...]) -> _Way:
    """Return the way for some patterns, cached: a file of lines is walked a line at a time."""
    return _Way(patterns)


MOST_KNOWN = 64
"""Most members whose way is cached: an object may have millions."""


def _next(cutter: Cutter) -> bytes:
    """Return the next byte that is not white space, without passing it; empty at the end."""
    while True:
        byte = cutter.buffer[cutter.at : cutter.at + 1]
        if byte and byte not in _BLANK:
            return byte
        found = _BLANKS.match(cutter.buffer, cutter.at)
        cutter.at = found.end() if found else cutter.at
        if cutter.at < len(cutter.buffer):
            return cutter.buffer[cutter.at : cutter.at + 1]
        if not cutter.more():
            return b""


class _Inside:
    """A container that was entered: its closing bracket, and how many values in it were begun."""

    def __init__(self, path: Path, way: _Way, closing: bytes) -> None:
        self.path, self.way, self.closing = path, way, closing
        self.begun = 0


def _walk(cutter: Cutter, way: _Way) -> Iterator[Part]:
    path: Path = ()
    inside: list[_Inside] = []
    while True:
        before = cutter.place
        byte = _next(cutter)
        if way and byte in (b"{", b"["):
            if len(path) >= MAX_DEPTH:
                raise Unreadable(f"nested deeper than {MAX_DEPTH} (byte {cutter.place})")
            cutter.at += 1
            now = _Inside(path, way, b"}" if byte == b"{" else b"]")
            inside.append(now)
            if byte == b"[" and not way.to(0):
                yield from _elements(cutter, now)
        else:
            raw, problem = _value(cutter, byte)
            yield Part(path, raw, problem, cutter.place)
            if problem.startswith("json: truncated"):
                return
            if cutter.place == before:
                raise _odd(cutter)
        while inside and _closed(cutter, inside[-1]):
            inside.pop()
        if not inside:
            return
        now = inside[-1]
        if not _next(cutter) or (name := _name(cutter, now)) is None:
            yield Part(now.path, b"", _CUT, cutter.place)
            return
        now.begun += 1
        path, way = (*now.path, name), now.way.to(name)


def _elements(cutter: Cutter, now: _Inside) -> Iterator[Part]:
    """Yield the elements of an entered array, at once where all of it is in memory and strict JSON:
    cutting a single one takes as long as ten. Otherwise nothing is consumed."""
    buffer, start = cutter.buffer, cutter.at - 1
    size = extent(buffer, start)
    if not size or size > QUICK or deep(buffer[start : start + size]):
        return
    for raw in map(bytes, _cut(memoryview(buffer)[start : start + size])):
        found = _BETWEEN.match(buffer, cutter.at)
        assert found is not None  # the pattern also matches nothing
        cutter.at = found.end() + len(raw)
        now.begun += 1
        yield Part((*now.path, now.begun - 1), raw, "", cutter.place)


def _name(cutter: Cutter, now: _Inside) -> str | int | None:
    """Return the name or number of the next value of a container, None at a truncated end."""
    return now.begun if now.closing == b"]" else _key(cutter)


def _closed(cutter: Cutter, now: _Inside) -> bool:
    """Return whether a container ends here; else the walk is before its next value, or name."""
    while True:
        byte = _next(cutter)
        if byte == now.closing or (byte == b"," and now.begun):
            cutter.at += 1
        if byte != b"," or not now.begun:
            return byte == now.closing


def _value(cutter: Cutter, byte: bytes) -> tuple[bytes, str]:
    if not byte:
        return b"", "json: truncated: the file ends where a value is expected"
    if byte in b"{[":
        raw, problem = bracketed(cutter)
        if problem.startswith("json: nested"):
            raise Unreadable(f"{problem[6:]} (near byte {cutter.place})")
        return raw, problem
    return _string(cutter) if byte == b'"' else scalar(cutter)


def _string(cutter: Cutter) -> tuple[bytes, str]:
    while True:
        found = _STRING.match(cutter.buffer, cutter.at)
        if found is not None:
            cutter.at = found.end()
            return found.group(), ""
        if len(cutter.buffer) - cutter.at > MOST_STRING:
            raise Unreadable(f"a text {too_large()[11:]} (byte {cutter.place})")
        if not cutter.more():
            return b"", "json: truncated: the file ends inside a text"


MOST_STRING = 64 * 1024 * 1024


def _key(cutter: Cutter) -> str | None:
    """Return the member name that comes next, None at a truncated end. Raises Unreadable."""
    if not _follows(cutter, b'"'):
        return None
    raw, problem = _string(cutter)
    if problem or not _follows(cutter, b":"):
        return None
    cutter.at += 1
    try:
        name = _text(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        name = raw[1:-1].decode("utf-8", "replace")
    return name[:MOST_KEY]


def _follows(cutter: Cutter, mark: bytes) -> bool:
    """Return whether `mark` comes next; False at the end. Raises Unreadable for anything else."""
    byte = _next(cutter)
    if byte and byte != mark:
        raise _odd(cutter)
    return bool(byte)


def _odd(cutter: Cutter) -> Unreadable:
    return Unreadable(f"not JSON at byte {cutter.place}")


_CUT = "json: truncated: the file ends inside its document"
