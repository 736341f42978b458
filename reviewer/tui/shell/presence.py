"""Who else is at the workspace, as the screens show it; asked by the watch on the store."""

from typing import TYPE_CHECKING, Protocol

from reviewer.desk.errors import DeskError

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.presence.api import Present
    from reviewer.tui.settings.settings import Settings

EVERY = 8
"""Ticks of the watch (a quarter of a second each) between two looks."""


class Watching(Protocol):
    """The app, as far as this needs it."""

    desk: "Desk"

    @property
    def settings(self) -> "Settings": ...
    def where(self) -> str: ...
    def active(self) -> bool: ...
    def who_changed(self) -> None: ...


class Presence:
    """The people at the workspace: `found` is oneself first. Written by the watch's thread."""

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
        """Say where the reader is, and look who else is here, now and then."""
        self._ticks += 1
        if self._ticks % EVERY != 1 or not self._app.settings.presence:
            return
        desk, before = self._app.desk, self.found
        try:
            desk.presence.here(self._app.where(), desk.role or "", self._app.active())
            self.found = desk.presence.all()
        except DeskError:
            return  # a name that may not be written; labeling says so
        if self.found != before:
            self._app.who_changed()

    def leave(self) -> None:
        """The workstation closes."""
        if self.found:
            self._app.desk.presence.leave()
