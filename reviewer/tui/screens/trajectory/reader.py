"""The trajectory's reading side: one trace, its events by window, its verdict and contract."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, overload

from textual.app import ComposeResult
from textual.containers import Container
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.traces.views import NoteView
from reviewer.desk.views import EventRow, TraceView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen
from reviewer.tui.screens.trajectory import view as view
from reviewer.tui.shell.traces import BLOCK, Ready, read_whole
from reviewer.tui.views.event_list import EventSheet, Shown, marks_of, waiting_row
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.valueview import ValueView

if TYPE_CHECKING:
    pass

WAIT = 0.03
"""Seconds that lines of the list are waited for; what takes longer is drawn when it has come."""
TALL, TALL_CONTRACT, CONTRACT = 36, 12, 6
"""Rows of the contract at most: on a screen of so many rows, and on a lower one."""
HELD = 64
"""Blocks of lines that are kept."""


class Regions(Container):
    """Events at the left, the chosen one at the right, the contract below."""

    def compose(self) -> ComposeResult:
        yield from self.parts

    def __init__(self, *parts: Widget) -> None:
        super().__init__(id="regions")
        self.parts = parts


class TraceReader(DeskScreen):
    """One trace, as far as reading it goes. `seq` is where to land."""

    NAME = "trajectory"
    CSS = """
    #regions { layout: grid; grid-size: 2 2; grid-columns: 34 1fr; grid-rows: 1fr 6; height: 1fr; }
    #contract { column-span: 2; height: 1fr; }
    #regions.-wide { grid-columns: 58 1fr; }
    #regions.-huge { grid-columns: 72 1fr; }
    """

    def __init__(
        self,
        trace_id: str,
        seq: int | None = None,
        gate: str = "",
        wanted: str = "",
        ready: Ready | None = None,
    ) -> None:
        super().__init__()
        self.trace_id, self._seq, self.gate = trace_id, seq, gate
        self.ready = ready
        """What was read before the screen stood."""
        self.trace: TraceView | None = None
        self.notes: list[NoteView] = []
        self.wanted = wanted
        self.matches: list[int] = []
        self.only: list[int] | None = None
        """Positions of the events in the list, None for all of them."""
        self.flat = False
        """Whether the contract is folded away."""
        self._come: dict[tuple[str, int, int], list[EventRow]] = {}
        self._late: set[tuple[str, int, int]] = set()
        """Blocks that are being read, and not waited for."""
        self._clauses: list[view.Told] = []
        self._clauses_of = (0, 0)

    def regions(self) -> Iterable[Widget]:
        yield Regions(
            Grid(self._sheet, self._rows, id="events"),
            ValueView(id="detail", edge=True),
            Menu(id="contract", ruled=True),
        )

    def _sheet(self, width: int) -> EventSheet:
        trace = self.trace
        slowest, dearest = (trace.slowest_ms, trace.dearest_usd) if trace else (None, None)
        shown = Shown(marks_of(self.notes), frozenset(self.matches), slowest, dearest)
        return EventSheet(width, trace.events if trace else 0, shown)

    @property
    def grid(self) -> Grid:
        """The events."""
        return self.query_one("#events", Grid)

    @property
    def pane(self) -> ValueView:
        """The chosen event."""
        return self.query_one("#detail", ValueView)

    @property
    def contract(self) -> Menu:
        """The clauses."""
        return self.query_one("#contract", Menu)

    def on_mount(self) -> None:
        self._arrange_for(self.app.size.width)  # before the first frame, which then is the last
        self.head([[Span(" reading…", "dim")]])
        self.foot()
        self.grid.focus()
        self.load(self.trace_id, self._seq, self.ready)

    # reading -----------------------------------------------------------------------------------

    def load(self, trace_id: str, seq: int | None = None, ready: Ready | None = None) -> None:
        """Read a trace, where it is not `ready`, and stand on an event of it."""
        desk, asked = self.shell.desk, self.shell.version

        def land(found: Ready) -> None:
            trace, notes, blocks = found
            self.trace_id = self.shell.trace_id = trace.trace_id
            self.trace, self.notes, self.matches, self.only = trace, notes, [], None
            self._come = {
                (trace.trace_id, number * BLOCK, len(block)): block
                for number, block in enumerate(blocks)
            }
            self.grid.set_keys(range(trace.events))
            target = seq if seq is not None else trace.first_finding_seq
            self.grid.go(self.position(target) if target is not None else 0)
            self.arrived()
            self.redraw()
            self.ask_event()
            if self.gate:
                came = f"{trace.episode_id} · {self.gate}. Esc goes back to that cell."
                self.say(visible_line(f"from the scorecard: {came}"))
            if not trace.events:
                source = f"{trace.source_path} record {trace.source_record}"
                self.say(visible_line(f"no events in this trace: it came from {source}"))
            if self.wanted:
                self.look_up(go=False)
            if asked != self.shell.version:
                self.store_changed()

        if ready is not None:
            land(ready)
        else:
            self.ask("trace", lambda: read_whole(desk, trace_id), land)

    def arrived(self) -> None:
        """Another trace is on the screen, or this one has changed."""

    def ask_event(self) -> None:
        """Ask for the event under the cursor."""
        raise NotImplementedError

    def draw_detail(self, *, stay: bool = False) -> None:
        """Draw the chosen event; `stay` where the reader is in it."""
        raise NotImplementedError

    def look_up(self, *, go: bool) -> None:
        """Ask where `wanted` stands in this trace."""
        raise NotImplementedError

    def take_notes(self, notes: list[NoteView]) -> None:
        """Show what now stands on the events."""
        self.notes = notes
        self.grid.redress()
        self.draw_detail(stay=True)

    # the list ----------------------------------------------------------------------------------

    def _rows(self, keys: list[int]) -> Sequence[EventRow]:
        return _Page(keys, self._block)

    def _block(self, keys: Sequence[int]) -> Sequence[EventRow]:
        """Some lines of the list. Events of megabytes take a while, and no key waits for them."""
        place = self.trace_id, keys[0], len(keys)
        if place in self._come:
            return self._come[place]
        waiting = [waiting_row(key + 1) for key in keys]
        if place in self._late:  # every line of a frame asks; one of them has waited
            return waiting
        made: list[EventRow] = []
        done, desk = threading.Event(), self.shell.desk

        def work() -> None:
            try:
                for first, count in _runs(keys):
                    made.extend(desk.traces.events(place[0], first, count))
            finally:
                done.set()

        def land(_: None) -> None:
            if place in self._late:
                self._late.discard(place)
                if place[0] == self.trace_id:
                    self._come[place] = made
                    self.grid.reload()

        def failed(error: DeskError) -> None:
            self._late.discard(place)
            self.refused(error)

        while len(self._come) >= HELD:
            del self._come[next(iter(self._come))]
        self._late.add(place)
        self.ask(f"rows-{keys[0]}", work, land, failed)
        if done.wait(WAIT) and len(made) == len(keys):
            self._late.discard(place)
            self._come[place] = made
            return made
        return waiting

    @property
    def seq(self) -> int:
        """The number of the event under the cursor."""
        row = self.grid.current
        return row.seq if isinstance(row, EventRow) else self.grid.row + 1

    def position(self, seq: int) -> int:
        """Where the event numbered `seq` stands; numbers rise, but a source may leave some out."""

        def number(at: int) -> int:
            row = self.grid.at(at)
            return row.seq if isinstance(row, EventRow) else at + 1

        last = len(self.grid.keys) - 1
        if 0 < seq <= last + 1 and number(seq - 1) == seq:
            return seq - 1
        return min(bisect_left(range(last + 1), seq, key=number), max(0, last))

    def go_to(self, seq: int) -> None:
        """Put the cursor on an event; one that the list leaves out brings all of them back."""
        at = self.position(seq)
        row = self.grid.at(at)
        if self.only is not None and (not isinstance(row, EventRow) or row.seq != seq):
            self.keep(None)
            at = self.position(seq)
        self.grid.go(at)

    def keep(self, only: list[int] | None) -> None:
        """Keep these positions in the list, or all; the cursor stays on its event."""
        trace, seq = self.trace, self.seq
        if trace is None:
            return
        self.only = only
        self.grid.set_keys(range(trace.events) if only is None else only)
        self.grid.go(self.position(seq))
        self.redraw()

    def findings(self) -> list[int]:
        """The events findings stand on, in order."""
        found = self.trace.findings if self.trace else ()
        return sorted({each.seq for each in found if each.seq is not None})

    # live --------------------------------------------------------------------------------------

    def store_changed(self) -> None:
        super().store_changed()
        trace_id, desk = self.trace_id, self.shell.desk
        if self.trace is not None:
            self.ask(
                "live",
                lambda: (desk.traces.view(trace_id), desk.traces.notes(trace_id)),
                self._live,
            )

    def _live(self, found: tuple[TraceView, list[NoteView]]) -> None:
        """Somebody wrote: new events are appended, nothing moves."""
        trace, notes = found
        if trace.trace_id != self.trace_id:
            return
        if notes != self.notes:
            self.take_notes(notes)
        if trace == self.trace:
            return
        more = trace.events - (self.trace.events if self.trace else 0)
        self.trace = trace
        self._come.clear()
        self._late.clear()
        self.arrived()
        if more and self.only is None:
            self.grid.set_keys(range(trace.events), self.grid.row)
        self.grid.reload()
        self.redraw()
        if more > 0:
            self.say(f"{more:,} more below, G goes to the last")
            if self.wanted:
                self.look_up(go=False)

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        trace = self.trace
        if trace is None:
            super().redraw()
            return
        around = self.shell.around
        place = f"{around.at + 1:,} of {len(around.keys):,}" if around else ""
        found = self.findings()
        at = [seq for seq in found if seq <= self.seq]
        word = f"finding {len(at)} of {len(found)}" if found else "no finding on an event"
        self.head(
            [
                view.context(trace, place, self.columns),
                view.verdict(trace, word, self.columns),
                *view.said(trace, self.columns),
            ]
        )
        count = f"{trace.events:,}"
        if self.only is not None:
            count = f"{len(self.only):,} of {count}, f: all"
        self.grid.caption([Span(f"events {count}", "strong")])
        self._draw_contract(trace)
        self.foot()

    def _draw_contract(self, trace: TraceView) -> None:
        if self._clauses_of != (id(trace), self.columns):  # a long contract is drawn once
            self._clauses_of = id(trace), self.columns
            self._clauses = view.clauses(trace, self.columns)
        self.contract.caption([Span("contract", "strong")], view.contract_note(trace))
        shown = next((n for n, told in enumerate(self._clauses) if told.seq == self.seq), None)
        lines = [told.line for told in self._clauses]
        self.contract.offer(lines, None if self.contract.has_focus else shown)
        most = TALL_CONTRACT if self.app.size.height >= TALL else CONTRACT
        rows = 0 if self.flat else min(most, 1 + len(lines))
        self.query_one("#regions").styles.grid_rows = f"1fr {rows}"

    def clause_of(self, gate: str, seq: int) -> int | None:
        """Which line of the contract speaks of a gate at an event; else of the gate."""
        alike = [n for n, told in enumerate(self._clauses) if gate in told.gates]
        exact = [n for n in alike if self._clauses[n].seq == seq]
        return next(iter((*exact, *alike)), None)

    def clause_seq(self) -> int | None:
        """The event that shows the clause under the cursor."""
        at = self.contract.cursor
        return self._clauses[at].seq if at < len(self._clauses) else None

    def on_resize(self, event: Resize) -> None:
        self._arrange_for(event.size.width)
        self.redraw()

    def _arrange_for(self, width: int) -> None:
        regions = self.query_one("#regions")
        regions.set_class(width >= 120, "-wide")
        regions.set_class(width >= 180, "-huge")

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.ask_event()
        if self.trace is not None:
            self.redraw()


class _Page(Sequence[EventRow]):
    """A page of the list, read by blocks as they are looked at."""

    def __init__(
        self, keys: Sequence[int], read: Callable[[Sequence[int]], Sequence[EventRow]]
    ) -> None:
        self._keys, self._read = keys, read

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, at: int) -> EventRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[EventRow]: ...
    def __getitem__(self, at: int | slice) -> EventRow | Sequence[EventRow]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        first = at // BLOCK * BLOCK
        return self._read(self._keys[first : first + BLOCK])[at - first]


def _runs(keys: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, count) of the stretches without a gap."""
    for _, run in groupby(enumerate(keys), key=lambda each: each[1] - each[0]):
        places = [key for _, key in run]
        yield places[0], len(places)
