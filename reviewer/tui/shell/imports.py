"""The imports of this process as they were last looked at."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.views import ImportOrder, ImportView
from reviewer.tui.views.jobs import import_ended

if TYPE_CHECKING:
    from reviewer.tui.shell.shell import Host


IMPORTING = frozenset({"reading", "pausing", "paused"})
"""States of an import that has not ended."""


class ImportsChanged(Message):
    """Something happened in an import."""


class LiveImports:
    """`views` are the imports, newest first, dry ones too. An import tells of itself from another
    thread as often as it likes; screens are told ten times a second at most."""

    EVERY: ClassVar[float] = 0.1

    def __init__(self, app: "Host") -> None:
        self._app = app
        self.views: Sequence[ImportView] = ()
        self._told = False
        self._looked = 0.0
        self._ended: set[int] = set()

    @property
    def at_work(self) -> list[ImportView]:
        """Imports that write and have not ended, newest first."""
        return [v for v in self.views if v.state in IMPORTING and not v.order.dry]

    def view(self, number: int) -> ImportView | None:
        """The import of that number as last seen."""
        return next((view for view in self.views if view.number == number), None)

    def start(
        self,
        order: ImportOrder,
        begun: Callable[[ImportView], None],
        failed: Callable[[DeskError], None],
    ) -> None:
        """Start an import off the thread that paints."""
        desk = self._app.desk

        def work() -> Callable[[], None]:
            view = desk.imports.start(order, self.tell).view()
            return lambda: done(view)

        def done(view: ImportView) -> None:
            self.look()
            begun(view)

        self._app.ask(f"import-{id(order)}", work, failed)

    def pause(self, view: ImportView) -> None:
        """Read no further than the batch under way."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).pause()

    def go_on(self, view: ImportView) -> None:
        """Let a paused one go on."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).go_on()

    def stop(self, view: ImportView) -> None:
        """End one; what was written stands."""
        with suppress(DeskError):
            self._app.desk.imports.handle(view.number).stop()

    def tell(self, _handle: object = None) -> None:
        """Something happened. Called from any thread; never waits, never raises."""
        if not self._told:
            self._told = True
            with suppress(RuntimeError):  # the loop of a screen that was left is closed
                self._app.post_message(ImportsChanged())

    def changed(self) -> None:
        """Look now, or as soon as the last look is long enough ago."""
        rest = self._looked + self.EVERY - monotonic()
        if rest > 0:
            self._app.set_timer(rest, self.look)
        else:
            self.look()

    def look(self) -> None:
        """Read the imports and tell the screens."""
        self._told = False
        self._looked = monotonic()
        self.views = self._app.desk.imports.views()
        here, top = self._app.here, self._app.screen
        for screen in (here, top if top is not here else None):
            if screen is not None and hasattr(screen, "imports_changed"):
                screen.imports_changed()
        for view in self._ended_now():
            if here is not None:
                here.tell(*import_ended(view))

    def _ended_now(self) -> list[ImportView]:
        """Imports that wrote and whose end was not told yet; each is given once."""
        fresh = [
            view
            for view in self.views
            if view.state not in IMPORTING and not view.order.dry and view.number not in self._ended
        ]
        self._ended.update(view.number for view in fresh)
        return fresh
