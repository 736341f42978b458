"""Choosing a view of the scorecard: groups, candidates side by side, and what was saved."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.desk.scorecards.views import SavedView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, choosing, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, cut, pad

BUILT_IN: tuple[tuple[SavedView, str], ...] = (
    (SavedView(name="episodes by gates"), "as it opens"),
    (SavedView(name="by tag", group="tag"), "an episode stands under each of its tags"),
    (SavedView(name="by category", group="category"), "task, negative, golden, secondary"),
    (SavedView(name="candidates side by side", mode="candidates"), "who passes which episode"),
)
BEYOND: tuple[tuple[SavedView, str], ...] = (
    (SavedView(name="by suite"), "every candidate of every suite, a line each"),
    (SavedView(name="by candidate"), "every suite that a candidate was run on"),
)
"""Views that reach beyond this scorecard."""
SAVE = SavedView(name="save what is on screen as a view")


class ViewsScreen(Dialog[tuple[str, SavedView] | None]):
    """Answers ("take" or "drop", a view); ("save", …) to name what is on screen; ("go", …) for one
    that reaches beyond it."""

    NAME = "views"
    WORD = "views"
    ABOUT = (
        "Each line is a way of looking at this scorecard; Enter takes it. The last one keeps what",
        "is on screen, its filter, order and groups, under a name, for every person of this store.",
    )
    CSS = """
    ViewsScreen #box { width: 76; max-width: 100%; height: auto; max-height: 80%; }
    ViewsScreen #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it"),
        bind("q", "dismiss(None)", "leave it"),
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
        hints = choosing("take", "leave it", drop)
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
    """What a saved view does, in safe text."""
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
