"""The application as its jobs and its screens know it, without importing it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from textual.message import Message

    from reviewer.desk.desk import Desk
    from reviewer.desk.errors import DeskError
    from reviewer.desk.runs.api import RunView
    from reviewer.tui.shell.background import Delivery


class Here(Protocol):
    """The screen the reader is on, as it is told of jobs."""

    def say(self, text: str, style: str = "dim") -> None:
        """Show a line of news; `text` is safe."""

    def tell(self, text: str, style: str = "dim") -> None:
        """Show a line of news from elsewhere, later where the screen is blind."""

    def refused(self, error: "DeskError") -> None:
        """Say that the desk refused."""

    def run_begun(self, view: "RunView", *, asked: bool) -> None:
        """A run has begun; `asked`: the reader asked for it here."""

    def run_ended(self, view: "RunView", text: str, style: str) -> None:
        """A run has ended; `text` says how, and is safe."""

    def runs_changed(self) -> None:
        """A run has gone on."""

    def imports_changed(self) -> None:
        """An import has gone on."""

    def judge_changed(self) -> None:
        """A judge has gone on."""


class Host(Protocol):
    """What jobs that outlive a screen need of the application."""

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
        """Ask the desk off the painting thread; the newest question of a group is answered."""

    def problem(self, error: "DeskError", again: Callable[[], None] | None = None) -> None:
        """Show an error in full."""

    def post_message(self, message: "Message") -> bool:
        """Bring a message to the thread that paints."""

    def set_timer(self, delay: float, callback: Callable[[], object]) -> object:
        """Call back after some seconds."""

    def bell(self) -> None:
        """Ring."""

    def exit(self) -> None:
        """End the program."""
