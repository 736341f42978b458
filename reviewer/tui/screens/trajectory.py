"""The trajectory: what happened in one attempt, and the event on which a gate broke."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import BindingType

from reviewer.desk.grid_views import PAGE
from reviewer.desk.trace_views import StateView
from reviewer.desk.views import GATES, CellLine, EventDetail, EventRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.chrome import Menu
from reviewer.tui.grid import Grid
from reviewer.tui.keys import bind
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.trace_marks import TraceMarks
from reviewer.tui.theme import RED

MODES = ("event", "state", "raw", "source")


class TrajectoryScreen(TraceMarks):
    """One trace. `seq` is where to land, `gate` what the reader came for."""

    ABOUT = (
        "You are asked: what did the agent do, and where did it break the contract?",
        "Marked events carry findings. The clause below names the event that breaks it.",
    )
    ENTER = "into the value; clause: its event"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "event", "screen.step(1)"),
        ("n", "finding", "screen.finding(1)"),
        ("[]", "attempt", "screen.attempt(1)"),
        ("{}", "episode", "screen.episode(1)"),
        ("v", "state", "screen.view"),
        ("/", "search", "screen.search"),
        ("m", "mark", "screen.bookmark"),
        ("?", "help", "app.explain"),
        ("w", "note", "screen.note"),
        ("y", "copy", "screen.copy_value"),
        ("()", "state before, after", "screen.snapshot(1)"),
        ("F", "all traces", "app.go('search')"),
        ("e", "next error", "screen.error"),
        ("*", "same tool", "screen.same"),
        ("'", "marks", "screen.marks"),
        ("o", "pager", "screen.pager"),
        ("z", "fold", "screen.fold"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "finding(1)", "next finding, match"),
        bind("N", "finding(-1)", "the one before"),
        bind("e", "error", "next error"),
        bind("asterisk", "same", "next call of this tool"),
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
        bind("m", "bookmark", "bookmark"),
        bind("apostrophe", "marks", "next bookmark, note"),
        bind("w", "note", "note on this event", "Write a note that goes into the report."),
        bind("v", "view", "event, state, raw, source"),
        bind("slash", "search", "search this trace"),
        bind("y", "copy_value", "copy value, pointer, id"),
        bind("o", "pager", "open in $PAGER"),
        bind("ctrl+o", "editor", "open in $EDITOR"),
        bind("z", "fold", "fold contract; value"),
        bind("escape", "leave", "value, list, back"),
    ]
    # moving ------------------------------------------------------------------------------------

    def __init__(
        self, trace_id: str, seq: int | None = None, gate: str = "", wanted: str = ""
    ) -> None:
        super().__init__(trace_id, seq, gate, wanted)
        self._copies = (0, 0)

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.pane.focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        seq = self.clause_seqs[message.menu.cursor]
        if seq is None:
            self.say("no single event shows this clause")
        else:
            self.grid.go(self.position(seq))
            self.grid.focus()

    def action_step(self, step: int) -> None:
        """The next event, whichever region is in focus."""
        self.grid.action_move(step)

    def action_finding(self, step: int) -> None:
        """The next finding; while a search is on, the next match."""
        if self.wanted:
            self.walk(step)
            return
        here = self.seq
        ahead = [seq for seq in self.findings() if (seq - here) * step > 0]
        if ahead:
            self.grid.go(self.position(ahead[0] if step > 0 else ahead[-1]))
        else:
            self.say("no more findings that way")

    def action_error(self) -> None:
        """The next event that is not ok."""
        self._scan(
            1,
            lambda row: row.kind == "error" or row.status not in (None, "ok"),
            "no error after this event",
        )

    def action_same(self) -> None:
        """The next call of the same tool."""
        row = self.grid.current
        if row is not None:
            self._scan(
                1,
                lambda other: (other.kind, other.title) == (row.kind, row.title),
                f"no later event like {visible_line(row.title)}",
            )

    def _scan(self, step: int, match: Callable[[EventRow], bool], otherwise: str) -> None:
        trace_id, here, total = self.trace_id, self.grid.row, len(self.grid.keys)
        desk = self.shell.desk

        def look() -> int | None:
            at = here + step
            while 0 <= at < total:
                first = at if step > 0 else max(0, at - PAGE + 1)
                rows = desk.events(trace_id, first, (PAGE if step > 0 else at - first + 1))
                found = [first + n for n, row in enumerate(rows) if match(row)]
                if found:
                    return found[0] if step > 0 else found[-1]
                at = first + PAGE if step > 0 else first - 1
            return None

        def land(at: int | None) -> None:
            if at is None:
                self.say(otherwise)
            else:
                self.grid.go(at)

        self.ask("scan", look, land)

    def action_attempt(self, step: int) -> None:
        """The attempt before or after, of the same episode."""
        trace = self.trace
        if trace is None:
            return
        suite, candidate, desk = trace.suite_id, trace.candidate_id, self.shell.desk
        episode, gate = trace.episode_id, self.gate or GATES[0]

        def land(lines: list[CellLine]) -> None:
            ahead = [x for x in lines if (x.attempt - trace.attempt) * step > 0 and x.trace_id]
            if ahead:
                line = min(ahead, key=lambda each: abs(each.attempt - trace.attempt))
                self.load(line.trace_id or "", None)
            else:
                self.say("no attempt further that way")

        self.ask("step", lambda: desk.cell(suite, candidate, episode, gate), land)

    def action_episode(self, step: int) -> None:
        """The episode before or after, in the order of the scorecard you came from."""
        around, trace, desk = self.shell.around, self.trace, self.shell.desk
        if around is None or trace is None:
            self.say("the order of episodes is the scorecard's: S, then Enter on a cell")
            return
        index = around.at + step
        if not 0 <= index < len(around.keys):
            self.say("no episode further that way")
            return
        suite, candidate = trace.suite_id, trace.candidate_id
        gate = self.gate or GATES[0]

        def look() -> list[CellLine]:
            rows = desk.rows(suite, candidate, [around.keys[index]])
            return desk.cell(suite, candidate, rows[0].episode_id, gate) if rows else []

        def land(lines: list[CellLine]) -> None:
            made = [line for line in lines if line.trace_id]
            if not made:
                self.say("that episode has no trace yet")
                return
            line = next((each for each in made if each.mark in RED), made[0])
            self.shell.around = around._replace(at=index)
            self.load(line.trace_id or "", line.seq if line.mark in RED else None)

        self.ask("step", look, land)

    # views, search, copy -----------------------------------------------------------------------

    def action_view(self) -> None:
        """Event, state after it, raw, source."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.ask_event()

    def action_snapshot(self, step: int) -> None:
        """Step to the event that recorded the state before or after, and show the state there."""
        desk, trace_id, seq = self.shell.desk, self.trace_id, self.seq

        def land(state: StateView) -> None:
            self.mode = "state"
            to = state.before if step < 0 else state.after
            if to is None:
                where = "before" if step < 0 else "after"
                none = "no state is recorded in this trace"
                self.say(f"no state recorded {where} this event" if state.of else none)
                self.ask_event()
            else:
                self.grid.go(self.position(to))

        if self.trace is not None and self.trace.events:
            self.ask("scan", lambda: desk.state(trace_id, seq), land)

    def action_copy_value(self) -> None:
        """Copy the value; again the pointer; again the trace id."""
        if self.detail is None:
            return
        detail = self.detail
        seq, turn = self._copies
        turn = (turn + 1) % 3 if seq == detail.row.seq else 0
        self._copies = (detail.row.seq, turn)
        part, value = self._value(detail)
        if turn == 0:
            self.app.copy_to_clipboard(value)
            self.say(f"copied the value, {len(value):,} characters; y again: its pointer")
        elif turn == 1:
            self.copy(f"/events/{self.grid.row}{part}", "pointer")
        else:
            self.copy(self.trace_id, "trace id")

    def _value(self, detail: EventDetail) -> tuple[str, str]:
        """(JSON pointer below the event, text) of what the pane is about."""
        if self.mode == "state" and self.state is not None:
            return ("/state" if self.state.changed else ""), self.state.text
        if self.mode == "raw":
            return "", detail.raw
        for name in ("observation", "message", "arguments", "state"):
            if text := getattr(detail, name):
                return f"/{name}", text
        return "", detail.raw

    def action_pager(self) -> None:
        """Open what the pane shows in $PAGER."""
        self._lend("pager", "less")

    def action_editor(self) -> None:
        """Open a copy of what the pane shows in $EDITOR; what is written there is dropped."""
        self._lend("editor", "vi")

    def _lend(self, program: str, otherwise: str) -> None:
        from reviewer.tui.pager import open_in_program

        text = "\n".join(
            "".join(span.text for span in block.head) + block.text for block in self.pane.blocks
        )
        if not open_in_program(self.app, text, program.upper(), otherwise):
            self.say(f"no {program} can be opened here: tab goes to the pane, / searches it")

    def action_fold(self) -> None:
        """In the pane: fold arguments, observation and state, or unfold them. Elsewhere: fold the
        contract away, and back."""
        if self.pane.has_focus:
            self.folded = not self.folded
            self.draw_detail()
            return
        self.query_one("#regions").toggle_class("-flat")
        self.grid.focus()

    async def action_leave(self) -> None:
        """End a search, leave the value, then go back."""
        if self.wanted:
            self.end_search()
        elif not self.grid.has_focus:
            self.grid.focus()
        else:
            await self.shell.action_back()
