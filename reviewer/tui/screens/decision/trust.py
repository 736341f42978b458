"""The second step to a signature: whether a key may sign, and the line that says so."""

import textwrap
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.decisions.api import DecisionView
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, field, hint_line, pressing
from reviewer.tui.screens.decision.lines import (
    bound_lines,
    dialog_width,
    error_lines,
    key_line,
    may_sign,
)
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, pad

ADD, OTHER_PERSON, OTHER_KEY = range(3)
ANOTHER = "another"
"""The answer that another key is wanted."""


class TrustScreen(Dialog[KeyInfo | str | None]):
    """Answers a key that may sign from now on, `ANOTHER`, or None."""

    NAME = "sign-trust"
    ABOUT = (
        "Who may sign is the list store/signers. This is the line that it would get; whoever",
        "keeps the list for your pipeline adds the same line there. {copy} copies it.",
    )
    ENTER = "take the chosen line"
    NUMBERS = "that line"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-3", "choose", "screen.numbered(1)"),
        pressing("Enter", "take it", "enter"),
        pressing("tab", "field", "tab"),
        ("y", "copy the line", "screen.copy_line"),
        pressing("Esc", "not now", "escape"),
    )
    CSS = """
    TrustScreen #box { width: 74; max-width: 100%; }
    TrustScreen Horizontal { height: 1; }
    TrustScreen Horizontal LineBox { width: 12; }
    TrustScreen Input { width: 1fr; }
    TrustScreen #which { height: auto; max-height: 3; }
    TrustScreen #state { height: auto; max-height: 4; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "not now"),
        bind("y", "copy_line", "copy the line"),
        *digits("numbered"),
    ]

    def __init__(self, found: DecisionView, decision: str, keys: Sequence[KeyInfo]) -> None:
        super().__init__()
        self._found, self._decision = found, decision
        self._keys = [key for key in keys if not may_sign(key)]
        self._waiting = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield Menu(id="which", ruled=True)
            yield field("your name", Input(id="name", max_length=255))
            yield LineBox(id="line")
            yield Menu(id="ways")
            yield LineBox(id="state")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed(f"sign {self._decision} · 2 of 3: may this key sign?")
        width = dialog_width(self.app.size.width)
        self.query_one("#box").styles.width = width
        self.query_one("#keys", LineBox).show([hint_line(self.HINTS, width - 4)])
        self.query_one("#facts", LineBox).show(bound_lines(self._found, self._decision))
        which = self.query_one("#which", Menu)
        which.caption([Span("key", "strong")], [Span(f"1 of {len(self._keys)}", "dim")])
        which.offer([[Span(" ✗ ", "fail"), *key_line(key)] for key in self._keys], 0)
        self.query_one("#name", Input).value = visible_line(self.shell.desk.decisions.reviewer)
        self._draw()
        self.query_one("#ways").focus()

    @property
    def _key(self) -> KeyInfo:
        return self._keys[self.query_one("#which", Menu).cursor]

    @property
    def _who(self) -> str:
        return self.query_one("#name", Input).value.strip()

    @property
    def _line(self) -> str:
        """The line as it would be added."""
        return f"{self._who} approver {self._key.public}"

    def _draw(self) -> None:
        width = dialog_width(self.app.size.width) - 8
        key = self._key
        text = " this line would be added to store/signers:"
        line, first = self._line, "add the line"
        how = "you may sign decisions of this workspace"
        if key.principal is not None:
            roles = ",".join(key.roles)
            text = f" store/signers has this key as {key.principal} {roles}: by hand, change it to"
            line = f"{key.principal} {roles},approver {key.public}"
            first, how = "look again", "when the line is changed"
        self.query_one("#line", LineBox).show(
            [
                [],
                [Span(visible_line(text), "dim")],
                *([Span(f"   {part}")] for part in textwrap.wrap(visible_line(line), width)),
                [],
            ]
        )
        self.query_one("#ways", Menu).offer(
            [
                _way(1, first, how),
                _way(2, "ask another", "copies the line for a person who keeps the list"),
                _way(3, "another key", "make one, or name its file"),
            ]
        )
        self._say([[Span(" who may sign is part of every report: it is seen later", "dim")]])

    def _say(self, lines: list[Line]) -> None:
        self.query_one("#state", LineBox).show([[], *lines])

    # taking ------------------------------------------------------------------------------------

    def on_menu_moved(self, message: Menu.Moved) -> None:
        if message.menu.id == "which":
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.query_one("#ways").focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.id == "which":
            self.query_one("#name").focus()
        else:
            self._take(message.menu.cursor)

    def action_numbered(self, number: int) -> None:
        """Take that line."""
        ways = self.query_one("#ways", Menu)
        if number <= len(ways.items):
            ways.offer(ways.items, number - 1)
            self._take(number - 1)

    def _take(self, way: int) -> None:
        if self._waiting:
            return
        if way == OTHER_KEY:
            self.dismiss(ANOTHER)
        elif way == OTHER_PERSON:
            self.action_copy_line()
        else:
            self._add()

    def _add(self) -> None:
        key, name, desk = self._key, self._who, self.shell.desk
        if not name and key.principal is None:
            self._say([[Span(" ✗ type your name first: it is who signed", "fail")]])
            self.query_one("#name").focus()
            return

        def add() -> KeyInfo:
            if key.principal is None:
                desk.decisions.trust(name, key.public)
            return desk.decisions.as_trusted(key)

        self._waiting = True
        self.ask("trust", add, self._added, self._refused)

    def _added(self, key: KeyInfo) -> None:
        self._waiting = False
        if may_sign(key):
            self.dismiss(key)
        else:
            self._say([[Span(" ✗ the line still has no role approver", "fail")]])

    def _refused(self, error: DeskError) -> None:
        self._waiting = False
        self._say(error_lines(error, dialog_width(self.app.size.width) - 6))

    def action_copy_line(self) -> None:
        """Copy the line for store/signers."""
        self.app.copy_to_clipboard(self._line)
        self._say([[Span(" copied the line: send it to who keeps store/signers", "pass")]])


def _way(number: int, what: str, how: str) -> list[Span]:
    return [Span(f" {number}  ", "strong"), Span(pad(what, 16), "strong"), Span(how, "dim")]
