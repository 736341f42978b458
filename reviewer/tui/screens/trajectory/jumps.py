"""Going through a trace: findings, errors, calls of a tool, states; attempts and episodes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.compare.views import AttemptComparison
from reviewer.desk.scorecards.views import PAGE
from reviewer.desk.traces.views import StateView
from reviewer.desk.views import ALWAYS, CellLine, EventRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.shell.places import ToAttempts
from reviewer.tui.shell.traces import listed

if TYPE_CHECKING:
    from reviewer.tui.screens.trajectory.controller import TraceReading
    from reviewer.tui.screens.trajectory.screen import TrajectoryScreen


class Jump(NamedTuple):
    """What was last looked for: which events, and what they are called."""

    match: Callable[[EventRow], bool]
    words: str


def _failed(row: EventRow) -> bool:
    return row.kind == "error" or row.status not in (None, "ok")


class TraceJumps:
    """Every way to another event, attempt or episode. `;` goes on as the last one went, `,` goes
    back."""

    def __init__(self, screen: "TrajectoryScreen", reading: "TraceReading") -> None:
        self._screen = screen
        self._reading = reading
        self._jump: Jump | None = None

    def finding(self, step: int) -> None:
        """The next finding; while a search is on, the next match."""
        if self._screen.finding.wanted:
            self._screen.finding.walk(step)
            return
        here = self._reading.seq
        ahead = [seq for seq in self._reading.findings() if (seq - here) * step > 0]
        if ahead:
            self._reading.go_to(ahead[0] if step > 0 else ahead[-1])
        else:
            self._screen.say("no more findings that way")

    def error(self, step: int = 1) -> None:
        """The next event that is not ok."""
        self._look_for(Jump(_failed, "error"), step)

    def same(self, step: int = 1) -> None:
        """The next call of the same tool."""
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
        """The last jump again, or backwards."""
        if self._jump is None:
            self._screen.say("no jump yet: e goes to an error, * to the next call of a tool")
        else:
            self._look_for(self._jump, step)

    def _look_for(self, jump: Jump, step: int) -> None:
        self._jump = jump
        trace, trace_id, desk = self._reading.trace, self._reading.trace_id, self._screen.shell.desk
        if trace is None or not self._screen.grid.keys:
            return
        here, total = self._screen.grid.keys[self._screen.grid.row], trace.events

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

    def only_marked(self) -> None:
        """Only events with findings, marks and matches, or all again."""
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

        if self._reading.trace is not None and listed(self._reading.trace):
            self._screen.ask("scan", lambda: desk.traces.state(trace_id, seq), land)

    def attempt(self, step: int) -> None:
        """The attempt before or after, of the same episode."""
        trace = self._reading.trace
        if trace is None:
            return
        numbers = [each.attempt for each in trace.attempts]
        ahead = [n for n in sorted(numbers) if (n - trace.attempt) * step > 0]
        if ahead:
            self._attempts(ahead if step > 0 else ahead[::-1])
        else:
            self._screen.say("no attempt further that way")

    def attempt_to(self, number: int) -> None:
        """One attempt of this episode."""
        self._attempts([number])

    def _attempts(self, numbers: list[int]) -> None:
        """Go to the first of these attempts that has a trace."""
        trace = self._reading.trace
        if trace is None:
            return
        suite, candidate, desk = trace.suite_id, trace.candidate_id, self._screen.shell.desk
        episode, gate = trace.episode_id, self._reading.gate or ALWAYS[0]

        def land(lines: list[CellLine]) -> None:
            made = {line.attempt: line.trace_id for line in lines if line.trace_id}
            to = next((n for n in numbers if n in made), None)
            if to is None:
                self._screen.say("no attempt further that way has a trace")
            else:
                self._reading.load(made[to] or "", None)

        self._screen.ask(
            "step", lambda: desk.scorecards.cell(suite, candidate, episode, gate), land
        )

    def episode(self, step: int) -> None:
        """The episode before or after, in the order of the scorecard you came from."""
        around, trace = self._screen.shell.around, self._reading.trace
        desk = self._screen.shell.desk
        if around is None or trace is None:
            self._screen.say("the order of episodes is the scorecard's: S, then Enter on a cell")
            return
        index = around.at + step
        if not 0 <= index < len(around.keys):
            self._screen.say("no episode further that way")
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
        """Choose what to set this attempt beside: another attempt, another candidate's, or all."""
        from reviewer.tui.screens.dialogs.choose import ChooseSide

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
