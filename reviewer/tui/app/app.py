"""The workstation's shell: places and the way back, the watch on the store, the theme, the keys."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.filter import LineFilter, Monochrome, NoColor
from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.tui.app.ahead import bring
from reviewer.tui.app.ending import SIGNALS, crash_console, ended_by_signals
from reviewer.tui.app.filters import AsciiOnly, SafeText, plain_terminal
from reviewer.tui.app.tidy import Tidy, tidied_in_pauses
from reviewer.tui.app.touring import Touring
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.settings import Settings, read
from reviewer.tui.settings.theme import DEFAULTS

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reviewer.desk.protocol import DeskProtocol
    from reviewer.desk.runs.views import RunOrder
    from reviewer.tui.screens.base import DeskScreen


class Around(NamedTuple):
    """Where an episode stands in the order of the scorecard it was opened from."""

    keys: Sequence[int]
    at: int


BROKEN = 40
"""The exit code of a workstation that broke, as of any command."""
LEVELS = 12
"""How many screens Esc can retrace."""


def _commands() -> type[Provider]:
    from reviewer.tui.app.commands import Acts

    return Acts


class ReviewerApp(Touring):
    """The workstation on one desk.

    `watch` polls the desk's version four times a second; tests that drive the clock themselves
    turn it off. `ascii_only` draws glyphs in ASCII (None: as the settings say, or the terminal's
    encoding). `runs` are started one after another once the first screen stands. `tour`: somebody
    may see this for the first time.
    """

    CSS = """
    Screen { background: $background; color: $foreground; }
    ModalScreen { align: center middle; background: $background 40%; }
    Input { border: none; height: 1; padding: 0; background: $background; color: $foreground; }
    Input:focus { border: none; background: $background; text-style: underline; }
    """
    TITLE = "reviewer"
    AUTO_FOCUS = None
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("S", "go('scorecard')"),
        bind("T", "go('trajectory')"),
        bind("L", "go('label')"),
        bind("Q", "go('queue')"),
        bind("A", "go('agreement')"),
        bind("C", "go('compare')"),
        bind("E", "go('trends')"),
        bind("J", "go('judge')"),
        bind("D", "go('decision')"),
        bind("R", "go('runs')"),
        bind("F", "go('search')"),
        bind("question_mark", "explain"),
        bind("escape", "back"),
        bind("q", "back"),
        bind("a", "approve"),
        bind("ctrl+t", "theme"),
        Binding(
            "ctrl+q",
            "quit",
            "quit",
            show=False,
            priority=True,
            id="quit",
            tooltip="Quit; asks first while a run goes on. What was written stays.",
        ),
    ]

    class StoreChanged(Message):
        """Somebody, here or elsewhere, wrote to the store."""

        def __init__(self, version: int) -> None:
            super().__init__()
            self.version = version

    def __init__(
        self,
        desk: "DeskProtocol",
        *,
        settings: Settings | None = None,
        watch: bool = True,
        ascii_only: bool | None = None,
        runs: "Sequence[RunOrder]" = (),
        tour: bool = False,
    ) -> None:
        super().__init__(desk, settings or Settings())
        self.animation_level = "none"
        self.version = 0
        self.suite_id = ""
        self.candidate_id = ""
        self.trace_id = ""
        self.around: Around | None = None
        self._orders = runs
        self._watching = watch
        self._stop = threading.Event()
        self._trail: list[DeskScreen] = []
        self._tidy = Tidy()
        self._brought = False
        self._offer_tour = tour
        if ascii_only is None:
            glyphs = self.settings.glyphs
            ascii_only = plain_terminal() if glyphs == "auto" else glyphs == "ascii"
        self._safety: list[LineFilter] = [SafeText(), *([AsciiOnly()] if ascii_only else [])]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our state colors, for any theme the reader picks."""
        return DEFAULTS

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, and ours last: no control character leaves, whoever drew it."""
        filters = [f for f in super().get_line_filters() if not isinstance(f, Monochrome)]
        if self.no_color and not any(isinstance(f, NoColor) for f in filters):
            filters.append(NoColor())
        return [*filters, *self._safety]

    # places ------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        from reviewer.tui.screens.scorecard.screen import ScorecardScreen

        self.visit(ScorecardScreen())
        self.take_settings()
        if self._offer_tour:
            self.first_time()
        if self._watching:
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
            self.set_interval(1.0, self._tick)
        self.call_after_refresh(self.live.begin, self._orders)

    @property
    def here(self) -> "DeskScreen | None":
        """The screen the reader is on, under any dialog."""
        return self._trail[-1] if self._trail else None

    def visit(self, screen: "DeskScreen") -> None:
        """Go to a screen, keeping the way back."""
        self._trail.append(screen)
        name = f"place-{id(screen)}"
        self.install_screen(screen, name)
        if len(self._trail) == 1:
            self.push_screen(screen)
        else:
            self.switch_screen(screen)
        while len(self._trail) > LEVELS + 1:
            self._leave(self._trail.pop(1))

    def _leave(self, screen: "DeskScreen") -> None:
        self.uninstall_screen(screen)
        self.call_later(screen.remove)

    async def action_back(self) -> None:
        """One level back; on the first screen nothing happens."""
        if len(self._trail) < 2:
            return
        left = self._trail.pop()
        await self.switch_screen(self._trail[-1])
        self._leave(left)

    def action_go(self, name: str) -> None:
        """Go to one of the screens of line 1."""
        from reviewer.tui.app.places import place

        if self.here is None or name == self.here.NAME:
            return
        found = place(self, name)
        if isinstance(found, str):
            self.here.say(found)
        else:
            self.visit(found)

    def exit(
        self, result: None = None, return_code: int = 0, message: "RenderableType | None" = None
    ) -> None:
        """As Textual's, once the screen on top stands: one that is cut off on its way up breaks."""
        if self._trail and all(screen.is_mounted for screen in self.screen_stack):
            super().exit(result, return_code, message)
        elif self.is_running:
            self.set_timer(0.01, lambda: self.exit(result, return_code, message))

    def action_explain(self) -> None:
        """Help for the screen on top."""
        from reviewer.tui.screens.help.screen import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def keys_moved(self) -> None:
        if self.here is not None:
            self.here.redraw()

    def problem(self, error: DeskError, again: Callable[[], None] | None = None) -> None:
        """Show an error in full: what is so, and the ways out. It waits for a blind screen."""
        from reviewer.tui.screens.dialogs.error import ErrorScreen

        if self.here is not None and self.here.BLIND:
            self.hold(lambda _: self.problem(error, again))
            return
        self.push_screen(ErrorScreen.of(error, again))

    async def on_event(self, event: events.Event) -> None:
        """As the tour's; the reader's hands are seen to move."""
        if isinstance(event, events.InputEvent):
            self._tidy.touched()
        await super().on_event(event)

    def _tick(self) -> None:
        self.live.tick()
        if self._tidy.tick() and not self._brought:
            self._brought = True
            bring()

    # the store ---------------------------------------------------------------------------------

    def _watch(self) -> None:
        known: int | None = None
        while not self._stop.wait(0.25):
            try:
                version = self.desk.version()
            except DeskError:
                continue  # the next question of a screen says what is wrong, in words
            if version != known:
                known = version
                self.post_message(self.StoreChanged(version))

    def on_reviewer_app_store_changed(self, message: StoreChanged) -> None:
        if message.version == self.version:
            return
        self.version = message.version
        if self.here is not None:
            self.here.store_changed()

    async def on_unmount(self) -> None:
        self._stop.set()


def run(
    desk: "DeskProtocol",
    *,
    settings: Settings | None = None,
    runs: "Sequence[RunOrder]" = (),
    tour: bool = False,
) -> int:
    """Open the workstation on a desk and stay until the reader quits. The exit code: 0, 128 + the
    number of the signal that ended it, 40 when it broke.

    `settings` are those of the person at the terminal unless given. `runs` are started one after
    another; with nothing on screen yet, the first is followed. `tour`: the example is shown, to
    somebody who may see it for the first time.
    """
    settings = settings or read()
    app = ReviewerApp(desk, settings=settings, runs=runs, tour=tour)
    app.error_console = crash_console()
    with ended_by_signals(app), tidied_in_pauses():
        app.run(mouse=settings.mouse)
    code = app.return_code or 0
    return code if code in (0, *(128 + number for number in SIGNALS)) else BROKEN
