"""The trajectory: what happened in one attempt, and the event on which a gate broke."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

from textual.binding import BindingType

from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.trajectory.jumps import TraceJumps
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.grid import Grid


class TrajectoryScreen(TraceJumps):
    """One trace. `seq` is where to land, `gate` what the reader came for."""

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
        ("v", "state", "screen.view"),
        ("/", "search", "screen.search"),
        ("m", "mark", "screen.bookmark"),
        ("?", "help", "app.explain"),
        ("y", "copy", "screen.copy_value"),
        ("w", "note", "screen.note"),
        ("()", "state before, after", "screen.snapshot(1)"),
        ("e", "next error", "screen.error"),
        ("*", "same tool", "screen.same"),
        (",", "back", "screen.again(-1)"),
        ("f", "only findings", "screen.only"),
        ("c", "compare", "screen.beside"),
        ("o", "pager", "screen.pager"),
        ("z", "fold", "screen.fold"),
        ("F", "all traces", "app.go('search')"),
        ("'", "marks", "screen.marks"),
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
        bind("e", "error", "next error"),
        bind("asterisk", "same", "next call of this tool"),
        bind("semicolon", "again(1)", "the same jump again"),
        bind("comma", "again(-1)", "the same jump, backwards"),
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
        bind("c", "beside", "compare this attempt", "Set this attempt beside another."),
        bind("m", "bookmark", "bookmark"),
        bind("apostrophe", "marks", "next bookmark, note"),
        bind("w", "note", "note on this event", "Write a note that goes into the report."),
        bind("v", "view", "event, state, raw, source"),
        bind("slash", "search", "search this trace"),
        bind("y", "copy_value", "copy value, pointer, id"),
        bind("o", "pager", "open in $PAGER"),
        bind("ctrl+o", "editor", "open in $EDITOR"),
        bind("z", "fold", "fold contract; values"),
        bind("escape", "leave", "value, list, back"),
    ]

    def hints(self) -> Iterable[Hint]:
        return self.PANE_HINTS if self.pane.has_focus else self.HINTS

    def on_descendant_focus(self) -> None:
        self.foot()

    def action_turn_value(self) -> None:
        """Fold or unfold what the cursor of the pane is on, or follow it."""
        self.pane.action_turn()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.pane.focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        seq = self.clause_seq()
        if seq is None:
            self.say("no single event shows this clause")
        else:
            self.go_to(seq)
            self.grid.focus()

    async def action_leave(self) -> None:
        """End a search, leave the value, bring all events back, then go back."""
        if self.wanted:
            self.end_search()
        elif not self.grid.has_focus:
            self.grid.focus()
        elif self.only is not None:
            self.keep(None)
        else:
            await self.shell.action_back()

    def palette_acts(self) -> Iterator[tuple[str, str, Any]]:
        """The ways back, which have no key of their own."""
        yield "error before", "The event before that is not ok.", partial(self.action_error, -1)
        words = "call of this tool before"
        yield words, "The call before of the same tool.", partial(self.action_same, -1)
