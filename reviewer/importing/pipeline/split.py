"""Cut a file into records without ever holding more than one of them.

Three shapes are distinguished by content: JSON lines, one JSON array of records, one (or several
concatenated) pretty-printed objects. A value that is strict JSON across a line's end is
pretty-printed, whatever begins its next line; a line that was cut off is not. Cutting looks only at
strings and brackets; whether a piece is valid JSON is for its reader to decide, so one bad record
affects only itself. A fault between records (a superfluous comma, or a missing one) gives one
refusal, reported after them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from reviewer.importing.foreign_json import MAX_DEPTH, deep, extent, is_whole

MAX_RECORD = 64 * 1024 * 1024
CHUNK = 1 << 20
HEAD = 1 << 16
FEW = 16
LONG_LINE = 16 << 20
"""A longer first line is taken for a record by itself."""
MOST_AT_ONCE = 8 << 20
QUICK = 4 << 20
"""A larger value is cut bracket by bracket, so that as little of it as possible is in memory."""

# Possessive, so a 10 MB string of escapes costs no backtracking memory.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """One record's bytes (or, with `problem`, why it has none), counted from 1."""

    number: int
    raw: bytes
    problem: str
    end: int


class Unreadable(Exception):
    """The file as a whole cannot be cut; the text is the reason."""


def shape(head: bytes) -> str:
    """Return `lines` or `values` (array or concatenated values) for a file that starts with `head`.

    Raises Unreadable for an empty file or one that is not JSON text at all.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in head[:4]:
        raise Unreadable("UTF-16 or UTF-32 text; save it as UTF-8")
    text = head[len(_BOM) :] if head.startswith(_BOM) else head
    text = text.lstrip(_BLANK)
    if not text:
        raise Unreadable("empty: no record in it")
    if text[:1] not in b"{[":
        raise Unreadable("not JSON: a record starts with { or [")
    if text[:1] == b"[":
        return "values"
    first, newline, _ = text.partition(b"\n")
    if not newline:
        return "lines"
    size = extent(first)
    if size is None:
        return "values" if _goes_on(text) else "lines"
    if size:  # one record on its line, or several
        return "values" if _spans_lines(text, size) else "lines"
    # The first line ends inside its value: a record that was cut off, or a pretty-printed one.
    across = extent(text)
    if across == 0 and len(head) >= HEAD:  # no fault as far as it is shown
        return "values"
    return "values" if across or _goes_on(text) else "lines"


def _spans_lines(text: bytes, at: int) -> bool:
    """Return whether a value after the first one is printed over several lines, as far as is
    shown."""
    for _ in range(FEW):
        at = text.find(b"{", at)
        end = text.find(b"\n", at) if at >= 0 else -1
        if end >= 0 and is_whole(text[at:end]):  # the usual case: one record on its line
            at = end
            continue
        size = extent(text, at) if at >= 0 else None
        if not size:
            return False
        if text.find(b"\n", at, at + size) >= 0:
            return True
        at += size
    return False


def _goes_on(text: bytes) -> bool:
    """Return whether the value on the first line continues after it: judged by brackets alone,
    since it is not strict JSON. A line that was cut off is followed by complete records."""
    first, _, rest = text.partition(b"\n")
    inside = _open_at_end(first)
    if not inside:
        return False
    before, behind = first.rstrip(_BLANK)[-1:], rest.lstrip(_BLANK)[:1]
    if behind not in _MAY_FOLLOW[inside[-1:]].get(before, b",}" if inside[-1:] == b"{" else b",]"):
        return False
    if before == b"{" or behind != b"{":
        return True
    second, _, third = rest.lstrip(_BLANK).partition(b"\n")
    whole = second.rstrip(_BLANK)[-1:] == b"}" and _open_at_end(second) == b""
    return not whole or third.lstrip(_BLANK)[:1] not in (b"", b"{")


_VALUE = b'{["-0123456789tfnNI'
_MAY_FOLLOW: dict[bytes, dict[bytes, bytes]] = {
    b"{": {b"{": b'"}', b",": b'"', b":": _VALUE, b'"': b",}:"},
    b"[": {b"[": _VALUE + b"]", b",": _VALUE},
}
"""What may follow a line's last byte, by the bracket that is open there."""


def _open_at_end(text: bytes) -> bytes | None:
    """Return the brackets that are open at the end of a text; None inside a string, or when they do
    not match."""
    inside = bytearray()
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in (b"{", b"["):
            inside += mark
        elif mark in (b"}", b"]"):
            if not inside or inside.pop() != (0x7B if mark == b"}" else 0x5B):
                return None
        elif mark == b'"':
            return None
    return bytes(inside)


def shape_at(handle: BinaryIO) -> str:
    """Return the `shape` of a file that is open at its start; the handle is left at any position.
    Raises Unreadable."""
    head = handle.read(HEAD)
    kind = shape(head)
    if len(head) < HEAD or b"\n" in head.removeprefix(_BOM).lstrip(_BLANK):
        return kind
    # The first line is longer: its end shows what it is.
    while (more := handle.read(CHUNK)) and b"\n" not in more and len(head) < LONG_LINE:
        head += more
    return shape(head + more + handle.read(HEAD))


def shape_of(path: Path) -> str:
    """Return the `shape` of a file. Raises Unreadable, OSError."""
    with path.open("rb") as handle:
        return shape_at(handle)


def pieces_of(handle: BinaryIO) -> Iterator[Piece]:
    """Yield every record of a file that is open at its start, in order. Raises Unreadable when the
    file cannot be cut further."""
    kind = shape_at(handle)
    handle.seek(0)
    handle.seek(len(_BOM) if handle.read(len(_BOM)) == _BOM else 0)
    yield from _lines(handle) if kind == "lines" else _values(handle)


def _lines(handle: BinaryIO, stop: int | None = None) -> Iterator[Piece]:
    """Yield lines from the position of the handle up to the file's end or to offset `stop`."""
    number, held, end, skipping = 0, b"", handle.tell(), False
    while block := handle.read(CHUNK if stop is None else min(CHUNK, stop - handle.tell())):
        *lines, rest = (held + block).split(b"\n")
        held = b""
        for line in lines:
            end += len(line) + 1
            if skipping:
                skipping = False
                number += 1
                yield Piece(number, b"", too_large(), end)
            elif line and not line.isspace():
                number += 1
                yield Piece(number, line.rstrip(b"\r"), "", end)
        if skipping or len(rest) > MAX_RECORD:
            end += len(rest)
            skipping = True
        else:
            held = rest
    if skipping:
        yield Piece(number + 1, b"", too_large(), end)
    elif held and not held.isspace():
        yield Piece(number + 1, held, "", end + len(held))


def lines_of(handle: BinaryIO, start: int, end: int) -> Iterator[Piece]:
    """Yield the records of a run of complete lines, numbered from 1."""
    handle.seek(start)
    if end - start > MAX_RECORD:
        yield from _lines(handle, end)
        return
    number = 0
    for line in handle.read(end - start).split(b"\n"):
        if line and not line.isspace():
            number += 1
            yield Piece(number, line.rstrip(b"\r"), "", 0)


def blocks(path: Path, size: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of runs of whole lines of about `size` bytes, or of one line that is
    longer, for a file of JSON lines. Raises OSError."""
    with path.open("rb") as handle:
        start = len(_BOM) if handle.read(len(_BOM)) == _BOM else 0
        while True:
            handle.seek(start + size)
            end = start + size
            while not (tail := handle.readline(CHUNK)).endswith(b"\n"):
                end += len(tail)
                if not tail:
                    handle.seek(0, 2)
                    if handle.tell() > start:
                        yield start, handle.tell()
                    return
            end += len(tail)
            yield start, end
            start = end


def too_large() -> str:
    return f"too_large: over {MAX_RECORD // 2**20} MiB"


class Cutter:
    """The state of one walk over concatenated values, with or without an array around them.

    `at` is the position of the walk in `buffer`; text before it is dropped when more is read.
    """

    def __init__(self, handle: BinaryIO) -> None:
        self.handle = handle
        self.buffer = b""
        self.at = 0
        self.base = handle.tell()  # file offset of buffer[0]

    @property
    def place(self) -> int:
        """The file offset of the walk."""
        return self.base + self.at

    def more(self) -> bool:
        """Read more, in amounts that grow with the buffer, so that a huge token is not scanned
        again and again."""
        held = self.buffer[self.at :]
        self.base += self.at
        chunk = self.handle.read(max(CHUNK, min(len(held), MOST_AT_ONCE)))
        self.buffer, self.at = held + chunk, 0
        return bool(chunk)


_BETWEEN = re.compile(rb"[ \t\r\n,]*+")


class _Between:
    """The text between values: white space, one array's brackets, and its commas.

    Records are cut whatever is wrong there; `fault` keeps the first fault, so that a file that is
    not JSON is never taken for complete.
    """

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter
        self.array: Literal["", "open", "closed"] = ""
        self.values = 0
        self.fault = ""

    def next(self) -> bytes:
        """Return the first byte of the next value, without passing it; empty at the end of the
        file."""
        cutter, commas = self.cutter, 0
        while True:
            end = _end_of(_BETWEEN, cutter)
            commas += cutter.buffer.count(b",", cutter.at, end)
            cutter.at = end
            byte = cutter.buffer[end : end + 1]
            if not byte:
                if not cutter.more():
                    self._judge(commas, 0, "a comma outside an array", self.array != "open")
                    return b""
            elif byte == b"[" and not self.array and not self.values:
                self._judge(commas, 0, "a comma outside an array")
                self.array, commas = "open", 0
                cutter.at += 1
            elif byte == b"]" and self.array == "open":
                self._judge(commas, 0, "a comma with no record behind it ends the array")
                self.array, commas = "closed", 0
                cutter.at += 1
            else:
                self._value(commas)
                return byte

    def _value(self, commas: int) -> None:
        self.values += 1
        if self.array == "closed":
            self._judge(1, 0, f"record {self.values} follows the end of the array")
        elif self.array == "":
            self._judge(commas, 0, "a comma outside an array")
        elif self.values == 1 or commas > 1:
            self._judge(commas, min(self.values - 1, 1), "a comma with no record before it")
        else:
            self._judge(commas, 1, f"no comma before record {self.values}")

    def _judge(self, commas: int, wanted: int, fault: str, told: bool = True) -> None:
        if told and commas != wanted and not self.fault:
            self.fault = f"json: {fault} (near byte {self.cutter.place})"


def _values(handle: BinaryIO) -> Iterator[Piece]:
    cutter = Cutter(handle)
    between = _Between(cutter)
    cut = False
    while not cut and (byte := between.next()):
        start = cutter.place
        raw, problem = bracketed(cutter) if byte in b"{[" else scalar(cutter)
        if problem.startswith("json: nested"):
            raise Unreadable(f"record {between.values}: {problem[6:]} (byte {start})")
        yield Piece(between.values, raw, problem, cutter.place)
        cut = problem.startswith("json: truncated")
    # Faults between records are reported after them, so that record numbers stay their places.
    unclosed = between.array == "open" and not cut
    ending = "json: the file ends inside its array" if unclosed else ""
    for number, fault in enumerate(filter(None, (between.fault, ending)), between.values + 1):
        yield Piece(number, b"", fault, cutter.place)


def _end_of(pattern: "re.Pattern[bytes]", cutter: Cutter) -> int:
    match = pattern.match(cutter.buffer, cutter.at)
    return match.end() if match else cutter.at


def bracketed(cutter: Cutter) -> tuple[bytes, str]:
    """Cut one object or array that starts at the position of the walk; leaves the walk directly
    after it."""
    size = extent(cutter.buffer, cutter.at)
    while size == 0 and len(cutter.buffer) - cutter.at < QUICK and cutter.more():
        size = extent(cutter.buffer, cutter.at)
    if size:
        raw = cutter.buffer[cutter.at : cutter.at + size]
        if not deep(raw):
            cutter.at += size
            return raw, ""
    return _bracketed(cutter)


def _bracketed(cutter: Cutter) -> tuple[bytes, str]:
    """Cut like `bracketed`, at every bracket and text: for values that are not strict JSON, or
    large."""
    depth, size, oversize = 0, 0, False
    kept: list[bytes] = []
    while True:
        position = cutter.at
        for token in _TOKEN.finditer(cutter.buffer, cutter.at):
            text = token.group()
            if text in (b"{", b"["):
                depth += 1
                if depth > MAX_DEPTH:
                    return b"", f"json: nested deeper than {MAX_DEPTH}"
            elif text in (b"}", b"]"):
                depth -= 1
                if depth == 0:
                    end = token.end()
                    size += end - cutter.at
                    kept.append(cutter.buffer[cutter.at : end])
                    cutter.at = end
                    if oversize or size > MAX_RECORD:
                        return b"", too_large()
                    return b"".join(kept), ""
            elif text == b'"':  # the string continues after this buffer
                position = token.start()
                break
            position = token.end()
        else:
            position = len(cutter.buffer)
        size += position - cutter.at
        if size > MAX_RECORD:
            kept, oversize = [], True
        elif not oversize:
            kept.append(cutter.buffer[cutter.at : position])
        cutter.at = position
        if len(cutter.buffer) - position > MAX_RECORD:
            kept, oversize = [], True
            more = _skip_string(cutter)
        else:
            more = cutter.more()
        if not more:
            return b"", "json: truncated: the file ends inside this record"


_STRING_END = re.compile(rb'\\.|"', re.DOTALL)


def _skip_string(cutter: Cutter) -> bool:
    """Skip a string that is too long to keep, up to after its closing quote; return False at the
    file's end."""
    cutter.at += 1
    while True:
        for token in _STRING_END.finditer(cutter.buffer, cutter.at):
            if token.group() == b'"':
                cutter.at = token.end()
                return True
        cutter.at = len(cutter.buffer) - (1 if cutter.buffer.endswith(b"\\") else 0)
        if not cutter.more():
            return False


_SCALAR = re.compile(rb"[^ \t\r\n,\]}]*+")


def scalar(cutter: Cutter) -> tuple[bytes, str]:
    """Cut a value that is neither object nor array, up to the next comma, bracket or white
    space."""
    while (end := _end_of(_SCALAR, cutter)) == len(cutter.buffer):
        if end - cutter.at > CHUNK:
            raise Unreadable(f"no record at byte {cutter.place}: a record starts with {{")
        if not cutter.more():
            end = len(cutter.buffer)
            break
    end = max(end, cutter.at + 1)
    raw = cutter.buffer[cutter.at : end]
    cutter.at = end
    return raw, ""
