"""Why an item is not answered: one of a few reasons, by its number."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.tui.screens.base import Dialog, choosing, hint_line
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Span

REASONS = (
    "not enough to judge by",
    "I do not understand the request",
    "a language I do not read",
    "unreadable or garbled",
    "I should not judge this one",
    "other: the note says it",
)


class SkipScreen(Dialog[str | None]):
    """Answers the reason, None at Esc."""

    NAME = "skip"
    BLIND = True
    ABOUT = ("The item is skipped with the reason you choose; {undo} takes that back.",)
    ENTER = "skip with this reason"
    NUMBERS = "skip for that reason"
    CSS = """
    SkipScreen #box { width: 56; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "do not skip"),
        bind("q", "dismiss(None)", "do not skip"),
        *digits("numbered"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="reasons")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed("skip this item, because")
        menu = self.query_one(Menu)
        menu.offer(
            [[Span(f" {n} ", "key"), Span(f" {words}")] for n, words in enumerate(REASONS, 1)], 0
        )
        skip = (f"1-{len(REASONS)}", "skip", "focused.choose")
        hints = (skip, *choosing("skip", "do not skip"))
        self.query_one("#keys", LineBox).show([[], hint_line(hints, 52)])
        menu.focus()

    def action_numbered(self, number: int) -> None:
        """Skip with this reason."""
        if number <= len(REASONS):
            self.dismiss(REASONS[number - 1])

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(REASONS[message.menu.cursor])
