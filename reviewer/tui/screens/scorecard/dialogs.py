"""Dialogs of the scorecard: its filter, and choosing a view of it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.scorecards.filters import offered, problem
from reviewer.desk.scorecards.views import FilterValues, SavedView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, choosing, hint_line, pressing
from reviewer.tui.screens.dialogs.ask import PromptScreen
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, cut, pad
from reviewer.tui.widgets.words import plural

EXAMPLE = "gate:authority tool:issue_refund cost>0.05 tag:refund -tag:vip"
LABEL = "filter"


class FilterPrompt(PromptScreen):
    """Answers with a valid filter, None at Esc."""

    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "filter", "enter"),
        pressing("tab", "complete the word", "tab"),
        pressing("Esc", "cancel", "escape"),
    )
    CSS = (
        PromptScreen.CSS.replace("PromptScreen", "FilterPrompt")
        + """
    FilterPrompt #hint { width: 1fr; height: 1; }
    """
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab",
            "complete",
            "complete the word",
            show=False,
            priority=True,
            id="region",
            tooltip="Complete the word as far as it is certain.",
        )
    ]

    def __init__(self, value: str, values: FilterValues | None = None) -> None:
        super().__init__(LABEL, value, EXAMPLE)
        self._known = values

    def above(self) -> ComposeResult:
        yield LineBox(id="hint")

    def on_mount(self) -> None:
        self._hint_at(self.query_one(Input).value)

    def knows(self, values: FilterValues) -> None:
        """Take over the values that the fields may have here."""
        self._known = values
        for box in self.query(Input):  # none yet when the answer comes first
            self._hint_at(box.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._hint_at(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        wrong = problem(event.value)
        if wrong:
            event.prevent_default()  # the prompt stays, with the typed text
            self._say(f"✗ {wrong}", "fail")

    def action_complete(self) -> None:
        """Complete the word as far as all its possible completions agree."""
        box = self.query_one(Input)
        choices = offered(box.value, self._known)
        if not choices or not box.value or box.value[-1].isspace():
            return
        common = choices[0]
        for each in choices[1:]:
            while not each.startswith(common):
                common = common[:-1]
        start = _last(box.value)
        if len(common) > len(box.value) - start:
            box.value = box.value[:start] + common
            box.cursor_position = len(box.value)

    def _hint_at(self, text: str) -> None:
        unread = self._known.unread if self._known else 0
        if "tool:" in text and unread:
            say = f"tool: does not see into {plural(unread, 'trace')} yet: they are being indexed"
            self._say(say, "not_measured")
            return
        choices = offered(text, self._known)
        self._say("  ".join(visible_line(each) for each in choices[:40]) or "Enter filters", "dim")

    def _say(self, text: str, style: str) -> None:
        width = max(20, self.app.size.width)
        self.query_one("#hint", LineBox).show([[Span(cut(f" {visible_line(text)}", width), style)]])


def _last(text: str) -> int:
    """Return where the last word begins, by the blanks outside quotes."""
    inside, start = False, 0
    for at, char in enumerate(text):
        if char == '"':
            inside = not inside
        elif char.isspace() and not inside:
            start = at + 1
    return start


BUILT_IN: tuple[tuple[SavedView, str], ...] = (
    (SavedView(name="episodes by gates"), "as it opens"),
    (SavedView(name="by tag", group="tag"), "an episode is listed under each of its tags"),
    (SavedView(name="by category", group="category"), "task, negative, golden, secondary"),
    (SavedView(name="candidates side by side", mode="candidates"), "who passes which episode"),
)
BEYOND: tuple[tuple[SavedView, str], ...] = (
    (SavedView(name="by suite"), "every candidate of every suite, a line each"),
    (SavedView(name="by candidate"), "every suite that a candidate was run on"),
)
"""Views beyond this scorecard."""
SAVE = SavedView(name="save what is on screen as a view")


class ViewsScreen(Dialog[tuple[str, SavedView] | None]):
    """Answers with ("take" or "drop", a view); ("save", …) to name the view on screen; ("go", …)
    for a view beyond this scorecard."""

    NAME = "views"
    ABOUT = (
        "Each line is a view of this scorecard; Enter opens it. The last one keeps what",
        "is on screen, its filter, order and groups, under a name, for every person of this store.",
    )
    CSS = """
    ViewsScreen #box { width: 76; max-width: 100%; height: auto; max-height: 80%; }
    ViewsScreen #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "cancel"),
        bind("q", "dismiss(None)", "cancel"),
        bind("delete", "drop", "remove a saved view", "Remove the saved view under the cursor."),
    ]

    def __init__(self, saved: Sequence[SavedView]) -> None:
        super().__init__()
        self._saved = list(saved)
        self._views = [*(view for view, _ in (*BUILT_IN, *BEYOND)), *saved, SAVE]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="list")
            yield LineBox(id="words")

    def on_mount(self) -> None:
        self.headed("views")
        lines: list[Line] = [_line(view.name, words) for view, words in (*BUILT_IN, *BEYOND)]
        lines += [_line(view.name, described(view), saved=True) for view in self._saved]
        lines.append(_line(SAVE.name, ""))
        self.query_one(Menu).offer(lines, 0)
        drop = ("Del", "remove a saved one", "screen.drop")
        hints = choosing("open", "cancel", drop)
        self.query_one("#words", LineBox).show([[], hint_line(hints, 72)])
        self.query_one(Menu).focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        view = self._views[message.menu.cursor]
        beyond = any(view is one for one, _ in BEYOND)
        self.dismiss(("save" if view is SAVE else "go" if beyond else "take", view))

    def action_drop(self) -> None:
        """Remove the saved view under the cursor."""
        view = self._views[self.query_one(Menu).cursor]
        if view in self._saved:
            self.dismiss(("drop", view))


def _line(name: str, words: str, *, saved: bool = False) -> list[Span]:
    mark = "*" if saved else " "
    return [
        Span(f"{mark} {pad(cut(visible_line(name), 34), 34)}", "strong" if saved else "text"),
        Span(f"  {words}", "dim"),
    ]


def described(view: SavedView) -> str:
    """Return the description of a saved view in safe text."""
    parts = [visible_line(view.filter)] if view.filter else []
    if view.only_failing:
        parts.append("only failing")
    if view.group != "none":
        parts.append(f"by {view.group}")
    if view.mode == "candidates":
        parts.append("side by side")
    if view.by != "worst":
        parts.append(f"{view.by} {'falling' if view.descending else 'rising'}")
    return ", ".join(parts) or "worst first"
