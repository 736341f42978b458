"""The filter's prompt: what may be typed next stands above it, and what is wrong is said there."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from reviewer.desk.scorecards.filters import offered, problem
from reviewer.desk.scorecards.views import FilterValues
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint, pressing
from reviewer.tui.screens.dialogs.prompt import PromptScreen
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Span, cut
from reviewer.tui.widgets.words import plural

EXAMPLE = "gate:authority tool:issue_refund cost>0.05 tag:refund -tag:vip"
LABEL = "filter"


class FilterPrompt(PromptScreen):
    """Answers a filter that can be understood, None at Esc."""

    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "filter", "enter"),
        pressing("tab", "complete the word", "tab"),
        pressing("Esc", "leave it", "escape"),
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
        """What the fields may be given here has been read."""
        self._known = values
        for box in self.query(Input):  # none yet when the answer is that quick
            self._hint_at(box.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._hint_at(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        wrong = problem(event.value)
        if wrong:
            event.prevent_default()  # the prompt stays, with what was typed
            self._say(f"✗ {wrong}", "fail")

    def action_complete(self) -> None:
        """As far as all that the word may become agree."""
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
    """Where the last word begins, as far as blanks outside quotes tell."""
    inside, start = False, 0
    for at, char in enumerate(text):
        if char == '"':
            inside = not inside
        elif char.isspace() and not inside:
            start = at + 1
    return start
