"""The attempt behind a cell, where there is room: its contract below the drawer, its events next to
it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reviewer.desk.views import CellLine
from reviewer.tui.settings.theme import RED
from reviewer.tui.views.attempt import Read, contract, events, read
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Block, Span
from reviewer.tui.widgets.textview import TextView

if TYPE_CHECKING:
    from reviewer.tui.screens.scorecard.screen import ScorecardScreen


class Preview:
    """Shows the attempt of the cell under the cursor: the one that failed first, or the one under
    the drawer's cursor."""

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
        """Show an attempt, or, for None, the reason why there is none."""
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
        desk, trace_id, seq = self._screen.shell.desk, line.trace_id, line.seq
        self._screen.ask(
            "preview", lambda: read(desk, trace_id, seq), lambda found: self._take(line, found)
        )

    def again(self) -> None:
        """Draw again at another width."""
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


def chosen(drawn: Sequence[CellLine], at: int, *, focused: bool) -> CellLine | None:
    """Return the attempt to show: the drawer's own while it has the focus, else the first that
    failed."""
    if focused and at < len(drawn):
        return drawn[at]
    known = [line for line in drawn if line.trace_id is not None]
    return next((line for line in known if line.mark in RED), known[0] if known else None)
