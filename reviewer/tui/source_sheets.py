"""Where evidence came from, and what was refused: a line each."""

from collections.abc import Sequence

from reviewer.desk.views import Refusal, SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.columns import Column
from reviewer.tui.lines import Line, Span, cut, middle, pad

COUNTS = ("records", "added", "known", "refused")


class SourceSheet:
    """One source a line: the file, its reader, what was read, added, known and refused."""

    def __init__(self, width: int) -> None:
        path = max(12, width - 2 - 11 - 4 * 9 - 9 - 2 - (22 if width >= 110 else 0))
        self.columns = [Column("file", 2, path), Column("reader", 3 + path, 10)]
        x = 14 + path
        for name in COUNTS:
            self.columns.append(Column(name, x, 8))
            x += 9
        self.columns.append(Column("state", x + 1, 8))
        if width >= 110:
            self.columns.append(Column("at", x + 10, 20))
        titles = [
            pad(column.key, column.width, right=column.key in COUNTS) for column in self.columns
        ]
        line = ""
        for column, title in zip(self.columns, titles, strict=True):
            line = pad(line, column.x) + title
        self.header: Sequence[Line] = [[Span(line.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: SourceInfo) -> Span:
        return Span("!", "quarantined") if row.refused else Span(" ")

    def cells(self, row: SourceInfo) -> list[Line]:
        cells: list[Line] = [
            [Span(middle(visible_line(row.path), self.columns[0].width))],
            [Span(cut(visible_line(row.reader), 10), "dim")],
        ]
        for name, count in zip(
            COUNTS, (row.records, row.added, row.known, row.refused), strict=True
        ):
            style = "fail" if name == "refused" and count else "text"
            cells.append([Span(pad(f"{count:,}", 8, right=True), style)])
        cells.append([Span(cut(visible_line(row.state), 8), "dim")])
        if self.columns[-1].key == "at":
            cells.append([Span(cut(visible_line(row.at), 20), "dim")])
        return cells


class RefusalSheet:
    """One refused record a line: file, record, reasons, way out."""

    def __init__(self, width: int) -> None:
        path = max(14, width // 4)
        reason = max(18, (width - path - 12) // 2)
        way = max(10, width - path - 12 - reason - 2)
        self.columns = [
            Column("file", 2, path),
            Column("record", 3 + path, 7),
            Column("reason", 11 + path, reason),
            Column("what to do", 12 + path + reason, way),
        ]
        line = ""
        for column in self.columns:
            line = pad(line, column.x) + column.key
        self.header: Sequence[Line] = [[Span(line, "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: Refusal) -> Span:
        return Span(" ")

    def cells(self, row: Refusal) -> list[Line]:
        widths = [column.width for column in self.columns]
        return [
            [Span(middle(visible_line(row.path), widths[0]))],
            [Span(f"{row.record:,}", "dim")],
            [Span(cut(visible_line(", ".join(row.reasons)), widths[2]), "fail")],
            [Span(cut(visible_line(row.way_out), widths[3]))],
        ]
