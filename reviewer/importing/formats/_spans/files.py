"""Where the spans stand in a file, whatever stands around them, without holding the file."""

import io
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from reviewer.importing.split import CHUNK, Unreadable, shape_at
from reviewer.importing.walking import EACH, Part, Path, Pattern, walk

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class Found(NamedTuple):
    """One value of a file. `path` is its place in its document; `at` and `raw` are its offset and
    bytes (empty, with `problem`, when it is cut off or no JSON)."""

    document: int
    path: Path
    at: int
    raw: bytes
    problem: str

    @property
    def name(self) -> str:
        """How to call it in a sentence."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        place = "".join(steps).lstrip(".")
        return f"document {self.document + 1}{place and f', {place}'}"


def values(handle: BinaryIO, roots: tuple[Pattern, ...]) -> Iterator[Found]:
    """Every value at the end of a root, or beside the way to one, of each document in a file: a
    single document, one a line, several in a row, or an array of them.

    A line that is no JSON costs that line. Raises Unreadable when nothing more can be had.
    """
    handle.seek(0)
    if shape_at(handle) == "lines":
        yield from _lines(handle, roots)
    else:
        yield from _in_a_row(handle, roots)


def _lines(handle: BinaryIO, roots: tuple[Pattern, ...]) -> Iterator[Found]:
    number = at = 0
    while True:
        handle.seek(at)
        line = handle.readline(CHUNK)
        if not line:
            return
        if line.endswith(b"\n") or len(line) < CHUNK:
            base, window, end = at, cast(BinaryIO, io.BytesIO(line)), at + len(line)
        else:
            end = _line_end(handle, at + len(line))
            handle.seek(at)
            base, window = 0, cast(BinaryIO, _Window(handle, end))
        at = end
        if not line.strip():
            continue
        try:
            for found in _document(window, roots, number, base):
                number = found.document
                yield found
        except Unreadable as error:
            yield Found(number, (), base, b"", f"json: {error}")
        number += 1


def _in_a_row(handle: BinaryIO, roots: tuple[Pattern, ...]) -> Iterator[Found]:
    number = 0
    at: int | None = 0
    while at is not None:
        handle.seek(at)
        end = at
        for found in _document(handle, roots, number, 0):
            number, end = found.document, found.at + len(found.raw)
            yield found
        number += 1
        at = _next_document(handle, end) if end > at else None


def _document(
    window: BinaryIO, roots: tuple[Pattern, ...], number: int, base: int
) -> Iterator[Found]:
    array = _first(window) == b"["
    patterns = tuple((EACH, *root) for root in roots) if array else roots
    for part in walk(window, *patterns):
        if array and part.path:
            yield _found(number + cast(int, part.path[0]), part.path[1:], base, part)
        else:
            yield _found(number, part.path, base, part)


def _found(document: int, path: Path, base: int, part: Part) -> Found:
    return Found(document, path, base + part.end - len(part.raw), part.raw, part.problem)


def _first(window: BinaryIO) -> bytes:
    """The first byte that says something; the window stands where it stood."""
    start = window.tell()
    head = window.read(65536).removeprefix(_BOM).lstrip(_BLANK)
    window.seek(start)
    return head[:1]


def _next_document(handle: BinaryIO, at: int) -> int | None:
    """Where another document begins behind the last value of one: nothing but closing brackets
    and blanks stand between."""
    handle.seek(at)
    while chunk := handle.read(65536):
        rest = chunk.lstrip(_BLANK + b",]}")
        if rest:
            return at + len(chunk) - len(rest) if rest[:1] in b"{[" else None
        at += len(chunk)
    return None


def _line_end(handle: BinaryIO, at: int) -> int:
    """The offset behind a line that goes on at `at`, where the handle stands."""
    while True:
        line = handle.readline(CHUNK)
        at += len(line)
        if not line or line.endswith(b"\n"):
            return at


class _Window:
    """A handle that ends at an offset."""

    def __init__(self, handle: BinaryIO, end: int) -> None:
        self._handle, self._end = handle, end

    def read(self, size: int) -> bytes:
        return self._handle.read(max(0, min(size, self._end - self._handle.tell())))

    def tell(self) -> int:
        return self._handle.tell()

    def seek(self, at: int) -> int:
        return self._handle.seek(at)
