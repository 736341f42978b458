"""The scorecard's questions: rows first, the figures above them when they are computed, and both
again when the store changes."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import UNSET

from reviewer.desk.errors import DeskError
from reviewer.desk.outcome_views import OUTCOME
from reviewer.desk.scorecards.views import Group, Mode
from reviewer.desk.views import ALWAYS, Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.scorecard.cell import Episode
from reviewer.tui.screens.scorecard.reading import (
    FIRST,
    Arrangement,
    BrokenLock,
    Early,
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
from reviewer.tui.screens.scorecard.sheet import SIDE, sides_shown
from reviewer.tui.widgets.lines import Span

if TYPE_CHECKING:
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen

WAITING = "this fills by itself when an import or a run starts, here or elsewhere"

MANY = 100
"""Number of episodes above which their groups are folded at first."""
SOON = 0.25
"""Seconds that a new reading may be delayed without anyone noticing."""


class ScorecardReading:
    """The scorecard's questions to the desk, and what it does with the answers."""

    def __init__(self, screen: "ScorecardScreen", suite_id: str, candidate_id: str) -> None:
        self._screen = screen
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.card: Scorecard | None = None
        self.refused: BrokenLock | None = None
        self._early_gates = ALWAYS
        self._early_outcome = False
        self.candidates: tuple[str, ...] = ()
        self.looking = Arrangement()
        self.mode: Mode = "gates"
        self.rows = Rows([])
        self.folded: frozenset[str] = frozenset()
        self.fold_first = False
        self.clock: int | None = None
        self._not_before = 0.0
        self._resting = False
        self.opening = True
        self._to_arrive = False
        self.moved_order: list[int] | None = None
        self._warned = False
        self._pending: Callable[[Reading], None] | None = None
        self._asked: Question | None = None
        self._stale = False

    @property
    def sides(self) -> tuple[str, ...]:
        """Candidates with traces, as many as fit side by side."""
        return sides_shown(self._screen.columns, self.candidates, self.candidate_id)

    @property
    def columns_of_cells(self) -> tuple[str, ...]:
        """The columns whose cells are results: gates, or candidates."""
        if self.mode == "candidates":
            return tuple(f"{SIDE}{each}" for each in self.sides) or ("episode",)
        return (OUTCOME, *self.gates) if self.outcome else self.gates

    @property
    def outcome(self) -> bool:
        """True where the verdicts of sources are a column: in a probe."""
        return self.card.outcome is not UNSET if self.card else self._early_outcome

    def question(self) -> Question:
        """Return the question for what this screen shows now."""
        sides = self.sides if self.mode == "candidates" else ()
        return Question(self.suite_id, self.candidate_id, self.looking, sides)

    def open(self) -> None:
        """Ask for the first rows, then for the other rows and the figures."""
        self.opening = True
        desk, question = self._screen.shell.desk, self.question()

        def failed(error: DeskError) -> None:
            self.opening = False
            self.read_all(self.first_look)  # the desk's refusal says why

        self._screen.consult("early", lambda: read_early(desk, question), self._early, failed)

    def turn(self) -> None:
        """Show `suite_id` and `candidate_id`. Where that takes a while, no figure of another
        candidate stays above the new rows."""
        if len(self._screen.grid.keys) <= FIRST:
            self.read_all(self.first_look)
            return
        self.card = self.refused = None
        self._set_rows(Rows([]))
        self._reading_figures()
        self.open()

    def _reading_figures(self) -> None:
        words = f" reading the figures of {visible_line(self.candidate_id)}…"
        self._screen.head([[Span(words, "dim")]])

    def _early(self, early: Early | None) -> None:
        """Show rows while the figures above them are read."""
        self.opening = False
        known = None
        if early is not None and self.card is None:
            self.suite_id, self.candidate_id = early.suite_id, early.candidate_id
            self._early_gates, self._early_outcome = early.gates, early.outcome
            self._screen.grid.column = self.columns_of_cells[0]
            self._set_rows(early.rows)
            self.clock = known = early.clock
            if early.rows.partial:
                self._reading_figures()
            self._complete(self.question())
        self.read_all(self.first_look, known)

    def first_look(self, reading: Reading) -> None:
        """Draw the first answer, with the cursor on the cell of reason 1, else on the first red
        cell."""
        if not self.take(reading):
            return
        self.moved_order = None
        moved = (self._screen.grid.row, self._screen.grid.column) != (0, self.columns_of_cells[0])
        if reading.rows is None or (moved and list(self._screen.grid.keys) == reading.rows.keys):
            self.rows = reading.rows or self.rows  # the reader may already be working in them
            self._screen.grid.redress()
        else:
            moved = False
            self._set_rows(reading.rows)
            self._screen.grid.column = self.columns_of_cells[0]
        self._screen.redraw()
        if moved:
            self._screen.cell.draw()
        elif self.rows.partial:
            self._to_arrive = True
        else:
            self._screen.seeking.arrive_first()
        self._warm()

    def _warm(self) -> None:
        """Compute the answers that the next keys will need, while the reader looks."""
        desk, question = self._screen.shell.desk, self.question()
        gates = self.gates
        large = len(self._screen.grid.keys) >= FIRST

        def ready() -> None:
            import_module("reviewer.tui.screens.trajectory.screen")
            if large:
                warm(desk, question, gates)

        self._screen.consult("warm", ready, lambda done: None, lambda error: None)

    def reorder(self) -> None:
        """Show a new order, filter or grouping from the top; the figures above stay as they are."""
        if not self.candidate_id:
            return  # nothing is shown yet
        desk, question = self._screen.shell.desk, self.question()

        def done(rows: Rows) -> None:
            if question == self.question():
                self._take_rows(rows)
                self._complete(question)

        self._to_arrive = False
        self._screen.consult("rows", lambda: read_first_rows(desk, question), done)

    def _take_rows(self, rows: Rows) -> None:
        self.moved_order = None
        self._set_rows(rows)
        self._screen.redraw()
        self._screen.cell.draw()
        if self.looking.text and not rows.keys:
            self._screen.say("nothing matches the filter: Esc drops it", "not_measured")

    def _set_rows(self, rows: Rows, at: int = 0) -> None:
        if rows.groups and self.fold_first:
            self.fold_first = False
            many = sum(group.episodes for group in rows.groups) > MANY
            self.folded = frozenset(group.label for group in rows.groups if many)
        if rows.groups and self.folded:
            rows = rows._replace(keys=laid_out(rows.groups, self.folded))
        self.rows = rows
        self._screen.grid.set_keys(rows.keys, at)

    def _complete(self, question: Question) -> None:
        """Ask for the rows after the first."""
        if not self.rows.partial:
            return
        desk = self._screen.shell.desk

        def done(rows: Rows) -> None:
            if question == self.question() and self.rows.partial:
                self.take_rest(rows)

        self._screen.consult("rows", lambda: read_rows(desk, question), done)

    def take_rest(self, rows: Rows) -> None:
        shown = self.rows.keys
        if rows.keys[: len(shown)] == shown:
            self.rows = rows
            self._screen.grid.grow(rows.keys)
        else:  # the store was written to in between
            self._set_rows(rows, self._screen.grid.row)
        if self.card is not None:
            self._screen.redraw()
        if self._to_arrive:
            self._to_arrive = False
            self._screen.seeking.arrive_first()

    def page(self, keys: list[int]) -> Sequence[Episode | Group | None]:
        """Return a page of rows: heads of groups from memory, episodes from the desk."""
        desk, wanted = self._screen.shell.desk, [key for key in keys if key >= 0]
        found: Sequence[Episode]
        try:
            if self.mode == "candidates":
                found = desk.scorecards.sides(self.suite_id, self.sides, wanted)
            else:
                found = desk.scorecards.rows(self.suite_id, self.candidate_id, wanted)
        except DeskError as error:
            screen = self._screen
            screen.call_later(screen.while_there(partial(screen.refused, error)))
            found = []
        by_key = {row.key: row for row in found}
        return [self.rows.groups[-key - 1] if key < 0 else by_key.get(key) for key in keys]

    def read_all(self, then: Callable[[Reading], None], known: int | None = None) -> None:
        """Read everything again; the rows only if the clock differs from `known`."""
        if self._pending is not None and then == self.repaint:
            then = self._pending  # a new order or candidate is being read: keep its callback
        self._pending = then
        desk, question, began = self._screen.shell.desk, self.question(), monotonic()
        self._asked, self._stale = question, False

        def done(reading: Reading) -> None:
            self._pending = None
            # A store that takes long to read leaves time for other questions.
            self._not_before = monotonic() + 2 * (monotonic() - began)
            if question.candidate_id and question != self.question():
                reading = reading._replace(rows=None)  # asked again since, and being read
            else:
                self.clock = reading.clock
            then(reading)
            self._go_on()

        self._screen.consult("read", lambda: read(desk, question, known), done, self._unreadable)

    def _unreadable(self, error: DeskError) -> None:
        self._pending = None
        self._screen.refused(error)
        if self.card is None:
            self._screen.shell.problem(error, lambda: self.read_all(self.first_look))
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Read what was written while the last answer was computed."""
        if self._stale:
            self._stale = False
            self._rest_first()

    def take(self, reading: Reading) -> bool:
        """Take over an answer; return whether there is something to show."""
        if reading.card is None and reading.refused is None:
            self.nothing_yet(reading.suites)
            return False
        if self.card is None and self._screen.grid.has_class("-folded"):
            self._start_over()
        if self.card is not None:
            self._early_gates = self.card.gates
            self._early_outcome = self.card.outcome is not UNSET
        self.card, self.refused, self.candidates = reading.card, reading.refused, reading.candidates
        if reading.card is not None:
            self.suite_id = reading.card.suite.suite_id
            self.candidate_id = reading.card.candidate_id
            self._warned = False
        elif reading.refused is not None:
            self.suite_id = reading.refused.suite.suite_id
            self.candidate_id = reading.refused.candidate_id
            self._refuse(reading.refused)
        shell = self._screen.shell
        shell.suite_id, shell.candidate_id = self.suite_id, self.candidate_id
        self._screen.read_only = reading.refused is not None
        self._screen.seen()
        return True

    def _refuse(self, refused: BrokenLock) -> None:
        """Say once that the suite does not match its lock, and what can be done."""
        if self._warned:
            return
        from reviewer.tui.screens.dialogs.error import ErrorScreen

        self._warned = True
        again = partial(self.read_all, self.repaint)
        dialog = ErrorScreen.of_suite(refused.suite, refused.ways_out, again)
        self._screen.app.push_screen(dialog)

    def nothing_yet(self, suites: list[SuiteInfo]) -> None:
        from reviewer.tui.screens.scorecard.view import StartMenu

        self._screen.grid.add_class("-folded")
        self._screen.fold_drawer(True)
        found = self._screen.query(StartMenu)
        start = found.first() if found else StartMenu()
        if not found:
            self._screen.mount(start, after="#top")
            start.focus()
        self._screen.head(start.take(suites, self._screen.shell.desk.path, self._screen.columns))
        self._screen.say(WAITING)
        if self._screen.following.offered is not None:
            self._screen.following.follow(self._screen.following.offered)

    def _start_over(self) -> None:
        """Replace the first steps by the grid, because there is something to show."""
        from reviewer.tui.screens.scorecard.view import StartMenu

        self._screen.query(StartMenu).remove()
        self._screen.grid.remove_class("-folded")
        self._screen.fold_as_before()
        if self._screen.said == WAITING:  # but keep the message of an import that has just ended
            self._screen.forget_news()
        self._screen.grid.focus()

    def changed(self, clock: int | None) -> None:
        """Read again, unless the write concerns nothing that is shown."""
        if clock is not None and clock == self.clock:
            return
        if self._pending is not None and self._asked == self.question():
            self._stale = True  # shown first: frequent writes would delay it forever
        elif self.card is None or self._not_before - monotonic() <= SOON:
            known = self.card is not None or self.refused is not None
            self.read_all(self.repaint if known else self.first_look)
        else:
            self._rest_first()

    def _rest_first(self) -> None:
        if not self._resting:
            self._resting = True
            self._screen.after(max(0.0, self._not_before - monotonic()), self._rested)

    def _rested(self) -> None:
        self._resting = False
        self.read_all(self.repaint)

    def repaint(self, reading: Reading) -> None:
        """Repaint in place after a write. Rows keep their order under the reader."""
        if not self.take(reading):
            return
        if reading.rows is not None:
            self.moved_order = None
            self._take_live(reading.rows)
        self._screen.grid.reload()
        self._screen.redraw()
        self._screen.cell.draw()

    def _take_live(self, fresh: Rows) -> None:
        if fresh.groups and self.folded:
            fresh = fresh._replace(keys=laid_out(fresh.groups, self.folded))
        shown = list(self._screen.grid.keys)
        if not shown or fresh.keys == shown:
            self.rows = fresh
            if not shown:
                self._screen.grid.set_keys(fresh.keys)
            return
        self.rows = self.rows._replace(totals=fresh.totals)
        added: list[int] = []
        if not fresh.groups and len(fresh.keys) > len(shown):
            known = set(shown)
            added = [key for key in fresh.keys if key not in known]
        if added:
            self._screen.grid.set_keys([*shown, *added], self._screen.grid.row)
        self.moved_order = fresh.keys

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates that are in force on this suite."""
        return self.card.gates if self.card else self._early_gates

    @property
    def names(self) -> list[str]:
        """Candidates of the suite with traces or a run, in the order of `<` and `>`."""
        names = list(self.candidates)
        mine = [each for each in self._screen.shell.live.views if each.suite_id == self.suite_id]
        names += [each.candidate_id for each in reversed(mine)]
        return list(dict.fromkeys(names))

    def turn_to(self, suite_id: str, candidate_id: str) -> None:
        """Show another candidate."""
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.looking = self.looking._replace(of="")
        self._warned = False
        self._screen.forget_news()
        self._screen.grid.go(0, self.columns_of_cells[0])
        self.turn()

    def store_changed(self) -> None:
        """Read again after a write to the store, if it concerns what is shown."""
        if self.opening:
            return  # the reading under way will be newer than this
        if self.clock is None:
            self.changed(None)
            return
        desk, question = self._screen.shell.desk, self.question()
        lost = partial(self.changed, None)
        clock = partial(read_clock, desk, question)
        self._screen.consult("clock", clock, self.changed, lambda error: lost())
