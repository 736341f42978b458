"""The other people at the workspace, for the screens; updated by the watch on the store."""

from typing import TYPE_CHECKING, Protocol

from reviewer.desk.errors import DeskError

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.presence.api import Present
    from reviewer.tui.settings.settings import Settings

EVERY = 8
"""Ticks of the watch (a quarter of a second each) between two updates."""


class Watching(Protocol):
    """The part of the app that this module needs."""

    desk: "Desk"

    @property
    def settings(self) -> "Settings": ...
    def where(self) -> str: ...
    def active(self) -> bool: ...
    def who_changed(self) -> None: ...


class Presence:
    """The people at the workspace: `found` begins with oneself. Written by the watch's thread."""

    def __init__(self, app: Watching) -> None:
        self._app = app
        self._ticks = 0
        self.found: tuple[Present, ...] = ()

    @property
    def others(self) -> tuple[str, ...]:
        """The names of the others who are here, each once."""
        here = (one.name for one in self.found if not one.me and one.left is None)
        return tuple(dict.fromkeys(here))

    def tick(self) -> None:
        """Record where the reader is, and read who else is here, every few ticks."""
        self._ticks += 1
        if self._ticks % EVERY != 1 or not self._app.settings.presence:
            return
        desk, before = self._app.desk, self.found
        try:
            desk.presence.here(self._app.where(), desk.role or "", self._app.active())
            self.found = desk.presence.all()
        except DeskError:
            return  # a name that may not be recorded; labeling reports it
        if self.found != before:
            self._app.who_changed()

    def leave(self) -> None:
        """Remove this person: the workstation closes."""
        if self.found:
            self._app.desk.presence.leave()
