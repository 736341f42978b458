"""Choosing one of two sides of a comparison from a short list."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, choosing, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Span, middle


class ChooseSide(Dialog[tuple[str, str] | None]):
    """Answers with the (baseline, candidate) of the chosen line, None at Esc."""

    NAME = "choose"
    ABOUT = ("Each line is a comparison: who is looked at, and against whom.",)
    CSS = """
    ChooseSide #box { width: 72; max-width: 100%; height: auto; max-height: 80%; }
    ChooseSide #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it"),
        bind("q", "dismiss(None)", "leave it"),
    ]

    def __init__(self, title: str, offers: Sequence[tuple[str, tuple[str, str]]]) -> None:
        super().__init__()
        self._title, self._offers = title, offers

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="list")
            yield LineBox(id="words")

    def on_mount(self) -> None:
        self.headed(self._title)
        self.query_one(Menu).offer(
            [[Span(" " + middle(visible_line(words), 66))] for words, _ in self._offers]
        )
        self.query_one("#words", LineBox).show([[], hint_line(choosing("choose", "leave it"), 68)])
        self.query_one(Menu).focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._offers[message.menu.cursor][1])
