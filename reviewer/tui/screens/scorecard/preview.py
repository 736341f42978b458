"""The attempt behind a cell, where there is room: its contract below the drawer, its events beside
it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.views import CellLine, Clause, EventRow, TraceView
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.shell.places import listed
from reviewer.tui.views.event_list import EventSheet, ListMarks
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Line, Span, cut, fit, pad
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import SHORT

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen

MOST = 64
"""Events that are shown; of a longer trace those around the event of the finding."""
BEFORE = 20
"""Events shown before that one."""


class Read(NamedTuple):
    """A trace, and the events of it that are shown."""

    trace: TraceView
    first: int
    events: list[EventRow]


def read(desk: "Desk", line: CellLine) -> Read | None:
    """Read what is shown of an attempt; None where its trace is here no more."""
    assert line.trace_id is not None
    try:
        trace = desk.traces.view(line.trace_id)
        there = listed(trace)
        first = 0 if there <= MOST or line.seq is None else max(0, line.seq - 1 - BEFORE)
        return Read(trace, first, list(desk.traces.events(line.trace_id, first, MOST)))
    except DeskError:
        return None  # Enter goes there, and says what is wrong


class Preview:
    """Shows the attempt of the cell under the cursor: the one that failed first, or the one that
    the drawer's cursor is on."""

    def __init__(self, screen: "ScorecardScreen") -> None:
        self._screen = screen
        self._line: CellLine | None = None
        self._read: Read | None = None

    def _pane(self, name: str) -> TextView:
        return self._screen.query_one(f"#{name}", TextView)

    def _clear(self, told: str = "") -> None:
        """Show no attempt, and say why."""
        said = [Block(told, "dim")] if told else []
        title = [Span("no attempt to show", "strong")] if told else []
        self._pane("preview").show(said, title)
        self._pane("contract").show([], [Span("contract", "strong")] if told else [])

    def draw(self, line: CellLine | None, why_none: str = "") -> None:
        """Show an attempt; None where there is none, for the reason given."""
        if not self._screen.roomy:
            self._line = self._read = None
            return
        same = self._read is not None and line is not None
        if same and self._read and line and self._read.trace.trace_id == line.trace_id:
            if line != self._line:
                self._show(line, self._read)
            return
        self._line, self._read = line, None
        if line is None or line.trace_id is None:
            self._clear(why_none)
            return
        desk = self._screen.shell.desk
        self._screen.ask("preview", lambda: read(desk, line), lambda found: self._take(line, found))

    def again(self) -> None:
        """Draw at another width."""
        if self._line is not None and self._read is not None:
            self._show(self._line, self._read)

    def _take(self, line: CellLine, found: Read | None) -> None:
        if line is not self._line:
            return
        if found is None:
            self._clear()
        else:
            self._read = found
            self._show(line, found)

    def _show(self, line: CellLine, found: Read) -> None:
        self._line = line
        trace, width = found.trace, self._screen.columns // 2 - 3
        title = f"attempt {trace.attempt}, {words.plural(trace.events, 'event')}"
        note = [Span("Enter opens it", "dim")]
        self._pane("preview").show(events(found, line.seq, width), [Span(title, "strong")], note)
        failed = sum(clause.mark in RED for clause in trace.clauses)
        told = [Span(f"{failed:,} fail" if failed else "none fails", "dim")]
        self._pane("contract").show(
            contract(trace, self._screen.cell.gate, width),
            [Span(f"contract of attempt {trace.attempt}", "strong")],
            told,
        )


def contract(trace: TraceView, gate: str, width: int) -> list[Block]:
    """Return what the user asked, then the clauses: of the cell's gate first, and what fails."""
    blocks = [Block(visible(trace.user_request), quoted=True), Block("")]
    if not trace.user_request:
        blocks = []
    order = sorted(trace.clauses, key=lambda one: (one.gate != gate, one.mark not in RED))
    return [*blocks, *(Block("", head=_clause(one, width)) for one in order)]


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
    if not listed(trace):
        told = "the record itself was withheld" if trace.events else "no event in this trace"
        return [Block("", head=[Span(told, "not_measured")])]
    marks = ListMarks(slowest=trace.slowest_ms, dearest=trace.dearest_usd)
    sheet = EventSheet(width, trace.events, marks)
    drawn += sheet.header
    drawn += [_event(sheet, row, here=row.seq == seq) for row in found.events]
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


def _event(sheet: EventSheet, row: EventRow, *, here: bool) -> Line:
    """Return one event as the list of a trace has it."""
    line: list[Span] = [Span("›" if here else " ", "strong"), sheet.flag(row)]
    x = 2
    for column, cell in zip(sheet.columns, sheet.cells(row), strict=True):
        line.append(Span(" " * max(0, column.x - x)))
        line += fit(cell, column.width)
        x = column.x + column.width
    return line


def chosen(drawn: Sequence[CellLine], at: int, *, focused: bool) -> CellLine | None:
    """Return the attempt to show: the drawer's own where it has the focus, else the first that
    failed."""
    if focused and at < len(drawn):
        return drawn[at]
    known = [line for line in drawn if line.trace_id is not None]
    return next((line for line in known if line.mark in RED), known[0] if known else None)
