"""Searching one trace: every event that holds the words, counted, marked in the list, walked; and
in the pane every place of them, whatever is folded."""

from bisect import bisect_left, bisect_right

from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.trajectory.pane import TracePane
from reviewer.tui.widgets.words import plural


class TraceFinding(TracePane):
    """The search of the trajectory. `wanted` is what is searched for, `matches` where it stands."""

    def action_search(self) -> None:
        """Search the whole trace: what every event asked, got, said, and the states."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen

        hint = "all of this trace; F searches every trace"
        self.app.push_screen(PromptScreen("search", self.wanted, hint), self._searched)

    def _searched(self, text: str | None) -> None:
        if text is not None:
            self.wanted, self.matches = text, []
            self.mark_matches()
            if text:
                self.say(visible_line(f"searching “{text}”…"))
                self.look_up(go=True)

    def look_up(self, *, go: bool) -> None:
        """Ask where `wanted` stands; `go` to the first place at or behind the cursor."""
        desk, trace_id, wanted = self.shell.desk, self.trace_id, self.wanted

        def land(found: list[int]) -> None:
            if wanted != self.wanted:
                return
            self.matches = found
            self.mark_matches()
            if not go:
                return
            if not found:
                self.say(visible_line(f"“{wanted}” stands in no event of this trace"))
                return
            at = bisect_left(found, self.seq)
            self.to_match(at if at < len(found) else 0)

        self.ask("find", lambda: desk.traces.find(trace_id, wanted), land)

    def mark_matches(self) -> None:
        """Show in the list and in the pane what is searched for."""
        self.grid.redress()
        self.seek_in_pane()

    def seek_in_pane(self) -> None:
        """Mark it in the pane, and go to its first place there, unfolding what hides it."""
        seek = self.pane.begin(self.wanted)

        def land(found: bool) -> None:
            if found and self.pane.seek is seek:
                self.pane.step(1)

        if self.wanted and self.mode != "source":
            self.ask("seek", seek.more, land)

    def to_match(self, at: int) -> None:
        """Go to match number `at`, from 0."""
        seq = self.matches[at]
        place = f"match {at + 1:,} of {plural(len(self.matches), 'event')}"
        self.say(visible_line(f"“{self.wanted}”: {place}   n N walk, Esc ends"), "match")
        self.go_to(seq)

    def walk(self, step: int) -> None:
        """The next match; in the pane, first the next place of this event."""
        seek = self.pane.seek
        if not self.pane.has_focus or seek is None:
            self._further(step)
            return
        if self.pane.step(step):
            return
        if step < 0:
            self._further(step)
            return

        def land(found: bool) -> None:
            if self.pane.seek is seek and not (found and self.pane.step(1)):
                self._further(step)

        self.ask("seek", seek.more, land)

    def _further(self, step: int) -> None:
        here = self.seq
        ahead = bisect_right(self.matches, here)
        at = ahead if step > 0 else bisect_left(self.matches, here) - 1
        if 0 <= at < len(self.matches):
            self.to_match(at)
        else:
            self.say(visible_line(f"“{self.wanted}” is not further that way"))

    def end_search(self) -> None:
        """Back to a trace without marks."""
        self.wanted, self.matches = "", []
        self.mark_matches()
        self.say("search ended")
