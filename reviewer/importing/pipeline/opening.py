"""Open files from elsewhere, compressed or not, and yield every text in them."""

import gzip
import io
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, Protocol, cast

import zstandard

from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.pipeline import parquet
from reviewer.importing.pipeline.split import MAX_RECORD, Unreadable, pieces_of

GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
LFS = b"version https://git-lfs"
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
MOST_OUT = 16 << 30
"""Most bytes that one compressed file may decompress to."""
MOST_RATIO = 1000
FREE = 64 << 20
"""Up to this size the ratio does not matter: a small file of similar lines compresses well."""
STEP = 1 << 20
SMALL = 1 << 18
"""A file with fewer bytes is read at once."""


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def kind_of(start: bytes) -> str:
    """Return `gzip`, `zstd`, `zip`, `parquet`, `lfs`, `pickle` or `plain`, by the first bytes."""
    if start.startswith(GZIP):
        return "gzip"
    if start.startswith(ZSTD):
        return "zstd"
    if start.startswith(ZIP):
        return "zip"
    if start.startswith(parquet.MAGIC):
        return "parquet"
    if start.startswith(LFS):
        return "lfs"
    return "pickle" if start.startswith(PICKLES) else "plain"


def refused(start: bytes) -> str:
    """Return why a file that starts like this may not be read at all, else empty."""
    kind = kind_of(start)
    if kind == "lfs":
        return "a Git LFS pointer, not the data: run `git lfs pull` in that repository first"
    if kind == "pickle":
        return "a Python pickle: loading one runs its code, so none is ever read"
    return ""


def packing(start: bytes) -> str:
    """Return how the content of a file with this start is compressed (`gzip`, `zstd`, `parquet`);
    empty for one that is read as it is."""
    kind = kind_of(start)
    unpacked = kind in ("gzip", "zstd") or (kind == "parquet" and parquet.can_be_read())
    return kind if unpacked else ""


def at_once(path: Path) -> BinaryIO:
    """Open a file. Raises OSError, and Unreadable for a pipe or a device: readers open files beside
    the one that is imported, and an ordinary open waits for the writer of a pipe for ever."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise Unreadable("not a regular file")


def as_it_is(path: Path) -> bool:
    """Return whether the content of a file is its bytes. Raises OSError, Unreadable."""
    with at_once(path) as handle:
        return not packing(handle.read(32))


def first_of(handle: BinaryIO, size: int) -> bytes:
    """Return the first `size` bytes of a newly opened file, or all it has. Allocates no more memory
    than the file needs: allocating and trimming a large buffer takes as long as reading a small
    file."""
    there = os.fstat(handle.fileno()).st_size
    if not 0 < there < size:
        return handle.read(size)
    start = handle.read(there + 1)
    return start if len(start) <= there else start + handle.read(size - len(start))


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open the file's content, decompressed, seekable. Raises OSError, Unreadable."""
    with at_once(path) as handle:
        there = os.fstat(handle.fileno()).st_size
        small = 0 < there < SMALL
        start = handle.read(there + 1 if small else 32)
        kind = packing(start)
        if not kind and small and len(start) <= there:
            yield io.BytesIO(start)
            return
        handle.seek(0)
        if not kind:
            yield handle
            return
        with tempfile.TemporaryFile(prefix="reviewer-") as spool:
            _spool(_unpacked(path, handle, kind), spool, path.stat().st_size)
            spool.seek(0)
            yield cast(BinaryIO, spool)


def start_of(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of the file's content. Raises OSError, Unreadable."""
    with at_once(path) as handle:
        start = first_of(handle, size)
        kind = packing(start)
        if not kind:
            return start
        handle.seek(0)
        if kind == "parquet":
            return _first_of(parquet.lines_in(path), size)
        try:
            return _unpacker(handle, kind).read(size)
        except _BROKEN as error:
            raise Unreadable(f"broken {kind} file: {_words(error)}") from None


_BROKEN = (zlib.error, gzip.BadGzipFile, EOFError, zstandard.ZstdError)


def _words(error: BaseException) -> str:
    return str(error)[:120] or type(error).__name__


def _unpacker(handle: BinaryIO, kind: str) -> _Readable:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=handle)
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
        handle, read_across_frames=True
    )


def _first_of(blocks: Iterator[bytes], size: int) -> bytes:
    found = b""
    for block in blocks:
        found += block
        if len(found) >= size:
            break
    return found[:size]


def _unpacked(path: Path, handle: BinaryIO, kind: str) -> Iterator[bytes]:
    if kind == "parquet":
        return parquet.lines_in(path)
    unpacker = _unpacker(handle, kind)
    return iter(lambda: unpacker.read(STEP), b"")


def _spool(blocks: Iterator[bytes], spool: IO[bytes], size: int) -> None:
    out = 0
    limit = min(MOST_OUT, max(FREE, size * MOST_RATIO))
    try:
        for block in blocks:
            out += len(block)
            if out > limit:
                raise Unreadable(f"unpacks to over {limit >> 20} MiB from {size:,} bytes: a bomb")
            spool.write(block)
    except _BROKEN as error:
        raise Unreadable(f"broken compressed file: {_words(error)}") from None


PARSED_IN = 4
"""Depth to which JSON is read inside strings of JSON, the form of arguments and bodies."""


class Text(NamedTuple):
    """One text: the number of its record, from 1, its JSON Pointer there ("" in a file of lines),
    and the text itself. With `problem` instead: why the record has none."""

    record: int
    pointer: str
    text: str
    problem: str = ""


def texts_of(path: Path) -> Iterator[Text]:
    """Yield all texts in order; a record that is not JSON affects only itself, one without a text
    gives none.

    A file that starts like JSON is read as records; any other as lines. Compressed files are
    decompressed. Raises OSError, Unreadable when the file cannot be read (further).
    """
    start = start_of(path, 65536)
    if problem := refused(start[:64]):
        raise Unreadable(problem)
    if not start:
        raise Unreadable("empty: no text in it")
    with opened(path) as handle:
        if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
            for piece in pieces_of(handle):
                yield from _of_record(piece.number, piece.raw, piece.problem)
        else:
            yield from _lines(handle)


def _lines(handle: Any) -> Iterator[Text]:
    number = 0
    while line := handle.readline(MAX_RECORD):
        number += 1
        if b"\0" in line:
            raise Unreadable("neither JSON nor UTF-8 text")
        text = line.decode("utf-8-sig", "replace").strip()
        if text:
            yield Text(number, "", text)


def _of_record(number: int, raw: bytes, problem: str) -> Iterator[Text]:
    if problem:
        yield Text(number, "", "", problem)
        return
    try:
        value = parse(raw)
    except NotJson as error:
        yield Text(number, "", "", str(error))
        return
    yield from (Text(number, pointer, text) for pointer, text in _strings(value, "", PARSED_IN))


def _strings(value: Any, pointer: str, inner: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
        if inner and value[:1] in "{[" and len(value) > 1:
            try:
                held = parse(value.encode("utf-8", "surrogatepass"))
            except (NotJson, UnicodeError):
                return
            yield from _strings(held, pointer, inner - 1)
    elif isinstance(value, dict):
        for key, held in value.items():
            step = key.replace("~", "~0").replace("/", "~1")
            yield from _strings(held, f"{pointer}/{step}", inner)
    elif isinstance(value, list):
        for at, held in enumerate(value):
            yield from _strings(held, f"{pointer}/{at}", inner)
