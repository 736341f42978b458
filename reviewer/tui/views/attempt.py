"""One attempt next to the line that names it: its events, its end, and its contract by clause."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.views import Clause, EventRow, TraceView
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.views.event_list import EventSheet, ListMarks
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Line, Span, cut, fit, pad
from reviewer.tui.widgets.words import SHORT

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk

MOST = 64
"""Events that are shown; of a longer trace, those around the event of the finding."""
BEFORE = 20
"""Events shown before the event of the finding."""


class Read(NamedTuple):
    """A trace, and those of its events that are shown."""

    trace: TraceView
    first: int
    events: list[EventRow]


def read(desk: "Desk", trace_id: str, seq: int | None) -> Read | None:
    """Read the part of an attempt around an event; None if its trace no longer exists."""
    try:
        trace = desk.traces.view(trace_id)
        there = trace.listed
        first = 0 if there <= MOST or seq is None else max(0, seq - 1 - BEFORE)
        return Read(trace, first, list(desk.traces.events(trace_id, first, MOST)))
    except DeskError:
        return None  # Enter opens the trace, and reports the problem


def contract(trace: TraceView, gate: str, width: int) -> list[Block]:
    """Return the user's request, then the clauses: those of the cell's gate first, then failing
    ones."""
    blocks = [Block(visible(trace.user_request), quoted=True), Block("")]
    if not trace.user_request:
        blocks = []
    return [*blocks, *clause_lines(trace.clauses, gate, width)]


def clause_lines(clauses: Iterable[Clause], gate: str, width: int) -> Iterator[Block]:
    """Yield the clauses: those of a gate first, then failing ones."""
    for one in sorted(clauses, key=lambda one: (one.gate != gate, one.mark not in RED)):
        yield Block("", head=_clause(one, width))


def _clause(one: Clause, width: int) -> Line:
    event = "" if one.seq is None else f"  event {one.seq:,}"
    style = "dim" if one.mark == "pass" else "text"
    name = SHORT.get(one.gate, one.gate)
    return [
        words.mark(one.mark),
        Span(f" {pad(name, 10)} ", "strong"),
        Span(cut(visible_line(one.text), max(8, width - 13 - len(event))), style),
        Span(event, "key"),
    ]


def events(found: Read, seq: int | None, width: int) -> list[Block]:
    """Return the events of an attempt and its last words; `seq` is the event of the cell."""
    trace = found.trace
    drawn: list[Line] = []
    if not trace.listed:
        told = "the record itself was withheld" if trace.events else "no event in this trace"
        return [Block("", head=[Span(told, "not_measured")])]
    marks = ListMarks(slowest=trace.slowest_ms, dearest=trace.dearest_usd)
    drawn += event_lines(found.events, trace.events, seq, width, marks)
    left = trace.events - found.first - len(found.events)
    sides = ((found.first, "before"), (left, "after"))
    more = [f"{count:,} {where}" for count, where in sides if count > 0]
    drawn += [[Span(f"  {', '.join(more)}: Enter shows all", "dim")]] if more else []
    blocks = [Block("", head=line) for line in drawn]
    state = cut(visible_line(trace.final_state), width - 12)
    blocks += [Block(""), Block("", head=[Span("end state  ", "dim"), Span(state)])]
    if trace.final_message is None:
        return [*blocks, Block("no final message in this trace", "not_measured")]
    said = Block(visible(trace.final_message), quoted=True)
    return [*blocks, Block("final message", "dim"), said]


def event_lines(
    rows: Sequence[EventRow], events: int, seq: int | None, width: int, marks: ListMarks
) -> Iterator[Line]:
    """Yield events, under their heads, as the list of a trace with that many events shows them;
    `seq` is the event of the finding."""
    sheet = EventSheet(width, events, marks)
    yield from sheet.header
    yield from (_event(sheet, row, here=row.seq == seq) for row in rows)


def _event(sheet: EventSheet, row: EventRow, *, here: bool) -> Line:
    """Return one event as the list of a trace shows it."""
    line: list[Span] = [Span("›" if here else " ", "strong"), sheet.flag(row)]
    x = 2
    for column, cell in zip(sheet.columns, sheet.cells(row), strict=True):
        line.append(Span(" " * max(0, column.x - x)))
        line += fit(cell, column.width)
        x = column.x + column.width
    return line
