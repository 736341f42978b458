"""The application as screens know it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from reviewer.tui.shell.host import Here, Host

if TYPE_CHECKING:
    from reviewer.tui.settings.settings import Settings
    from reviewer.tui.shell.background import Background
    from reviewer.tui.shell.imports import LiveImports
    from reviewer.tui.shell.judge import LiveJudge
    from reviewer.tui.shell.labeling import Labeling
    from reviewer.tui.shell.places import Around, Place
    from reviewer.tui.shell.runs import LiveRuns


class TourGuide(Protocol):
    """The tour, as the screen below it tells it what happens."""

    def arrived(self) -> None:
        """The reader stands on a screen."""

    def place(self) -> None:
        """What the tour points at may have moved."""


class Shell(Host, Protocol):
    """What outlives a screen: where the reader is, jobs, settings, and ways to other screens."""

    background: "Background"
    live: "LiveRuns"
    judging: "LiveJudge"
    importing: "LiveImports"
    labeling: "Labeling"
    version: int
    suite_id: str
    candidate_id: str
    trace_id: str
    around: "Around | None"

    @property
    def settings(self) -> "Settings":
        """The settings in force."""

    @property
    def tour(self) -> TourGuide:
        """The tour."""

    def visit(self, place: "Place") -> Here:
        """Go to a place, keeping the way back; answers its screen."""

    async def action_back(self) -> None:
        """Go one level back."""

    def action_go(self, name: str) -> None:
        """Go to one of the screens of line 1."""

    def hold(self, words: Callable[[Here], None]) -> None:
        """Keep words for the next screen that may name things."""

    def release(self) -> None:
        """Say what was kept, on the screen the reader is on."""

    def wear(self, theme: str) -> None:
        """Draw in a theme of the settings, and write nothing."""

    def choose_theme(self, theme: str) -> str:
        """Draw in a theme and keep it; answers what became of that, in words."""

    def action_theme(self) -> None:
        """Choose the colors."""

    def begin_tour(self) -> None:
        """Show the tour from its first step."""
