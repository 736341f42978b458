"""What to label next and why, how far the reviewers agree, and what a third person must settle."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.review_views import LabelKind, LabelRole, QueueView, ReasonLine
from reviewer.trace.safetext import visible_line
from reviewer.tui import queue_view as view
from reviewer.tui.chrome import Menu
from reviewer.tui.grid import Grid
from reviewer.tui.keys import bind
from reviewer.tui.lines import Line, Span
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.textview import TextView
from reviewer.tui.wrap import Block

OTHER: dict[LabelKind, LabelKind] = {"pair": "message", "message": "pair"}


class QueueScreen(DeskScreen):
    """Reasons as counts, the agreement below them, disagreements at the foot."""

    NAME = "queue"
    ABOUT = (
        "You are asked: what should people read next, and can their labels be trusted?",
        "Reasons are counts here; an item shows its own reason once it has its label.",
    )
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "label next", "screen.enter"),
        ("n", "open high flag", "screen.high_flag"),
        ("L", "label", "app.go('label')"),
        ("v", "saved", "screen.view"),
        ("c", "messages", "screen.other_kind"),
        ("x", "export", "screen.export"),
        ("i", "import", "screen.take_in"),
        ("?", "help", "app.explain"),
        ("tab", "region", "screen.focus_next"),
        ("J", "judge", "app.go('judge')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("enter", "enter", "label this next", "Label the next item of this line."),
        bind("n", "high_flag", "next open high flag"),
        bind("v", "view", "agreement, saved items"),
        bind("c", "other_kind", "pairs, or messages", "The queue of single messages, or of pairs."),
        bind("x", "export", "export labels", "Write the labels to a file for another reviewer."),
        bind("i", "take_in", "import labels", "Take in the labels of another reviewer's file."),
    ]
    CSS = """
    #reasons { height: 9; }
    QueueScreen.-tall #reasons { height: 13; }
    #figures { height: 1fr; }
    #disagreements { height: auto; max-height: 5; }
    #disagreements.-none { display: none; }
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: QueueView | None = None
        self._saved_shown = False

    def regions(self) -> Iterable[Widget]:
        yield Grid(view.ReasonSheet, lambda keys: self._reasons[keys[0] : keys[-1] + 1], "reasons")
        yield TextView(id="figures")
        yield Menu(id="disagreements", ruled=True)

    @property
    def _reasons(self) -> tuple[ReasonLine, ...]:
        return self.found.reasons if self.found else ()

    @property
    def grid(self) -> Grid:
        """The reasons."""
        return self.query_one("#reasons", Grid)

    @property
    def _kind(self) -> LabelKind:
        return self.shell.labeling.kind

    def on_mount(self) -> None:
        self.head([[Span(" reading the labels…", "dim")]])
        self.foot()
        self.grid.focus()
        self._read()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 30, "-tall")
        self.redraw()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk, place, kind = self.shell.desk, (self.suite_id, self.candidate_id), self._kind
        self.ask("queue", lambda: desk.queue(*place, kind=kind), self._take, self._unreadable)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        if self.found is None:
            blocks = [Block(f"○ {error.text}"), *(Block(way) for way in error.ways_out)]
            self.query_one("#figures", TextView).show(blocks)

    def _take(self, found: QueueView) -> None:
        fresh = self.found is None or self.found.kind != found.kind
        self.found = found
        self._seen = self.shell.version
        if fresh:
            left = [n for n, each in enumerate(found.reasons) if each.left]
            self.grid.set_keys(range(len(found.reasons)), left[0] if left else 0)
        elif len(self.grid.keys) != len(found.reasons):
            self.grid.set_keys(range(len(found.reasons)), self.grid.row)
        self.grid.reload()
        self._offer()
        self.redraw()
        self._draw_figures(fresh=fresh)

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(view.top(found, self.columns))
        left = sum(each.left for each in found.reasons)
        self.grid.caption(
            [Span("what to label next", "strong")], [Span(f"{left:,} left, high first", "dim")]
        )
        self.foot()
        self._draw_figures(fresh=False)

    def legend(self) -> Line:
        return view.left_out(self.found) if self.found else ()

    def hints(self) -> Iterable[Hint]:
        other = view.KINDS[OTHER[self._kind]].removeprefix("final ")
        return [(hint[0], other, hint[2]) if hint[0] == "c" else hint for hint in self.HINTS]

    def _offer(self) -> None:
        open_ = self.found.disagreements if self.found else ()
        menu = self.query_one("#disagreements", Menu)
        menu.set_class(not open_, "-none")
        menu.caption(
            [Span(f"to adjudicate {len(open_):,}", "strong")],
            [Span("a third person labels it, blind", "dim")],
        )
        menu.offer([view.disagreement_line(each, self.columns - 1) for each in open_])

    def _draw_figures(self, *, fresh: bool) -> None:
        if self.found is None:
            return
        figures = self.query_one("#figures", TextView)
        width = self.columns - 2
        if self._saved_shown:
            blocks, title = view.saved(self.found, width), "saved items and why they were asked"
        else:
            blocks, title = view.figures(self.found, width), "agreement"
        show = figures.show if fresh else figures.update
        show(blocks, [Span(title, "strong")])

    # acting ------------------------------------------------------------------------------------

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        """Label the next item of the line; where none is left, show what was saved."""
        row = self.grid.current
        if isinstance(row, ReasonLine) and row.left:
            self._label(reason=row.reason)
        elif isinstance(row, ReasonLine) and row.done:
            self._show_saved(True)
        else:
            self.say("nothing stands under this reason: L labels in the order of the queue")

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self._label(role="adjudicator")

    def action_high_flag(self) -> None:
        """Label the next item with a high flag that is open."""
        high = [each for each in self._reasons if each.priority == "high" and each.left]
        if high:
            self._label(reason=high[0].reason)
        elif self.found is not None and self.found.open_high:
            self.say("the open flags have no item of this kind: c turns to the other one")
        else:
            self.say("no high flag is open")

    def _label(self, role: LabelRole = "rater", reason: str = "") -> None:
        from reviewer.tui.places import label_screen

        self.shell.suite_id, self.shell.candidate_id = self.suite_id, self.candidate_id
        self.shell.visit(label_screen(self.shell, role, reason))

    def action_view(self) -> None:
        """The agreement, or what was saved and why it was asked."""
        self._show_saved(not self._saved_shown)

    def _show_saved(self, shown: bool) -> None:
        self._saved_shown = shown
        self._draw_figures(fresh=True)

    def action_other_kind(self) -> None:
        """The queue of single messages, or of pairs."""
        self.shell.labeling.kind = OTHER[self._kind]
        self._read()

    def action_export(self) -> None:
        """Ask for a file and write the labels there."""
        from reviewer.tui.label_files import export_labels
        from reviewer.tui.screens.prompt import PromptScreen

        desk, suite = self.shell.desk, self.suite_id

        def write(name: str | None) -> None:
            if name:
                self.ask("file", lambda: export_labels(desk, suite, name), self._told)

        safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in suite)
        self.app.push_screen(PromptScreen("export labels to", f"labels-{safe}.jsonl"), write)

    def action_take_in(self) -> None:
        """Ask for a file and take in its labels."""
        from reviewer.tui.label_files import import_labels
        from reviewer.tui.screens.prompt import PromptScreen

        desk = self.shell.desk

        def read(name: str | None) -> None:
            if name:
                self.ask("file", lambda: import_labels(desk, name), self._taken_in)

        self.app.push_screen(PromptScreen("import labels from", "", "a file of labels"), read)

    def _told(self, words: str) -> None:
        self.say(visible_line(words), "pass")

    def _taken_in(self, words: str) -> None:
        self._told(words)
        self._read()
