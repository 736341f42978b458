"""Opening what people name: plain, gzip or Zstandard files, told apart by their first bytes.

Compressed files are spooled to an anonymous temporary file of ours, so that readers may seek;
how much comes out is bounded by size and by ratio, so that a bomb costs that file only.
"""

import gzip
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

import zstandard

from reviewer.importing.split import Unreadable

GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
LFS = b"version https://git-lfs"
PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
MOST_OUT = 16 << 30
"""Bytes that may come out of one compressed file."""
MOST_RATIO = 1000
FREE = 64 << 20
"""Up to here the ratio does not matter: a small file of like lines packs well."""
STEP = 1 << 20


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def kind_of(start: bytes) -> str:
    """`gzip`, `zstd`, `zip`, `lfs`, `pickle` or `plain`, by the first bytes."""
    if start.startswith(GZIP):
        return "gzip"
    if start.startswith(ZSTD):
        return "zstd"
    if start.startswith(ZIP):
        return "zip"
    if start.startswith(LFS):
        return "lfs"
    return "pickle" if start.startswith(PICKLES) else "plain"


def refused(start: bytes) -> str:
    """Why a file that starts like this is not to be read at all, else empty."""
    kind = kind_of(start)
    if kind == "lfs":
        return "a Git LFS pointer, not the data: run `git lfs pull` in that repository first"
    if kind == "pickle":
        return "a Python pickle: loading one runs its code, so none is ever read"
    return ""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's content, decompressed, seekable. Raises OSError, Unreadable."""
    with path.open("rb") as handle:
        kind = kind_of(handle.read(32))
        handle.seek(0)
        if kind not in ("gzip", "zstd"):
            yield handle
            return
        with tempfile.TemporaryFile(prefix="reviewer-") as spool:
            _spool(_unpacker(handle, kind), spool, path.stat().st_size)
            spool.seek(0)
            yield cast(BinaryIO, spool)


def start_of(path: Path, size: int) -> bytes:
    """The first `size` bytes of the file's content. Raises OSError, Unreadable."""
    with path.open("rb") as handle:
        start = handle.read(size)
        kind = kind_of(start)
        if kind not in ("gzip", "zstd"):
            return start
        handle.seek(0)
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


def _spool(unpacker: _Readable, spool: IO[bytes], size: int) -> None:
    out = 0
    limit = min(MOST_OUT, max(FREE, size * MOST_RATIO))
    try:
        while block := unpacker.read(STEP):
            out += len(block)
            if out > limit:
                raise Unreadable(f"unpacks to over {limit >> 20} MiB from {size:,} bytes: a bomb")
            spool.write(block)
    except _BROKEN as error:
        raise Unreadable(f"broken compressed file: {_words(error)}") from None
