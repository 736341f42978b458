"""One line asked for at the foot of the screen: a filter, a search, a folder."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from reviewer.desk.views import Exported
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint, hint_line, pressing
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.words import plural

FORMATS = ("json", "md", "html", "junit")


class PromptScreen(ModalScreen[str | None]):
    """Answers the text at Enter, None at Esc."""

    NAME = "prompt"
    ENTER = "take what is written"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "take it", "enter"),
        pressing("Esc", "leave it", "escape"),
    )
    CSS = """
    PromptScreen { align: left bottom; background: $background 0%; }
    PromptScreen Vertical { height: auto; background: $background; }
    PromptScreen Horizontal { height: 1; }
    PromptScreen LineBox { width: auto; height: 1; }
    PromptScreen #keys { width: 1fr; }
    PromptScreen Input { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it", "Leave it as it is."),
    ]

    def __init__(self, label: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._label, self._value, self._hint = label, value, hint

    def compose(self) -> ComposeResult:
        with Vertical():
            yield from self.above()
            with Horizontal():
                yield from self.prompt()
            yield LineBox(id="keys")

    def above(self) -> ComposeResult:
        """What stands over the box."""
        yield from ()

    def prompt(self) -> ComposeResult:
        """The label and the box beside it."""
        label = LineBox()
        label.styles.width = len(self._label) + 3
        label.lines = [[Span(f" {self._label}: ", "strong")]]
        yield label
        yield Input(self._value, placeholder=self._hint, select_on_focus=False)

    def on_mount(self) -> None:
        self.query_one("#keys", LineBox).show([hint_line(self.HINTS, self.app.size.width)])
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


def export_to(screen: DeskScreen, suite_id: str, candidate_id: str) -> None:
    """Ask for a folder and write the report and its renderings there."""

    def write(folder: str | None) -> None:
        if folder:
            screen.say("exporting…")
            desk = screen.shell.desk
            screen.ask(
                "export",
                lambda: desk.reports.export(suite_id, candidate_id, folder, FORMATS),
                written,
            )

    def written(done: Exported) -> None:
        folder = done.files[0][0].rpartition("/")[0] if done.files else "nowhere"
        count = plural(len(done.files), "file")
        told = f"exported {count} to {folder}/, exit code would be {done.exit_code}"
        screen.say(visible_line(told), "pass")

    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in candidate_id)
    screen.app.push_screen(PromptScreen("export to", f"release/{safe}", "a folder"), write)
