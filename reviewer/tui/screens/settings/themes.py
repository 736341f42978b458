"""Choosing the colors: what the cursor stands on is worn at once, Enter keeps it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.tui.screens.base import Dialog, Hint, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.settings import THEMES
from reviewer.tui.settings.theme import STATES
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Span, pad

SHOWN = ("pass", "fail", "critical", "not_measured", "running", "missing", "infra", "quarantined")
HINTS: tuple[Hint, ...] = (
    ("Enter", "keep it", "focused.choose"),
    ("jk", "try", "focused.move(1)"),
    ("Esc", "as it was", "screen.leave"),
)


class ThemesScreen(Dialog[None]):
    """The screen behind is the sample. Esc puts back what was worn before."""

    NAME = "theme"
    ABOUT = (
        "Each line is a theme, and the screen behind wears it while the cursor stands on it.",
        "Enter keeps it in the settings file. No state is told by color alone.",
    )
    ENTER = "keep this theme"
    CSS = """
    ThemesScreen { align: right bottom; background: $background 0%; }
    ThemesScreen #box { width: 78; max-width: 100%; margin-bottom: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "leave it as it was"),
        bind("q", "leave", "leave it as it was"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="list")
            yield LineBox(id="end")

    def on_mount(self) -> None:
        self._before = self.shell.settings.theme
        self.headed("theme")
        menu = self.query_one(Menu)
        names = list(THEMES)
        menu.offer([[Span(f" {pad(name, 18)}"), Span(w, "dim")] for name, w in THEMES.items()])
        menu.offer(menu.items, names.index(self._before))
        self._end()
        menu.focus()

    def _end(self) -> None:
        sample = [Span(" ")]
        for name in SHOWN:
            sample += [Span(f"{STATES[name].glyph}{STATES[name].cell}", name), Span("  ")]
        why = " NO_COLOR is set: every theme is without color" if self.app.no_color else ""
        self.query_one("#end", LineBox).show([[], sample, [Span(why, "dim")], hint_line(HINTS, 72)])

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self.shell.wear(list(THEMES)[message.menu.cursor])

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(None)
        self.notify(
            self.shell.choose_theme(list(THEMES)[message.menu.cursor]), markup=False, timeout=6
        )

    def action_leave(self) -> None:
        """Put back what was worn."""
        self.shell.wear(self._before)
        self.dismiss(None)
