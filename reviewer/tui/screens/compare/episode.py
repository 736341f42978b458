"""Two attempts of one episode side by side: where they part, and what that changed."""

from typing import ClassVar

from textual.binding import BindingType

from reviewer.desk.compare.views import AttemptComparison
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.compare.reader import MODES, CompareReader
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import plain
from reviewer.tui.widgets.valueview import ValueView


class CompareEpisodeScreen(CompareReader):
    """One episode of a comparison, and the acts on it."""

    ABOUT = (
        "You are asked: where did the two attempts part, and what did that change?",
        "Calls are aligned by tool and arguments. » is where the agents part first.",
    )
    ENTER = "open the trace of the event"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("n", "difference", "screen.difference(1)"),
        ("[]", "attempt", "screen.attempt(1)"),
        ("{}", "episode", "screen.episode(1)"),
        ("v", "view", "screen.view"),
        ("c", "attempts", "screen.other"),
        ("Enter", "trace", "screen.enter"),
        ("y", "copy", "screen.copy_line"),
        ("?", "help", "app.explain"),
        ("z", "unfold", "screen.fold"),
        ("tab", "region", "app.focus_next"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "difference(1)", "next difference", "The next event at which they differ."),
        bind("N", "difference(-1)", "difference before", "The difference before."),
        bind("left_square_bracket", "attempt(-1)", "attempt before", "Of both sides."),
        bind("right_square_bracket", "attempt(1)", "attempt after", "Of both sides."),
        bind("shift+left", "attempt(-1)", "attempt before", "Of both sides."),
        bind("shift+right", "attempt(1)", "attempt after", "Of both sides."),
        bind("left_curly_bracket", "episode(-1)", "episode before"),
        bind("right_curly_bracket", "episode(1)", "episode after"),
        bind("shift+up", "episode(-1)", "episode before"),
        bind("shift+down", "episode(1)", "episode after"),
        bind("v", "view", "evidence, event, state, message", "What stands below the events."),
        bind("c", "other", "choose the other attempt", "Against which attempt this one stands."),
        bind("z", "fold", "fold equal events", "Fold stretches of equal events, or unfold them."),
        bind("y", "copy_line", "copy", "Copy what stands below the events."),
    ]

    # acts --------------------------------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.draw_caption()
        if self.mode == MODES[1]:
            self.draw_detail()

    def on_value_view_followed(self, message: ValueView.Followed) -> None:
        """From a line of evidence to the step that shows it."""
        self.to_step(message.go[1])
        self.grid.focus()

    async def on_grid_chosen(self, message: Grid.Chosen) -> None:
        await self.action_enter()

    async def action_enter(self) -> None:
        """The whole trace, at the event: the baseline's on its line, else the candidate's."""
        row = self.current
        if row is None:
            return
        side, event = self.found.candidate, row.step.candidate
        if row.side == "baseline" or event is None:
            side, event = self.found.baseline, row.step.baseline
        self.shell.trace_id = side.trace_id
        self.shell.visit(ToTrace(side.trace_id, event.seq if event else None))

    def action_difference(self, step: int) -> None:
        """The next line at which the sides differ; of a step on two lines, its first."""
        here = self.current.place if self.current else -1
        ahead = [
            n
            for n, row in enumerate(self.step_lines)
            if row.step.change != "same" and (row.place - here) * step > 0
        ]
        if not ahead:
            self.say("no more differences that way")
            return
        at = ahead[0] if step > 0 else ahead[-1]
        while at and self.step_lines[at - 1].place == self.step_lines[at].place:
            at -= 1
        self.grid.go(at)

    def action_attempt(self, step: int) -> None:
        """The attempt before or after, on both sides."""
        a, b = self.found.baseline, self.found.candidate
        made = {each.attempt for each in a.siblings} & {each.attempt for each in b.siblings}
        ahead = [n for n in sorted(made) if (n - b.attempt) * step > 0]
        if not ahead:
            self.say("no attempt further that way that both sides made")
            return
        number = ahead[0] if step > 0 else ahead[-1]
        self._load(_numbered(a.trace_id, number), _numbered(b.trace_id, number))

    def _load(self, trace_a: str, trace_b: str) -> None:
        desk = self.shell.desk
        self.ask("pair", lambda: desk.compare.attempts(trace_a, trace_b), self.take)

    def action_episode(self, step: int) -> None:
        """The episode before or after, in the order of the list."""
        at = self.at + step
        if not 0 <= at < len(self.names):
            alone = "these two attempts alone are compared: C compares every episode"
            self.say("no episode further that way" if self.of is not None else alone)
            return
        of, name, desk = self.of, self.names[at], self.shell.desk
        if of is None:
            return
        asked = of.suite.suite_id, of.candidate_id, of.baseline_id, name

        def land(found: AttemptComparison) -> None:
            self.at = at
            self.take(found)

        self.ask("pair", lambda: desk.compare.episode(*asked), land)

    def action_other(self) -> None:
        """Choose the attempt that stands as the baseline."""
        from reviewer.tui.screens.dialogs.choose_side import ChooseSide

        a, b = self.found.baseline, self.found.candidate
        sides = (a,) if a.candidate_id == b.candidate_id else (a, b)
        offers = [
            (
                f"against {side.candidate_id} attempt {each.attempt}",
                (_numbered(side.trace_id, each.attempt), b.trace_id),
            )
            for side in sides
            for each in side.siblings
            if _numbered(side.trace_id, each.attempt) not in (a.trace_id, b.trace_id)
        ]
        if not offers:
            self.say("no other attempt of this episode was made")
            return
        title = f"{b.candidate_id} attempt {b.attempt}"
        self.app.push_screen(ChooseSide(visible_line(title), offers), self._chosen)

    def _chosen(self, traces: tuple[str, str] | None) -> None:
        if traces is not None:
            self._load(*traces)

    def action_view(self) -> None:
        """Evidence, this event, final state, final message."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.draw_detail()

    def action_fold(self) -> None:
        """Fold stretches of equal events, or unfold them."""
        self.folded = not self.folded
        self.lay_out()
        self.draw_caption()

    def action_copy_line(self) -> None:
        """Copy what stands below the events."""
        texts = [plain([block.head]) + block.text for block in self.detail.blocks]
        self.copy("\n".join(texts), self.mode)


def _numbered(trace_id: str, attempt: int) -> str:
    """The trace id of another attempt of the same slot."""
    return f"{trace_id.rpartition('/')[0]}/{attempt}"
