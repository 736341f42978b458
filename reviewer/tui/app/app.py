"""The workstation's shell: places and the way back, the watch on the store, the theme, the keys."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, Monochrome, NoColor
from textual.message import Message

from reviewer.desk.errors import DeskError
from reviewer.tui.app.finding import find
from reviewer.tui.app.leaving import Leaving
from reviewer.tui.app.places import bring, named, screen_of
from reviewer.tui.app.preferences import KeysClash, Preferences
from reviewer.tui.app.terminal import (
    REST,
    SIGNALS,
    AsciiOnly,
    SafeText,
    Tidy,
    crash_console,
    ended_by_signals,
    plain_terminal,
    short_turns,
    tidied_in_pauses,
)
from reviewer.tui.app.tour import Tour
from reviewer.tui.settings.keys import bind, key_of, written
from reviewer.tui.settings.panes import Panes
from reviewer.tui.settings.settings import Settings, read, state_folder
from reviewer.tui.settings.theme import DEFAULTS
from reviewer.tui.shell.background import Answer, Background, Delivery, Job
from reviewer.tui.shell.jobs import JobsChanged, LiveImports, LiveJudge, LiveRuns
from reviewer.tui.shell.labeling import Labeling
from reviewer.tui.shell.places import Around, Place, ToScorecard
from reviewer.tui.shell.presence import Presence
from reviewer.tui.shell.timers import FiringTimers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.actions import ActionParseResult
    from textual.dom import DOMNode

    from reviewer.desk.desk import Desk
    from reviewer.desk.runs.api import RunOrder
    from reviewer.tui.screens.base import DeskScreen
    from reviewer.tui.shell.shell import Here


BROKEN = 40
"""The exit code of a workstation that crashed, as of any command."""
LEVELS = 12
"""The number of screens Esc can retrace."""


class ReviewerApp(FiringTimers, App[None]):
    """The workstation on one desk.

    `watch` polls the desk's version four times a second; tests that control the clock turn it off.
    `ascii_only` draws glyphs in ASCII (None: as the settings say, or the terminal's encoding).
    `runs` are started one after another once the first screen is shown. `tour`: the user may be
    seeing the program for the first time. `panes` keeps which regions are folded, and their sizes.
    """

    CSS = """
    Screen { background: $background; color: $foreground; }
    ModalScreen { align: center middle; background: $background 40%; }
    ModalScreen:ansi { background: transparent; }
    Input { border: none; height: 1; padding: 0; background: $background; color: $foreground; }
    Input:focus { border: none; background: $background; text-style: underline; }
    """
    TITLE = "reviewer"
    AUTO_FOCUS = None
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("space", "tour_on", "the tour's next step"),
        bind("S", "go('scorecard')"),
        bind("T", "go('trajectory')"),
        bind("L", "go('label')"),
        bind("Q", "go('queue')"),
        bind("A", "go('agreement')"),
        bind("C", "go('compare')"),
        bind("E", "go('trends')"),
        bind("U", "go('suite')"),
        bind("P", "go('patterns')"),
        bind("J", "go('judge')"),
        bind("D", "go('decision')"),
        bind("R", "go('runs')"),
        bind("F", "go('search')"),
        bind("I", "go('sessions')"),
        bind("question_mark", "explain"),
        Binding(
            "escape",
            "unzoom",
            "all regions again",
            show=False,
            priority=True,
            id="back",
            tooltip="Show all regions again.",
        ),
        bind("escape", "back"),
        bind("q", "close"),
        bind("colon", "find"),
        Binding(
            "ctrl+p",
            "palette",
            "acts by name",
            show=False,
            priority=True,
            id="palette",
            tooltip="Find every act of every screen by its name.",
        ),
        bind("Z", "zoom"),
        bind("K", "size(1)"),
        bind("underscore", "size(-1)"),
        bind("a", "approve"),
        bind("at", "who"),
        bind("ctrl+t", "theme"),
        Binding(
            "ctrl+q",
            "quit",
            "quit",
            show=False,
            priority=True,
            id="quit",
            tooltip="Quit; asks first during a run. Everything saved is kept.",
        ),
    ]

    class StoreChanged(Message):
        """Someone, in this program or another, wrote to the store."""

        def __init__(self, version: int) -> None:
            super().__init__()
            self.version = version

    class WhoChanged(Message):
        """Other people at the workspace came, left, or went to another screen."""

    def __init__(
        self,
        desk: "Desk",
        *,
        settings: Settings | None = None,
        watch: bool = True,
        ascii_only: bool | None = None,
        runs: "Sequence[RunOrder]" = (),
        tour: bool = False,
        first: "Sequence[Place]" = (),
        panes: Panes | None = None,
    ) -> None:
        super().__init__()
        self._first = first
        self.panes = panes or Panes()
        self.preferences = Preferences(self, settings or Settings())
        self.desk = desk
        self.background = Background()
        self.live = LiveRuns(self)
        self.judging = LiveJudge(self)
        self.importing = LiveImports(self)
        self.labeling = Labeling()
        self.presence = Presence(self)
        self.leaving = Leaving(self)
        self.tour = Tour(self)
        self.animation_level = "none"
        self.version = 0
        self.suite_id = ""
        self.candidate_id = ""
        self.trace_id = ""
        self.around: Around | None = None
        self._held: list[Callable[[Here], None]] = []
        self._orders = runs
        self._watching = watch
        self._stop = threading.Event()
        self._trail: list[DeskScreen] = []
        self._tidy = Tidy()
        self._brought = False
        self._rest_due = False
        self._offer_tour = tour
        if ascii_only is None:
            glyphs = self.settings.glyphs
            ascii_only = plain_terminal() if glyphs == "auto" else glyphs == "ascii"
        self._safety: list[LineFilter] = [SafeText(), *([AsciiOnly()] if ascii_only else [])]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our state colors, for any theme the reader picks."""
        return DEFAULTS

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's filters, and ours last: no control character reaches the terminal,
        whichever widget drew it."""
        filters = [f for f in super().get_line_filters() if not isinstance(f, Monochrome)]
        if self.no_color and not any(isinstance(f, NoColor) for f in filters):
            filters.append(NoColor())
        return [*filters, *self._safety]

    # places ------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        for place in self._first or (ToScorecard("", ""),):
            self.visit(place)
        self.preferences.take_settings()
        if self._offer_tour:
            self.tour.first_time()
        if self._watching:
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
            self.set_interval(1.0, self._tick)
        self.call_after_refresh(self.live.begin, self._orders)

    @property
    def here(self) -> "DeskScreen | None":
        """The screen the reader is on, under any dialog."""
        return self._trail[-1] if self._trail else None

    def visit(self, place: "Place | DeskScreen") -> "DeskScreen":
        """Go to a place or a screen, keeping the way back; return the screen."""
        screen = screen_of(self, place) if isinstance(place, tuple) else place
        if self._trail:
            self._close_dialogs()
            self.background.leave(self._trail[-1].reader)
        self._trail.append(screen)
        name = f"place-{id(screen)}"
        self.install_screen(screen, name)
        if len(self._trail) == 1:
            self.push_screen(screen)
        else:
            self.switch_screen(screen)
        while len(self._trail) > LEVELS + 1:
            self._leave(self._trail.pop(1))
        return screen

    def _close_dialogs(self) -> None:
        """Close what is open over the present screen, such as a dialog that was asked for before a
        key that leads elsewhere: the next screen would take its place, and leave this one below."""
        here = self._trail[-1]
        while here in self.screen_stack and self.screen is not here:
            self.pop_screen()

    def _leave(self, screen: "DeskScreen") -> None:
        self.background.forget(screen.reader)
        self.uninstall_screen(screen)
        self.call_later(screen.remove)

    def action_zoom(self) -> None:
        """Show the region in focus alone, or all of them again."""
        if self.here is not None and self.screen is self.here:
            self.here.zoom()

    def action_size(self, step: int) -> None:
        """Give the region in focus more lines, or fewer."""
        if self.here is not None and self.screen is self.here:
            self.here.resize_region(step)

    def action_unzoom(self) -> None:
        """Show all regions again."""
        self.action_zoom()

    async def action_back(self) -> None:
        """Go back one screen; on the first screen, say how to quit."""
        if len(self._trail) < 2:
            if self.here is not None:
                quits = key_of("back.q")
                self.here.say(f"top level, ctrl+q or {quits} quits; capitals go to other screens")
            return
        self._close_dialogs()
        left = self._trail.pop()
        self.background.come_back(self._trail[-1].reader)
        await self.switch_screen(self._trail[-1])
        self._leave(left)

    async def action_close(self) -> None:
        """Go back one screen; on the first screen, ask whether to quit."""
        if len(self._trail) < 2:
            await self.leaving.quit(asking=True)
        else:
            await self.action_back()

    def find(
        self,
        text: str = "",
        take: Callable[[str, str], None] | None = None,
        at: tuple[str, str] = ("", ""),
    ) -> None:
        """Open the finder, places first."""
        find(self, text, take, at, acts_first=False)

    def action_find(self) -> None:
        """Go to anything by its name, or to an event by its number."""
        self.find()

    def action_palette(self) -> None:
        """Open the finder with every act by its name; in the open finder, put acts first or
        last."""
        find(self, "", None, ("", ""), acts_first=True)

    def action_go(self, name: str) -> None:
        """Go to one of the screens of line 1."""
        if self.here is None or name == self.here.NAME:
            return
        found = named(self, name)
        if isinstance(found, str):
            self.here.say(found)
        else:
            self.visit(found)

    def exit(
        self, result: None = None, return_code: int = 0, message: "RenderableType | None" = None
    ) -> None:
        """Exit as Textual does, but only after the screens are mounted: closing an unmounted screen
        crashes."""
        if self._trail and all(screen.is_mounted for screen in self.screen_stack):
            super().exit(result, return_code, message)
        elif self.is_running:
            self.set_timer(0.01, lambda: self.exit(result, return_code, message))

    def action_explain(self) -> None:
        """Show help for the screen on top."""
        from reviewer.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def problem(self, error: DeskError, again: Callable[[], None] | None = None) -> None:
        """Show an error in full: the fact, and the ways out. The error waits while the screen is
        blind."""
        from reviewer.tui.screens.dialogs.error import ErrorScreen

        if self.here is not None and self.here.BLIND:
            self.hold(lambda _: self.problem(error, again))
            return
        self.push_screen(ErrorScreen.of(error, again))

    def _tick(self) -> None:
        if self.here is None or not self.here.there:
            return  # the program is exiting
        self.live.tick()
        if self._tidy.tick() and not self._brought:
            self._brought = True
            bring(self._tidy.grew)

    def _touched(self) -> None:
        """Note that the reader did something, and start waiting for the next pause."""
        self._tidy.touched()
        self.background.typed()
        if self._watching and not self._rest_due:
            self._rest_due = True
            self.set_timer(REST, self._at_rest)

    def _at_rest(self) -> None:
        left = REST - self._tidy.quiet
        if left > 0:
            self.set_timer(left, self._at_rest)
        else:
            self._rest_due = False
            self._tidy.rest()

    # jobs --------------------------------------------------------------------------------------

    def hold(self, words: "Callable[[Here], None]") -> None:
        """Keep words for the next screen that may name candidates."""
        self._held.append(words)

    def release(self) -> None:
        """Say the words that were kept, on the screen the reader is on."""
        if self.here is not None and not self.here.BLIND:
            held, self._held = self._held, []
            for words in held:
                words(self.here)

    def ask(
        self,
        group: str,
        work: Callable[[], Delivery],
        failed: Callable[[DeskError], None] | None = None,
    ) -> None:
        """Ask the desk outside the drawing thread; only the newest question of a group is
        answered."""

        def post(deliver: Delivery) -> None:
            self.post_message(Answer(deliver))

        self.background.ask(group, Job(work, failed or self.problem, post))

    def on_answer(self, message: Answer) -> None:
        if self.screen_stack:  # no screen while the program ends
            message.deliver()

    def on_jobs_changed(self, message: JobsChanged) -> None:
        message.changed()

    def action_approve(self) -> None:
        """Answer the calls that wait for an approval, one after another."""
        if self.here is not None and self.here.BLIND:
            self.here.say("calls cannot be answered while you label: Esc puts the item back first")
        elif self.live.approvals:
            from reviewer.tui.screens.runs.dialogs import ApproveScreen

            self.push_screen(ApproveScreen())
        elif self.live.turns:
            from reviewer.tui.screens.runs.talk import TalkScreen

            self.push_screen(TalkScreen())
        elif self.here is not None:
            self.here.say("no call waits for an answer")

    async def action_quit(self) -> None:
        """Quit; asks first while a run or a judge goes on."""
        await self.leaving.quit()

    # settings ----------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.preferences.settings

    def wear(self, theme: str) -> None:
        """Draw in a theme of the settings without saving it."""
        self.preferences.wear(theme)

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and save it; return a message about the result."""
        return self.preferences.choose_theme(theme)

    def on_keys_clash(self, message: KeysClash) -> None:
        self.preferences.default_keys(message.why)
        if self.here is not None:
            self.here.redraw()

    def get_key_display(self, binding: Binding) -> str:
        """Return a key as our help writes it."""
        return written(binding.key)

    def bell(self) -> None:
        """Ring, unless the settings say not to."""
        if self.settings.bell:
            super().bell()

    def action_who(self) -> None:
        """List who is at this workspace now."""
        from reviewer.tui.screens.dialogs.who import WhoScreen

        if not isinstance(self.screen, WhoScreen):
            self.push_screen(WhoScreen())

    def action_theme(self) -> None:
        """Choose the colors."""
        from reviewer.tui.screens.settings import ThemesScreen

        if not isinstance(self.screen, ThemesScreen):
            self.push_screen(ThemesScreen())

    def action_settings(self) -> None:
        """Show the settings in force, and where each comes from."""
        from reviewer.tui.screens.settings import SettingsScreen

        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen())

    def common_acts(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        """Yield acts without a key of their own, for the palette of every screen."""
        yield "Tour", "A tour of the screens in nine steps.", self.begin_tour
        yield (
            "Settings",
            "The settings in force, and the file that sets each.",
            self.action_settings,
        )
        yield from self.preferences.theme_acts()

    # the tour ----------------------------------------------------------------------------------

    def begin_tour(self) -> None:
        """Begin the tour at its first step, if there is a candidate."""
        if not self.candidate_id and self.here is not None:
            self.here.say("the tour needs a candidate: reviewer demo shows it on the example")
        else:
            self.tour.begin()

    def action_tour_on(self) -> None:
        """Go to the next step of the tour."""
        self.tour.go_on()

    def action_tour_off(self) -> None:
        """Leave the tour."""
        self.tour.leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable keys of the tour only during a tour, and never under a dialog; enable Esc for a
        zoom only during a zoom."""
        if action == "unzoom":
            here = self.here
            return here is not None and self.screen is here and here.zoomed.region is not None
        if action in ("tour_on", "tour_off"):
            return self.tour.at is not None and self.screen is self.here
        return super().check_action(action, parameters)

    async def on_event(self, event: events.Event) -> None:
        """Handle an event as Textual does. Note that the reader is active; Esc first leaves the
        tour, whatever else it means on the screen."""
        if isinstance(event, events.InputEvent):
            self._touched()
        escape = isinstance(event, events.Key) and event.key == "escape"
        if escape and not event.is_forwarded and self.check_action("tour_off", ()):
            self.tour.leave()
        else:
            await super().on_event(event)

    async def run_action(
        self,
        action: "str | ActionParseResult",
        default_namespace: "DOMNode | None" = None,
        namespaces: "Mapping[str, DOMNode] | None" = None,
    ) -> bool:
        """Run an action as Textual does, and report it to the tour."""
        done = await super().run_action(action, default_namespace, namespaces)
        if done and self.tour.at is not None:
            name = action[1] if isinstance(action, tuple) else action.partition("(")[0]
            self.tour.did(name.rpartition(".")[2])
        return done

    # the store ---------------------------------------------------------------------------------

    def _watch(self) -> None:
        known: int | None = None
        while not self._stop.wait(0.25):
            try:
                version = self.desk.version()
            except DeskError:
                continue  # the screen's next question reports the problem
            if version != known:
                known = version
                self.post_message(self.StoreChanged(version))
            self.presence.tick()

    def on_reviewer_app_store_changed(self, message: StoreChanged) -> None:
        if message.version == self.version:
            return
        self.version = message.version
        if self.here is not None and self.screen_stack:
            self.here.store_changed()

    def where(self) -> str:
        """Return the name of the screen the reader is on."""
        return self.here.NAME if self.here is not None else ""

    def active(self) -> bool:
        """Return whether the reader has done anything lately: an item that an idle reader left open
        is not reserved."""
        from reviewer.desk.presence.claims import LEASE

        return self._tidy.quiet < LEASE

    def who_changed(self) -> None:
        """Draw the screen again: someone came, left, or went to another screen. From any thread."""
        self.post_message(self.WhoChanged())

    def on_reviewer_app_who_changed(self, message: WhoChanged) -> None:
        from reviewer.tui.screens.dialogs.who import WhoScreen

        if not self.screen_stack:  # no screen while the program ends
            return
        if isinstance(self.screen, WhoScreen):
            self.screen.who_changed()
        if self.here is not None:
            self.here.who_changed()

    async def on_unmount(self) -> None:
        self._stop.set()
        self.presence.leave()


def run(
    desk: "Desk",
    *,
    settings: Settings | None = None,
    runs: "Sequence[RunOrder]" = (),
    tour: bool = False,
    first: "Sequence[Place]" = (),
) -> int:
    """Open the workstation on a desk and stay until the reader quits. Return the exit code: 0, 128
    + the number of the signal that ended it, 40 when it crashed.

    `settings` are those of the person at the terminal unless given. `runs` are started one after
    another; with nothing on screen yet, the first is followed. `tour`: the example is shown to
    someone who may be seeing it for the first time. `first` are the places to open, the last on
    top.
    """
    settings = settings or read()
    panes = Panes(state_folder() / "panes.json")
    app = ReviewerApp(desk, settings=settings, runs=runs, tour=tour, first=first, panes=panes)
    app.error_console = crash_console()
    with ended_by_signals(app), tidied_in_pauses(), short_turns():
        app.run(mouse=settings.mouse)
    code = app.return_code or 0
    return code if code in (0, *(128 + number for number in SIGNALS)) else BROKEN
