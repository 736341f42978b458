"""Where OpenCode before version 2 keeps the messages of a session, and the parts of each: one JSON
file for every one of them."""

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reviewer.importing.formats.base import mapping, text, whole_value
from reviewer.importing.pipeline.opening import start_of
from reviewer.importing.pipeline.split import Unreadable

_INFO = 1 << 16
_PARENT = re.compile(rb'"parentID"\s*:\s*"(ses_\w{1,60})"')


class Folders(NamedTuple):
    messages: Path
    parts: Path
    """A folder for each message in it."""


def folders_of(path: Path) -> Folders | None:
    """Return where the messages and parts of a stored session are; None if it is not stored in that
    form."""
    if not path.name.startswith("ses_"):
        return None
    first, own = path.parent.parent, path.stem
    if path.parent.name == "info" and (first / "message").is_dir():  # before 0.6
        return Folders(first / "message" / own, first / "part" / own)
    root = first.parent
    return Folders(root / "message" / own, root / "part") if (root / "message").is_dir() else None


def without_message(folders: Folders, own: str) -> tuple[Path, ...]:
    """Return the folders of parts of a session whose message has no file."""
    if folders.parts.name == own:  # before 0.6: a folder of its own
        known = {file.stem for file in files_in(folders.messages)}
        return tuple(one for one in _below(folders.parts) if one.name not in known)
    above = folders.messages.parent
    state = tuple(_changed(one) for one in (folders.parts, *_below(above)))
    lost = _lost(above, folders.parts, state)
    return tuple(dict.fromkeys((*lost.get(own, ()), *lost.get("", ()))))


@lru_cache(maxsize=4)
def _lost(messages: Path, parts: Path, state: tuple[int, ...]) -> dict[str, tuple[Path, ...]]:
    """Return session → the folders of parts without a message in which a file names it; under an
    empty name those in which no file names any: they may be of each session."""
    known = {file.stem for folder in _below(messages) for file in files_in(folder)}
    found: dict[str, tuple[Path, ...]] = {}
    for folder in _below(parts):
        if folder.name in known or not (files := files_in(folder)):
            continue
        named = {text(mapping(whole_value(file)).get("sessionID")) for file in files}
        for own in named - {""} or {""}:
            found[own] = (*found.get(own, ()), folder)
    return found


def children_of(folder: Path, own: str) -> tuple[Path, ...]:
    """Return the sessions of a folder that name one as their parent."""
    return _parents(folder, _changed(folder)).get(own, ())


@lru_cache(maxsize=4)
def _parents(folder: Path, state: int) -> dict[str, tuple[Path, ...]]:
    found: dict[str, tuple[Path, ...]] = {}
    for path in sorted(filter(Path.is_file, folder.glob("*.json"))):
        try:
            named = _PARENT.search(start_of(path, _INFO))
        except (OSError, Unreadable):
            continue
        if named:
            own = named[1].decode()
            found[own] = (*found.get(own, ()), path)
    return found


def _below(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as held:
            return sorted(Path(one.path) for one in held if one.is_dir())
    except OSError:
        return []


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def files_in(folder: Path) -> list[Path]:
    """Return the files in a folder and below it, except hidden ones, and pipes and devices, which
    may have no end."""
    found = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if not path.name.startswith(".") and path.is_file())
