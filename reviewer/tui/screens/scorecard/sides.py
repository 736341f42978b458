"""The scorecard's grid with a column per candidate: who passes which episode."""

from collections.abc import Sequence

from reviewer.desk.scorecards.views import Group, SideCell, SidesRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.scorecard.groups import head_name
from reviewer.tui.settings.theme import RED, STATES, cell_style
from reviewer.tui.widgets.columns import Column
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad

SIDE = "side:"
NARROW = 18
"""Columns of one candidate: glyph, passes of attempts, and the gate that fails most."""


def sides_shown(width: int, candidates: Sequence[str], chosen: str) -> tuple[str, ...]:
    """As many candidates as fit, in their order; the chosen one is always among them."""
    room = max(1, (max(width, 40) - 2 - 20) // (NARROW + 1))
    if len(candidates) <= room:
        return tuple(candidates)
    at = candidates.index(chosen) if chosen in candidates else 0
    first = max(0, min(at - room // 2, len(candidates) - room))
    return tuple(candidates[first : first + room])


class SidesSheet:
    """Columns for some candidates; `totals` are theirs over all episodes."""

    def __init__(
        self, width: int, candidates: Sequence[str], totals: Sequence[SideCell], of: int
    ) -> None:
        count = max(1, len(candidates))
        name = max(12, min(40, width - 2 - count * (NARROW + 1)))
        side = max(NARROW, min(30, (width - 2 - name) // count - 1))
        self.columns = [Column("episode", 2, name)]
        x = 2 + name
        for candidate in candidates:
            self.columns.append(Column(f"{SIDE}{candidate}", x + 1, side, True))
            x += side + 1
        left = width - x - 2
        if left >= 16:
            self.columns.append(Column("tags", x + 2, min(40, left)))
        self._width = side
        self.header: Sequence[Line] = [self._names(candidates)]
        self.totals: Sequence[Line] = [self._total(totals, of)] if totals else []

    def _names(self, candidates: Sequence[str]) -> Line:
        line = [Span("  " + pad("episode", self.columns[0].width), "dim")]
        size = self._width
        line += [Span(f" {pad(middle(visible_line(each), size), size)}") for each in candidates]
        tags = [column for column in self.columns if column.key == "tags"]
        return [*line, Span("  tags", "dim")] if tags else line

    def _total(self, totals: Sequence[SideCell], of: int) -> Line:
        line = [Span("  " + pad(f"passes, {of:,} episodes", self.columns[0].width), "dim")]
        for cell in totals:
            line += [Span(" "), *self._cell(cell)]
        return line

    def flag(self, row: SidesRow | Group) -> Span:
        return Span(" ")

    def cells(self, row: SidesRow | Group) -> list[Line]:
        size = self.columns[0].width
        if isinstance(row, Group):
            blank: list[Line] = [[] for _ in self.columns[1:]]
            return [[Span(head_name(row, size), "strong")], *blank]
        found: list[Line] = [[Span(middle(visible_line(row.episode_id), size))]]
        found += [self._cell(cell) for cell in row.sides]
        if self.columns[-1].key == "tags":
            tags = visible_line(" ".join(row.tags))
            found.append([Span(cut(tags, self.columns[-1].width), "dim")])
        return found

    def _cell(self, cell: SideCell) -> list[Span]:
        state = STATES[cell.mark]
        if cell.mark == "missing":
            return [Span(pad(f"{state.glyph} no attempt", self._width), cell.mark)]
        word = cell.gate if cell.mark in RED else "" if cell.mark == "pass" else state.cell
        text = f"{state.glyph} {cell.passes:,}/{cell.attempts:,} {word}"
        return [Span(pad(cut(text.rstrip(), self._width), self._width), cell_style(cell.mark))]
