"""How far people agree with each other and each with himself, and what a third must settle."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.queue import agreement_view as view
from reviewer.tui.screens.queue.reader import QUEUE_KEYS, QueueReader
from reviewer.tui.screens.queue.view import labeled
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Line, Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.wrap import Block


class AgreementScreen(QueueReader):
    """Every question in figures; the disagreements below."""

    NAME = "agreement"
    UNDER = "queue"
    HEAD = "#figures"
    ABOUT = (
        "You are asked: do people say the same, and does each say it again?",
        "Alpha and AC1 take chance away; where one answer is above 80 %, AC1 leads.",
        "No judge can agree with people more often than they agree with themselves.",
    )
    ENTER = "on a disagreement: settle it as a third person"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "scroll", "screen.scroll(1)"),
        ("n", "disagreement", "screen.next_open"),
        ("Enter", "settle", "screen.enter"),
        ("x", "export", "screen.export"),
        ("y", "copy", "screen.copy"),
        ("Q", "queue", "app.go('queue')"),
        ("?", "help", "app.explain"),
        ("c", "messages", "screen.other_kind"),
        ("i", "import", "screen.take_in"),
        ("tab", "region", "app.focus_next"),
        ("L", "label", "app.go('label')"),
        ("J", "judge", "app.go('judge')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("enter", "enter", "settle the disagreement", "Label it as a third person, blind."),
        bind("n", "next_open(1)", "next disagreement", "The next one that you may settle."),
        bind("N", "next_open(-1)", "the one before"),
        *QUEUE_KEYS,
    ]

    CSS = """
    AgreementScreen #selves { display: none; }
    AgreementScreen.-wide #selves { display: block; }
    """

    def panes(self) -> Iterable[Widget]:
        yield TextView(id="figures")
        yield TextView(id="selves", edge=True)

    def redraw(self) -> None:
        if self.found is None:
            super().redraw()
            return
        self.head(view.top(self.found, self.columns))
        self.foot()
        self.draw_figures(fresh=False)

    def legend(self) -> Line:
        if self.found is None:
            return ()
        if not self.found.disagreements:
            return [Span(" nothing waits for a third person", "dim")]
        words = worded(" tab or {next}: the disagreements; Enter settles one, blind")
        return [Span(words, "dim")]

    def draw_figures(self, *, fresh: bool) -> None:
        if self.found is None:
            return
        width = self.pane_columns()
        people, selves = view.between(self.found, width), view.selves(self.found, width)
        if not self.wide:
            people = [*people, Block(""), *selves]
        note = [Span(labeled(self.found), "dim")]
        for name, blocks, title in (
            ("figures", people, view.title(self.found)),
            ("selves", selves, "each with himself"),
        ):
            text = self.query_one(f"#{name}", TextView)
            show = text.show if fresh else text.update
            show(blocks, [Span(title, "strong")], note if name == "figures" else ())

    # acts --------------------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Settle the disagreement with the cursor."""
        if self.parted is None:
            self.say("nothing waits for a third person: L labels")
        else:
            self.adjudicate()

    def action_next_open(self, step: int = 1) -> None:
        """The next disagreement that this person may settle."""
        known = self.found.disagreements if self.found else ()
        menu = self.query_one("#disagreements", Menu)
        here = menu.cursor if menu.has_focus else -1 if step > 0 else len(known)
        ahead = [n for n, one in enumerate(known) if not one.mine and (n - here) * step > 0]
        if ahead:
            menu.focus()
            menu.action_move((ahead[0] if step > 0 else ahead[-1]) - menu.cursor)
        else:
            self.say("no more disagreements that way that you may settle")

    def action_scroll(self, step: int) -> None:
        """Scroll the figures."""
        self.query_one("#figures", TextView).action_move(step)
