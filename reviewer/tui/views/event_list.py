"""The list of a trace's events in columns: the actor, the act, the request and the result."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from reviewer.desk.traces.listing import Listing
from reviewer.desk.traces.views import GroupRow, NoteView
from reviewer.desk.views import EventRow
from reviewer.trace.record import is_user
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import (
    Line,
    Sheet,
    Span,
    cut,
    fit,
    in_order,
    middle,
    pad,
    width_of,
)

KINDS = {
    "message": '"',
    "tool_call": "→",
    "tool_result": "←",
    "approval": "§",
    "state_snapshot": "◊",
    "error": "*",
}
WHO, WHOLE_NAMES = 6, 11
"""Columns of the actor, on a narrow screen and where status and cost have columns."""
ROOMY = 100
"""Columns from which status and cost have their own."""
BARS = 120
"""Columns from which bars are shown next to time and cost."""
BAR = 4
DEEPEST = 6
"""The most levels by which a line of a grouped list is indented."""
_EIGHTHS = " ▏▎▍▌▋▊▉"


class ListMarks(NamedTuple):
    """The list's additions to the events: marks by event, the events that match a search and the
    words it `wanted`, and the slowest (ms) and most expensive (USD) event, against which the bars
    are drawn. `listing` has the lines of a grouped list."""

    marks: Mapping[int, str] = {}
    matches: Collection[int] = ()
    slowest: float | None = None
    dearest: float | None = None
    wanted: str = ""
    listing: Listing | None = None


def marks_of(notes: Sequence[NoteView]) -> dict[int, str]:
    """Return the mark of each event that has one: `w` for a note, `m` for a bookmark."""
    found: dict[int, str] = {}
    for note in notes:
        if note.kind == "note" or note.seq not in found:
            found[note.seq] = "w" if note.kind == "note" else "m"
    return found


def who(actor: str | None) -> tuple[str, str]:
    """Return (glyph, words) of an actor other than the agent: a user, the harness, a sub-agent."""
    if actor in (None, "agent"):
        return "", ""
    name = visible_line(actor or "")
    if actor == "user":
        return "@", "user"
    if is_user(actor):
        return "@", "user sim"
    return ("#", name) if actor in ("system", "environment") else ("»", f"sub-agent {name}")


def group_glyph(group: tuple[int, int]) -> str:
    """Return the bracket shared by calls that were made together."""
    place, of = group
    return "" if of < 2 else "┌ " if place == 1 else "└ " if place == of else "│ "


def bar(value: float | None, most: float | None, width: int) -> str:
    """Return a bar of `value` against `most`; blank when either is unknown, a sliver for the
    least."""
    if value is None or not most:
        return " " * width
    eighths = min(width * 8, max(1 if value > 0 else 0, round(value / most * width * 8)))
    full, rest = divmod(eighths, 8)
    return pad("█" * full + (_EIGHTHS[rest] if rest else ""), width)


def waiting_row(seq: int) -> EventRow:
    """Return the row shown for an event until it is read."""
    return EventRow(
        seq=seq, kind="", title="reading…", actor=None, status=None, latency_ms=None,
        cost_usd=None, mark=None, codes=(),
    )  # fmt: skip


class EventSheet(Sheet):
    """Columns of the event list at one width. Time and cost have none if no event has them; on a
    narrow screen a status other than ok is put before the result."""

    def __init__(self, width: int, events: int, shown: ListMarks) -> None:
        number = max(2, len(str(events)))
        self._shown, self._roomy = shown, width >= ROOMY
        pattern = re.escape(shown.wanted)
        self._wanted = re.compile(pattern, re.IGNORECASE) if pattern else None
        fixed = [
            ("mark", 1),
            ("seq", number),
            ("who", WHOLE_NAMES if self._roomy else WHO),
            *([("kind", 1)] if shown.listing is None else []),
            ("what", 0),
        ]
        bars = width >= BARS
        fixed += [("status", 7)] if self._roomy else []
        if shown.slowest is not None:
            fixed += [("time", 6), *([("slow", BAR)] if bars else [])]
        if shown.dearest is not None and self._roomy:
            fixed += [("cost", 6), *([("dear", BAR)] if bars else [])]
        taken = 3 + sum(size + 1 for _, size in fixed) - 1
        what = max(4, width - taken)
        self.columns = in_order((n, what if n == "what" else size) for n, size in fixed)
        self._result = what * 2 // 5
        self.header = [[Span(self._heads(), "dim")]]

    def _heads(self) -> str:
        names = {"seq": "#", "who": "who", "status": "status", "time": "took", "cost": "cost"}
        line = ""
        for column in self.columns:
            right = column.key in ("seq", "time", "cost")
            name = pad(names.get(column.key, ""), column.width, right=right)
            if column.key == "what":
                call = column.width - self._result - 1
                name = pad(cut("call and arguments, or words", call), call) + " result"
            line = pad(line, column.x) + name
        return line.rstrip()

    def flag(self, row: EventRow | GroupRow) -> Span:
        """Return the mark of a note, a bookmark, or a match."""
        if isinstance(row, GroupRow):
            return Span(" ")
        found = row.seq in self._shown.matches
        mark = self._shown.marks.get(row.seq, "/" if found else " ")
        return Span(mark, "match" if found else "key")

    def cells(self, row: EventRow | GroupRow) -> list[Line]:
        widths = {column.key: column.width for column in self.columns}
        if isinstance(row, GroupRow):
            return self._group(row, widths)
        status = row.status or ""
        wrong = status not in ("", "ok")
        took = "" if row.latency_ms is None else words.seconds(row.latency_ms)
        paid = "" if row.cost_usd is None else f"${row.cost_usd:.3f}"
        ours = row.actor in (None, "agent")
        name = middle(said_by(row), widths["who"])
        cells: list[Line] = [
            [words.mark(row.mark)] if row.mark else [Span(" ")],
            [Span(pad(str(row.seq), widths["seq"], right=True), "dim")],
            [Span(name, "dim" if ours else "key")],
            *([[Span(KINDS.get(row.kind, "?"))]] if "kind" in widths else []),
            self._what(row, widths["what"], status if wrong and not self._roomy else ""),
        ]
        drawn = {
            "status": Span(visible_line(status), "fail" if wrong else "dim"),
            "time": Span(pad(took, 6, right=True), "dim"),
            "slow": Span(bar(row.latency_ms, self._shown.slowest, BAR), "key"),
            "cost": Span(pad(paid, 6, right=True), "dim"),
            "dear": Span(bar(row.cost_usd, self._shown.dearest, BAR), "key"),
        }
        return [*cells, *([span] for name, span in drawn.items() if name in widths)]

    def _what(self, row: EventRow, width: int, status: str) -> list[Span]:
        """Return a message over the whole width; for a call, its request and its result."""
        strong = "strong" if row.mark in RED else "text"
        head = [Span(group_glyph(row.group), "key")]
        if self._shown.listing is not None:
            listing = self._shown.listing
            depth = listing.depth(listing.outline.place(row.seq))
            head = [Span(f"{_indent(depth)}{KINDS.get(row.kind, '?')} "), *head]
        result = visible_line(row.result)
        if not result and not status:
            text = visible_line(f"{row.title}  {row.call}".rstrip())
            return [*head, *self._around(text, width - width_of(head), strong)]
        right = width - self._result
        named = visible_line(row.title)
        call = self._around(
            f"{named}  {visible_line(row.call)}".rstrip(), right - 1 - width_of(head), strong
        )
        told = [Span(f"{visible_line(status)} ", "fail")] if status else []
        told += self._around(result, self._result - width_of(told), "text")
        return [*fit([*head, *call], right), *told]

    def _around(self, text: str, width: int, style: str) -> list[Span]:
        """Return a text of at most `width` columns; during a search, its first match is in it."""
        hit = self._wanted.search(text) if self._wanted else None
        if hit is None:
            return [Span(cut(text, width), style)]
        start, end = hit.span()
        if cell_len(text[:end]) >= width:
            first = max(0, start - width // 3)
            text = f"…{text[first:]}"
            start, end = start - first + 1, end - first + 1
        shown = cut(text, width)
        return [
            Span(shown[:start], style),
            Span(shown[start:end], "match"),
            Span(shown[end:], style),
        ]

    def _group(self, row: GroupRow, widths: Mapping[str, int]) -> list[Line]:
        """Return a line that folds: its turns, their subject, and what is below it."""
        took = "" if row.took_ms is None else words.seconds(row.took_ms)
        agent = row.kind == "agent"
        name = "agent" if agent else said_by(row.quoted)
        cells: list[Line] = [
            [words.mark(row.mark)] if row.mark else [Span(" ")],
            [Span("")],
            [Span(middle(name, widths["who"]), "dim" if name == "agent" else "key")],
            self._about(row, widths["what"]),
        ]
        drawn = {"time": Span(pad(took, 6, right=True), "dim")}
        rest = [c.key for c in self.columns if c.key in ("status", "time", "slow", "cost", "dear")]
        return [*cells, *([drawn.get(name, Span(""))] for name in rest)]

    def _about(self, row: GroupRow, width: int) -> list[Span]:
        opened = self._shown.listing is not None and row.node in self._shown.listing.opened
        head = [Span(f"{_indent(row.depth)}{'▾' if opened else '▸'} ", "key")]
        first, last = row.numbers
        many = last - first + 1
        if row.kind == "agent":
            head.append(Span(f"{visible_line(row.name)}  ", "strong"))
            text = words.plural(many, "turn")
        elif row.kind == "run":
            head.append(Span(f"{first:,}-{last:,}  ", "strong"))
            text = f"{many:,} turns without a finding"
        else:
            head.append(Span(f"{first:,}  ", "strong"))
            text = visible_line(f"{row.quoted.title}  {row.quoted.call}".rstrip())
        calls = f", {words.plural(row.calls, 'call')}" if row.calls else ""
        wrong = f"{row.wrong:,} not ok" if row.wrong else ""
        events = words.plural(row.events, "event")
        told = [f"{events}{calls}", events]
        told = [*(f"{each}, {wrong}" for each in told), wrong] if wrong else told
        count = next((each for each in told if cell_len(each) <= self._result), told[-1])
        right = width - self._result
        said = self._around(text, right - 1 - width_of(head), "dim" if many > 1 else "text")
        plain, _, bad = count.partition(wrong) if wrong else (count, "", "")
        return [*fit([*head, *said], right), Span(plain, "dim"), Span(wrong + bad, "fail")]


def _indent(depth: int) -> str:
    return "  " * min(depth, DEEPEST)


def said_by(row: EventRow) -> str:
    """Return in a word who acted in an event, or that the environment or a tool did; a sub-agent's
    name, which it chose itself, follows a sign."""
    if row.kind == "state_snapshot":
        return "world"
    if row.actor in (None, "agent"):
        return "tool" if row.kind == "tool_result" else "agent" if row.kind else ""
    if is_user(row.actor):
        return "user" if row.actor == "user" else "sim"
    name = visible_line(row.actor or "")
    return name if row.actor in ("system", "environment") else f"»{name}"
