"""The list of events in columns: what, by whom, how it ended, how long it took, what it cost."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from reviewer.desk.traces.views import NoteView
from reviewer.desk.views import EventRow
from reviewer.trace.record import is_user
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad, spread

KINDS = {
    "message": '"',
    "tool_call": "→",
    "tool_result": "←",
    "approval": "§",
    "state_snapshot": "◊",
    "error": "*",
}
ROOMY = 46
BARS = 56
"""From here on there are bars beside time and cost."""
BAR = 4
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Shown(NamedTuple):
    """What the list shows beside the events: marks by event, those that hold what is searched for,
    and the slowest (ms) and dearest (USD) event, which the bars are drawn against."""

    marks: Mapping[int, str] = {}
    matches: Collection[int] = ()
    slowest: float | None = None
    dearest: float | None = None


def marks_of(notes: Sequence[NoteView]) -> dict[int, str]:
    """The mark of each event that has one: `w` a note, `m` a bookmark."""
    found: dict[int, str] = {}
    for note in notes:
        if note.kind == "note" or note.seq not in found:
            found[note.seq] = "w" if note.kind == "note" else "m"
    return found


def who(actor: str | None) -> tuple[str, str]:
    """(glyph, words) of whoever is not the agent: a user, the harness's own voice, a sub-agent."""
    if actor in (None, "agent"):
        return "", ""
    name = visible_line(actor or "")
    if actor == "user":
        return "@", "user"
    if is_user(actor):
        return "@", "user sim"
    return ("#", name) if actor in ("system", "environment") else ("»", f"sub-agent {name}")


def group_glyph(group: tuple[int, int]) -> str:
    """The bracket that calls made together share."""
    place, of = group
    return "" if of < 2 else "┌ " if place == 1 else "└ " if place == of else "│ "


def bar(value: float | None, most: float | None, width: int) -> str:
    """A bar of `value` against `most`; blank when either is unknown, a sliver for the least."""
    if value is None or not most:
        return " " * width
    eighths = min(width * 8, max(1 if value > 0 else 0, round(value / most * width * 8)))
    full, rest = divmod(eighths, 8)
    return pad("█" * full + (_EIGHTHS[rest] if rest else ""), width)


def waiting_row(seq: int) -> EventRow:
    """What stands for an event until it was read."""
    return EventRow(
        seq=seq, kind="", title="reading…", actor=None, status=None, latency_ms=None,
        cost_usd=None, mark=None, codes=(),
    )  # fmt: skip


class EventSheet:
    """Columns of the event list at one width. Time and cost have none where no event has them; in
    a narrow list status and time stand at the right end of the title, as far as it leaves room."""

    def __init__(self, width: int, events: int, shown: Shown) -> None:
        number = max(2, len(str(events)))
        self._shown, self._roomy = shown, width >= ROOMY
        fixed = [("mark", 1), ("seq", number), ("kind", 1), ("title", 0)]
        if self._roomy:
            bars = width >= BARS
            fixed.append(("status", 7))
            if shown.slowest is not None:
                fixed += [("time", 6), *([("slow", BAR)] if bars else [])]
            if shown.dearest is not None:
                fixed += [("cost", 6), *([("dear", BAR)] if bars else [])]
        taken = 3 + sum(size + 1 for _, size in fixed) - 1
        x = 2
        self.columns = []
        for name, size in fixed:
            size = max(4, width - taken) if name == "title" else size
            self.columns.append(Column(name, x, size))
            x += size + 1
        self.header: Sequence[Line] = ()
        self.totals: Sequence[Line] = ()

    def flag(self, row: EventRow) -> Span:
        """A note, a bookmark, or a match."""
        found = row.seq in self._shown.matches
        mark = self._shown.marks.get(row.seq, "/" if found else " ")
        return Span(mark, "match" if found else "key")

    def cells(self, row: EventRow) -> list[Line]:
        widths = {column.key: column.width for column in self.columns}
        status = row.status or ""
        wrong = status not in ("", "ok")
        took = "" if row.latency_ms is None else words.seconds(row.latency_ms)
        room = widths["title"]
        cells: list[Line] = [
            [words.mark(row.mark)] if row.mark else [Span(" ")],
            [Span(pad(str(row.seq), widths["seq"], right=True), "dim")],
            [Span(KINDS.get(row.kind, "?"))],
        ]
        if not self._roomy:
            end = status if wrong else f"{status} {took}".strip()
            end = f" {visible_line(end)}" if end else ""
            title = self._title(row, room - cell_len(end))
            return [*cells, spread(title, [Span(end, "fail" if wrong else "dim")], room)]
        paid = "" if row.cost_usd is None else f"${row.cost_usd:.3f}"
        drawn = {
            "status": Span(visible_line(status), "fail" if wrong else "dim"),
            "time": Span(pad(took, 6, right=True), "dim"),
            "slow": Span(bar(row.latency_ms, self._shown.slowest, BAR), "key"),
            "cost": Span(pad(paid, 6, right=True), "dim"),
            "dear": Span(bar(row.cost_usd, self._shown.dearest, BAR), "key"),
        }
        title = self._title(row, room)
        return [*cells, title, *([span] for name, span in drawn.items() if name in widths)]

    def _title(self, row: EventRow, width: int) -> list[Span]:
        glyph, name = who(row.actor)
        brief = name if width >= 30 else middle(name.removeprefix("sub-agent "), 8)
        actor = f"{glyph} {brief}: " if glyph else ""
        style = "match" if row.seq in self._shown.matches else "text"
        head = group_glyph(row.group) + actor
        text = cut(visible_line(row.title), max(1, width - cell_len(head)))
        return [Span(head, "key"), Span(text, "strong" if row.mark in RED else style)]
