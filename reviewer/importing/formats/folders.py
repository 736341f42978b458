"""What readers take from where a file lies: safe names, files above it, all below its folder."""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reviewer.importing.draft import elapsed_ms
from reviewer.importing.head import Head
from reviewer.importing.reader import Broken, Foreign, Rejected
from reviewer.importing.source import Source
from reviewer.importing.split import MAX_RECORD, Unreadable
from reviewer.importing.units import STDIN
from reviewer.importing.walking import Part

_ODD = re.compile(r"[^a-z0-9._]+")


def slug(text: str) -> str:
    """A name as a part of a suite id: lower case, safe as a file name; `unnamed` when nothing of
    it is left."""
    return _ODD.sub("-", text.lower()).strip("-._")[:80] or "unnamed"


def folder_names(path: Path, count: int) -> tuple[str, ...]:
    """The names of the folders a file lies in, nearest first; empty ones above the root, and for
    what was piped in: where that lies says nothing."""
    if path.name == STDIN:
        return ("",) * count
    names = [folder.name for folder in path.absolute().parents][:count]
    return (*names, *[""] * (count - len(names)))


def above(path: Path, most: int) -> Iterator[Path]:
    """The folder a file lies in, then those around it, at most `most` of them."""
    for number, folder in enumerate(path.absolute().parents):
        if number == most:
            return
        yield folder


def within(folder: Path, name: str) -> Path | None:
    """The file that a text out of a file names below `folder`; None when there is none, or when
    the name leads out of the folder."""
    if not name or len(name) > 512 or "\0" in name:
        return None
    try:
        found = (folder / name).resolve()
        return found if found.is_relative_to(folder.resolve()) and found.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


MOST = 5000
_ORIGINS = ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00")


def shown(path: Path) -> Any:
    """The first record of a file as far as its head shows it, None when it shows none."""
    try:
        return Head(path).first
    except (Unreadable, OSError):
        return None


def started_ms(stamp: Any) -> float:
    """A time in milliseconds since 1970, to put runs in order; infinity when nobody knows."""
    for origin in _ORIGINS:
        if (since := elapsed_ms(origin, stamp)) is not None:
            return since
    return float("inf")


def trials(source: Source, make: Callable[[bytes], Foreign]) -> Iterator[Foreign | Broken]:
    """What `make` gives of every record of a file, each on its own."""
    for piece in source.pieces():
        name = f"trial {piece.number}"
        if piece.problem:
            yield Broken((piece.problem,), name)
        else:
            yield source.attempt(partial(make, piece.raw), name)


def files_below(folder: Path, but: Path) -> tuple[Path, ...]:
    """Regular files below `folder` without `but`, links and what is too large to be read here, by
    path; at most `MOST` of them."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            file = Path(place, name)
            if file != but and not file.is_symlink() and _fits(file):
                found.append(file)
            if len(found) == MOST:
                return tuple(found)
    return tuple(found)


def _fits(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size <= MAX_RECORD
    except OSError:
        return False


def clipped(text: str, most: int) -> str:
    """A long text's start and end, with a mark between them."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def value_of(source: Source, part: Part) -> Any:
    """A part of a document as a value, None when it is none."""
    try:
        return None if part.problem else source.value(part.raw)
    except Rejected:
        return None
