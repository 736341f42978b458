"""Looking for a cell in a grid of any length, forwards or backwards."""

from collections.abc import Callable, Container, Iterable, Sequence
from typing import NamedTuple

from reviewer.desk.scorecards.views import PAGE, Group, SidesRow
from reviewer.desk.views import EpisodeRow, Mark

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
