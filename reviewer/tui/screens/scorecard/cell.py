"""The cell under the cursor: moving to one, its attempts in the drawer, the run that fills it."""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from reviewer.desk.outcome_views import OUTCOME
from reviewer.desk.scorecards.views import PAGE, Group, SidesRow
from reviewer.desk.views import ALWAYS, CellLine, EpisodeRow, Evidence, Mark
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.scorecard import view as view
from reviewer.tui.screens.scorecard.preview import chosen
from reviewer.tui.screens.scorecard.reading import Reading
from reviewer.tui.screens.scorecard.sheet import SIDE, group_lines, group_name
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import RED, STATES, cell_style
from reviewer.tui.views.jobs import AT_WORK, Overlay
from reviewer.tui.widgets.lines import Span

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.desk.runs.api import RunView
    from reviewer.tui.screens.scorecard.controller import ScorecardReading
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen


FEW = 8
"""Rows that are fetched first: usually the match is among them."""


class Place(NamedTuple):
    """A cell: the index of its row in the order shown, the number of its cell from 0."""

    row: int
    cell: int


Episode = EpisodeRow | SidesRow
Match = Callable[[Episode, int], bool]


def marks_of(row: Episode) -> list[Mark]:
    """Return the mark of each cell of a row."""
    if isinstance(row, SidesRow):
        return [cell.mark for cell in row.sides]
    first = [] if row.outcome is UNSET else [row.outcome.mark]
    return [*first, *(cell.mark for cell in row.cells)]


def seek(
    start: Place,
    step: int,
    rows: range,
    at: Callable[[int], Episode | None],
    match: Match,
) -> Place | None:
    """Return the next cell after `start` in direction `step`, within `rows`, that matches."""
    ahead = range(start.row, rows.stop) if step > 0 else range(start.row, rows.start - 1, -1)
    return _seek(start, step, ahead, at, match)


def seek_among(
    start: Place,
    step: int,
    keys: Sequence[int],
    maybe: Container[int],
    fetch: Callable[[list[int]], Sequence[Episode | Group | None]],
    match: Match,
) -> Place | None:
    """Return like `seek` the next cell over all of `keys`, where only rows with a key in `maybe`
    can match: of a hundred thousand rows no others are fetched."""
    ahead = range(start.row, len(keys)) if step > 0 else range(start.row, -1, -1)
    there = [index for index in ahead if keys[index] in maybe]
    done, size = 0, FEW
    while done < len(there):
        part = there[done : done + size]
        found = dict(zip(part, fetch([keys[index] for index in part]), strict=True))
        rows = {index: row for index, row in found.items() if not isinstance(row, Group)}
        place = _seek(start, step, part, rows.get, match)
        if place is not None:
            return place
        done, size = done + size, PAGE
    return None


def _seek(
    start: Place,
    step: int,
    ahead: Iterable[int],
    at: Callable[[int], Episode | None],
    match: Match,
) -> Place | None:
    for index in ahead:
        row = at(index)
        if row is None:
            continue
        count = len(marks_of(row))
        for cell in range(count) if step > 0 else range(count - 1, -1, -1):
            beyond = index != start.row or (cell - start.cell) * step > 0
            if beyond and match(row, cell):
                return Place(index, cell)
    return None


NEAR = PAGE
"""Rows that are searched at once; rows further away are searched in the background."""
SEARCHING = "searching…"


def is_red(row: Episode, cell: int) -> bool:
    """Return whether a gate failed in a cell."""
    return marks_of(row)[cell] in RED


def _key_of(desk: "Desk", suite_id: str, episode_id: str) -> list[int]:
    key = desk.scorecards.episode_key(suite_id, episode_id)
    return [] if key is None else [key]


class Seeking:
    """Moves to cells of the scorecard: those of a reason, and red ones."""

    def __init__(self, screen: "ScorecardScreen", reading: "ScorecardReading") -> None:
        self._screen = screen
        self._reading = reading

    def arrive_first(self) -> None:
        """Go to the cell of reason 1, else to the first red cell."""
        card = self._reading.card
        if card is not None and card.reasons and card.reasons[0].evidence:
            self.to_evidence(card.reasons[0].evidence[0], self._first_red)
        else:
            self._first_red()

    def _first_red(self) -> None:
        self.go(Place(0, -1), 1, is_red, self._screen.cell.draw, self.red_keys())

    def to_evidence(self, evidence: Evidence, missed: Callable[[], None]) -> None:
        wanted: int | None = None
        if self._reading.mode == "candidates":
            sides, mine = self._reading.sides, self._reading.candidate_id
            wanted = sides.index(mine) if mine in sides else 0
        elif evidence.gate in self._reading.gates:
            wanted = self._reading.columns_of_cells.index(evidence.gate)
        self.go(
            Place(0, -1),
            1,
            lambda row, cell: (
                row.episode_id == evidence.episode_id
                and (cell == wanted if wanted is not None else is_red(row, cell))
            ),
            missed,
            partial(_key_of, self._screen.shell.desk, self._reading.suite_id, evidence.episode_id),
        )

    def red_keys(self) -> Callable[[], Container[int]]:
        """Return a question for the rows that may hold a red cell."""
        reading = self._reading
        shown = reading.sides if reading.mode == "candidates" else (reading.candidate_id,)
        return partial(self._screen.shell.desk.scorecards.maybe_red, reading.suite_id, shown)

    def go(
        self,
        start: Place,
        step: int,
        match: Match,
        missed: Callable[[], None],
        maybe: Callable[[], Container[int]],
    ) -> None:
        """Go to the next cell that matches: among the nearby rows, else, in the background, among
        the rows that `maybe` returns."""
        grid = self._screen.grid
        near = range(max(0, start.row - NEAR), min(len(grid.keys), start.row + NEAR + 1))
        place = seek(start, step, near, self._episode_at, match)
        if place is not None or len(near) == len(grid.keys):
            self.arrive(place, missed)
            return
        keys, fetch = grid.keys, self._reading.page
        self._screen.say(SEARCHING)
        self._screen.consult(
            "seek",
            lambda: seek_among(start, step, keys, maybe(), fetch, match),
            lambda found: self.arrive(found, missed),
        )

    def _episode_at(self, index: int) -> Episode | None:
        row = self._screen.grid.at(index)
        return None if isinstance(row, Group) else row

    def arrive(self, place: Place | None, missed: Callable[[], None]) -> None:
        if self._screen.said == SEARCHING:
            self.hush()
        if place is None:
            missed()
            return
        self._screen.grid.go(place.row, self._reading.columns_of_cells[place.cell])
        self._screen.cell.draw()

    def hush(self) -> None:
        """Clear the news line after the reader has moved on."""
        if self._screen.said:
            self._screen.forget_news()
            self._screen.foot()


class CellDrawer:
    """The attempts behind the cell under the cursor. `drawn` are those that are in the store."""

    def __init__(self, screen: "ScorecardScreen", reading: "ScorecardReading") -> None:
        self._screen = screen
        self._reading = reading
        self.drawn: list[CellLine] = []
        self._drawn_row: EpisodeRow | None = None

    def draw(self) -> None:
        row = self._screen.grid.current
        if row is None or isinstance(row, Group):
            self.drawn, self._drawn_row = [], None
            self._draw_head(row)
            return
        suite, (candidate, gate) = self._reading.suite_id, self.place
        desk = self._screen.shell.desk
        self._screen.consult(
            "cell",
            lambda: (row, gate, desk.scorecards.cell(suite, candidate, row.episode_id, gate)),
            self.show,
        )

    @property
    def episode(self) -> Episode | None:
        """The episode under the cursor, None on the head of a group."""
        row = self._screen.grid.current
        return None if isinstance(row, Group) else row

    @property
    def place(self) -> tuple[str, str]:
        """(candidate, gate) of the cell under the cursor."""
        reading = self._reading
        row, column = self.episode, self._screen.grid.column
        if reading.mode == "candidates":
            shown = [f"{SIDE}{each}" for each in reading.sides]
            at = shown.index(column) if column in shown else 0
            known = isinstance(row, SidesRow) and at < len(row.sides)
            gate = row.sides[at].gate if isinstance(row, SidesRow) and known else ""
            return (reading.sides[at] if shown else reading.candidate_id), gate or ALWAYS[0]
        if reading.outcome and column not in reading.gates:
            return reading.candidate_id, OUTCOME
        if column not in reading.gates and isinstance(row, EpisodeRow):
            reds = [
                name
                for name, each in zip(reading.gates, row.cells, strict=True)
                if each.mark in RED
            ]
            return reading.candidate_id, reds[0] if reds else ALWAYS[0]
        return reading.candidate_id, column if column in reading.gates else ALWAYS[0]

    @property
    def gate(self) -> str:
        """The gate under the cell cursor; on the candidate's cell, the gate that fails most."""
        return self.place[1]

    def _draw_head(self, group: Group | None) -> None:
        self.look()
        if group is None:
            self._screen.drawer.caption(())
            self._screen.drawer.offer([])
            return
        self._screen.drawer.caption(
            [Span(group_name(group), "strong"), Span(f" · {self._reading.looking.group}")],
            [Span("Enter folds, unfolds", "dim")],
        )
        card = self._reading.card
        lines = group_lines(group, card.pass_hat_k if card else 0, self._reading.gates)
        self._screen.drawer.offer(lines, 0)

    def show(self, answer: tuple[Episode, str, list[CellLine]]) -> None:
        row, gate, lines = answer
        if self.episode is None:
            return  # the cursor has moved on, to the head of a group
        if isinstance(row, EpisodeRow):
            gates, said = self._reading.gates, row.outcome
            cell = said or None if gate == OUTCOME else row.cells[gates.index(gate)]
            self._screen.drawer.caption(*view.drawer_title(row, gate, cell))
        else:
            name = Span(f"{visible_line(row.episode_id)} · {gate}", "strong")
            self._screen.drawer.caption([name], [Span(visible_line(self.place[0]), "dim")])
        same = self.drawn and [each.trace_id for each in self.drawn] == [
            each.trace_id for each in lines
        ]
        self.drawn, self._drawn_row = lines, row if isinstance(row, EpisodeRow) else None
        self.offer_attempts(None if same else 0)
        self.look()
        traces = [line.trace_id for line in reds_first(lines) if line.trace_id]
        if traces:
            self._screen.shell.trace_id = traces[0]

    def look(self) -> None:
        """Show the attempt next to the drawer, where there is room."""
        drawer = self._screen.drawer
        line = chosen(self.drawn, drawer.cursor, focused=drawer.has_focus)
        self._screen.preview.draw(line, _why_none(self._screen.grid.current))

    def offer_attempts(self, cursor: int | None = None) -> None:
        """Offer the attempts in the store, then those that are not there yet."""
        lines = [view.drawer_line(line) for line in self.drawn]
        if self._drawn_row is not None:
            told = {line.attempt for line in self.drawn}
            owed = self._screen.following.overlay.owed(self._drawn_row).items()
            lines += [owed_line(attempt, mark) for attempt, mark in owed if attempt not in told]
        self._screen.drawer.offer(lines, cursor)


class RunFollowing:
    """The run of the candidate on screen. `offered` is a run that is followed if the store has
    nothing to show."""

    def __init__(self, screen: "ScorecardScreen", reading: "ScorecardReading") -> None:
        self._screen = screen
        self._reading = reading
        self.offered: RunView | None = None
        self._unmoved_in: int | None = None

    @property
    def own_run(self) -> "RunView | None":
        """The run of the candidate on screen: the one at work, else the newest."""
        reading = self._reading
        return self._screen.shell.live.of(reading.suite_id, reading.candidate_id)

    @property
    def overlay(self) -> Overlay:
        """The attempts that the run of this candidate still has to make."""
        return self._screen.shell.live.overlay(self.own_run)

    def chosen_run(self) -> "RunView | None":
        """Return the run that the keys act on."""
        own, at_work = self.own_run, self._screen.shell.live.at_work
        if own is not None and own.state in AT_WORK:
            return own
        return at_work[0] if at_work else own

    def follow(self, view: "RunView") -> None:
        """Show the run's candidate; when the run has ended, the cursor goes to its first red
        cell."""
        self._unmoved_in = view.number
        reading = self._reading
        if (view.suite_id, view.candidate_id) != (reading.suite_id, reading.candidate_id):
            reading.turn_to(view.suite_id, view.candidate_id)

    def ended(self, view: "RunView", text: str, style: str) -> None:
        """Report the end of a run, and move a cursor that was not moved since to where a reader
        should look first."""
        if view.state == "failed":
            runs, run = key_of("screen.runs"), key_of("run")
            style = "dim"
            text = f"{runs}, then Enter shows the whole reason; {run} runs what is missing"
        self._screen.say(text, style)
        if view.number == self._unmoved_in and self._at_start:
            self._reading.read_all(partial(self._last_look, text, style))

    def _last_look(self, text: str, style: str, reading: Reading) -> None:
        self._reading.first_look(reading)
        self._screen.say(text, style)

    @property
    def _at_start(self) -> bool:
        """True while the cursor is where it was first put."""
        grid = self._screen.grid
        return (grid.row, grid.column) == (0, self._reading.columns_of_cells[0])


def _why_none(row: object) -> str:
    """Return why no attempt is shown next to the drawer; "" while nothing is known of the row."""
    if isinstance(row, Group):
        return f"a group of episodes: {key_of('fold')} unfolds it"
    if row is None:
        return ""
    return "no attempt of this episode is in the store: the first one that lands is shown here"


def owed_line(attempt: int, mark: str) -> list[Span]:
    """Return a line of the drawer for an attempt that is not in the store yet."""
    return [
        Span(STATES[mark].glyph, cell_style(mark)),
        Span(f" attempt {attempt}           "),
        Span("running" if mark == "running" else "waits its turn", "dim"),
    ]


def reds_first(lines: list[CellLine]) -> list[CellLine]:
    """Return the attempts with failed ones first, by number."""
    return sorted(lines, key=lambda line: (line.mark not in RED, line.attempt))
