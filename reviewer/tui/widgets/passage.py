"""A text that its screen scrolls: it takes no focus, so every key stays the screen's."""

from textual.events import MouseScrollDown, MouseScrollUp
from textual.message import Message

from reviewer.tui.widgets.textview import TextView

WHEEL = 3
"""Rows a turn of the wheel scrolls."""


class Passage(TextView, can_focus=False):
    """`active` draws the heavy rule that focus draws elsewhere."""

    class Wheeled(Message):
        """The wheel was turned over this text; the screen scrolls."""

        def __init__(self, passage: "Passage", rows: int) -> None:
            super().__init__()
            self.passage, self.rows = passage, rows

    active = False

    @property
    def heavy(self) -> bool:
        return self.active

    def activate(self, active: bool) -> None:
        """Say that keys act on this text, or that they do not."""
        if active != self.active:
            self.active = active
            self.refresh()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._wheel(event, WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._wheel(event, -WHEEL)

    def _wheel(self, event: MouseScrollDown | MouseScrollUp, rows: int) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Wheeled(self, rows))
