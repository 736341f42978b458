"""The scorecard: may this candidate be promoted? Home of the workstation, and its acts."""

from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from reviewer.desk.scorecards.views import PAGE, Group
from reviewer.desk.views import CellLine, Evidence
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.run_acts import RUN_KEYS
from reviewer.tui.screens.scorecard import view as view
from reviewer.tui.screens.scorecard.reader import reds_first
from reviewer.tui.screens.scorecard.seek import Episode, Found, Place, marks_of, seek, seek_among
from reviewer.tui.screens.scorecard.ways import WAY_KEYS, ScorecardWays
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.settings.theme import RED
from reviewer.tui.shell.places import Around, ToTrace
from reviewer.tui.views.verdict import where
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.grid import Grid

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.tui.shell.traces import Ready

NEAR = PAGE
"""Rows looked through at once; what is further is looked for in the background."""


def _is_red(row: Episode, cell: int) -> bool:
    return marks_of(row)[cell] in RED


SEARCHING = "searching…"


class ScorecardScreen(ScorecardWays):
    """Episodes by gates for one candidate, the verdict above, the cell's attempts below."""

    ABOUT = (
        "You are asked: may this candidate be promoted?  The banner answers; a",
        "red cell is a reason. Go to the cell, press Enter: you stand on the event.",
    )
    ENTER = "the event behind the cell"
    NUMBERS = "the evidence of that reason"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "event", "screen.enter"),
        ("n", "next red", "screen.red(1)"),
        ("f", "failing", "screen.failing"),
        ("/", "filter", "screen.filter"),
        ("s", "sort", "screen.sort"),
        ("v", "views", "screen.views"),
        ("c", "choose", "screen.choose"),
        ("r", "run", "screen.run"),
        ("D", "decision", "app.go('decision')"),
        ("?", "help", "app.explain"),
        ("#", "group", "screen.group"),
        ("|", "side by side", "screen.side_by_side"),
        ("x", "export", "screen.export"),
        ("z", "fold", "screen.fold"),
        ("y", "copy id", "screen.copy_id"),
        ("< >", "candidate", "screen.candidate(1)"),
        ("1-9", "reason", "screen.numbered(1)"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "red(1)", "next red cell"),
        bind("N", "red(-1)", "red cell before"),
        *WAY_KEYS,
        bind("c", "choose", "choose suite, candidate"),
        bind("less_than_sign", "candidate(-1)"),
        bind("greater_than_sign", "candidate(1)"),
        bind("y", "copy_id", "copy the trace id"),
        bind("z", "fold", "fold the lower drawer"),
        bind("x", "export", "export the report"),
        *RUN_KEYS,
        bind("escape", "unfilter", "drop the filter, then back"),
        *digits("numbered"),
    ]

    # the cell under the cursor -----------------------------------------------------------------

    def arrive_first(self) -> None:
        """To the cell of reason 1, else the first red cell."""
        if self.card is not None and self.card.reasons and self.card.reasons[0].evidence:
            self._to_evidence(self.card.reasons[0].evidence[0], self._first_red)
        else:
            self._first_red()

    def _first_red(self) -> None:
        self._look(Place(0, -1), 1, _is_red, self.draw_cell, self._red_keys())

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_start(self, step: int) -> None:
        """Before there is a trace: move in, or take, the first steps."""
        menu = self.query_one("#start", Menu)
        menu.action_move(step) if step else menu.action_choose()

    def action_enter(self) -> None:
        """To the event that broke the gate, in the first attempt that failed it."""
        here, row = self.grid.current, self.episode
        if isinstance(here, Group):
            self.fold_group(here)
        if row is None:
            return
        suite, (candidate, gate), desk = self.suite_id, self.cell, self.shell.desk
        self._go_in(
            gate, lambda: reds_first(desk.scorecards.cell(suite, candidate, row.episode_id, gate))
        )

    def _go_in(self, gate: str, attempts: Callable[[], Iterable[CellLine]]) -> None:
        """Go to the first of some attempts that has a trace. It is read while the reader still
        sees the rows, so that the first frame of its screen shows it."""
        desk = self.shell.desk

        def read() -> "tuple[CellLine, Ready] | None":
            from reviewer.tui.shell.traces import read_whole

            for line in attempts():
                if line.trace_id is not None:
                    return line, read_whole(desk, line.trace_id)
            return None

        self.ask("enter", read, partial(self._open, gate))

    def _open(self, gate: str, found: "tuple[CellLine, Ready] | None") -> None:
        if found is None:
            self.say("no trace stands behind this cell yet: the attempt was not imported or run")
            return
        line, ready = found
        self.shell.trace_id = ready.trace.trace_id
        keys, at = self.grid.keys, self.grid.row
        if self.rows.groups:
            at -= sum(key < 0 for key in keys[:at])
            keys = [key for key in keys if key >= 0]
        self.shell.around = Around(keys, at)
        self.shell.visit(ToTrace(ready.trace.trace_id, line.seq, gate, ready=ready))

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.cursor < len(self._drawn):
            line = self._drawn[message.menu.cursor]
            self._go_in(self.gate, lambda: [line])

    # going to cells ----------------------------------------------------------------------------

    def action_red(self, step: int) -> None:
        """The next or previous failing cell."""
        column, cells = self.grid.column, self.columns_of_cells
        at = cells.index(column) if column in cells else len(cells)
        start = Place(self.grid.row, at)
        missed = partial(self.say, "no more red cells that way")
        self._hush()
        self._look(start, step, _is_red, missed, self._red_keys())

    def action_numbered(self, number: int) -> None:
        """The cell of a reason."""
        reasons = self.card.reasons if self.card else ()
        chosen = [reason for reason in reasons if reason.number == number]
        if not chosen:
            self.say(f"there is no reason {number}: the banner numbers them")
            return
        if not chosen[0].evidence:
            decision = key_of("screen.decision")
            self.say(f"reason {number} has no single event behind it: {decision} shows it whole")
            return
        evidence = chosen[0].evidence[0]
        lost = f"{where(evidence)} is not among the rows shown: Esc drops the filter"
        self._hush()
        self._to_evidence(evidence, partial(self.say, lost))

    def _to_evidence(self, evidence: Evidence, missed: Callable[[], None]) -> None:
        wanted: int | None = None
        if self.mode == "candidates":
            wanted = self.sides.index(self.candidate_id) if self.candidate_id in self.sides else 0
        elif evidence.gate in self.gates:
            wanted = self.gates.index(evidence.gate)
        self._look(
            Place(0, -1),
            1,
            lambda row, cell: (
                row.episode_id == evidence.episode_id
                and (cell == wanted if wanted is not None else _is_red(row, cell))
            ),
            missed,
            partial(self._key_of, self.shell.desk, self.suite_id, evidence.episode_id),
        )

    @staticmethod
    def _key_of(desk: "Desk", suite_id: str, episode_id: str) -> list[int]:
        key = desk.scorecards.episode_key(suite_id, episode_id)
        return [] if key is None else [key]

    def _red_keys(self) -> Callable[[], Container[int]]:
        """Asks which rows may hold a red cell."""
        shown = self.sides if self.mode == "candidates" else (self.candidate_id,)
        return partial(self.shell.desk.scorecards.maybe_red, self.suite_id, shown)

    def _look(
        self,
        start: Place,
        step: int,
        match: Found,
        missed: Callable[[], None],
        maybe: Callable[[], Container[int]],
    ) -> None:
        """Go to the next cell that matches: among the rows around, else in the background among
        those that `maybe` names."""
        grid = self.grid
        near = range(max(0, start.row - NEAR), min(len(grid.keys), start.row + NEAR + 1))
        place = seek(start, step, near, self._episode_at, match)
        if place is not None or len(near) == len(grid.keys):
            self._arrive(place, missed)
            return
        keys, fetch = grid.keys, self._rows
        self.say(SEARCHING)
        self.ask(
            "seek",
            lambda: seek_among(start, step, keys, maybe(), fetch, match),
            lambda found: self._arrive(found, missed),
        )

    def _episode_at(self, index: int) -> Episode | None:
        row = self.grid.at(index)
        return None if isinstance(row, Group) else row

    def _arrive(self, place: Place | None, missed: Callable[[], None]) -> None:
        if self.said == SEARCHING:
            self._hush()
        if place is None:
            missed()
            return
        self.grid.go(place.row, self.columns_of_cells[place.cell])
        self.draw_cell()

    def _hush(self) -> None:
        """What was said is over: the person goes on."""
        if self._news:
            self._news = ()
            self.foot()

    # candidate, and what is done with it ----------------------------------------------------

    def action_candidate(self, step: int) -> None:
        """The candidate before or after."""
        names = self.names
        if self.candidate_id in names:
            at = names.index(self.candidate_id) + step
            if 0 <= at < len(names):
                self._turn_to(self.suite_id, names[at])
            else:
                self.say("no candidate further that way")

    def action_choose(self) -> None:
        """Choose suite and candidate from a list."""
        from reviewer.tui.screens.dialogs.choose import ChooseScreen

        self.app.push_screen(ChooseScreen(self.suite_id, self.candidate_id), self._chosen)

    def _chosen(self, place: tuple[str, str] | None) -> None:
        if place is not None:
            self._turn_to(*place)

    def action_fold(self) -> None:
        """Fold the drawer away, and back."""
        self.drawer.toggle_class("-folded")
        if self.drawer.has_focus:
            self.grid.focus()

    def action_copy_id(self) -> None:
        """Copy the id of the trace behind the cell."""
        if self.shell.trace_id:
            self.copy(self.shell.trace_id, "trace id")

    def action_export(self) -> None:
        """Write the report and its renderings to a folder."""
        from reviewer.tui.screens.dialogs.prompt import export_to

        if self.card is not None:
            export_to(self, self.suite_id, self.candidate_id)
