"""The start of a file, which is all that a reader may look at to claim it: bounded, whatever the
file is."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from reviewer.importing.foreign_json import (
    MAX_DEPTH,
    NotJson,
    deep,
    extent,
    glance,
    surely_no_json,
)
from reviewer.importing.pipeline.opening import kind_of, opened, start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.walking import EACH, walk

SHOWN = 256 * 1024
TAIL = 4096
MOST_LINES = 50
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+[{}\[\]]", re.DOTALL).match
_TO_COMMA = re.compile(_STRING + rb'|[",]', re.DOTALL)
_BLANK = b" \t\r\n"

T = TypeVar("T")


class Head:
    """The start of one file.

    `value` is the first JSON value as far as it lies in the first 256 KiB: members and elements cut
    off by that limit are left out, so `"simulations" in value` may be false for a huge document;
    `names` is exact.
    """

    def __init__(self, path: Path) -> None:
        """Read the start of a file. Raises OSError, Unreadable (a broken compressed file)."""
        self.path = path
        self.start = start_of(path, SHOWN)
        self.kind = kind_of(self.start[:32])
        self._answers: dict[str, Any] = {}
        self._size = 0  # of the first value, once it was asked for

    @cached_property
    def text(self) -> bytes:
        """The start without a byte order mark and leading white space."""
        return self.start.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANK)

    @property
    def whole(self) -> bool:
        """Return whether `start` is the whole file."""
        return len(self.start) < SHOWN

    @cached_property
    def value(self) -> Any:
        """The first value, closed where the start ends; None when it is not JSON."""
        self._size = whole_extent(self.text)
        return first_value(self.text, self._size)

    @property
    def open_at_end(self) -> bool:
        """Return whether the file ends inside its first value: it was cut off. Of a larger file,
        only its last byte says so."""
        if self.value is None and self.text[:1] not in (b"{", b"["):
            return False
        if self.whole or self._size:
            return not self._size and extent(self.text) == 0
        if self.kind != "plain":
            return False
        with self.path.open("rb") as handle:
            handle.seek(-min(TAIL, len(self.start)), os.SEEK_END)
            return handle.read().rstrip(_BLANK)[-1:] not in (b"}", b"]")

    @property
    def document(self) -> dict[str, Any] | None:
        """Return the value of a file that consists of one object only."""
        value = self.value
        if not self.whole or not isinstance(value, dict):
            return None
        return None if self.text[self._size :].strip(_BLANK) else value

    @cached_property
    def first(self) -> Any:
        """The first record: `value`, or its first element when it is an array."""
        value = self.value
        return (value[0] if value else None) if isinstance(value, list) else value

    def has(self, *names: str) -> bool:
        """Return whether the first record is an object with these members in its shown part."""
        first = self.first
        if not isinstance(first, dict):
            return False
        for name in names:  # noqa: SIM110 - asked of every file many times over
            if name not in first:
                return False
        return True

    @cached_property
    def names(self) -> frozenset[str]:
        """Member names of the first value when it is an object, however large. Reads the file."""
        if self.text[:1] != b"{":
            return frozenset()
        if self.whole and isinstance(self.value, dict):
            return frozenset(self.value)
        try:
            with opened(self.path) as handle:
                parts = walk(handle, (EACH,))
                return frozenset(str(part.path[0]) for part in parts if part.path)
        except (Unreadable, OSError):
            return frozenset()

    def once(self, name: str, work: Callable[[], T]) -> T:
        """Return the result of `work` for this file; it is called once for each name, since several
        readers ask for the same."""
        if name not in self._answers:
            self._answers[name] = work()
        answer: T = self._answers[name]
        return answer

    def lines(self, most: int = MOST_LINES) -> Iterator[Any]:
        """Yield the values of those of the first `most` lines, at most `MOST_LINES`, that are
        complete in the start and are JSON. Each is parsed once, on first use."""
        assert most <= MOST_LINES
        for number in range(most):
            if number == len(self._lines):
                line = next(self._left, None)
                if line is None:
                    return
                self._lines.append(self._line(number, line))
            yield from self._lines[number]

    def _line(self, number: int, line: bytes) -> tuple[Any, ...]:
        """Return the value of a line, if it is JSON. Where the first line is the first value, as in
        every file of one record, it is already parsed."""
        if number == 0 and self.value is not None and len(line) == self._size:
            return (self.value,)
        try:
            return () if surely_no_json(line) else (glance(line),)
        except NotJson:
            return ()

    @cached_property
    def _lines(self) -> list[tuple[Any, ...]]:
        return []

    @cached_property
    def _left(self) -> Iterator[bytes]:
        text = self.text if self.whole else self.text.rpartition(b"\n")[0]
        return iter(text.split(b"\n", MOST_LINES)[:MOST_LINES])


_shared: list[Head] = []


@contextmanager
def shared(head: Head) -> Iterator[None]:
    """Share the parsed start of a file among readers that look at it again."""
    _shared.append(head)
    try:
        yield
    finally:
        _shared.pop()


def head_of(path: Path) -> Head:
    """Return the start of a file; the shared one if it belongs to this file. Raises OSError,
    Unreadable."""
    return _shared[-1] if _shared and _shared[-1].path == path else Head(path)


def whole_extent(text: bytes) -> int:
    """Return the length of the object or array at the start of a text, 0 where it does not end
    there or is not strict JSON."""
    return (extent(text) or 0) if text[:1] in (b"{", b"[") else 0


def first_value(text: bytes, size: int) -> Any:
    """Return the first JSON value in `text`, of which `size` is the `whole_extent`; a value that is
    cut off is closed after its last complete part."""
    if size:
        return None if deep(text[:size]) else _parsed(text[:size])
    stack: list[bytes] = []
    good = end = 0  # text up to here is valid once the brackets on the stack are closed
    while bracket := _TO_BRACKET(text, end):
        end = good = bracket.end()
        mark = text[end - 1 : end]
        if mark in (b"{", b"["):
            stack.append(b"}" if mark == b"{" else b"]")
            if len(stack) > MAX_DEPTH:
                return None
        elif not stack or stack.pop() != mark:
            return None
        if not stack:
            return _parsed(text[:good])
    for token in _TO_COMMA.finditer(text, end):
        if token.group() == b'"':  # the text is cut inside this string
            break
        if token.group() == b",":
            good = token.start()
    return _parsed(text[:good] + b"".join(reversed(stack)))


def _parsed(text: bytes) -> Any:
    try:
        return glance(text)
    except NotJson:
        return None
