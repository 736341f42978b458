"""Help over any screen: what you are here for, what acts here, what acts everywhere."""

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import Screen

from reviewer.tui.screens.base import Dialog, Hint, hint_line
from reviewer.tui.screens.help.text import help_lines, key_map
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.wrap import Block

HINTS: tuple[Hint, ...] = (
    ("jk", "scroll", "focused.move(1)"),
    ("v", "all keys", "screen.view"),
    ("space", "tour", "screen.tour"),
    ("ctrl+t", "theme", "screen.theme"),
    ("Esc", "close", "screen.dismiss(None)"),
)


class HelpScreen(Dialog[None]):
    """Closes with Esc, `?` or q; `v` shows the whole key map, space begins the tour."""

    NAME = "help"
    ABOUT = ("Every key of the screen behind this, and what it is for.",)
    ENTER = "nothing: this is only read"
    CSS = """
    HelpScreen #box { width: 80; max-width: 100%; height: 92%; max-height: 44; }
    HelpScreen.-wide #box { width: 110; }
    HelpScreen LineBox { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("v", "view", "all keys, this screen's"),
        bind("space", "tour", "begin the tour"),
        bind("ctrl+t", "theme", "choose the colors"),
        bind("question_mark", "dismiss(None)", "close"),
        bind("escape", "dismiss(None)", "close"),
        bind("q", "dismiss(None)", "close"),
    ]

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._about = about
        self._all = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield TextView(id="text")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.query_one(TextView).focus()
        self._draw()

    def on_resize(self, event: Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        wide = self.app.size.width >= 120
        self.set_class(wide, "-wide")
        width = 105 if wide else min(75, self.app.size.width - 5)
        lines = key_map(width) if self._all else help_lines(self._about, width)
        name = "all keys" if self._all else getattr(self._about, "NAME", "") or "this screen"
        title = [Span(f"help · {name}", "strong")]
        self.query_one(TextView).show([Block("", head=line) for line in lines], title)
        self.query_one("#keys", LineBox).show([hint_line(HINTS, width)])

    def action_view(self) -> None:
        """The whole key map, or this screen's help."""
        self._all = not self._all
        self._draw()

    def action_tour(self) -> None:
        """Close this and begin the tour."""
        self.dismiss(None)
        self.app.call_later(self.shell.begin_tour)

    def action_theme(self) -> None:
        """Close this and choose the colors."""
        self.dismiss(None)
        self.app.call_later(self.shell.action_theme)
