"""The judge screen's reading side: ask the desk, draw role, figures, pairs and words."""

from collections.abc import Iterable

from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.judge.views import JudgeDetail, JudgePairRow, JudgeView
from reviewer.tui.screens.base import DeskScreen
from reviewer.tui.screens.judge import pairs as pairs
from reviewer.tui.views import judge as view
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Span, rule
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.wrap import Block


class JudgeReader(DeskScreen):
    """Everything of the judge screen that is not an act of the reader."""

    NAME = "judge"
    DEFAULT_CSS = """
    JudgeReader #pairs { height: 1fr; }
    JudgeReader #confusion { height: 1fr; display: none; }
    JudgeReader #said { height: 3; }
    JudgeReader.-tall #said { height: 7; }
    JudgeReader.-confusion #pairs { display: none; }
    JudgeReader.-confusion #confusion { display: block; }
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: JudgeView | None = None
        self.rows: list[JudgePairRow] = []
        self.only = False
        self.sort = 0
        self.detail: tuple[str, JudgeDetail] | None = None

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="calibration")
        yield Grid(pairs.JudgeSheet, lambda keys: self.rows[keys[0] : keys[-1] + 1], id="pairs")
        yield TextView(id="confusion")
        yield LineBox(id="said")

    @property
    def grid(self) -> Grid:
        """The pairs."""
        return self.query_one("#pairs", Grid)

    @property
    def row(self) -> JudgePairRow | None:
        """The pair with the cursor."""
        row = self.grid.current
        return row if isinstance(row, JudgePairRow) else None

    def on_mount(self) -> None:
        self.head([[Span(" reading the calibration…", "dim")]])
        self.foot()
        self.grid.focus()
        self._read()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        self.redraw()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk, place = self.shell.desk, (self.suite_id, self.candidate_id)
        self.ask("judge", lambda: desk.judge.view(*place), self._take, self._unreadable)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def judge_changed(self) -> None:
        """Calls and cost are drawn; the rows come with the store's next change."""
        if self.found is not None:
            self.redraw()

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        if self.found is None:
            blocks = [Block(f"○ {error.text}"), *(Block(way) for way in error.ways_out)]
            self.add_class("-confusion")
            self.query_one("#confusion", TextView).show(blocks)

    def _take(self, found: JudgeView) -> None:
        fresh = self.found is None
        self.found = found
        self._seen = self.shell.version
        if fresh:
            self.remove_class("-confusion")
        self.order(first=fresh)
        self.redraw()
        self.look()

    def order(self, *, first: bool, anew: bool = False) -> None:
        """Take the rows in. What is listed keeps its place and what is new comes behind, unless
        they are sorted `anew`; the cursor stays on its pair."""
        listed = [
            row
            for row in (self.found.rows if self.found else ())
            if not self.only or row.outcome in pairs.NEEDS_YOU
        ]
        listed.sort(key=pairs.SORTS[self.sort].key)
        here = self.row.item if self.row else ""
        if not (first or anew):
            place = {row.item: n for n, row in enumerate(self.rows)}
            listed.sort(key=lambda row: place.get(row.item, len(place)))
        self.rows = listed
        names = [row.item for row in self.rows]
        parting = [n for n, row in enumerate(self.rows) if row.outcome in pairs.NEEDS_YOU]
        start = parting[0] if first and parting else 0
        self.grid.set_keys(
            range(len(names)), names.index(here) if not first and here in names else start
        )

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(view.top(found, self.shell.judging.view, self.columns))
        self.query_one("#calibration", LineBox).show(view.calibration(found, self.columns))
        title = f"your pairs {len(self.rows):,}"
        if self.only:
            title += f" of {len(found.rows):,}, only flips and disagreements"
        order = [Span(f", {pairs.SORTS[self.sort].words}", "dim")]
        self.grid.caption([Span(title, "strong"), *order], pairs.names(found))
        self._draw_confusion()
        self.draw_said()
        self.foot()

    def legend(self) -> Line:
        return [Span(f" {pairs.unseen(self.found)}", "dim")] if self.found else ()

    def _draw_confusion(self) -> None:
        if self.found is not None:
            text = self.query_one("#confusion", TextView)
            blocks = view.confusion(self.found, self.columns - 2)
            text.update(blocks, [Span("confusion", "strong")], pairs.names(self.found))

    def draw_said(self) -> None:
        row, box = self.row, self.query_one("#said", LineBox)
        if row is None:
            box.show([[Span("─" * self.columns, "rule")]])
            return
        known = self.detail[1] if self.detail and self.detail[0] == row.item else None
        title = [Span(f"pair {row.pair:,} · what the judge said", "strong")]
        rows = 3 if self.has_class("-tall") else 1
        words = view.said_lines(known, self.columns, rows) if known else [[Span(" …", "dim")]]
        box.show([rule(self.columns, title), *words])

    def look(self) -> None:
        """Ask for the judge's words on the pair with the cursor."""
        row = self.row
        if row is None or (self.detail is not None and self.detail[0] == row.item):
            return
        desk, item = self.shell.desk, row.item
        place = (self.suite_id, self.candidate_id)

        def take(detail: JudgeDetail) -> None:
            self.detail = item, detail
            self.draw_said()

        self.ask("pair", lambda: desk.judge.pair(*place, item), take)
