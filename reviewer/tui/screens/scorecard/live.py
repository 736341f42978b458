"""The scorecard while a run goes on: what is owed laid over the rows, and the run line."""

from collections.abc import Iterable
from functools import partial

from textual.widget import Widget

from reviewer.desk.runs.views import RunView
from reviewer.desk.views import SuiteInfo
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.run_acts import RUN_HINTS
from reviewer.tui.screens.scorecard import view as view
from reviewer.tui.screens.scorecard.reader import START_HINTS, ScorecardReader
from reviewer.tui.screens.scorecard.reading import Reading
from reviewer.tui.screens.scorecard.sheet import ScorecardSheet
from reviewer.tui.screens.scorecard.sides import SidesSheet
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import STATES
from reviewer.tui.views import run as run_view
from reviewer.tui.views.run_marks import AT_WORK, Overlay
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.columns import Sheet
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Span


class ScorecardLive(ScorecardReader):
    """The part of the scorecard that follows runs."""

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__(suite_id, candidate_id)
        self._offered: RunView | None = None
        self._unmoved_in: int | None = None

    def regions(self) -> Iterable[Widget]:
        yield Grid(self._sheet, self._rows, id="grid")
        yield from self.lower_regions()
        yield LineBox(id="run")

    def _sheet(self, width: int) -> Sheet:
        if self.mode == "candidates":
            of = self.card.episodes if self.card else 0
            return SidesSheet(width, self.sides, self.rows.totals, of)
        return ScorecardSheet(width, self.card, self.overlay, self.folded)

    # which run ---------------------------------------------------------------------------------

    @property
    def own_run(self) -> RunView | None:
        """The run of the candidate on screen: the one at work, else the newest."""
        return self.shell.live.of(self.suite_id, self.candidate_id)

    @property
    def overlay(self) -> Overlay:
        """What the run of this candidate still owes."""
        return self.shell.live.overlay(self.own_run)

    def chosen_run(self) -> RunView | None:
        own, at_work = self.own_run, self.shell.live.at_work
        if own is not None and own.state in AT_WORK:
            return own
        return at_work[0] if at_work else own

    def run_begun(self, view: RunView, *, asked: bool) -> None:
        """Follow the run when it was asked for here, or when there is nothing else to look at."""
        if asked or self.grid.has_class("-folded"):
            self._follow(view)
        elif self.card is None:
            self._offered = view  # still reading: followed if that finds nothing
        self.runs_changed()

    def _follow(self, view: RunView) -> None:
        self._unmoved_in = view.number
        if (view.suite_id, view.candidate_id) != (self.suite_id, self.candidate_id):
            self._turn_to(view.suite_id, view.candidate_id)

    def _nothing_yet(self, suites: list[SuiteInfo]) -> None:
        super()._nothing_yet(suites)
        if self._offered is not None:
            self._follow(self._offered)

    def run_ended(self, view: RunView, text: str, style: str) -> None:
        """A cursor that was not moved since goes where a reader should look first."""
        if view.state == "failed":
            runs, run = key_of("screen.runs"), key_of("run")
            text, style = f"{runs}, then Enter shows why whole; {run} runs what is missing", "dim"
        self.say(text, style)
        if view.number == self._unmoved_in and self._at_start:
            self._read(partial(self._last_look, text, style))

    def _last_look(self, text: str, style: str, reading: Reading) -> None:
        self._first_look(reading)
        self.say(text, style)

    @property
    def _at_start(self) -> bool:
        return (self.grid.row, self.grid.column) == (0, self.columns_of_cells[0])

    def _turn_to(self, suite_id: str, candidate_id: str) -> None:
        """Show another candidate."""
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.looking = self.looking._replace(of="")
        self._warned = False
        self._news = ()
        self.grid.go(0, self.columns_of_cells[0])
        self.turn()

    # drawing -----------------------------------------------------------------------------------

    def runs_changed(self) -> None:
        """Overlay, run line and line 1 follow the run; nothing is read from the store."""
        if not self.query("#run"):
            return
        self.redraw()
        self.grid.redress()
        self._offer_attempts()

    def redraw(self) -> None:
        super().redraw()
        self.query_one("#run", LineBox).show(self._run_lines())

    def _run_lines(self) -> list[Line]:
        run, approvals = self.chosen_run(), self.shell.live.approvals
        lines: list[Line] = []
        if approvals:
            lines.append(run_view.approval_line(approvals[0][1], len(approvals), self.columns))
        if run is not None and (run.state in AT_WORK or run.state == "failed"):
            here = (run.suite_id, run.candidate_id) == (self.suite_id, self.candidate_id)
            lines.append(run_view.run_line(run, here, self.columns))
        return lines

    def _offer_attempts(self, cursor: int | None = None) -> None:
        """What the store says of each attempt, then those that it does not know yet."""
        lines = [view.drawer_line(line) for line in self._drawn]
        if self._drawn_row is not None:
            told = {line.attempt for line in self._drawn}
            owed = self.overlay.owed(self._drawn_row).items()
            lines += [owed_line(attempt, mark) for attempt, mark in owed if attempt not in told]
        self.drawer.offer(lines, cursor)

    def hints(self) -> Iterable[Hint]:
        if self.grid.has_class("-folded"):
            return START_HINTS
        return (*self.HINTS, *RUN_HINTS) if self.shell.live.at_work else self.HINTS

    def legend(self) -> Line:
        return run_view.LEGEND if self.overlay.open else view.LEGEND


def owed_line(attempt: int, mark: str) -> list[Span]:
    """A line of the drawer for an attempt that has not landed."""
    return [
        Span(STATES[mark].glyph, mark),
        Span(f" attempt {attempt}           "),
        Span("at work" if mark == "running" else "waits its turn", "dim"),
    ]
