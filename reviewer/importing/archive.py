"""Read ZIP archives of unknown origin: entries by name, bounded, in any compression in use today.

Python below 3.14 does not support Zstandard entries (method 93), and no version supports such
entries with several frames, so entries are unpacked here from their raw bytes.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

import zstandard

from reviewer.importing.pipeline.split import MAX_RECORD, Unreadable

MOST_ENTRIES = 1_000_000
MOST_RATIO = 1000
FREE = 16 << 20
_ZSTD = 93
_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL = _HEADER.size
_SIZE_BEHIND, _UTF8, _ZIP64 = 0x8, 0x800, 0xFFFFFFFF
CUT = "the archive is cut off: what is complete before the cut was read"


class EntryProblem(Exception):
    """One entry cannot be read; the text is the reason."""


class Archive:
    """A ZIP file opened for reading; entries with unsafe names are listed in `odd`, never read.

    With `salvage`, an archive whose directory is cut off yields the entries that are complete
    before the cut, and `cut` is the note on it. Raises Unreadable (not a ZIP file, too many
    entries, a cut-off directory), OSError.
    """

    def __init__(self, path: Path, salvage: bool = False) -> None:
        self._handle: BinaryIO = path.open("rb")
        self.cut = ""
        try:
            # The handle belongs to this class: closing the ZipFile would not close it.
            infos = zipfile.ZipFile(self._handle).infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
            infos = _salvaged(self._handle) if salvage else []
            self.cut = CUT
            if not infos:
                self._handle.close()
                raise Unreadable(f"broken ZIP archive: {str(error)[:120]}") from None
        if len(infos) > MOST_ENTRIES:
            self._handle.close()
            raise Unreadable(f"over {MOST_ENTRIES:,} entries in the archive")
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self.odd: list[str] = []
        for info in infos:
            if _unsafe(info):
                self.odd.append(info.filename[:200])
            elif not info.is_dir():
                self._infos[info.filename] = info  # of two entries with one name the last counts

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._handle.close()

    def names(self) -> Iterator[str]:
        """Yield entry names in the archive's order."""
        yield from self._infos

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def behind(self, name: str) -> int:
        """Return approximately the file offset after an entry, for progress. Raises KeyError."""
        info = self._infos[name]
        return info.header_offset + _LOCAL + info.compress_size

    def unpacked(self, name: str) -> int:
        """Return the size that the archive states for an entry. Raises KeyError."""
        return self._infos[name].file_size

    def read(self, name: str, most: int = MAX_RECORD) -> bytes:
        """Return one entry, unpacked. Raises EntryProblem, KeyError for an unknown name."""
        info = self._infos[name]
        limit = min(most, max(FREE, info.compress_size * MOST_RATIO))
        if info.file_size > limit:
            raise EntryProblem(_too_large(info.file_size, limit))
        if info.flag_bits & 1:
            raise EntryProblem("encrypted")
        raw = self._raw(info)
        if info.compress_type == zipfile.ZIP_STORED:
            data = raw
        elif info.compress_type == zipfile.ZIP_DEFLATED:
            data = _inflate(raw, limit)
        elif info.compress_type == _ZSTD:
            data = _unzstd(raw, limit)
        else:
            raise EntryProblem(f"compression method {info.compress_type} is not known")
        if zlib.crc32(data) != info.CRC:
            raise EntryProblem("its checksum does not match")
        return data

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        handle = self._handle
        if info.header_offset < 0:
            raise EntryProblem("its header is broken")
        handle.seek(info.header_offset)
        header = handle.read(_LOCAL)
        if len(header) != _LOCAL or header[:4] != b"PK\x03\x04":
            raise EntryProblem("its header is broken")
        skip = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        handle.seek(skip, 1)
        raw = handle.read(info.compress_size)
        if len(raw) != info.compress_size:
            raise EntryProblem("cut off")
        return raw


def _salvaged(handle: BinaryIO) -> list[zipfile.ZipInfo]:
    """Return entries by their own headers, up to the first that is cut off or does not give its
    size."""
    end, place = handle.seek(0, 2), 0
    found: list[zipfile.ZipInfo] = []
    while len(found) <= MOST_ENTRIES:
        handle.seek(place)
        header = handle.read(_LOCAL)
        if len(header) != _LOCAL:
            break
        mark, _, flags, method, _, _, crc, packed, size, name, extra = _HEADER.unpack(header)
        after = place + _LOCAL + name + extra + packed
        if mark != b"PK\x03\x04" or flags & _SIZE_BEHIND or packed == _ZIP64 or after > end:
            break
        text = handle.read(name).decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        info = zipfile.ZipInfo(text or "unnamed")
        info.compress_type, info.flag_bits, info.CRC = method, flags, crc
        info.compress_size, info.file_size, info.header_offset = packed, size, place
        found.append(info)
        place = after
    return found


def _unsafe(info: zipfile.ZipInfo) -> bool:
    name = info.filename
    path = PurePosixPath(name.replace("\\", "/"))
    link = info.external_attr >> 16 & 0o170000 == 0o120000
    return (
        not name
        or link
        or path.is_absolute()
        or ".." in path.parts
        or ":" in name[:3]
        or "\0" in name
    )


def _too_large(size: int, limit: int) -> str:
    return f"too_large: {size >> 20} MiB where at most {limit >> 20} are read"


def _inflate(raw: bytes, limit: int) -> bytes:
    unpack = zlib.decompressobj(-15)
    try:
        data = unpack.decompress(raw, limit + 1)
    except zlib.error as error:
        raise EntryProblem(f"broken: {str(error)[:100]}") from None
    if len(data) > limit:
        raise EntryProblem(_too_large(len(data), limit))
    return data


def _unzstd(raw: bytes, limit: int) -> bytes:
    kept: list[bytes] = []
    size = 0
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            raw, read_across_frames=True
        )
        while block := reader.read(1 << 20):
            size += len(block)
            if size > limit:
                raise EntryProblem(_too_large(size, limit))
            kept.append(block)
    except zstandard.ZstdError as error:
        raise EntryProblem(f"broken: {str(error)[:100]}") from None
    return b"".join(kept)
