"""What readers of documents do alike: their defaults, and attempts that are a record each."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import elapsed_ms
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.head import Head
from reviewer.importing.opening import start_of
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.split import Piece, Unreadable
from reviewer.importing.walking import Part

_ORIGINS = ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00")


class Format:
    """The defaults of a format: its suite is called as it is, a candidate as the file, and no
    other file is part of one."""

    name = ""
    version = "1"
    probe = True

    def suite_id(self, path: Path) -> str:
        return self.name

    def candidate_id(self, path: Path) -> str:
        return path.stem

    def companions(self, path: Path) -> tuple[Path, ...]:
        return ()


def each_record(
    source: Source,
    make: Callable[[Piece], Foreign],
    what: str,
    of: str = "",
    path: Path | None = None,
) -> Iterator[Foreign | Broken]:
    """Yield what `make` gives of every record of a file, each on its own. `what` is what a record
    is called there, before its number, and `of` what is behind that."""
    for piece in source.pieces(path):
        name = f"{what} {piece.number}{of}"
        if piece.problem:
            yield Broken((piece.problem,), name)
        else:
            yield source.attempt(partial(make, piece), name)


def shown(path: Path) -> Any:
    """Return the first record of a file as far as its head shows it, None when it shows none."""
    try:
        return Head(path).first
    except (Unreadable, OSError):
        return None


def whole_value(path: Path) -> Any:
    """Return the value of a small file, None when it cannot be read."""
    try:
        return Head(path).value
    except (Unreadable, OSError):
        return None


def small_value(path: Path, most: int) -> Any:
    """Return the value of a file of at most `most` bytes; None when it is larger, is not there or
    cannot be read."""
    try:
        raw = start_of(path, most + 1) if path.is_file() else b""
        return parse(raw) if 0 < len(raw) <= most else None
    except (OSError, Unreadable, NotJson, RecursionError):
        return None


def value_of(source: Source, part: Part) -> Any:
    """Return a part of a document as a value, None when it is none."""
    try:
        return None if part.problem else source.value(part.raw)
    except Rejected:
        return None


def started_ms(stamp: Any) -> float:
    """Return a time in milliseconds since 1970, to put runs in order; infinity when it is
    unknown."""
    for origin in _ORIGINS:
        if (since := elapsed_ms(origin, stamp)) is not None:
            return since
    return float("inf")
