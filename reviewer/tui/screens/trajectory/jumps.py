"""Going through a trace: findings, errors, calls of a tool, states; attempts and episodes."""

from collections.abc import Callable
from typing import NamedTuple

from reviewer.desk.compare.views import AttemptComparison
from reviewer.desk.scorecards.views import PAGE
from reviewer.desk.traces.views import StateView
from reviewer.desk.views import ALWAYS, CellLine, EventRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.trajectory.marks import TraceMarks
from reviewer.tui.settings.theme import RED
from reviewer.tui.shell.places import ToAttempts


class Jump(NamedTuple):
    """What was last looked for: which events, and what they are called."""

    match: Callable[[EventRow], bool]
    words: str


def _failed(row: EventRow) -> bool:
    return row.kind == "error" or row.status not in (None, "ok")


class TraceJumps(TraceMarks):
    """Every way to another event, attempt or episode. `;` goes on as the last one went, `,` goes
    back."""

    _jump: Jump | None = None

    # within the trace --------------------------------------------------------------------------

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
            self.go_to(ahead[0] if step > 0 else ahead[-1])
        else:
            self.say("no more findings that way")

    def action_error(self, step: int = 1) -> None:
        """The next event that is not ok."""
        self._look_for(Jump(_failed, "error"), step)

    def action_same(self, step: int = 1) -> None:
        """The next call of the same tool."""
        row = self.grid.current
        if not isinstance(row, EventRow):
            return
        kind, title = row.kind, row.title
        words = visible_line(title) if kind == "tool_call" else kind.replace("_", " ")
        alike = Jump(
            lambda other: other.kind == kind and (kind != "tool_call" or other.title == title),
            words,
        )
        self._look_for(alike, step)

    def action_again(self, step: int) -> None:
        """The last jump again, or backwards."""
        if self._jump is None:
            self.say("no jump yet: e goes to an error, * to the next call of a tool")
        else:
            self._look_for(self._jump, step)

    def _look_for(self, jump: Jump, step: int) -> None:
        self._jump = jump
        trace, trace_id, desk = self.trace, self.trace_id, self.shell.desk
        if trace is None or not self.grid.keys:
            return
        here, total = self.grid.keys[self.grid.row], trace.events

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
                self.say(f"no {jump.words} {where} this event")
            else:
                self.go_to(found.seq)

        self.ask("scan", look, land)

    def action_only(self) -> None:
        """Only events with findings, marks and matches, or all again."""
        if self.only is not None:
            self.keep(None)
            return
        wanted = {*self.findings(), *self.matches, *(note.seq for note in self.notes)}
        if wanted:
            self.keep(sorted({self.position(seq) for seq in wanted}))
        else:
            self.say("no event here has a finding, a bookmark, a note or a match")

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
                self.go_to(to)

        if self.trace is not None and self.trace.events:
            self.ask("scan", lambda: desk.traces.state(trace_id, seq), land)

    # to other traces ---------------------------------------------------------------------------

    def action_attempt(self, step: int) -> None:
        """The attempt before or after, of the same episode."""
        trace = self.trace
        if trace is None:
            return
        numbers = [each.attempt for each in trace.attempts]
        ahead = [n for n in sorted(numbers) if (n - trace.attempt) * step > 0]
        if ahead:
            self._attempts(ahead if step > 0 else ahead[::-1])
        else:
            self.say("no attempt further that way")

    def action_attempt_to(self, number: int) -> None:
        """One attempt of this episode."""
        self._attempts([number])

    def _attempts(self, numbers: list[int]) -> None:
        """Go to the first of these attempts that has a trace."""
        trace = self.trace
        if trace is None:
            return
        suite, candidate, desk = trace.suite_id, trace.candidate_id, self.shell.desk
        episode, gate = trace.episode_id, self.gate or ALWAYS[0]

        def land(lines: list[CellLine]) -> None:
            made = {line.attempt: line.trace_id for line in lines if line.trace_id}
            to = next((n for n in numbers if n in made), None)
            if to is None:
                self.say("no attempt further that way has a trace")
            else:
                self.load(made[to] or "", None)

        self.ask("step", lambda: desk.scorecards.cell(suite, candidate, episode, gate), land)

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
        gate = self.gate or ALWAYS[0]

        def look() -> list[CellLine]:
            rows = desk.scorecards.rows(suite, candidate, [around.keys[index]])
            return desk.scorecards.cell(suite, candidate, rows[0].episode_id, gate) if rows else []

        def land(lines: list[CellLine]) -> None:
            made = [line for line in lines if line.trace_id]
            if not made:
                self.say("that episode has no trace yet")
                return
            line = next((each for each in made if each.mark in RED), made[0])
            self.shell.around = around._replace(at=index)
            self.load(line.trace_id or "", line.seq if line.mark in RED else None)

        self.ask("step", look, land)

    # against another ---------------------------------------------------------------------------

    def action_beside(self) -> None:
        """Choose what to set this attempt beside: another attempt, another candidate's, or all."""
        from reviewer.tui.screens.dialogs.choose_side import ChooseSide

        trace, desk = self.trace, self.shell.desk
        if trace is None:
            return
        suite, candidate, episode = trace.suite_id, trace.candidate_id, trace.episode_id
        gate = self.gate or ALWAYS[0]

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
                self.app.push_screen(ChooseSide(visible_line(title), offers), self._chosen)
            else:
                self.say("this is the only attempt of this episode: r on the scorecard runs more")

        self.ask("step", look, land)

    def _chosen(self, chosen: tuple[str, str] | None) -> None:
        if chosen is None:
            return
        if not chosen[0]:
            self.shell.action_go("compare")
            return
        desk = self.shell.desk

        def land(found: AttemptComparison) -> None:
            self.shell.visit(ToAttempts(None, (), 0, found))

        self.ask("step", lambda: desk.compare.attempts(*chosen), land)
