"""Where evidence came from, and what was refused: a line each."""

from collections.abc import Sequence

from reviewer.desk.views import Refusal, SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import worded
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad

UNFINISHED = "○ part"
"""The state of a source that was not read to its end."""
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
        state = UNFINISHED if row.state != "done" else visible_line(row.state)
        cells.append([Span(cut(state, 8), "not_measured" if row.state != "done" else "dim")])
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


def source_lines(source: SourceInfo, width: int) -> list[Line]:
    """What is known of a source, and what its reader found missing or doubtful."""
    lines: list[Line] = [_fact("file", source.path, width)]
    counts = f"{source.records:,} read, {source.added:,} added, {source.known:,} known"
    lines.append([*_fact("records", counts, width), Span(_refused(source.refused), "fail")])
    if source.state != "done":
        told = "not read to its end: somebody is at it, or it was stopped; {run} reads on"
        lines.append([Span(f" {UNFINISHED}  ", "not_measured"), Span(worded(told))])
    if source.suite_id or source.candidate_id:
        lines.append(_fact("for", f"{source.suite_id} {source.candidate_id}".strip(), width))
    for number, note in enumerate(source.notes):
        lines.append(_fact("notes" if not number else "", note, width))
    lines.append(_fact("at", f"{source.at}, {source.reader}", width))
    return [*lines, _fact("sha256", source.sha256, width)]


def _refused(count: int) -> str:
    return f", {count:,} refused" if count else ""


def refusal_lines(refusal: Refusal, width: int) -> list[Line]:
    """One refused record, nothing cut, and what to do about it."""
    lines = [_fact("file", refusal.path, width), _fact("record", f"{refusal.record:,}", width)]
    for number, reason in enumerate(refusal.reasons):
        name = "reasons" if not number else ""
        lines.append([Span(f" {name:<12}", "dim"), Span(visible_line(reason), "fail")])
    return [*lines, [Span(" what to do  ", "dim"), Span(visible_line(refusal.way_out), "strong")]]


def _fact(name: str, value: str, width: int) -> list[Span]:
    return [Span(f" {name:<12}", "dim"), Span(cut(visible_line(value), max(20, width - 15)))]
