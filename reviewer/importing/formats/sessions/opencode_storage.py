"""Where OpenCode before version 2 keeps the messages of a session, and the parts of each: one JSON
file for every one of them."""

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reviewer.importing.formats.base import mapping, text, whole_value

_MOST = 50_000


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
    return _lost(above, folders.parts, state).get(own, ())


@lru_cache(maxsize=4)
def _lost(messages: Path, parts: Path, state: tuple[int, ...]) -> dict[str, tuple[Path, ...]]:
    known = {file.stem for folder in _below(messages) for file in files_in(folder)}
    found: dict[str, tuple[Path, ...]] = {}
    for folder in _below(parts):
        if folder.name not in known and (files := files_in(folder)):
            own = text(mapping(whole_value(files[0])).get("sessionID"))
            found[own] = (*found.get(own, ()), folder)
    return found


def _below(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as held:
            return sorted(Path(one.path) for one in held if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def files_in(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))[:_MOST]
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(".json")]
