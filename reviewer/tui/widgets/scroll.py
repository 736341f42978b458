"""A region that scrolls, by the keys that move everywhere."""

from typing import ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll

from reviewer.tui.settings.keys import move


class Scroll(VerticalScroll):
    """As Textual's, and by the letters too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.up", "scroll_up"),
        move("move.down", "scroll_down"),
        move("move.first", "scroll_home"),
        move("move.last", "scroll_end"),
        move("move.page.up", "page_up"),
        move("move.page.down", "page_down"),
        move("move.half.up", "half(-1)"),
        move("move.half.down", "half(1)"),
    ]

    def action_half(self, step: int) -> None:
        """Half a page."""
        self.scroll_relative(y=step * max(1, self.size.height // 2), animate=False)
