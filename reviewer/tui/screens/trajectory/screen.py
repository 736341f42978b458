"""The trajectory: what happened in one attempt, and the event on which a gate broke."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.traces.kinds import holds, kind_at
from reviewer.desk.traces.listing import Listing
from reviewer.desk.traces.timeline import Line, line_of
from reviewer.desk.traces.views import GroupRow
from reviewer.desk.views import TraceView
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.trajectory import view as view
from reviewer.tui.screens.trajectory.acts import TraceFinding, TraceJumps, TraceMarks
from reviewer.tui.screens.trajectory.controller import TraceReading
from reviewer.tui.screens.trajectory.view import EventPane
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import Offer, Ready
from reviewer.tui.views.event_list import EventSheet, ListMarks, marks_of
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Span
from reviewer.tui.widgets.valueview import ValueView

SIDE = 160
"""Columns from which the chosen event is next to the list; on a narrower screen it is below."""


SMALL, LINED, ROOMY = 20, 24, 30
"""Lines below which the contract is not shown next to the list; from which a grouped trace has a
timeline; and from which it has both."""


MEMBERS = 200
"""Findings of a kind that are listed together."""


class Regions(Container):
    """The events, the chosen one next to or below them, the contract at the bottom."""

    def compose(self) -> ComposeResult:
        yield from self.parts

    def __init__(self, *parts: Widget) -> None:
        super().__init__(id="regions")
        self.parts = parts


class TrajectoryScreen(DeskScreen):
    """One trace. `seq` is the event on which it opens, `gate` the gate that the reader came for."""

    NAME = "trajectory"
    CSS = """
    #regions { layout: grid; grid-size: 1 3; grid-columns: 1fr; height: 1fr; }
    #contract { height: 1fr; }
    #regions.-side { grid-size: 2 2; grid-columns: 2fr 1fr; }
    #regions.-side #contract { column-span: 2; }
    #timeline { display: none; }
    #regions.-one { grid-size: 1 1; }
    """
    ABOUT = (
        "You are asked: what did the agent do, and where did it break the contract?",
        "Marked events carry findings. The clause below names the event that breaks it;",
        "in the pane, Enter folds and unfolds values, and follows a finding to its clause.",
    )
    ENTER = "into the value; clause: its event"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "event", "screen.step(1)"),
        ("n", "finding", "screen.finding(1)"),
        ("[]", "attempt", "screen.attempt(1)"),
        ("{}", "episode", "screen.episode(1)"),
        ("#", "turns", "screen.group"),
        ("Z", "zoom", "app.zoom"),
        ("v", "state", "screen.view"),
        ("/", "search", "screen.search"),
        ("?", "help", "app.explain"),
        (":", "go to", "app.find"),
        ("m", "mark", "screen.bookmark"),
        ("y", "copy", "screen.copy_value"),
        ("w", "note", "screen.note"),
        ("()", "state before, after", "screen.snapshot(1)"),
        ("d", "next that is not ok", "screen.error"),
        ("*", "same tool", "screen.same"),
        (",", "back", "screen.again(-1)"),
        ("f", "only findings", "screen.only"),
        ("C", "compare", "app.go('compare')"),
        ("o", "pager", "screen.pager"),
        ("z", "fold", "screen.fold"),
        ("F", "all traces", "app.go('search')"),
        ("'", "marks", "screen.marks"),
        ("+", "episode", "screen.make_episode"),
    )
    PANE_HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "fold, unfold", "screen.turn_value"),
        ("hl", "out, in", ""),
        ("z", "all", "screen.fold"),
        ("y", "copy", "screen.copy_value"),
        ("o", "pager", "screen.pager"),
        ("/", "search", "screen.search"),
        ("v", "state", "screen.view"),
        ("Esc", "list", "screen.leave"),
        ("?", "help", "app.explain"),
        ("n", "finding, match", "screen.finding(1)"),
        ("m", "mark", "screen.bookmark"),
        ("w", "note", "screen.note"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "finding(1)", "next finding, match"),
        bind("N", "finding(-1)", "the one before"),
        bind("d", "error", "next that is not ok"),
        bind("asterisk", "same", "next call of this tool"),
        bind("semicolon", "again(1)", "the same jump again"),
        bind("comma", "again(-1)", "the same jump, backwards"),
        bind("number_sign", "group", "turns, agents, plain", "Group by turn, and by agent."),
        bind("f", "only", "only findings and marks", "Only events with findings and marks."),
        bind("left_square_bracket", "attempt(-1)", "attempt before"),
        bind("right_square_bracket", "attempt(1)", "attempt after"),
        bind("shift+left", "attempt(-1)", "attempt before"),
        bind("shift+right", "attempt(1)", "attempt after"),
        bind("left_curly_bracket", "episode(-1)", "episode before"),
        bind("right_curly_bracket", "episode(1)", "episode after"),
        bind("shift+up", "episode(-1)", "episode before"),
        bind("shift+down", "episode(1)", "episode after"),
        bind("left_parenthesis", "snapshot(-1)", "state before"),
        bind("right_parenthesis", "snapshot(1)", "state after"),
        bind("c", "choose", "choose another trace"),
        bind("m", "bookmark", "bookmark"),
        bind("apostrophe", "marks", "next bookmark, note"),
        bind("w", "note", "note on this event", "Write a note that goes into the report."),
        bind("plus", "make_episode", "an episode of this trace"),
        bind("v", "view", "event, state, raw, source"),
        bind("slash", "search", "search this trace"),
        bind("y", "copy_value", "copy value, pointer, id"),
        bind("o", "pager", "open in $PAGER"),
        bind("ctrl+o", "editor", "open in $EDITOR"),
        bind("z", "fold", "fold turn, contract; values"),
        bind("escape", "leave", "value, list, back"),
    ]

    def __init__(
        self,
        trace_id: str,
        seq: int | None = None,
        gate: str = "",
        wanted: str = "",
        ready: Ready | None = None,
    ) -> None:
        super().__init__()
        self.reading = TraceReading(self, trace_id, seq, gate, ready)
        self.finding = TraceFinding(self, self.reading, wanted)
        self.value = EventPane(self, self.reading)
        self.marks = TraceMarks(self, self.reading)
        self.jumps = TraceJumps(self, self.reading)
        self.flat = False
        """True while the contract is folded."""
        self._clauses: list[view.ContractLine] = []
        self._clauses_of: tuple[object, ...] = ()
        self._opened: view.Opened | None = None
        self._line: Line | None = None
        self._line_of: tuple[Listing | None, int] = (None, 0)

    @property
    def trace_id(self) -> str:
        """The trace on the screen."""
        return self.reading.trace_id

    @property
    def seq(self) -> int:
        """The number of the event under the cursor."""
        return self.reading.seq

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="timeline")
        yield Regions(
            Grid(self._sheet, self.reading.page, id="events"),
            ValueView(id="detail"),
            Menu(id="contract", ruled=True),
        )

    def _sheet(self, width: int) -> EventSheet:
        trace = self.reading.trace
        slowest, dearest = (trace.slowest_ms, trace.dearest_usd) if trace else (None, None)
        marks, matches = marks_of(self.reading.notes), frozenset(self.finding.matches)
        listing = self.reading.listing
        shown = ListMarks(marks, matches, slowest, dearest, self.finding.wanted, listing)
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
        self._arrange_for(self.app.size.width)  # the first frame may be the only one
        self.flat = self.shell.panes.folded("trajectory contract")
        self.head([[Span(" reading…", "dim")]])
        self.foot()
        self.grid.focus()
        reading = self.reading
        reading.load(reading.trace_id, reading.start, reading.ready)

    def store_changed(self) -> None:
        super().store_changed()
        self.reading.store_changed()

    def redraw(self) -> None:
        trace = self.reading.trace
        if trace is None:
            super().redraw()
            return
        around = self.shell.around
        place = f"{around.at + 1:,} of {len(around.keys):,}" if around else ""
        word = view.finding_words(self.reading.kinds, self.reading.kind, self.reading.seq)
        self.head(
            [
                view.context(trace, place, self.columns),
                view.verdict(trace, word, self.columns),
                *view.said(trace, self.columns),
            ]
        )
        count = f"{trace.events:,}"
        if self.reading.only is not None:
            count = f"{len(self.reading.only):,} of {count}, f: all"
        listing = self.reading.listing
        title, note = view.listed_words(listing, count)
        self.grid.caption([Span(title, "strong")], [Span(note, "dim")])
        self._draw_timeline()
        self._draw_contract(trace)
        self.foot()

    def _draw_timeline(self) -> None:
        """Draw all events of a grouped trace on one line, with the cursor."""
        box = self.query_one("#timeline", LineBox)
        listing = self.reading.listing
        lined = listing is not None and self.zoomed.region is None
        shown = lined and self.app.size.height >= LINED
        box.display = shown
        if listing is None or not shown:
            return
        moments, place, width = listing.outline.moments, self.reading.place, self.columns
        if self._line_of != (listing, width):  # with many events this takes a while
            box.show(view.timeline(None, moments, place, width))

            def land(line: Line) -> None:
                self._line_of, self._line = (listing, width), line
                if self.reading.listing is listing:
                    box.show(view.timeline(line, moments, self.reading.place, width))

            self.ask("timeline", lambda: line_of(moments, width - 4), land)
        else:
            box.show(view.timeline(self._line, moments, place, width))

    def _draw_contract(self, trace: TraceView) -> None:
        if self._clauses_of[:1] != (id(trace),):
            self._opened = None
        of = id(trace), self.columns, self._opened
        if self._clauses_of != of:  # a long contract is drawn once
            self._clauses_of = of
            self._clauses = view.clauses(trace, self.reading.kinds, self.columns, self._opened)
        name = "outcome, contract" if trace.outcome else "contract"
        self.contract.caption([Span(name, "strong")], view.contract_note(trace))
        seq, kinds = self.seq, self.reading.kinds
        kind = kind_at(kinds, seq, self.reading.kind)
        shown = next((n for n, told in enumerate(self._clauses) if told.seq == seq), None)
        if kind is not None:
            alike = (n for n, told in enumerate(self._clauses) if told.kind == kind)
            shown = next(alike, shown)
        lines = [told.line for told in self._clauses]
        self.contract.offer(lines, None if self.contract.has_focus else shown)
        self._split(0 if self.flat else 1 + len(lines))

    def _split(self, wanted: int) -> None:
        """Give the contract the rows it needs and the chosen event its share; the list takes the
        remaining rows."""
        regions = self.query_one("#regions")
        if self.zoomed.region is not None:
            regions.styles.grid_rows = "1fr"
            return
        high = self.app.size.height
        contract = min(wanted, high // 4 - 1 if high >= 36 else high // 5)
        side = self.app.size.width >= SIDE
        event = max(6, high * 3 // 10)
        if high < SMALL:  # the list keeps three rows; the verdict names the failures
            contract, event = 0, 4
        elif high < ROOMY and self.query_one("#timeline").display and not self.contract.has_focus:
            contract = 0  # the timeline has its place until tab moves there
        contract = contract and (self.lines_of("contract") or contract)
        event = self.lines_of("detail") or event
        regions.styles.grid_rows = f"1fr {contract}" if side else f"1fr {event} {contract}"

    def sized(self) -> tuple[str, ...]:
        return ("contract",) if self.app.size.width >= SIDE else ("detail", "contract")

    def settle(self, region: str, lines: int) -> None:
        if self.reading.trace is not None:
            self._draw_contract(self.reading.trace)

    def clause_of(self, gate: str, seq: int) -> int | None:
        """Return the line of the contract about a gate at an event, else about the gate."""
        alike = [n for n, told in enumerate(self._clauses) if gate in told.gates]
        exact = [n for n in alike if self._shows(n, seq)]
        return next(iter((*exact, *alike)), None)

    def _shows(self, line: int, seq: int) -> bool:
        told = self._clauses[line]
        return told.seq == seq or (
            told.kind is not None and holds(self.reading.kinds[told.kind], seq)
        )

    def clause_seq(self) -> int | None:
        """Return the event that shows the clause under the cursor: of equal findings the one under
        the cursor of the list, else the first."""
        at = self.contract.cursor
        if at >= len(self._clauses):
            return None
        if self._clauses[at].kind is not None:
            self.reading.kind = self._clauses[at].kind
        if self._clauses[at].member:
            return self._clauses[at].seq
        return self.seq if self._shows(at, self.seq) else self._clauses[at].seq

    def on_resize(self, event: Resize) -> None:
        self._arrange_for(event.size.width)
        self.redraw()

    def _arrange_for(self, width: int) -> None:
        side = width >= SIDE and self.zoomed.region is None
        regions = self.query_one("#regions")
        regions.set_class(side, "-side")
        regions.set_class(self.zoomed.region is not None, "-one")
        self.pane.join(side)

    def rearrange(self) -> None:
        self._arrange_for(self.app.size.width)
        super().rearrange()

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.value.ask_event()
        if self.reading.trace is not None:
            self.redraw()

    def on_value_view_followed(self, message: ValueView.Followed) -> None:
        """Go from a finding to its clause, or from a call to its answer."""
        to, seq = message.go
        if to == "event":
            self.reading.go_to(seq)
        elif (at := self.clause_of(to, seq)) is not None:
            self.contract.focus()
            self.contract.offer(self.contract.items, at)

    def action_fold(self) -> None:
        """Fold or unfold: in the pane every value, in a list of turns the turn, elsewhere the
        contract."""
        if self.pane.has_focus:
            self.pane.turn_all()
            return
        if self.grid.has_focus and self.reading.listing is not None:
            self.reading.turn()
            return
        if self.contract.has_focus and self._open_kind():
            return
        self.flat = not self.flat
        self.shell.panes.note("trajectory contract", folded=self.flat)
        self.redraw()
        self.grid.focus()

    def _open_kind(self) -> bool:
        """List the findings of the kind under the cursor, or hide them; return whether it has more
        than one."""
        told = self._clauses[self.contract.cursor] if self._clauses else None
        if told is None or told.kind is None or self.reading.kinds[told.kind].times < 2:
            return False
        opened = self._opened is not None and self._opened.kind == told.kind
        self._opened = None if opened else view.Opened(told.kind, MEMBERS)
        self.redraw()
        at = next(n for n, each in enumerate(self._clauses) if each.kind == told.kind)
        self.contract.offer(self.contract.items, at)
        return True

    def action_step(self, step: int) -> None:
        """Go to the next event, whichever region is in focus."""
        self.grid.action_move(step)

    def hints(self) -> Iterable[Hint]:
        return self.PANE_HINTS if self.pane.has_focus else self.HINTS

    def on_descendant_focus(self) -> None:
        self.foot()
        if self.reading.trace is not None and self.reading.listing is not None:
            self._draw_contract(self.reading.trace)

    def action_turn_value(self) -> None:
        """Fold or unfold the value under the cursor of the pane, or follow it."""
        self.pane.action_turn()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        if isinstance(self.grid.current, GroupRow):
            self.reading.turn()
        else:
            self.pane.focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        told = self._clauses[self.contract.cursor] if self._clauses else None
        if told is not None and told.member and told.seq is None and self._opened is not None:
            self._opened = self._opened._replace(listed=self._opened.listed + MEMBERS)
            self.redraw()
            return
        seq = self.clause_seq()
        if seq is None:
            self.say("no single event shows this clause")
        else:
            self.reading.go_to(seq)
            self.grid.focus()

    async def action_leave(self) -> None:
        """End the search, else leave the value, else list all events again, else go back."""
        if self.finding.wanted:
            self.finding.end_search()
        elif not self.grid.has_focus:
            self.grid.focus()
        elif self.reading.only is not None:
            self.reading.keep(None)
        else:
            await self.shell.action_back()

    def palette_acts(self) -> Iterator[tuple[str, str, Any]]:
        """Yield the backward jumps and a comparison of two attempts, which have no key of their
        own."""
        words = "compare this attempt with another"
        yield words, "Choose an attempt of this episode, of any candidate.", self.jumps.beside
        yield "error before", "The event before that is not ok.", partial(self.jumps.error, -1)
        words = "call of this tool before"
        yield words, "The call before of the same tool.", partial(self.jumps.same, -1)
        if self.reading.listing is not None:
            words = "fold every turn without a finding"
            yield words, "Fold every turn but those with findings.", self.reading.fold_all

    def action_choose(self) -> None:
        """Choose another trace by its name, among those of this episode first."""
        trace = self.reading.trace
        self.shell.find("t:" + (trace.episode_id if trace else ""))

    def action_group(self) -> None:
        """Group events by turn, then by agent and turn, then not at all."""
        self.jumps.group()

    def action_finding(self, step: int) -> None:
        """Go to the next finding; during a search, to the next match."""
        self.jumps.finding(step)

    def action_error(self, step: int = 1) -> None:
        """Go to the next event that is not ok."""
        self.jumps.error(step)

    def numbered_offers(self, text: str) -> Iterator[Offer]:
        """Yield the event, or the attempt, with a number."""
        return self.jumps.numbered(text)

    def action_same(self, step: int = 1) -> None:
        """Go to the next call of the same tool."""
        self.jumps.same(step)

    def action_again(self, step: int) -> None:
        """Repeat the last jump, forwards or backwards."""
        self.jumps.again(step)

    def action_only(self) -> None:
        """Show only events with findings, marks and matches, or all again."""
        self.jumps.only_marked()

    def action_snapshot(self, step: int) -> None:
        """Step to the event that recorded the state before or after, and show the state there."""
        self.jumps.snapshot(step)

    def action_attempt(self, step: int) -> None:
        """Show the attempt before or after, of the same episode."""
        self.jumps.attempt(step)

    def action_attempt_to(self, number: int) -> None:
        """Show one attempt of this episode."""
        self.jumps.attempt_to(number)

    def action_episode(self, step: int) -> None:
        """Show the episode before or after, in the order of the scorecard the reader came from."""
        self.jumps.episode(step)

    def action_bookmark(self) -> None:
        """Put a bookmark on this event, or remove it."""
        self.marks.bookmark()

    def action_note(self) -> None:
        """Write a note on this event; an empty one removes it."""
        self.marks.note()

    def action_make_episode(self) -> None:
        """Mark what was wrong in this trace, and make an episode from it."""
        self.marks.make_episode()

    def action_marks(self) -> None:
        """Go to the next event with a bookmark or a note, from the last one to the first."""
        self.marks.next()

    def action_view(self) -> None:
        """Switch between the event, the state after it, raw and source."""
        self.value.view()

    def action_look(self, mode: str) -> None:
        """Show the event, the state after it, raw or source."""
        self.value.look(mode)

    def action_copy_value(self) -> None:
        """Copy the value; again its pointer; again the trace id."""
        self.value.copy_value()

    def action_pager(self) -> None:
        """Open the value under the cursor of the pane in $PAGER, else all that the pane shows."""
        self.value.pager()

    def action_editor(self) -> None:
        """Open the same in $EDITOR, as a copy; edits to the copy are dropped."""
        self.value.editor()

    def action_search(self) -> None:
        """Search the whole trace: requests, results, messages and states of every event."""
        self.finding.search()
