"""The interface of the application for its jobs and screens, so that they need not import it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.message import Message

    from reviewer.desk.desk import Desk
    from reviewer.desk.errors import DeskError
    from reviewer.desk.runs.api import RunView
    from reviewer.tui.settings.panes import Panes
    from reviewer.tui.settings.settings import Settings
    from reviewer.tui.shell.background import Background, Delivery
    from reviewer.tui.shell.jobs import LiveImports, LiveJudge, LiveRuns
    from reviewer.tui.shell.labeling import Labeling
    from reviewer.tui.shell.places import Around, Place
    from reviewer.tui.shell.presence import Presence


class Here(Protocol):
    """The screen the reader is on, as jobs see it."""

    def say(self, text: str, style: str = "dim") -> None:
        """Show a line of news; `text` is safe."""

    def tell(self, text: str, style: str = "dim") -> None:
        """Show a line of news from another part of the program; a blind screen delays it."""

    def refused(self, error: "DeskError") -> None:
        """Show a refusal by the desk."""

    def run_begun(self, view: "RunView", *, asked: bool) -> None:
        """Report that a run has started; `asked`: the reader ordered it here."""

    def run_ended(self, view: "RunView", text: str, style: str) -> None:
        """Report that a run has ended; `text` says how, and is safe."""

    def runs_changed(self) -> None:
        """Draw again after a run has changed."""

    def imports_changed(self) -> None:
        """Draw again after an import has changed."""

    def judge_changed(self) -> None:
        """Draw again after a judge has changed."""

    def who_changed(self) -> None:
        """Draw again: someone came, left, or opened another item."""


class Host(Protocol):
    """The part of the application that jobs need which outlive a screen."""

    desk: "Desk"

    @property
    def here(self) -> Here | None:
        """The screen the reader is on, under any dialog."""

    @property
    def screen(self) -> object:
        """The screen or dialog on top."""

    def ask(
        self,
        group: str,
        work: "Callable[[], Delivery]",
        failed: "Callable[[DeskError], None] | None" = None,
    ) -> None:
        """Ask the desk outside the drawing thread; only the newest question of a group is
        answered."""

    def problem(self, error: "DeskError", again: Callable[[], None] | None = None) -> None:
        """Show an error in full."""

    def post_message(self, message: "Message") -> bool:
        """Send a message to the drawing thread."""

    def set_timer(self, delay: float, callback: Callable[[], object]) -> object:
        """Call back after some seconds."""

    def bell(self) -> None:
        """Ring."""

    def exit(self) -> None:
        """End the program."""


class TourGuide(Protocol):
    """The tour, as the screen below it reports to it."""

    def arrived(self) -> None:
        """Note that the reader is on another screen."""

    def place(self) -> None:
        """Follow the target of the step, which may have moved."""


class Shell(Host, Protocol):
    """The state that outlives a screen: where the reader is, jobs, settings, and ways to other
    screens."""

    background: "Background"
    live: "LiveRuns"
    judging: "LiveJudge"
    importing: "LiveImports"
    labeling: "Labeling"
    presence: "Presence"
    version: int
    suite_id: str
    candidate_id: str
    trace_id: str
    around: "Around | None"
    panes: "Panes"

    @property
    def settings(self) -> "Settings":
        """The settings in force."""

    @property
    def tour(self) -> TourGuide:
        """The tour."""

    def visit(self, place: "Place") -> Here:
        """Go to a place, keeping the way back; return its screen."""

    async def action_back(self) -> None:
        """Go one level back."""

    def find(
        self,
        text: str = "",
        take: Callable[[str, str], None] | None = None,
        at: tuple[str, str] = ("", ""),
    ) -> None:
        """Open the finder; `take` gets the suite and candidate that were chosen."""

    def action_go(self, name: str) -> None:
        """Go to one of the screens of line 1."""

    def hold(self, words: Callable[[Here], None]) -> None:
        """Keep words for the next screen that may name candidates."""

    def release(self) -> None:
        """Say the words that were kept, on the screen the reader is on."""

    def wear(self, theme: str) -> None:
        """Draw in a theme of the settings without saving it."""

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and save it; return a message about the result."""

    def action_theme(self) -> None:
        """Choose the colors."""

    def begin_tour(self) -> None:
        """Show the tour from its first step."""
