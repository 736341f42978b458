"""Searching one trace: every event that holds the words, counted, marked in the list, walked; and
in the pane every place of them, whatever is folded."""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.tui.screens.trajectory.controller import TraceReading
    from reviewer.tui.screens.trajectory.screen import TrajectoryScreen


class TraceFinding:
    """The search of the trajectory. `wanted` is what is searched for, `matches` where it stands."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading", wanted: str) -> None:
        self._screen = screen
        self._reading = reading
        self.wanted = wanted
        self.matches: list[int] = []

    def look_up(self, *, go: bool) -> None:
        """Ask where `wanted` stands; `go` to the first place at or behind the cursor."""
        desk, trace_id, wanted = self._screen.shell.desk, self._reading.trace_id, self.wanted

        def land(found: list[int]) -> None:
            if wanted != self.wanted:
                return
            self.matches = found
            self.mark_matches()
            if not go:
                return
            if not found:
                self._screen.say(visible_line(f"“{wanted}” stands in no event of this trace"))
                return
            at = bisect_left(found, self._reading.seq)
            self.to_match(at if at < len(found) else 0)

        self._screen.ask("find", lambda: desk.traces.find(trace_id, wanted), land)

    def seek_in_pane(self) -> None:
        """Mark it in the pane, and go to its first place there, unfolding what hides it."""
        seek = self._screen.pane.begin(self.wanted)

        def land(found: bool) -> None:
            if found and self._screen.pane.seek is seek:
                self._screen.pane.step(1)

        if self.wanted and self._screen.value.mode != "source":
            self._screen.ask("seek", seek.more, land)

    def search(self) -> None:
        """Search the whole trace: what every event asked, got, said, and the states."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen

        hint = "all of this trace; F searches every trace"
        self._screen.app.push_screen(PromptScreen("search", self.wanted, hint), self._searched)

    def _searched(self, text: str | None) -> None:
        if text is not None:
            self.wanted, self.matches = text, []
            self.mark_matches()
            if text:
                self._screen.say(visible_line(f"searching “{text}”…"))
                self.look_up(go=True)

    def mark_matches(self) -> None:
        """Show in the list and in the pane what is searched for."""
        self._screen.grid.redress()
        self.seek_in_pane()

    def to_match(self, at: int) -> None:
        """Go to match number `at`, from 0."""
        seq = self.matches[at]
        place = f"match {at + 1:,} of {plural(len(self.matches), 'event')}"
        self._screen.say(visible_line(f"“{self.wanted}”: {place}   n N walk, Esc ends"), "match")
        self._reading.go_to(seq)

    def walk(self, step: int) -> None:
        """The next match; in the pane, first the next place of this event."""
        seek = self._screen.pane.seek
        if not self._screen.pane.has_focus or seek is None:
            self._further(step)
            return
        if self._screen.pane.step(step):
            return
        if step < 0:
            self._further(step)
            return

        def land(found: bool) -> None:
            if self._screen.pane.seek is seek and not (found and self._screen.pane.step(1)):
                self._further(step)

        self._screen.ask("seek", seek.more, land)

    def _further(self, step: int) -> None:
        here = self._reading.seq
        ahead = bisect_right(self.matches, here)
        at = ahead if step > 0 else bisect_left(self.matches, here) - 1
        if 0 <= at < len(self.matches):
            self.to_match(at)
        else:
            self._screen.say(visible_line(f"“{self.wanted}” is not further that way"))

    def end_search(self) -> None:
        """Back to a trace without marks."""
        self.wanted, self.matches = "", []
        self.mark_matches()
        self._screen.say("search ended")
