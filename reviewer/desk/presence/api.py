"""Who is working in a workspace now: a small file for each open workstation, next to the store.

The files are no evidence: nothing is signed over them, no report names them, and a file that is
broken or left behind by a killed program is ignored. They never say which item a person has open.
"""

from __future__ import annotations  # names used only in annotations are not imported

import os
import platform
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reviewer.desk.opened import DeskState, Room
from reviewer.desk.presence.claims import GONE as GONE
from reviewer.desk.presence.claims import Claim, claims_in, folder_made
from reviewer.desk.views import View

BEAT = 10.0
"""Seconds after which an open workstation refreshes its file."""
FORGOTTEN = 3600.0
"""Seconds after which a person who left is no longer listed, and their file is removed."""
LARGEST, MOST = 4096, 200
"""Most bytes of a file, and most files, that are read."""


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a file. `via` is SSH or browser, "" at the machine itself."""

    name: str
    screen: str
    since: str
    host: str
    via: str
    role: str


class Present(View, frozen=True):
    """A person in the workspace: the `screen` they are on and since when (`since`: HH:MM, UTC).
    `me` is the viewer; `left` counts the minutes since they left, None while they are present.
    `labeling`: since when they have an item open, in seconds since 1970, never which."""

    name: str
    screen: str
    since: str
    host: str
    via: str
    role: str
    me: bool
    left: int | None
    labeling: float | None = None


class PresenceRoom(Room):
    """Records that this workstation is open, and lists the other open ones."""

    def __init__(self, opened: DeskState) -> None:
        super().__init__(opened)
        self._folder = opened.place.store.parent / "presence"
        self._file = self._folder / f"{opened.workstation}.json"
        self._said: _Said | None = None
        self._beat = 0.0

    def here(self, screen: str, role: str = "", active: bool = True) -> None:
        """Record the screen of this desk's person, if it changed or the record is old. A folder
        that cannot be written is not an error: the person is then not listed. The person keeps
        their open item while they are `active`."""
        if not self._opened.has_store():
            return
        if active:
            self._opened.claims.renew()
        before, now = self._said, time.monotonic()
        if before is not None and before.screen == screen and now - self._beat < BEAT:
            return
        said = _Said(
            name=self._opened.reviewer_name(), screen=screen, role=role, host=platform.node(),
            since=before.since if before else f"{datetime.now(UTC):%H:%M}", via=_via(role),
        )  # fmt: skip
        with suppress(OSError):
            folder_made(self._folder)
            made = self._file.with_suffix(".new")
            made.write_bytes(msgspec.json.encode(said))
            made.replace(self._file)
            self._said, self._beat = said, now

    def all(self) -> tuple[Present, ...]:
        """Return who is present and who left within the hour: this person first, then those
        present, each by name."""
        claims = claims_in(self._folder)
        found = [one for path in self._files() if (one := self._read(path, claims)) is not None]
        found.sort(key=lambda one: (not one.me, one.left is not None, one.left or 0, one.name))
        return tuple(found)

    def leave(self) -> None:
        """Record that this workstation was closed: others see the time for an hour, and may get its
        item."""
        self._opened.claims.release()
        if self._said is not None:
            with suppress(OSError):
                gone = time.time() - GONE
                os.utime(self._file, (gone, gone))
            self._said = None

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return sorted(self._folder.glob("*.json"))[:MOST]
        return []

    def _read(self, path: Path, claims: dict[str, Claim]) -> Present | None:
        try:
            silent = time.time() - path.stat().st_mtime
            if silent > FORGOTTEN:
                path.unlink()
                return None
            with path.open("rb") as file:
                said = msgspec.json.decode(file.read(LARGEST + 1), type=_Said)
        except (OSError, ValueError):  # half written, removed by another, or an unknown file
            return None
        left = None if silent < GONE else int((silent - GONE) // 60)
        claim = claims.get(path.stem)
        return Present(
            name=said.name, screen=said.screen, since=said.since, host=said.host, via=said.via,
            role=said.role, me=path == self._file, left=left,
            labeling=None if claim is None else claim.since,
        )  # fmt: skip


def _via(role: str) -> str:
    """Return how a person is connected: by a page of `serve`, over SSH, or locally."""
    if role:
        return "browser"
    return "SSH" if os.environ.get("SSH_CONNECTION") else ""
