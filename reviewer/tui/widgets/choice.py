"""One of a few words, chosen with the arrows: `(x) deny  ( ) allow  ( ) ask`."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click
from textual.message import Message

from reviewer.tui.settings.keys import bind, move
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Span


class Choice(LineBox, can_focus=True):
    """One line; left and right choose, Enter takes the whole form."""

    DEFAULT_CSS = "Choice { height: 1; width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.left", "side(-1)", "word before"),
        move("move.right", "side(1)", "next word"),
        bind("enter", "take", "take the form", "Take the form."),
    ]

    class Changed(Message):
        """Another word is chosen, by the reader."""

        def __init__(self, choice: "Choice") -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> "Choice":
            return self.choice

    class Taken(Changed):
        """Enter."""

    def __init__(self, words: Sequence[str], id: str, note: str = "") -> None:
        super().__init__(id=id)
        self._words, self._note = words, note
        self.at = 0

    @property
    def value(self) -> str:
        """The chosen word."""
        return self._words[self.at]

    def choose(self, word: str) -> None:
        """Choose a word without telling anybody."""
        self.at = self._words.index(word)
        self._draw()

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        line: list[Span] = []
        for number, word in enumerate(self._words):
            chosen = number == self.at
            style = "*text" if chosen and self.has_focus else "text" if chosen else "dim"
            line += [Span(f"({'x' if chosen else ' '}) {word}", style), Span("  ")]
        self.show([[*line, Span(self._note, "dim")]])

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def _go(self, at: int) -> None:
        at = max(0, min(at, len(self._words) - 1))
        if at != self.at:
            self.at = at
            self._draw()
            self.post_message(self.Changed(self))

    def action_side(self, step: int) -> None:
        """To the word at the left or right."""
        self._go(self.at + step)

    def action_take(self) -> None:
        """Take the form."""
        self.post_message(self.Taken(self))

    async def on_click(self, event: Click) -> None:
        x = event.x
        for number, word in enumerate(self._words):
            x -= len(word) + 6
            if x < 0:
                event.stop()
                self._go(number)
                return
