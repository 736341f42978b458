"""Which item each person has open for labeling: a lease on it, in a file beside the presence.

A claim has one effect: others are given another item meanwhile. It prevents no label, and it is no
evidence. Losing a claim loses only that order, so a file that is broken, left behind or cannot be
written is ignored. A claim ends with the label, when its person leaves the item, when their
workstation stops refreshing, and a quarter of an hour after their last key press.
"""

from __future__ import annotations  # names used only in annotations are not imported

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING

import msgspec

from reviewer.desk.views import View

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LEASE = 900.0
"""Seconds that a claim lasts after it was last renewed."""
BEAT = 10.0
"""Seconds between two writings of a claim that is kept alive."""
GONE = 30.0
"""Seconds without a refresh after which a workstation is taken to have ended."""
PATIENCE = 1.0
"""Seconds to wait for others who are choosing an item; after that the choice is made without the
lock."""
LARGEST, MOST = 1024, 200
"""Most bytes of a file, and most files, that are read."""


def clock() -> float:
    """Return the present time in seconds since 1970."""
    return time.time()


def ago(seconds: float) -> str:
    """Return how long ago something was, in words."""
    if seconds < 60:
        return "just now"
    units = ((86400, "d"), (3600, "h"), (60, "min"))
    size, unit = next(each for each in units if seconds >= each[0])
    return f"{int(seconds // size)} {unit} ago"


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a file: whose claim it is, on which item, since when, and when it was
    renewed."""

    name: str
    item: str
    since: float
    renewed: float


class Claim(View, frozen=True):
    """An item that a person has had open since a time, in seconds since 1970."""

    name: str
    item: str
    since: float


def folder_made(folder: Path) -> None:
    """Create the folder of the presence, and make version control ignore it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_bytes(b"*\n")


def claims_in(presence: Path) -> dict[str, Claim]:
    """Return the claims that are in force, by workstation. `presence` is the folder of the presence
    files."""
    found = {}
    with suppress(OSError):
        for path in sorted((presence / "claims").glob("*.json"))[:MOST]:
            kept = _read(path)
            if kept is not None and not _silent(presence / path.name):
                found[path.stem] = Claim(name=kept.name, item=kept.item, since=kept.since)
    return found


def _read(path: Path) -> _Kept | None:
    """Return the claim in a file; None when it has ended, or when the file is not a claim."""
    try:
        with path.open("rb") as file:
            kept = msgspec.json.decode(file.read(LARGEST + 1), type=_Kept)
    except (OSError, ValueError):
        return None
    return kept if abs(clock() - kept.renewed) < LEASE else None


def _silent(present: Path) -> bool:
    """Return whether a workstation that recorded its presence has stopped refreshing it. A
    workstation that never did (a program that labels) keeps its claim for the whole lease."""
    try:
        return clock() - present.stat().st_mtime >= GONE
    except OSError:
        return False


class Claims:
    """The claims in one workspace; this desk, `workstation`, has one at most. Safe to share between
    threads."""

    def __init__(self, presence: Path, workstation: str) -> None:
        self._presence, self._name = presence, f"{workstation}.json"
        self._lock = RLock()
        self._kept: _Kept | None = None

    def others(self, reviewer: str) -> tuple[Claim, ...]:
        """Return the items that other people have open, the longest held first. The same person at
        another desk is not another person: after a workstation was killed they continue with their
        own item."""
        found = (each for each in claims_in(self._presence).values() if each.name != reviewer)
        return tuple(sorted(found, key=lambda each: (each.since, each.name)))

    @contextmanager
    def choosing(self, reviewer: str) -> Iterator[tuple[Claim, ...]]:
        """Yield the claims of others, while nobody else chooses an item."""
        with self._lock, self._alone():
            yield self.others(reviewer)

    def take(self, reviewer: str, item: str | None) -> None:
        """Claim an item in place of the previous one; None claims nothing."""
        with self._lock:
            if item is None:
                self.release()
                return
            now = clock()
            same = self._kept is not None and self._kept.item == item
            since = self._kept.since if same and self._kept else now
            self._write(_Kept(name=reviewer, item=item, since=since, renewed=now))

    def renew(self) -> None:
        """Keep the claim in force: its person still works on the item."""
        with self._lock:
            kept = self._kept
            if kept is not None and clock() - kept.renewed >= BEAT:
                self._write(msgspec.structs.replace(kept, renewed=clock()))

    def release(self, item: str = "") -> None:
        """Release the claim; with an `item`, only if the claim is on it."""
        with self._lock:
            if self._kept is not None and item in ("", self._kept.item):
                self._kept = None
                with suppress(OSError):
                    (self._presence / "claims" / self._name).unlink()

    def labeled(self, reviewer: str, item: str) -> None:
        """End every claim of a person on an item that they have labeled: a killed workstation of
        theirs may have left one."""
        self.release(item)
        with suppress(OSError):
            for path in list((self._presence / "claims").glob("*.json"))[:MOST]:
                kept = _read(path)
                if kept is not None and (kept.name, kept.item) == (reviewer, item):
                    path.unlink()

    def _write(self, kept: _Kept) -> None:
        self._kept = kept
        with suppress(OSError):
            path = self._made() / self._name
            beside = path.with_suffix(".new")
            beside.write_bytes(msgspec.json.encode(kept))
            beside.replace(path)

    def _made(self) -> Path:
        folder_made(self._presence)
        folder = self._presence / "claims"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock on choosing; continue without it where it cannot be obtained, so that
        nobody is kept waiting."""
        try:
            folder = self._made()
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(folder / "choosing.lock", flags, 0o600)
        except OSError:
            yield
            return
        try:
            until = time.monotonic() + PATIENCE
            while not _locked(handle) and time.monotonic() < until:
                time.sleep(0.005)
            self._tidy(folder.glob("*.json"))
            yield
        finally:
            os.close(handle)

    def _tidy(self, files: Iterable[Path]) -> None:
        """Remove claims that have ended."""
        with suppress(OSError):
            for path in list(files)[:MOST]:
                if path.name != self._name and _read(path) is None:
                    path.unlink()


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
