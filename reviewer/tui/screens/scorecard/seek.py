"""Looking for a cell in a grid of any length, forwards or backwards."""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.scorecards.views import PAGE, Group, SidesRow
from reviewer.desk.views import EpisodeRow, Evidence, Mark
from reviewer.tui.settings.theme import RED

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.tui.screens.scorecard.controller import ScorecardReading
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen

FEW = 8
"""Rows that are fetched first: most often one of them is it."""


class Place(NamedTuple):
    """A cell: the index of its row in the order shown, the number of its cell from 0."""

    row: int
    cell: int


Episode = EpisodeRow | SidesRow
Found = Callable[[Episode, int], bool]


def marks_of(row: Episode) -> list[Mark]:
    """What each cell of a row says."""
    return [cell.mark for cell in (row.cells if isinstance(row, EpisodeRow) else row.sides)]


def seek(
    start: Place,
    step: int,
    rows: range,
    at: Callable[[int], Episode | None],
    match: Found,
) -> Place | None:
    """The next cell after `start` in direction `step`, within `rows`, that matches."""
    ahead = range(start.row, rows.stop) if step > 0 else range(start.row, rows.start - 1, -1)
    return _seek(start, step, ahead, at, match)


def seek_among(
    start: Place,
    step: int,
    keys: Sequence[int],
    maybe: Container[int],
    fetch: Callable[[list[int]], Sequence[Episode | Group | None]],
    match: Found,
) -> Place | None:
    """As `seek` over all of `keys`, where only rows with a key in `maybe` can match: of a hundred
    thousand no others are fetched."""
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
    match: Found,
) -> Place | None:
    for index in ahead:
        row = at(index)
        if row is None:
            continue
        count = len(row.cells if isinstance(row, EpisodeRow) else row.sides)
        for cell in range(count) if step > 0 else range(count - 1, -1, -1):
            beyond = index != start.row or (cell - start.cell) * step > 0
            if beyond and match(row, cell):
                return Place(index, cell)
    return None


NEAR = PAGE
"""Rows looked through at once; what is further is looked for in the background."""
SEARCHING = "searching…"


def is_red(row: Episode, cell: int) -> bool:
    """Whether a gate failed in a cell."""
    return marks_of(row)[cell] in RED


def _key_of(desk: "Desk", suite_id: str, episode_id: str) -> list[int]:
    key = desk.scorecards.episode_key(suite_id, episode_id)
    return [] if key is None else [key]


class Seeking:
    """Goes to cells of the scorecard: those of a reason, and red ones."""

    def __init__(self, screen: "ScorecardScreen", reading: "ScorecardReading") -> None:
        self._screen = screen
        self._reading = reading

    def arrive_first(self) -> None:
        """To the cell of reason 1, else the first red cell."""
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
            wanted = self._reading.gates.index(evidence.gate)
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
        """Asks which rows may hold a red cell."""
        reading = self._reading
        shown = reading.sides if reading.mode == "candidates" else (reading.candidate_id,)
        return partial(self._screen.shell.desk.scorecards.maybe_red, reading.suite_id, shown)

    def go(
        self,
        start: Place,
        step: int,
        match: Found,
        missed: Callable[[], None],
        maybe: Callable[[], Container[int]],
    ) -> None:
        """Go to the next cell that matches: among the rows around, else in the background among
        those that `maybe` names."""
        grid = self._screen.grid
        near = range(max(0, start.row - NEAR), min(len(grid.keys), start.row + NEAR + 1))
        place = seek(start, step, near, self._episode_at, match)
        if place is not None or len(near) == len(grid.keys):
            self.arrive(place, missed)
            return
        keys, fetch = grid.keys, self._reading.page
        self._screen.say(SEARCHING)
        self._screen.ask(
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
        """What was said is over: the person goes on."""
        if self._screen.said:
            self._screen.forget_news()
            self._screen.foot()
