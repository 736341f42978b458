"""The manifest of an archive: what it was made from, and every file in it. A folder without a
manifest is no archive."""

import hashlib
from collections.abc import Container, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from reviewer.db.archive.engine import ArchiveError
from reviewer.db.archive.files import ArchiveFile
from reviewer.db.archive.tables import SCHEMA, TABLES

MANIFEST = "archive.json"
_MOST_BYTES = 256 << 20


class MadeOf(msgspec.Struct, frozen=True):
    """What an archive was made from: the store (identified by its journal), the last entry covered,
    the suites (none named: all), the tables, and the version of the program."""

    store: str
    journal_seq: int
    journal_hash: str
    suites: tuple[str, ...]
    tables: tuple[str, ...]
    schema: str
    version: str


class ListedTable(msgspec.Struct, frozen=True):
    """A table: its rows, and its columns with their types."""

    rows: int
    columns: dict[str, str]


class Manifest(msgspec.Struct, frozen=True):
    """The manifest. It contains no time, so the same store gives the same manifest."""

    schema: str
    made_of: MadeOf
    tables: dict[str, ListedTable]
    files: tuple[ArchiveFile, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(one.size for one in self.files)


def manifest_of(made_of: MadeOf, files: Sequence[ArchiveFile]) -> Manifest:
    """Return the manifest of these files."""
    return Manifest(
        schema=SCHEMA,
        made_of=made_of,
        tables={
            name: ListedTable(
                rows=sum(one.rows for one in files if one.table == name),
                columns={one.name: one.type for one in TABLES[name].columns},
            )
            for name in made_of.tables
        },
        files=tuple(sorted(files)),
    )


class _Named(msgspec.Struct):
    schema: str


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an archive. Raises ArchiveError for a folder without a manifest, for
    one of another version, and where a file is missing, has another size, or lies outside the
    archive."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ArchiveError(f"{path}: too large to be the manifest of an archive")
        raw = path.read_bytes()
    except OSError as error:
        raise ArchiveError(f"{folder} is not an archive: {MANIFEST}: {error.strerror}") from error
    try:
        named = msgspec.json.decode(raw, type=_Named).schema
        if named != SCHEMA:
            raise ArchiveError(f"{path}: of another version ({named}); this one reads {SCHEMA}")
        found = msgspec.json.decode(raw, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ArchiveError(f"{path}: not the manifest of an archive ({error})") from error
    for one in found.files:
        _check(folder, one)
    return found


def prove(folder: Path, manifest: Manifest, tables: Container[str]) -> None:
    """Read every file of these tables completely. Raises ArchiveError for a file whose digest
    differs from the manifest's: its size may still be right."""
    for one in manifest.files:
        if one.table not in tables:
            continue
        try:
            with (folder / one.path).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ArchiveError(f"{folder / one.path}: {error.strerror}") from error
        if found != one.sha256:
            raise ArchiveError(
                f"{folder / one.path}: sha256 {found[:12]}, and {one.sha256[:12]} in {MANIFEST}: "
                "changed since it was written"
            )


def _check(folder: Path, one: ArchiveFile) -> None:
    path = PurePosixPath(one.path)
    if path.is_absolute() or ".." in path.parts or one.table not in TABLES:
        raise ArchiveError(f"{folder / MANIFEST}: names a file that is not of the archive")
    file = folder / path
    try:
        if file.resolve() != folder.resolve() / path or not file.is_file():
            raise ArchiveError(
                f"{file}: is a link or not a file, so it cannot be part of an archive"
            )
        size = file.stat().st_size
    except OSError as error:
        raise ArchiveError(f"{file}: {error.strerror}") from error
    if size != one.size:
        raise ArchiveError(f"{file}: has {size} bytes, and {one.size} in {MANIFEST}: incomplete")
