"""Settings and themes, as dialogs. Values are changed in the file; a chosen theme is saved to
it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.settings import THEMES, in_force
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Line, Span, pad
from reviewer.tui.widgets.textview import TextView


class SettingsScreen(Dialog[None]):
    """Settings in force, then the ones that the file may not set."""

    NAME = "settings"
    ABOUT = ("The settings in force, with file and line of each; below, what was refused.",)
    ENTER = "nothing: this page is for reading"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "scroll", "focused.move(1)"),
        ("ctrl+t", "theme", "app.theme"),
        ("y", "copy the path", "screen.copy"),
        ("Esc", "close", "screen.dismiss(None)"),
    )
    CSS = """
    SettingsScreen #box { width: 80; max-width: 100%; height: 80%; max-height: 30; }
    SettingsScreen LineBox { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("ctrl+t", "theme", "choose the colors"),
        bind("y", "copy", "copy the file's path"),
        bind("escape", "dismiss(None)", "close"),
        bind("q", "dismiss(None)", "close"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield TextView(id="text")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        settings = self.shell.settings
        file = settings.file
        lines: list[Line] = [[Span("file  ", "dim"), Span(visible_line(str(file)))]]
        if not (file and file.exists()):
            lines.append([Span("      there is none: every value is the default", "dim")])
        lines.append([])
        for name, value, where in in_force(settings):
            by = visible_line(where)
            lines.append([Span(pad(name, 18)), Span(pad(value, 20), "strong"), Span(by, "dim")])
        if settings.refused:
            lines += [[], [Span("refused", "strong")]]
        blocks = [Block("", head=line) for line in lines]
        blocks += [Block(visible_line(words), "fail") for words in settings.refused]
        end = "reviewer settings --defaults prints a file with every default, documented."
        blocks += [Block(""), Block(end, "dim")]
        text = self.query_one(TextView)
        text.show(blocks, [Span("settings", "strong")])
        text.focus()
        self.query_one("#keys", LineBox).show([hint_line(self.HINTS, 72)])

    def action_copy(self) -> None:
        """Copy the path of the settings file."""
        self.app.copy_to_clipboard(str(self.shell.settings.file))
        self.notify("copied", markup=False, timeout=2)

    def action_theme(self) -> None:
        """Choose the colors."""
        self.shell.action_theme()


SHOWN = ("pass", "fail", "critical", "not_measured", "running", "missing", "infra", "quarantined")


class ThemesScreen(Dialog[None]):
    """The screen behind shows the theme. Esc restores the earlier one."""

    NAME = "theme"
    ABOUT = (
        "Each line is a theme, and the screen behind shows it while the cursor is on it.",
        "Enter keeps it in the settings file. No state is shown by color alone.",
    )
    ENTER = "keep this theme"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "keep", "focused.choose"),
        ("jk", "preview", "focused.move(1)"),
        ("Esc", "cancel", "screen.leave"),
    )
    CSS = """
    ThemesScreen { align: right bottom; background: $background 0%; }
    ThemesScreen #box { width: 78; max-width: 100%; margin-bottom: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "keep the old theme"),
        bind("q", "leave", "keep the old theme"),
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
            state = STATES[name]
            sample += [Span(f"{state.glyph}{state.cell}", cell_style(name)), Span("  ")]
        why = " NO_COLOR is set: every theme is without color" if self.app.no_color else ""
        self.query_one("#end", LineBox).show(
            [[], sample, [Span(why, "dim")], hint_line(self.HINTS, 72)]
        )

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self.shell.wear(list(THEMES)[message.menu.cursor])

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(None)
        self.notify(
            self.shell.choose_theme(list(THEMES)[message.menu.cursor]), markup=False, timeout=6
        )

    def action_leave(self) -> None:
        """Restore the earlier theme."""
        self.shell.wear(self._before)
        self.dismiss(None)
