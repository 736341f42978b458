"""The common parts of the steps to a signature: the frame, and an Enter that is not a held key."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Input

from reviewer.desk.errors import DeskError
from reviewer.tui.screens.base import Dialog, hint_line
from reviewer.tui.screens.decision.lines import dialog_width, error_lines
from reviewer.tui.widgets.chrome import Field, LineBox
from reviewer.tui.widgets.lines import Line, Span, pad

R = TypeVar("R")

HELD = 0.3
"""Seconds without Enter before Enter counts: the Enter that opened the step may still be held
down."""


class Step(Dialog[R]):
    """A dialog of the way to a signature: what is signed, the step itself, messages, keys."""

    DEFAULT_CSS = """
    Step #box { max-width: 100%; max-height: 100%; overflow-y: auto; }
    Step Input { width: 1fr; }
    Step #state { height: auto; max-height: 6; }
    """

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self) -> None:
        super().__init__()
        self._waiting = False
        self._last_enter = 0.0

    def parts(self) -> Iterable[Widget]:
        """Return the widgets of this step; one is a LineBox `state`."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield from self.parts()
            yield LineBox(id="hints")

    @property
    def room(self) -> int:
        """The width of a line in the box."""
        return dialog_width(self.app.size.width) - 4

    def opened(self, title: str, facts: Sequence[Line]) -> None:
        """Draw the frame. Enter counts from now on, after a pause."""
        self._last_enter = self.clock()
        self.headed(title)
        self.query_one("#box").styles.width = dialog_width(self.app.size.width)
        self.query_one("#facts", LineBox).show(list(facts))
        self.query_one("#hints", LineBox).show([hint_line(self.HINTS, self.room)])

    def tell(self, lines: Sequence[Line]) -> None:
        """Say what happened, below a blank line."""
        self.query_one("#state", LineBox).show([[], *lines])

    def tell_text(self, text: str, style: str = "dim") -> None:
        """Say one line; `text` is safe."""
        self.tell([[Span(f" {text}", style)]])

    def refused(self, error: DeskError) -> None:
        """Show a refusal by the desk, and the ways out."""
        self._waiting = False
        self.tell(error_lines(error, self.room - 2)[:5])

    def action_leave(self) -> None:
        """Close without signing, unless something is being written."""
        if not self._waiting:
            self.dismiss(None)

    def held(self) -> bool:
        """Return whether this Enter may be the repeat of one that is still held down."""
        now = self.clock()
        before, self._last_enter = self._last_enter, now
        return now - before < HELD

    def on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            self._last_enter = 0.0

    def value(self, name: str) -> str:
        """Return the text of a field, "" where this step has no such field."""
        found = self.query(f"#{name}")
        return found.first(Input).value if found else ""

    def show_field(self, name: str, shown: bool) -> None:
        """Show or hide a field with its label."""
        for found in self.query(f"#{name}"):
            assert found.parent is not None
            found.parent.display = shown

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._mark()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._mark()

    def _mark(self) -> None:
        """Mark the field that receives typed text."""
        for row in self.query(Field):
            row.mark(row.query_one(Input).has_focus)


def entry(id: str, label: str, hint: str, *, hidden: bool = False, longest: int = 2000) -> Field:
    """Return a field behind its label; `hidden` for a passphrase."""
    typed = Input(id=id, placeholder=hint, password=hidden, max_length=longest)
    return Field(label, typed, 12)


def way(number: int, what: str, how: str, width: int = 16) -> list[Span]:
    """Return a numbered line of a menu."""
    return [Span(f" {number}  ", "strong"), Span(pad(what, width), "strong"), Span(how, "dim")]
