"""The scorecard's questions: rows first, the figures above them when they are worked out, and both
again when the store changes under them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from time import monotonic

from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.scorecards.views import Group, Mode
from reviewer.desk.views import ALWAYS, Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.run_acts import RunActs
from reviewer.tui.screens.scorecard.reading import (
    FIRST,
    Early,
    Looking,
    Question,
    Reading,
    Rows,
    laid_out,
    read,
    read_clock,
    read_early,
    read_first_rows,
    read_rows,
    warm,
)
from reviewer.tui.screens.scorecard.seek import Episode
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Span

WAITING = "this fills by itself when an import or a run starts, here or elsewhere"

SOON = 0.25
"""Seconds that a new reading may be put off without anybody noticing."""


class ScorecardAsking(RunActs):
    """What is asked of the desk, and what becomes of the answers."""

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.card: Scorecard | None = None
        self.candidates: tuple[str, ...] = ()
        self.looking = Looking()
        self.mode: Mode = "gates"
        self.rows = Rows([])
        self.folded: frozenset[str] = frozenset()
        self._clock: int | None = None
        self._not_before = 0.0
        self._resting = False
        self._opening = True
        self._to_arrive = False
        self._moved_order: list[int] | None = None
        self._warned = False
        self._pending: Callable[[Reading], None] | None = None
        self._asked: Question | None = None
        self._stale = False

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

    @property
    def sides(self) -> tuple[str, ...]:
        """Candidates shown side by side."""
        raise NotImplementedError

    @property
    def columns_of_cells(self) -> tuple[str, ...]:
        """The columns whose cells are results."""
        raise NotImplementedError

    def arrive_first(self) -> None:
        """Put the cursor where a reader should look first."""
        raise NotImplementedError

    def draw_cell(self) -> None:
        """Ask what stands behind the cell under the cursor, and show it."""
        raise NotImplementedError

    def question(self) -> Question:
        """What this screen shows, as it is asked for now."""
        sides = self.sides if self.mode == "candidates" else ()
        return Question(self.suite_id, self.candidate_id, self.looking, sides)

    # opening -----------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self.head([[Span(" reading the store…", "dim")]])
        self.foot()
        self.grid.focus()
        self.open()

    def open(self) -> None:
        """Ask for the first rows, then for the rest of them, and for the figures."""
        self._opening = True
        desk, question = self.shell.desk, self.question()

        def failed(error: DeskError) -> None:
            self._opening = False
            self._read(self._first_look)  # which says what is wrong

        self.ask("early", lambda: read_early(desk, question), self._early, failed)

    def turn(self) -> None:
        """Show what `suite_id` and `candidate_id` say now. Where that takes a while, no figure of
        another candidate stays above the new rows."""
        if len(self.grid.keys) <= FIRST:
            self._read(self._first_look)
            return
        self.card = None
        self._set_rows(Rows([]))
        self._reading_figures()
        self.open()

    def _reading_figures(self) -> None:
        words = f" reading the figures of {visible_line(self.candidate_id)}…"
        self.head([[Span(words, "dim")]])

    def _early(self, early: Early | None) -> None:
        """Rows to look at while the figures above them are read."""
        self._opening = False
        known = None
        if early is not None and self.card is None:
            self.suite_id, self.candidate_id = early.suite_id, early.candidate_id
            self.grid.column = self.columns_of_cells[0]
            self._set_rows(early.rows)
            self._clock = known = early.clock
            if early.rows.partial:
                self._reading_figures()
            self._complete(self.question())
        self._read(self._first_look, known)

    def _first_look(self, reading: Reading) -> None:
        """The first answer: draw all, and stand on the cell of reason 1, else the first red one."""
        if not self._take(reading):
            return
        self._moved_order = None
        moved = (self.grid.row, self.grid.column) != (0, self.columns_of_cells[0])
        if reading.rows is None or (moved and list(self.grid.keys) == reading.rows.keys):
            self.rows = reading.rows or self.rows  # the reader may be at work in them
            self.grid.redress()
        else:
            moved = False
            self._set_rows(reading.rows)
            self.grid.column = self.columns_of_cells[0]
        self.redraw()
        if moved:
            self.draw_cell()
        elif self.rows.partial:
            self._to_arrive = True
        else:
            self.arrive_first()
        self._warm()

    def _warm(self) -> None:
        """Make ready what the next keys will want, while the reader looks."""
        desk, question = self.shell.desk, self.question()
        gates = self.card.gates if self.card else ALWAYS
        large = len(self.grid.keys) >= FIRST

        def ready() -> None:
            import_module("reviewer.tui.screens.trajectory.screen")
            if large:
                warm(desk, question, gates)

        self.ask("warm", ready, lambda done: None, lambda error: None)

    # rows --------------------------------------------------------------------------------------

    def reorder(self) -> None:
        """Take a new order, filter or grouping from the top; the figures above stay as they are."""
        if not self.candidate_id:
            return  # nothing stands here yet
        desk, question = self.shell.desk, self.question()

        def done(rows: Rows) -> None:
            if question == self.question():
                self._take_rows(rows)
                self._complete(question)

        self._to_arrive = False
        self.ask("rows", lambda: read_first_rows(desk, question), done)

    def _take_rows(self, rows: Rows) -> None:
        self._moved_order = None
        self._set_rows(rows)
        self.redraw()
        self.draw_cell()
        if self.looking.text and not rows.keys:
            self.say("nothing matches the filter: Esc drops it", "not_measured")

    def _set_rows(self, rows: Rows, at: int = 0) -> None:
        if rows.groups and self.folded:
            rows = rows._replace(keys=laid_out(rows.groups, self.folded))
        self.rows = rows
        self.grid.set_keys(rows.keys, at)

    def _complete(self, question: Question) -> None:
        """Ask for the rows behind the first."""
        if not self.rows.partial:
            return
        desk = self.shell.desk

        def done(rows: Rows) -> None:
            if question == self.question() and self.rows.partial:
                self._rest(rows)

        self.ask("rows", lambda: read_rows(desk, question), done)

    def _rest(self, rows: Rows) -> None:
        shown = self.rows.keys
        if rows.keys[: len(shown)] == shown:
            self.rows = rows
            self.grid.grow(rows.keys)
        else:  # somebody wrote in between
            self._set_rows(rows, self.grid.row)
        if self.card is not None:
            self.redraw()
        if self._to_arrive:
            self._to_arrive = False
            self.arrive_first()

    def _rows(self, keys: list[int]) -> Sequence[Episode | Group | None]:
        """A page: heads of groups are at hand, episodes are asked for."""
        desk, wanted = self.shell.desk, [key for key in keys if key >= 0]
        found: Sequence[Episode]
        try:
            if self.mode == "candidates":
                found = desk.scorecards.sides(self.suite_id, self.sides, wanted)
            else:
                found = desk.scorecards.rows(self.suite_id, self.candidate_id, wanted)
        except DeskError as error:
            self.call_later(self.refused, error)
            found = []
        by_key = {row.key: row for row in found}
        return [self.rows.groups[-key - 1] if key < 0 else by_key.get(key) for key in keys]

    # figures -----------------------------------------------------------------------------------

    def _read(self, then: Callable[[Reading], None], known: int | None = None) -> None:
        """Read all anew; rows only where the clock does not show `known`."""
        if self._pending is not None and then == self._live:
            then = self._pending  # a new order or candidate is on its way: it stays asked for
        self._pending = then
        desk, question, began = self.shell.desk, self.question(), monotonic()
        self._asked, self._stale = question, False

        def done(reading: Reading) -> None:
            self._pending = None
            # A store that takes long to read is given time to answer other questions too.
            self._not_before = monotonic() + 2 * (monotonic() - began)
            if question.candidate_id and question != self.question():
                reading = reading._replace(rows=None)  # asked anew since, and on its way
            else:
                self._clock = reading.clock
            then(reading)
            self._go_on()

        self.ask("read", lambda: read(desk, question, known), done, self._unreadable)

    def _unreadable(self, error: DeskError) -> None:
        self._pending = None
        self.refused(error)
        if self.card is None:
            self.shell.problem(error, lambda: self._read(self._first_look))
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Read what was written while the last answer was worked out."""
        if self._stale:
            self._stale = False
            self._rest_first()

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
        from reviewer.tui.screens.scorecard.empty import StartMenu

        self.grid.add_class("-folded")
        self.drawer.add_class("-folded")
        found = self.query(StartMenu)
        start = found.first() if found else StartMenu()
        if not found:
            self.mount(start, after="#top")
            start.focus()
        self.head(start.take(suites, self.shell.desk.path, self.columns))
        self.say(WAITING)

    def _start_over(self) -> None:
        """There is something to show: the grid takes the place of the first steps."""
        from reviewer.tui.screens.scorecard.empty import StartMenu

        self.query(StartMenu).remove()
        self.grid.remove_class("-folded")
        self.drawer.remove_class("-folded")
        if self.said == WAITING:  # and not what an import that has just ended says
            self._news = ()
        self.grid.focus()

    def _broken(self, suite: SuiteInfo) -> None:
        from reviewer.tui.screens.dialogs.error import ErrorScreen

        self.app.push_screen(ErrorScreen.of_suite(suite, lambda: self._read(self._live)))

    # the store changes -------------------------------------------------------------------------

    def store_changed(self) -> None:
        super().store_changed()
        if self._opening:
            return  # what is read next is newer than this
        if self._clock is None:
            self._changed(None)
            return
        desk, question = self.shell.desk, self.question()
        lost = partial(self._changed, None)
        clock = partial(read_clock, desk, question)
        self.ask("clock", clock, self._changed, lambda error: lost())

    def _changed(self, clock: int | None) -> None:
        """Read again, unless what was written is about nothing that stands here."""
        if clock is not None and clock == self._clock:
            return
        if self._pending is not None and self._asked == self.question():
            self._stale = True  # its answer is shown first: whoever writes on would put it off
        elif self.card is None or self._not_before - monotonic() <= SOON:
            self._read(self._live if self.card else self._first_look)
        else:
            self._rest_first()

    def _rest_first(self) -> None:
        if not self._resting:
            self._resting = True
            self.set_timer(max(0.0, self._not_before - monotonic()), self._rested)

    def _rested(self) -> None:
        self._resting = False
        self._read(self._live)

    def _live(self, reading: Reading) -> None:
        """Somebody wrote: repaint in place. Rows keep their order under the reader."""
        if not self._take(reading):
            return
        if reading.rows is not None:
            self._moved_order = None
            self._take_live(reading.rows)
        self.grid.reload()
        self.redraw()
        self.draw_cell()

    def _take_live(self, fresh: Rows) -> None:
        if fresh.groups and self.folded:
            fresh = fresh._replace(keys=laid_out(fresh.groups, self.folded))
        shown = list(self.grid.keys)
        if not shown or fresh.keys == shown:
            self.rows = fresh
            if not shown:
                self.grid.set_keys(fresh.keys)
            return
        self.rows = self.rows._replace(totals=fresh.totals)
        added: list[int] = []
        if not fresh.groups and len(fresh.keys) > len(shown):
            known = set(shown)
            added = [key for key in fresh.keys if key not in known]
        if added:
            self.grid.set_keys([*shown, *added], self.grid.row)
        self._moved_order = fresh.keys
