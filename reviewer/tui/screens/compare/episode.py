"""Two attempts of one episode side by side: where they diverge, and what that changed."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.compare.views import AttemptComparison, Comparison
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.compare import view as view
from reviewer.tui.screens.compare.view import StepRow, StepSheet, step_rows
from reviewer.tui.settings.keys import bind, key_of
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.views.event import changed
from reviewer.tui.widgets import words
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Block, Line, Span, plain
from reviewer.tui.widgets.value_tree import Entry
from reviewer.tui.widgets.valueview import ValueView

WIDE = 120
"""Columns from which the two sides are in columns."""
MODES = ("what changed", "this event", "final state", "final message")


class CompareEpisodeScreen(DeskScreen):
    """One episode of a comparison, and the acts on it."""

    NAME = "compare"
    SIZED = ("detail",)
    DEFAULT_CSS = """
    CompareEpisodeScreen #detail { height: 8; }
    CompareEpisodeScreen.-tall #detail { height: 40%; }
    """

    ABOUT = (
        "You are asked: where did the two attempts diverge, and what did that change?",
        "Calls are aligned by tool and arguments. » marks where the agents first diverge.",
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
        bind("v", "view", "evidence, event, state, message", "What is shown below the events."),
        bind(
            "c", "other", "choose the other attempt", "The attempt that this one is compared with."
        ),
        bind("z", "fold", "fold equal events", "Fold stretches of equal events, or unfold them."),
        bind("y", "copy_line", "copy", "Copy what is shown below the events."),
    ]

    def __init__(
        self,
        of: Comparison | None,
        names: Sequence[str],
        at: int,
        found: AttemptComparison,
        step: int | None = None,
    ) -> None:
        super().__init__()
        self.of, self.names, self.at, self.found = of, names, at, found
        self._step = step
        self.mode = MODES[0]
        self.folded = True
        self.step_lines: list[StepRow] = []

    def regions(self) -> Iterable[Widget]:
        yield Grid(self._sheet, self._rows, id="steps")
        yield ValueView(id="detail")

    @property
    def grid(self) -> Grid:
        """The aligned events."""
        return self.query_one("#steps", Grid)

    @property
    def detail(self) -> ValueView:
        """The detail below the events."""
        return self.query_one("#detail", ValueView)

    @property
    def current(self) -> StepRow | None:
        """The line under the cursor."""
        return self.step_lines[self.grid.row] if self.grid.row < len(self.step_lines) else None

    def _sheet(self, width: int) -> StepSheet:
        a, b = self.found.baseline, self.found.candidate
        names = (
            f"{self.found.sides[0]}: {a.candidate_id} attempt {a.attempt}",
            f"{self.found.sides[1]}: {b.candidate_id} attempt {b.attempt}",
        )
        return StepSheet(width, names, wide=self.columns >= WIDE)

    def _rows(self, keys: list[int]) -> Sequence[StepRow]:
        return [self.step_lines[key] for key in keys]

    def on_mount(self) -> None:
        self.grid.focus()
        self.take(self.found)
        if self._step is not None:
            self.to_step(self._step)

    # drawing -----------------------------------------------------------------------------------

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        self.lay_out()
        self.redraw()

    def take(self, found: AttemptComparison) -> None:
        self.found = found
        self.shell.trace_id = found.candidate.trace_id
        self.lay_out(found.first_divergence or 0)
        self.redraw()
        if not found.steps:
            self.say("neither attempt holds an event: only the verdicts are compared")

    def lay_out(self, index: int | None = None) -> None:
        """Build the lines for this width, with the cursor on a step."""
        if index is None:
            index = self.current.place if self.current else 0
        found = self.found
        self.step_lines = step_rows(
            found.steps, found.first_divergence, wide=self.columns >= WIDE, folded=self.folded
        )
        self.grid.set_keys(range(len(self.step_lines)))
        self.to_step(index)

    def to_step(self, index: int) -> None:
        """Put the cursor on a step; if it is folded, on the first line of the fold."""
        at = max((n for n, row in enumerate(self.step_lines) if row.place <= index), default=0)
        while at and self.step_lines[at].place == self.step_lines[at - 1].place:
            at -= 1  # a step may take two lines: go to the first
        self.grid.go(at)

    def redraw(self) -> None:
        place = f"{self.at + 1} of {len(self.names)}" if self.names else ""
        self.head(view.pair_top(self.found, place, self.columns))
        self.foot()
        self.draw_caption()
        self.draw_detail()

    def draw_caption(self) -> None:
        found = self.found
        sizes = f"events {found.baseline.events:,} and {found.candidate.events:,}"
        differ = [n for n, step in enumerate(found.steps) if step.change != "same"]
        here = self.current.place if self.current else 0
        note = "no difference"
        if differ:
            count = words.plural(len(differ), "difference")
            note = f"{count}, first at {self._where(found.first_divergence)}"
            if here in differ:
                note = f"difference {differ.index(here) + 1} of {len(differ)}"
        self.grid.caption([Span(sizes, "strong")], [Span(note, "dim")])

    def _where(self, index: int | None) -> str:
        step = self.found.steps[index or 0]
        row = step.candidate or step.baseline
        return f"event {row.seq}" if row else "the start"

    def draw_detail(self) -> None:
        if self.mode == MODES[1]:
            blocks = self._event_blocks()
        elif self.mode == MODES[2]:
            blocks = view.state_blocks(self.found)
        elif self.mode == MODES[3]:
            blocks = view.message_blocks(self.found)
        else:
            self._put(view.evidence_entries(self.found))
            return
        self._put([Entry(block) for block in blocks])

    def _put(self, entries: list[Entry]) -> None:
        following = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        note = [Span(f"{key_of('view')}: {following}", "dim")]
        self.detail.put(entries, [Span(self.mode, "strong")], note)

    def _event_blocks(self) -> list[Block]:
        row = self.current
        if row is None:
            return [Block("no event")]
        if row.step.lines:
            return changed(row.step.lines)
        return [Block("the same on both sides", "dim")]

    def legend(self) -> Line:
        if self.found.cut:
            return [Span(f" ○ {visible_line(self.found.cut)}", "not_measured")]
        if self.columns >= WIDE:
            told = " » first difference  = same  ~ other arguments, answer or words"
            return [Span(f"{told}  ≠ in its place  - + one side only", "dim")]
        old, new = self.found.sides
        return [Span(f" » first difference  - {old}  + {new}  = both  ~ differs", "dim")]

    # acts --------------------------------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.draw_caption()
        if self.mode == MODES[1]:
            self.draw_detail()

    def on_value_view_followed(self, message: ValueView.Followed) -> None:
        """Go from a line of evidence to the step that shows it."""
        self.to_step(message.go[1])
        self.grid.focus()

    async def on_grid_chosen(self, message: Grid.Chosen) -> None:
        await self.action_enter()

    async def action_enter(self) -> None:
        """Open the whole trace at the event: the baseline's on its line, else the candidate's."""
        row = self.current
        if row is None:
            return
        side, event = self.found.candidate, row.step.candidate
        if row.side == "baseline" or event is None:
            side, event = self.found.baseline, row.step.baseline
        self.shell.trace_id = side.trace_id
        self.shell.visit(ToTrace(side.trace_id, event.seq if event else None))

    def action_difference(self, step: int) -> None:
        """Go to the next line at which the sides differ; for a step on two lines, to its first."""
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
        """Open the attempt before or after, on both sides."""
        a, b = self.found.baseline, self.found.candidate
        made = {each.attempt for each in a.siblings} & {each.attempt for each in b.siblings}
        ahead = [n for n in sorted(made) if (n - b.attempt) * step > 0]
        if not ahead:
            self.say("no more attempts that way that both sides made")
            return
        number = ahead[0] if step > 0 else ahead[-1]
        self._load(_numbered(a.trace_id, number), _numbered(b.trace_id, number))

    def _load(self, trace_a: str, trace_b: str) -> None:
        desk = self.shell.desk
        self.ask("pair", lambda: desk.compare.attempts(trace_a, trace_b), self.take)

    def action_episode(self, step: int) -> None:
        """Open the episode before or after, in the order of the list."""
        at = self.at + step
        if not 0 <= at < len(self.names):
            alone = "only these two attempts are compared: C compares every episode"
            self.say("no more episodes that way" if self.of is not None else alone)
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
        """Choose the attempt that is the baseline."""
        from reviewer.tui.screens.dialogs.ask import ChooseSide

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
        """Switch between evidence, this event, final state and final message."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.draw_detail()

    def action_fold(self) -> None:
        """Fold stretches of equal events, or unfold them."""
        self.folded = not self.folded
        self.lay_out()
        self.draw_caption()

    def action_copy_line(self) -> None:
        """Copy what is shown below the events."""
        texts = [plain([block.head]) + block.text for block in self.detail.blocks]
        self.copy("\n".join(texts), self.mode)


def _numbered(trace_id: str, attempt: int) -> str:
    """Return the trace id of another attempt of the same slot."""
    return f"{trace_id.rpartition('/')[0]}/{attempt}"
