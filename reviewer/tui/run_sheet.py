"""The list of runs: what was ordered, how far it is, what failed, what is left."""

from collections.abc import Sequence

from reviewer.desk.run_views import RunView
from reviewer.trace.safetext import visible_line
from reviewer.tui.columns import Column
from reviewer.tui.lines import Line, Span, cut, middle, pad
from reviewer.tui.run_view import bar, counts, gate_counts, left, state_span

CURSOR = "candidate"
"""The one cell the cursor stands on: a bar in reverse video would read the wrong way round."""


class RunSheet:
    """One run a line; its problem, or its failing gates, take what room is left."""

    def __init__(self, width: int) -> None:
        name = max(12, min(36, width - 62))
        meter = 24 if width >= 120 else 6
        sizes = [("run", 4), ("candidate", name), ("progress", meter + 10), ("result", 14)]
        sizes += [("left", 11), ("state", 10)]
        x = 2
        self.columns: list[Column] = []
        for key, size in sizes:
            self.columns.append(Column(key, x, size, key == CURSOR))
            x += size + 1
        if width - x >= 12:
            self.columns.append(Column("gates, problem", x, width - x))
        self._meter = meter
        line = ""
        for column in self.columns:
            line = pad(line, column.x) + column.key
        self.header: Sequence[Line] = [[Span(line, "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: RunView) -> Span:
        return Span("●", "quarantined") if row.approvals else Span(" ")

    def cells(self, row: RunView) -> list[Line]:
        name = self.columns[1].width
        done = [*bar(row.done, row.planned, self._meter), Span(f" {row.done:,}/{row.planned:,}")]
        cells: list[Line] = [
            [Span(f"{row.number}")],
            [Span(middle(visible_line(row.candidate_id), name), "strong")],
            done,
            counts(row),
            [Span(left(row), "dim")],
            [state_span(row)],
        ]
        if len(self.columns) > len(cells):
            room = self.columns[-1].width
            if row.problem:
                cells.append([Span(cut(visible_line(row.problem), room), "fail")])
            else:
                cells.append([Span(cut(gate_counts(row), room), "fail")])
        return cells
