"""What readers take from where a file lies: safe names, files above it, all below its folder."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from reviewer.importing.split import MAX_RECORD
from reviewer.importing.units import STDIN

_ODD = re.compile(r"[^a-z0-9._]+")


def slug(text: str) -> str:
    """Return a name as a part of a suite id: lower case, safe as a file name; `unnamed` when
    nothing of it is left."""
    return _ODD.sub("-", text.lower()).strip("-._")[:80] or "unnamed"


def folder_names(path: Path, count: int) -> tuple[str, ...]:
    """Return the names of the folders a file lies in, nearest first. Names are empty above the
    root, and for standard input: its place says nothing."""
    if path.name == STDIN:
        return ("",) * count
    names = [folder.name for folder in path.absolute().parents][:count]
    return (*names, *[""] * (count - len(names)))


def above(path: Path, most: int) -> Iterator[Path]:
    """Yield the folder a file lies in, then those around it, at most `most` of them."""
    for number, folder in enumerate(path.absolute().parents):
        if number == most:
            return
        yield folder


def within(folder: Path, name: str) -> Path | None:
    """Return the file that a text out of a file names below `folder`; None when there is none, or
    when the name leads out of the folder."""
    if not name or len(name) > 512 or "\0" in name:
        return None
    try:
        found = (folder / name).resolve()
        return found if found.is_relative_to(folder.resolve()) and found.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


MOST = 5000


def files_below(folder: Path, but: Path) -> tuple[Path, ...]:
    """Return regular files below `folder`, by path, at most `MOST` of them; without `but`, links,
    and files too large to be read here."""
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
