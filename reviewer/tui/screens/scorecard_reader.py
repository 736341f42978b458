"""The scorecard's reading side: ask the desk, draw the answer, repaint in place when it changes."""

from collections.abc import Callable, Iterable, Sequence

from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.views import GATES, CandidateInfo, CellLine, EpisodeRow, Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui import scorecard_view as view
from reviewer.tui.chrome import Menu
from reviewer.tui.grid import Grid
from reviewer.tui.lines import Line, Span
from reviewer.tui.scorecard_reading import Question, Reading, read
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.run_acts import RunActs
from reviewer.tui.theme import RED

START_HINTS: tuple[Hint, ...] = (
    ("jk", "choose", "screen.start(1)"),
    ("Enter", "take it", "screen.start(0)"),
    ("r", "run", "screen.run"),
    ("?", "help", "app.explain"),
    ("ctrl+p", "palette", "app.command_palette"),
    ("ctrl+q", "quit", "app.quit"),
)


class ScorecardReader(RunActs):
    """Everything of the scorecard that is not an act of the reader."""

    NAME = "scorecard"
    CSS = """
    #drawer { height: 5; }
    #drawer.-tall { height: 11; }
    .-folded { display: none; }
    """

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.card: Scorecard | None = None
        self.candidates: list[CandidateInfo] = []
        self._by, self._descending = "worst", False
        self._failing = False
        self._filter = ""
        self._drawn: list[CellLine] = []
        self._drawn_row: EpisodeRow | None = None
        self._moved_order: list[int] | None = None
        self._warned = False
        self._pending: Callable[[Reading], None] | None = None

    def lower_regions(self) -> Iterable[Widget]:
        """What stands below the grid."""
        yield Menu(id="drawer", ruled=True)

    @property
    def grid(self) -> Grid:
        """The episodes."""
        return self.query_one("#grid", Grid)

    @property
    def drawer(self) -> Menu:
        """The attempts behind the cell."""
        return self.query_one("#drawer", Menu)

    def on_mount(self) -> None:
        self.head([[Span(" reading the store…", "dim")]])
        self.foot()
        self.grid.focus()
        self._read(self._first_look)

    # reading -----------------------------------------------------------------------------------

    def _read(self, then: Callable[[Reading], None]) -> None:
        if self._pending is not None and then == self._live:
            then = self._pending  # a new order or candidate is on its way: it stays asked for
        self._pending = then
        desk = self.shell.desk
        question = Question(
            self.suite_id, self.candidate_id, self._by, self._descending, self._failing,
            self._filter,
        )  # fmt: skip

        def done(reading: Reading) -> None:
            self._pending = None
            then(reading)

        self.ask("read", lambda: read(desk, question), done, self._unreadable)

    def _unreadable(self, error: DeskError) -> None:
        self._pending = None
        self.refused(error)
        if self.card is None:
            self.shell.problem(error, lambda: self._read(self._first_look))

    def _rows(self, keys: list[int]) -> Sequence[EpisodeRow]:
        try:
            return self.shell.desk.rows(self.suite_id, self.candidate_id, keys)
        except DeskError as error:
            self.call_later(self.refused, error)
            return []

    def _take(self, reading: Reading) -> bool:
        if reading.card is None:
            self._nothing_yet(reading.suites)
            return False
        if self.card is None and self.grid.has_class("-folded"):
            self._start_over()
        self.card = reading.card
        self.candidates = reading.candidates
        self.suite_id, self.candidate_id = self.card.suite.suite_id, self.card.candidate_id
        self.shell.suite_id, self.shell.candidate_id = self.suite_id, self.candidate_id
        self.read_only = self.card.suite.state == "broken"
        self._seen = self.shell.version
        if self.read_only and not self._warned:
            self._warned = True
            self._broken(self.card.suite)
        return True

    def _nothing_yet(self, suites: list[SuiteInfo]) -> None:
        from reviewer.tui.screens.empty import StartMenu

        self.grid.add_class("-folded")
        self.drawer.add_class("-folded")
        found = self.query(StartMenu)
        start = found.first() if found else StartMenu()
        if not found:
            self.mount(start, after="#top")
            start.focus()
        self.head(start.take(suites, self.shell.desk.workspace, self.columns))
        self.say("this fills by itself when an import or a run starts, here or elsewhere")

    def _start_over(self) -> None:
        """There is something to show: the grid takes the place of the first steps."""
        from reviewer.tui.screens.empty import StartMenu

        self.query(StartMenu).remove()
        self.grid.remove_class("-folded")
        self.drawer.remove_class("-folded")
        self._news = ()
        self.grid.focus()

    def _broken(self, suite: SuiteInfo) -> None:
        from reviewer.tui.screens.error import ErrorScreen

        self.app.push_screen(ErrorScreen.of_suite(suite, lambda: self._read(self._live)))

    def _first_look(self, reading: Reading) -> None:
        """The first answer: draw all, and stand on the cell of reason 1, else the first red one."""
        if self._take(reading):
            self._moved_order = None
            self.grid.set_keys(reading.keys)
            self.grid.column = GATES[0]
            self.redraw()
            self.arrive_first()

    def arrive_first(self) -> None:
        """Put the cursor where a reader should look first."""
        raise NotImplementedError

    def store_changed(self) -> None:
        super().store_changed()
        self._read(self._live if self.card else self._first_look)

    def _live(self, reading: Reading) -> None:
        """Somebody wrote: repaint in place. Rows keep their order under the reader."""
        if not self._take(reading):
            return
        self._moved_order = None
        if not self.grid.keys:
            self.grid.set_keys(reading.keys)
        elif list(self.grid.keys) != reading.keys:
            known = set(self.grid.keys)
            fresh = [key for key in reading.keys if key not in known]
            if fresh:
                self.grid.set_keys([*self.grid.keys, *fresh], self.grid.row)
            self._moved_order = reading.keys
        self.grid.reload()
        self.redraw()
        self._draw_cell()

    def _anew(self, reading: Reading) -> None:
        """A new order, filter or candidate: take it from the top."""
        if self._take(reading):
            self._moved_order = None
            self.grid.set_keys(reading.keys)
            self.redraw()
            self._draw_cell()
            if self._filter and not reading.keys:
                self.say("nothing matches the filter: Esc drops it", "not_measured")

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        if self.card is None:
            super().redraw()
            return
        lines: list[Line] = [
            view.context(
                self.card.suite, self.candidate_id, self.card.decided, self.names, self.columns
            )
        ]
        lines += view.banner(self.card, roomy=self._roomy, width=self.columns)
        lines += view.figures(self.card, self.columns)
        self.head(lines)
        self.foot()
        shown = len(self.grid.keys)
        title = Span(f"episodes {shown:,} of {self.card.episodes:,}", "strong")
        self.grid.caption([title], [Span(self._order_words(), "dim")])

    @property
    def names(self) -> list[str]:
        """Candidates of the suite with traces or a run, as `<` and `>` go through them."""
        names = [each.candidate_id for each in self.candidates]
        mine = [each for each in self.shell.live.views if each.suite_id == self.suite_id]
        names += [each.candidate_id for each in reversed(mine)]
        return list(dict.fromkeys(names))

    def _order_words(self) -> str:
        found = "worst first" if self._by == "worst" else f"by {self._by}"
        if self._by != "worst":
            found += ", falling" if self._descending else ", rising"
        if self._failing:
            found = f"only failing, {found}"
        if self._filter:
            found = f"{visible_line(self._filter)}, {found}"
        return f"order changed: s takes it, {found}" if self._moved_order else found

    @property
    def _roomy(self) -> bool:
        return self.columns >= 120 and self.app.size.height >= 36

    def on_resize(self, event: Resize) -> None:
        self.drawer.set_class(event.size.height >= 40, "-tall")
        self.redraw()

    # the cell under the cursor -----------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self._draw_cell()

    @property
    def gate(self) -> str:
        """The gate under the cell cursor."""
        row = self.grid.current
        if self.grid.column not in GATES and row is not None:
            reds = [name for name, cell in zip(GATES, row.cells, strict=True) if cell.mark in RED]
            return reds[0] if reds else GATES[0]
        return self.grid.column if self.grid.column in GATES else GATES[0]

    def _draw_cell(self) -> None:
        row, gate = self.grid.current, self.gate
        if row is None:
            self.drawer.caption(())
            self.drawer.offer([])
            return
        suite, candidate, desk = self.suite_id, self.candidate_id, self.shell.desk
        self.ask(
            "cell",
            lambda: (row, gate, desk.cell(suite, candidate, row.episode_id, gate)),
            self._drawer,
        )

    def _drawer(self, answer: tuple[EpisodeRow, str, list[CellLine]]) -> None:
        row, gate, lines = answer
        self.drawer.caption(*view.drawer_title(row, gate, row.cells[GATES.index(gate)]))
        same = self._drawn and [each.trace_id for each in self._drawn] == [
            each.trace_id for each in lines
        ]
        self._drawn, self._drawn_row = lines, row
        self._offer_attempts(None if same else 0)
        traces = [line.trace_id for line in reds_first(lines) if line.trace_id]
        if traces:
            self.shell.trace_id = traces[0]

    def _offer_attempts(self, cursor: int | None = None) -> None:
        self.drawer.offer([view.drawer_line(line) for line in self._drawn], cursor)


def reds_first(lines: list[CellLine]) -> list[CellLine]:
    """The first attempt that failed leads; without one, the first with an event that proves it."""
    return sorted(lines, key=lambda line: (line.mark not in RED, line.attempt))
