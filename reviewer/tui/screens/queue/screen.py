"""The queue: what to label next and why; and the agreement of the reviewers."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.labels.api import OPEN_FLAG, QueueView, ReasonLine
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.queue import set_view
from reviewer.tui.screens.queue import view as view
from reviewer.tui.screens.queue.controller import QUEUE_KEYS, QueueReading, queue_css
from reviewer.tui.settings.keys import bind, key_of, worded
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Block, Line, Span
from reviewer.tui.widgets.textview import TextView

SORTS = ("order of the queue", "most left first", "most done first")


class ReadingScreen(DeskScreen):
    """A screen about the labels of one candidate: it passes keys and changes on to its reading."""

    def __init__(self, reading: QueueReading) -> None:
        super().__init__()
        self.reading = reading

    def on_mount(self) -> None:
        self.reading.open()

    def on_resize(self, event: Resize) -> None:
        self.reading.resized(event)

    def store_changed(self) -> None:
        super().store_changed()
        self.reading.read()

    def hints(self) -> Iterable[Hint]:
        return self.reading.hints(self.HINTS)

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.reading.adjudicate()

    def action_other_kind(self) -> None:
        """Show the queue of single messages, or of pairs."""
        self.reading.turn()

    def action_evidence(self) -> None:
        """Switch whether items open with the events next to them."""
        self.reading.evidence()

    def action_export(self) -> None:
        """Ask for a file and write the labels there."""
        self.reading.export()

    def action_take_in(self) -> None:
        """Ask for a file and import its labels."""
        self.reading.take_in()


class QueueScreen(ReadingScreen):
    """Reasons as counts, the agreement below them, disagreements at the foot."""

    NAME = "queue"
    SIZED = ("reasons",)
    ABOUT = (
        "You are asked: what should people read next, and can their labels be trusted?",
        "Left and done count what you are shown; flags are closed by anybody's label.",
        "Reasons are counts here; an item shows its own reason once it has its label.",
    )
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "label", "screen.enter"),
        ("n", "flag", "screen.high_flag"),
        ("s", "sort", "screen.sort"),
        ("v", "view", "screen.view"),
        ("A", "agreement", "app.go('agreement')"),
        ("e", "evidence", "screen.evidence"),
        ("x", "export", "screen.export"),
        ("y", "copy", "screen.copy"),
        ("?", "help", "app.explain"),
        ("c", "messages", "screen.other_kind"),
        ("i", "import", "screen.take_in"),
        ("tab", "region", "app.focus_next"),
        ("L", "label in order", "app.go('label')"),
        ("J", "judge", "app.go('judge')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("enter", "enter", "label this next", "Label the next item of this line."),
        bind("n", "high_flag", "next open high flag", "Label what closes a high flag."),
        bind("s", "sort", "sort: queue, left, done", "Another order of the lines."),
        bind("v", "view", "agreement, saved items, who is here"),
        *QUEUE_KEYS,
    ]
    DEFAULT_CSS = queue_css("QueueScreen")
    CSS = """
    QueueScreen #left { height: auto; }
    QueueScreen.-wide #left { width: 1fr; height: 1fr; }
    QueueScreen #figures { width: 1fr; height: 1fr; }
    QueueScreen #reasons { height: 9; }
    QueueScreen.-tall #reasons { height: 13; }
    QueueScreen #saved, QueueScreen #people { display: none; height: 1fr; }
    QueueScreen.-wide #saved, QueueScreen.-wide #people { display: block; }
    """
    EVERY: ClassVar[float] = 10.0
    """Seconds between updates of relative times."""

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__(QueueReading(self, (suite_id, candidate_id), "#reasons", self._show))
        self._saved: str | None = None
        self._people = False
        self._sort = 0

    def regions(self) -> Iterable[Widget]:
        reasons = Grid(self._sheet, lambda keys: [self._reasons[key] for key in keys], "reasons")
        left = Vertical(reasons, TextView(id="saved"), TextView(id="people"), id="left")
        return self.reading.regions(left, TextView(id="figures"))

    def on_mount(self) -> None:
        self.every(self.EVERY, self._later)

    def _later(self) -> None:
        """Update the relative times."""
        if self.reading.found is not None:
            self.grid.redress()
            self._draw_figures(fresh=False)

    def who_changed(self) -> None:
        """Read again when someone came, left, or opened another item: a line shows it."""
        super().who_changed()
        if self.shell.here is self:
            self.reading.read()

    def _sheet(self, width: int) -> view.ReasonSheet:
        last = view.OF_A_SET if self.reading.review_set else view.OF_A_RELEASE
        return view.ReasonSheet(width, last, held=any(each.holders for each in self._reasons))

    @property
    def _reasons(self) -> tuple[ReasonLine, ...]:
        return self.reading.found.reasons if self.reading.found else ()

    @property
    def grid(self) -> Grid:
        """The reasons."""
        return self.query_one("#reasons", Grid)

    @property
    def _row(self) -> ReasonLine | None:
        row = self.grid.current
        return row if isinstance(row, ReasonLine) else None

    # drawing -----------------------------------------------------------------------------------

    def _show(self, found: QueueView, fresh: bool) -> None:
        if fresh or len(self.grid.keys) != len(found.reasons):
            order = self._order()
            left = [n for n, key in enumerate(order) if found.reasons[key].left]
            self.grid.styles.max_height = len(order) + 2
            self.grid.set_keys(order, left[0] if left else 0)
            self.grid.redress()
        self.grid.reload()
        self.redraw()
        self._draw_figures(fresh=fresh)

    def _order(self) -> list[int]:
        """Return the keys of the reasons in sorted order; new counts do not move them."""
        keys = list(range(len(self._reasons)))
        if self._sort:
            left = self._sort == 1
            counts = [each.left if left else each.done for each in self._reasons]
            keys.sort(key=lambda key: -counts[key])
        return keys

    def redraw(self) -> None:
        found = self.reading.found
        if found is None:
            super().redraw()
            return
        held = self.reading.held
        top = (
            view.top(found, self.columns)
            if held is None
            else set_view.set_top(held, found, self.columns)
        )
        self.head(top)
        note = [Span(view.left_words(found, SORTS[self._sort]), "dim")]
        title = "what to label next"
        title += ", with what was done" if self.shell.labeling.evidence else ""
        self.grid.caption([Span(title, "strong")], note)
        self.foot()
        self._draw_figures(fresh=False)

    def legend(self) -> Line:
        found = self.reading.found
        return view.left_out(found, self.reading.wide) if found else ()

    def _draw_figures(self, *, fresh: bool) -> None:
        found = self.reading.found
        if found is None:
            return
        figures, width, wide = self.reading.figures, self.reading.pane_columns, self.reading.wide
        figures.join(wide)
        people, who = view.people(self.shell.presence.found, found.recent, width)
        saved = view.saved(found, width, self._saved or "")
        kept = [Span("your saved items and why they were asked", "strong")]
        note: list[Span] = []
        if self._people and not wide:
            blocks, title = people, who
        elif self._saved is not None and not wide:
            blocks, title = saved, kept
        elif self.reading.held is not None:
            blocks = set_view.rates(self.reading.held, width)
            title = [Span("rates of all traces, by those drawn by lot", "strong")]
        else:
            blocks = view.in_full(found, width) if wide else view.figures(found, width)
            title, note = [Span("agreement", "strong")], [Span(view.labeled(found), "dim")]
        panes = [(figures, blocks, title, note)]
        if wide:
            under = [Span(f"under {view.reason_words(self._saved)}", "dim")] if self._saved else []
            panes.append((self.query_one("#saved", TextView), saved, kept, under))
            here = self.shell.presence.found
            who_note = [Span(f"{key_of('who')} lists them", "dim")] if here else []
            panes.append((self.query_one("#people", TextView), people, who, who_note))
        for pane, lines, words, more in panes:
            (pane.show if fresh else pane.update)(lines, words, more)

    # acting ------------------------------------------------------------------------------------

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        """Label the next item of the line; if none is left, show what was saved."""
        row = self._row
        if row is not None and row.left:
            self.reading.label(reason=row.reason)
        elif row is not None and row.open:
            self.action_high_flag()
        elif row is not None and row.done:
            self._show_saved(row.reason)
        else:
            self.say("no item has this reason: L labels in the order of the queue")

    def action_high_flag(self) -> None:
        """Label the next item that closes a high flag."""
        found = self.reading.found
        if found is not None and found.review_set:
            self.say("in a review set each flag is a line of its own: Enter labels it")
        elif found is None or not found.high:
            self.say("no trace of this candidate has a high flag")
        elif not found.open_high:
            self.say("every high flag is closed by a label")
        elif found.author:
            self.say("you made this candidate: only a label of somebody else closes its flags")
        elif not found.open_left and found.unsigned:
            self.say("labels close flags here once they are signed: reviewer labels sign")
        elif not found.open_left:
            other = worded("{choose} changes between pairs and messages")
            self.say(f"no item left for you closes an open flag: {other}")
        else:
            self.reading.label(reason=OPEN_FLAG)

    def action_sort(self) -> None:
        """Sort by the order of the queue, most left, or most done."""
        if self._row is None:
            return
        here = self.grid.keys[self.grid.row]
        self._sort = (self._sort + 1) % len(SORTS)
        order = self._order()
        self.grid.set_keys(order, order.index(here))
        self.redraw()

    def action_view(self) -> None:
        """Switch between the agreement, the saved items with their reasons, and the people with
        their last acts. With room for all of them: between saved items of this line, and all."""
        row = self._row
        if self.reading.wide:
            self._show_saved(row.reason if row is not None and not self._saved else None)
            return
        before, self._people = self._people, self._saved is not None
        self._show_saved(None if before or self._people else "")

    def _show_saved(self, reason: str | None) -> None:
        """Show saved items under a reason, all of them for "", the agreement for None."""
        self._saved = reason
        self._people = self._people and reason is None
        self._draw_figures(fresh=True)

    def action_copy(self) -> None:
        """Copy the text of the region in focus."""
        if self.grid.has_focus and self._row is not None:
            self.copy(view.reason_line(self._row), "line")
        else:
            self.reading.copy()


class AgreementScreen(ReadingScreen):
    """Every question in figures; the disagreements below."""

    NAME = "agreement"
    UNDER = "queue"
    ABOUT = (
        "You are asked: do people agree with each other, and with themselves?",
        "Alpha and AC1 correct for chance; where one answer is above 80 %, AC1 leads.",
        "No judge can agree with people more often than they agree with themselves.",
    )
    ENTER = "on a disagreement: settle it as a third person"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "scroll", "screen.scroll(1)"),
        ("n", "disagreement", "screen.next_open"),
        ("Enter", "settle", "screen.enter"),
        ("e", "evidence", "screen.evidence"),
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

    DEFAULT_CSS = queue_css("AgreementScreen")
    CSS = """
    AgreementScreen #selves { display: none; }
    AgreementScreen.-wide #selves { display: block; }
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__(QueueReading(self, (suite_id, candidate_id), "#figures", self._show))

    def regions(self) -> Iterable[Widget]:
        return self.reading.regions(TextView(id="figures"), TextView(id="selves", edge=True))

    def action_copy(self) -> None:
        """Copy the text of the region in focus."""
        self.reading.copy()

    # drawing -----------------------------------------------------------------------------------

    def _show(self, found: QueueView, fresh: bool) -> None:
        self.redraw()
        self._draw_figures(fresh=fresh)

    def redraw(self) -> None:
        if self.reading.found is None:
            super().redraw()
            return
        self.head(view.agreement_top(self.reading.found, self.columns))
        self.foot()
        self._draw_figures(fresh=False)

    def legend(self) -> Line:
        if self.reading.found is None:
            return ()
        if not self.reading.found.disagreements:
            return [Span(" nothing waits for a third person", "dim")]
        words = worded(" tab or {next}: the disagreements; Enter settles one, blind")
        return [Span(words, "dim")]

    def _draw_figures(self, *, fresh: bool) -> None:
        found = self.reading.found
        if found is None:
            return
        width = self.reading.pane_columns
        people, selves = (
            view.between(found, width),
            view.selves(found, width),
        )
        if not self.reading.wide:
            people = [*people, Block(""), *selves]
        note = [Span(view.labeled(found), "dim")]
        for name, blocks, title in (
            ("figures", people, view.agreement_title(found)),
            ("selves", selves, "each with themselves"),
        ):
            text = self.query_one(f"#{name}", TextView)
            show = text.show if fresh else text.update
            show(blocks, [Span(title, "strong")], note if name == "figures" else ())

    # acts --------------------------------------------------------------------------------------

    def action_enter(self) -> None:
        """Settle the disagreement with the cursor."""
        if self.reading.disagreement is None:
            self.say("nothing waits for a third person: L labels")
        else:
            self.reading.adjudicate()

    def action_next_open(self, step: int = 1) -> None:
        """Go to the next disagreement that this person may settle."""
        known = self.reading.found.disagreements if self.reading.found else ()
        menu = self.reading.menu
        here = menu.cursor if menu.has_focus else -1 if step > 0 else len(known)
        ahead = [n for n, one in enumerate(known) if not one.mine and (n - here) * step > 0]
        if ahead:
            menu.focus()
            menu.action_move((ahead[0] if step > 0 else ahead[-1]) - menu.cursor)
        else:
            self.say("no more disagreements that way that you may settle")

    def action_scroll(self, step: int) -> None:
        """Scroll the figures."""
        self.reading.figures.action_move(step)
