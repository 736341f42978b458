"""What is set, and where each value comes from. Only read: values are changed in the file."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.settings_file import in_force
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, pad
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.wrap import Block

HINTS: tuple[Hint, ...] = (
    ("jk", "scroll", "focused.move(1)"),
    ("ctrl+t", "theme", "app.theme"),
    ("y", "copy the path", "screen.copy"),
    ("Esc", "close", "screen.dismiss(None)"),
)


class SettingsScreen(Dialog[None]):
    """Settings in force, then what the file may not say."""

    NAME = "settings"
    ABOUT = ("What is set, and which file and line says so; below it, what was refused.",)
    ENTER = "nothing: this is only read"
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
        self.query_one("#keys", LineBox).show([hint_line(HINTS, 72)])

    def action_copy(self) -> None:
        """Copy the path of the settings file."""
        self.app.copy_to_clipboard(str(self.shell.settings.file))
        self.notify("copied", markup=False, timeout=2)

    def action_theme(self) -> None:
        """Choose the colors."""
        self.shell.action_theme()
