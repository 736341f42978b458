"""Acts on a trace: jumps to events and attempts, searching it, bookmarks and notes."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.compare.views import AttemptComparison
from reviewer.desk.scorecards.views import PAGE
from reviewer.desk.traces.kinds import further
from reviewer.desk.traces.views import NoteKind, NoteView, StateView
from reviewer.desk.views import ALWAYS, CellLine, EventRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.shell.places import Offer, ToAttempts
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.tui.screens.trajectory.controller import TraceReading
    from reviewer.tui.screens.trajectory.screen import TrajectoryScreen


class Jump(NamedTuple):
    """The last jump: which events it looks for, and their name."""

    match: Callable[[EventRow], bool]
    words: str


def _failed(row: EventRow) -> bool:
    return row.kind == "error" or row.status not in (None, "ok")


class TraceJumps:
    """Every way to another event, attempt or episode. `;` repeats the last jump, `,` repeats it
    backwards."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading") -> None:
        self._screen = screen
        self._reading = reading
        self._jump: Jump | None = None

    def finding(self, step: int) -> None:
        """Go to the next finding; during a search, to the next match."""
        if self._screen.finding.wanted:
            self._screen.finding.walk(step)
            return
        reading = self._reading
        here = reading.seq - 0.5 * reading.before(step)
        found = further(reading.kinds, here, reading.kind, step)
        if found is None:
            self._screen.say("no more findings that way")
            return
        reading.kind, seq = found
        reading.go_to(seq)

    def error(self, step: int = 1) -> None:
        """Go to the next event that is not ok."""
        self._look_for(Jump(_failed, "event that is not ok"), step)

    def numbered(self, text: str) -> Iterator[Offer]:
        """Yield the event with a number, or the attempt with the number after `attempt` or `a`."""
        trace = self._reading.trace
        word, _, number = text.strip().replace(",", "").rpartition(" ")
        if trace is None or not (number.isascii() and number.isdigit() and len(number) < 10):
            return
        wanted = int(number)
        if word in ("", "event") and trace.listed:
            where = f"of {trace.events:,} in this trace"
            yield Offer("event", f"event {wanted}", partial(self._to_event, wanted), where)
        elif word in ("a", "attempt"):
            where = f"of {trace.episode_id}"
            yield Offer("trace", f"attempt {wanted}", partial(self.attempt_to, wanted), where)

    def _to_event(self, number: int) -> None:
        self._reading.go_to(number)
        if self._reading.seq != number:
            self._screen.say(f"no event {number} here: this is the nearest one")

    def same(self, step: int = 1) -> None:
        """Go to the next call of the same tool."""
        row = self._screen.grid.current
        if not isinstance(row, EventRow):
            return
        kind, title = row.kind, row.title
        words = visible_line(title) if kind == "tool_call" else kind.replace("_", " ")
        alike = Jump(
            lambda other: other.kind == kind and (kind != "tool_call" or other.title == title),
            words,
        )
        self._look_for(alike, step)

    def again(self, step: int) -> None:
        """Repeat the last jump, forwards or backwards."""
        if self._jump is None:
            self._screen.say(
                "no jump yet: d goes to the next event that is not ok, * to the next call of a tool"
            )
        else:
            self._look_for(self._jump, step)

    def _look_for(self, jump: Jump, step: int) -> None:
        self._jump = jump
        trace, trace_id, desk = self._reading.trace, self._reading.trace_id, self._screen.shell.desk
        if trace is None or not self._screen.grid.keys:
            return
        here, total = self._reading.place - self._reading.before(step), trace.events

        def look() -> EventRow | None:
            at = here + step
            while 0 <= at < total:
                first = at if step > 0 else max(0, at - PAGE + 1)
                rows = desk.traces.events(trace_id, first, PAGE if step > 0 else at - first + 1)
                found = [row for row in rows if jump.match(row)]
                if found:
                    return found[0] if step > 0 else found[-1]
                at = first + PAGE if step > 0 else first - 1
            return None

        def land(found: EventRow | None) -> None:
            if found is None:
                where = "after" if step > 0 else "before"
                self._screen.say(f"no {jump.words} {where} this event")
            else:
                self._reading.go_to(found.seq)

        self._screen.ask("scan", look, land)

    def group(self) -> None:
        """Group events by turn, then by agent and turn, then not at all."""
        trace, reading = self._reading.trace, self._reading
        if trace is None or not trace.listed:
            self._screen.say("no events to group")
        elif reading.grouping is None:
            reading.group("turns")
        elif reading.grouping == "turns" and reading.listing and reading.listing.agents > 1:
            reading.group("agents")
        else:
            if reading.grouping == "turns":
                self._screen.say("only one agent: events can be grouped by turn only")
            reading.group(None)

    def only_marked(self) -> None:
        """Show only events with findings, marks and matches, or all again."""
        if self._reading.only is not None:
            self._reading.keep(None)
            return
        noted = (note.seq for note in self._reading.notes)
        wanted = {*self._reading.findings(), *self._screen.finding.matches, *noted}
        if wanted:
            self._reading.keep(sorted({self._reading.position(seq) for seq in wanted}))
        else:
            self._screen.say("no event here has a finding, a bookmark, a note or a match")

    def snapshot(self, step: int) -> None:
        """Step to the event that recorded the state before or after, and show the state there."""
        desk, trace_id, seq = self._screen.shell.desk, self._reading.trace_id, self._reading.seq

        def land(state: StateView) -> None:
            self._screen.value.mode = "state"
            to = state.before if step < 0 else state.after
            if to is None:
                where = "before" if step < 0 else "after"
                none = "no state is recorded in this trace"
                self._screen.say(f"no state recorded {where} this event" if state.of else none)
                self._screen.value.ask_event()
            else:
                self._reading.go_to(to)

        if self._reading.trace is not None and self._reading.trace.listed:
            self._screen.ask("scan", lambda: desk.traces.state(trace_id, seq), land)

    def attempt(self, step: int) -> None:
        """Show the attempt before or after, of the same episode."""
        trace = self._reading.trace
        if trace is None:
            return
        numbers = [each.attempt for each in trace.attempts]
        ahead = [n for n in sorted(numbers) if (n - trace.attempt) * step > 0]
        if ahead:
            self._attempts(ahead if step > 0 else ahead[::-1])
        else:
            self._screen.say("no more attempts that way")

    def attempt_to(self, number: int) -> None:
        """Show one attempt of this episode."""
        self._attempts([number])

    def _attempts(self, numbers: list[int]) -> None:
        """Open the first of these attempts that has a trace."""
        trace = self._reading.trace
        if trace is None:
            return
        suite, candidate, desk = trace.suite_id, trace.candidate_id, self._screen.shell.desk
        episode, gate = trace.episode_id, self._reading.gate or ALWAYS[0]

        def land(lines: list[CellLine]) -> None:
            made = {line.attempt: line.trace_id for line in lines if line.trace_id}
            to = next((n for n in numbers if n in made), None)
            if to is None:
                self._screen.say("no more attempts that way has a trace")
            else:
                self._reading.load(made[to] or "", None)

        self._screen.ask(
            "step", lambda: desk.scorecards.cell(suite, candidate, episode, gate), land
        )

    def episode(self, step: int) -> None:
        """Show the episode before or after, in the order of the scorecard the reader came from."""
        around, trace = self._screen.shell.around, self._reading.trace
        desk = self._screen.shell.desk
        if around is None or trace is None:
            self._screen.say("the order of episodes is the scorecard's: S, then Enter on a cell")
            return
        index = around.at + step
        if not 0 <= index < len(around.keys):
            self._screen.say("no more episodes that way")
            return
        suite, candidate = trace.suite_id, trace.candidate_id
        gate = self._reading.gate or ALWAYS[0]

        def look() -> list[CellLine]:
            rows = desk.scorecards.rows(suite, candidate, [around.keys[index]])
            return desk.scorecards.cell(suite, candidate, rows[0].episode_id, gate) if rows else []

        def land(lines: list[CellLine]) -> None:
            made = [line for line in lines if line.trace_id]
            if not made:
                self._screen.say("that episode has no trace yet")
                return
            line = next((each for each in made if each.mark in RED), made[0])
            self._screen.shell.around = around._replace(at=index)
            self._reading.load(line.trace_id or "", line.seq if line.mark in RED else None)

        self._screen.ask("step", look, land)

    def beside(self) -> None:
        """Choose what to compare this attempt with: another attempt, another candidate's, or
        all."""
        from reviewer.tui.screens.dialogs.ask import ChooseSide

        trace, desk = self._reading.trace, self._screen.shell.desk
        if trace is None:
            return
        suite, candidate, episode = trace.suite_id, trace.candidate_id, trace.episode_id
        gate = self._reading.gate or ALWAYS[0]

        def look() -> list[tuple[str, tuple[str, str]]]:
            others = [
                name for of, name in desk.workspace.releases() if of == suite and name != candidate
            ]
            offers = []
            for name in (candidate, *others):
                lines = sorted(
                    desk.scorecards.cell(suite, name, episode, gate), key=lambda e: e.attempt
                )
                offers += [
                    (f"{name} attempt {line.attempt}", (line.trace_id, trace.trace_id))
                    for line in lines
                    if line.trace_id and line.trace_id != trace.trace_id
                ]
            if others:
                offers.append(("every episode, candidate against candidate", ("", "")))
            return offers

        def land(offers: list[tuple[str, tuple[str, str]]]) -> None:
            if offers:
                title = f"{candidate} attempt {trace.attempt} against"
                dialog = ChooseSide(visible_line(title), offers)
                self._screen.app.push_screen(dialog, self._chosen)
            else:
                alone = "this is the only attempt of this episode: r on the scorecard runs more"
                self._screen.say(alone)

        self._screen.ask("step", look, land)

    def _chosen(self, chosen: tuple[str, str] | None) -> None:
        if chosen is None:
            return
        if not chosen[0]:
            self._screen.shell.action_go("compare")
            return
        desk = self._screen.shell.desk

        def land(found: AttemptComparison) -> None:
            self._screen.shell.visit(ToAttempts(None, (), 0, found))

        self._screen.ask("step", lambda: desk.compare.attempts(*chosen), land)


class TraceFinding:
    """The search of the trajectory. `wanted` is the text, `matches` where it occurs."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading", wanted: str) -> None:
        self._screen = screen
        self._reading = reading
        self.wanted = wanted
        self.matches: list[int] = []

    def look_up(self, *, go: bool) -> None:
        """Ask where `wanted` occurs; with `go`, go to the first match at or after the cursor."""
        desk, trace_id, wanted = self._screen.shell.desk, self._reading.trace_id, self.wanted

        def land(found: list[int]) -> None:
            if wanted != self.wanted:
                return
            self.matches = found
            self.mark_matches()
            if not go:
                return
            if not found:
                self._screen.say(visible_line(f"no event of this trace contains “{wanted}”"))
                return
            at = bisect_left(found, self._reading.seq)
            self.to_match(at if at < len(found) else 0)

        self._screen.ask("find", lambda: desk.traces.find(trace_id, wanted), land)

    def seek_in_pane(self) -> None:
        """Mark the text in the pane, and go to its first match there, unfolding what hides it."""
        seek = self._screen.pane.begin(self.wanted)

        def land(found: bool) -> None:
            if found and self._screen.pane.seek is seek:
                self._screen.pane.step(1)

        if self.wanted and self._screen.value.mode != "source":
            self._screen.ask("seek", seek.more, land)

    def search(self) -> None:
        """Search the whole trace: requests, results, messages and states of every event."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

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
        """Mark the text in the list and in the pane."""
        self._screen.grid.redress()
        self.seek_in_pane()

    def to_match(self, at: int) -> None:
        """Go to match number `at`, from 0."""
        seq = self.matches[at]
        place = f"match {at + 1:,} of {plural(len(self.matches), 'event')}"
        self._screen.say(visible_line(f"“{self.wanted}”: {place}   n N walk, Esc ends"), "match")
        self._reading.go_to(seq)

    def walk(self, step: int) -> None:
        """Go to the next match; in the pane, first to the next match in this event."""
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
        here = self._reading.seq - self._reading.before(step)
        ahead = bisect_right(self.matches, here)
        at = ahead if step > 0 else bisect_left(self.matches, here) - 1
        if 0 <= at < len(self.matches):
            self.to_match(at)
        else:
            self._screen.say(visible_line(f"“{self.wanted}” is not further that way"))

    def end_search(self) -> None:
        """Remove the marks of the search."""
        self.wanted, self.matches = "", []
        self.mark_matches()
        self._screen.say("search ended")


class TraceMarks:
    """Bookmarks and notes of a person on the events of a trace."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading") -> None:
        self._screen = screen
        self._reading = reading

    def _mine(self, kind: NoteKind) -> NoteView | None:
        """Return the reviewer's own mark on the event under the cursor."""
        me, seq = self._screen.shell.desk.labels.reviewer_name(), self._reading.seq
        notes = self._reading.notes
        found = (n for n in notes if (n.seq, n.kind, n.reviewer) == (seq, kind, me))
        return next(found, None)

    def bookmark(self) -> None:
        """Put a bookmark on this event, or remove it."""
        if self._screen.value.detail is not None:
            had = self._mine("bookmark") is not None
            told = "bookmark removed" if had else "bookmarked, kept in the store and the report"
            self._write("bookmark", "", had, told)

    def note(self) -> None:
        """Write a note on this event; an empty one removes it."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        if self._screen.value.detail is None:
            return
        mine = self._mine("note")
        seq, trace_id = self._reading.seq, self._reading.trace_id

        def write(text: str | None) -> None:
            if text is None or (trace_id, seq) != (self._reading.trace_id, self._reading.seq):
                return
            if text or mine is not None:
                told = "note kept in the store and the report" if text else "note removed"
                self._write("note", text, not text, told)

        hint = "goes into the report, affects no gate; identifiers are masked"
        prompt = PromptScreen(f"note on event {seq}", mine.text if mine else "", hint)
        self._screen.app.push_screen(prompt, write)

    def make_episode(self) -> None:
        """Ask for the marks of this trace, and make an episode from it. The call under the cursor
        is offered as the wrong one."""
        from reviewer.tui.screens.dialogs.episode import EpisodeScreen

        row = self._screen.grid.current
        call = isinstance(row, EventRow) and row.kind == "tool_call"
        wrong = str(self._reading.seq) if call else ""
        self._screen.app.push_screen(EpisodeScreen(self._reading.trace_id, wrong))

    def _write(self, kind: NoteKind, text: str, removed: bool, told: str) -> None:
        desk, trace_id, seq = self._screen.shell.desk, self._reading.trace_id, self._reading.seq

        def land(notes: list[NoteView]) -> None:
            if trace_id == self._reading.trace_id:
                self._reading.take_notes(notes)
                self._screen.say(f"event {seq}: {told}", "pass")

        def work() -> list[NoteView]:
            return desk.traces.write_note(trace_id, seq, kind, text, removed=removed)

        self._screen.ask("note", work, land)

    def next(self) -> None:
        """Go to the next event with a bookmark or a note, from the last one to the first."""
        marked = sorted({note.seq for note in self._reading.notes})
        if not marked:
            self._screen.say("no bookmark and no note here: m sets one, w writes one")
            return
        seq = next((each for each in marked if each > self._reading.seq), marked[0])
        self._reading.go_to(seq)
        here = [note for note in self._reading.notes if note.seq == seq]
        text = next((note.text for note in here if note.text), "bookmark")
        place = f"{marked.index(seq) + 1} of {plural(len(marked), 'marked event')}"
        self._screen.say(visible_line(f"{place}: {here[0].reviewer}: {text}"))
