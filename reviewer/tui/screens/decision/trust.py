"""The second step to a signature: whether a key may sign, and the line that says so."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from reviewer.desk.decisions.api import DecisionView
from reviewer.desk.views import KeyInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint, pressing
from reviewer.tui.screens.decision.lines import bound_lines, key_line, may_sign
from reviewer.tui.screens.decision.step import Step, entry, way
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span

ADD, OTHER_PERSON, OTHER_KEY = range(3)
ANOTHER = "another"
"""The answer that another key is wanted."""


class TrustScreen(Step[KeyInfo | str | None]):
    """Answers with a key that may sign from now on, `ANOTHER`, or None."""

    NAME = "sign-trust"
    ABOUT = (
        "Who may sign is the list store/signers. This is the line that it would get; the",
        "person who keeps the list for your pipeline adds the same line there. {copy} copies it.",
    )
    ENTER = "choose this line"
    NUMBERS = "that line"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-3", "choose", "screen.numbered(1)"),
        pressing("Enter", "choose", "enter"),
        pressing("tab", "field", "tab"),
        pressing("Esc", "cancel", "escape"),
        ("y", "copy the line", "screen.copy_line"),
    )
    DEFAULT_CSS = "TrustScreen #which { height: auto; max-height: 3; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "cancel"),
        bind("y", "copy_line", "copy the line"),
        *digits("numbered"),
    ]

    def __init__(self, found: DecisionView, decision: str, keys: Sequence[KeyInfo]) -> None:
        super().__init__()
        self._found, self._decision = found, decision
        self._keys = [key for key in keys if not may_sign(key)]

    def parts(self) -> Iterable[Widget]:
        yield Menu(id="which", ruled=True)
        yield entry("name", "your name", "as it will be signed, like dana@example.com", longest=255)
        yield LineBox(id="line")
        yield Menu(id="ways")
        yield LineBox(id="state")

    def on_mount(self) -> None:
        self.opened(
            f"sign {self._decision} · 2 of 3: may this key sign?",
            bound_lines(self._found, self._decision),
        )
        which, name = self.query_one("#which", Menu), self.query_one("#name", Input)
        which.offer([[Span(" ✗ ", "fail"), *key_line(key, self.room - 4)] for key in self._keys], 0)
        name.value = visible_line(self.shell.desk.decisions.name())
        self._draw()
        self.tell_text("each decision records who could sign, added keys too")
        (self.query_one("#ways") if name.value or not self._named else name).focus()

    @property
    def _key(self) -> KeyInfo:
        return self._keys[self.query_one("#which", Menu).cursor]

    @property
    def _named(self) -> bool:
        """Whether a name is needed: a key that is listed has one."""
        return self._key.principal is None

    @property
    def _line(self) -> str:
        """The line as it would be added; for a listed key, as it should be."""
        key = self._key
        if key.principal is not None:
            return f"{key.principal} {','.join(key.roles)},approver {key.public}"
        return f"{self.value('name').strip()} approver {key.public}"

    def _draw(self) -> None:
        key, line = self._key, self._line
        at = self.query_one("#which", Menu).cursor + 1
        note = f"{at} of {len(self._keys)}, not in store/signers"
        text, first, how = "this line would be added to store/signers:", "add the line", ""
        how = "you may sign decisions of this workspace"
        if key.principal is not None:
            note = f"{at} of {len(self._keys)}, not an approver"
            text = "store/signers gives this key another role; by hand, make its line"
            first, how = "look again", "when the line is changed"
        elif not self.value("name").strip():
            line = f"… approver {key.public}"
        self.query_one("#which", Menu).caption([Span("key", "strong")], [Span(note, "dim")])
        self.show_field("name", self._named)
        told: list[Line] = [
            [Span(f"   {part}")] for part in textwrap.wrap(visible_line(line), self.room - 4)
        ]
        self.query_one("#line", LineBox).show([[], [Span(f" {text}", "dim")], *told, []])
        self.query_one("#ways", Menu).offer(
            [
                way(1, first, how),
                way(2, "ask another", "copies the line for a person who keeps the list"),
                way(3, "another key", "make one, or name its file"),
            ]
        )

    # taking ------------------------------------------------------------------------------------

    def on_menu_moved(self, message: Menu.Moved) -> None:
        if message.menu.id == "which":
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not self.held():
            self.query_one("#ways").focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if self.held():
            return
        if message.menu.id == "which":
            self.query_one("#name" if self._named else "#ways").focus()
        else:
            self._take(message.menu.cursor)

    def action_numbered(self, number: int) -> None:
        """Choose the line with that number."""
        ways = self.query_one("#ways", Menu)
        if number <= len(ways.items):
            ways.offer(ways.items, number - 1)
            self._take(number - 1)

    def _take(self, chosen: int) -> None:
        if self._waiting:
            return
        if chosen == OTHER_KEY:
            self.dismiss(ANOTHER)
        elif chosen == OTHER_PERSON:
            self.action_copy_line()
        else:
            self._add()

    def _add(self) -> None:
        key, name, desk = self._key, self.value("name").strip(), self.shell.desk
        if not name and self._named:
            self.tell_text("✗ type your name first: it appears with the signature", "fail")
            self.query_one("#name").focus()
            return

        def add() -> KeyInfo:
            if key.principal is None:
                desk.decisions.trust(name, key.public)
            return desk.decisions.as_trusted(key)

        self._waiting = True
        self.ask("trust", add, self._added, self.refused)

    def _added(self, key: KeyInfo) -> None:
        self._waiting = False
        if may_sign(key):
            self.dismiss(key)
        else:
            self.tell_text("✗ the line still has no role approver", "fail")

    def action_copy_line(self) -> None:
        """Copy the line for store/signers."""
        if self._named and not self.value("name").strip():
            self.tell_text("✗ type your name first: it begins the line", "fail")
            self.query_one("#name").focus()
            return
        self.app.copy_to_clipboard(self._line)
        self.tell_text("copied the line: send it to the person who keeps store/signers", "pass")
