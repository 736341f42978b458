"""The reading side of two attempts: aligned events by line, and what stands below them."""

from collections.abc import Iterable, Sequence

from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.compare.views import AttemptComparison, Comparison
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen
from reviewer.tui.screens.compare import view as view
from reviewer.tui.screens.compare.sheet import StepRow, StepSheet, step_rows
from reviewer.tui.settings.keys import key_of
from reviewer.tui.views.event import changed
from reviewer.tui.widgets import words
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Span
from reviewer.tui.widgets.value_tree import Entry
from reviewer.tui.widgets.valueview import ValueView
from reviewer.tui.widgets.wrap import Block

WIDE = 120
"""From here on the two sides stand in columns."""
MODES = ("what changed", "this event", "final state", "final message")


class CompareReader(DeskScreen):
    """Everything of the aligned view that is not an act. `names` are the episodes in the list's
    order, `at` is this one; without a list (`of` None) there is this pair alone."""

    NAME = "compare"
    DEFAULT_CSS = """
    CompareReader #detail { height: 8; }
    CompareReader.-tall #detail { height: 40%; }
    """

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
        """What stands below them."""
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
        """Make the lines for this width, with the cursor on a step."""
        if index is None:
            index = self.current.place if self.current else 0
        found = self.found
        self.step_lines = step_rows(
            found.steps, found.first_divergence, wide=self.columns >= WIDE, folded=self.folded
        )
        self.grid.set_keys(range(len(self.step_lines)))
        self.to_step(index)

    def to_step(self, index: int) -> None:
        """Put the cursor on a step; in a fold, on its first line."""
        at = max((n for n, row in enumerate(self.step_lines) if row.place <= index), default=0)
        while at and self.step_lines[at].place == self.step_lines[at - 1].place:
            at -= 1  # a step may take two lines: the first of them
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
            told = " » they part here first  = same  ~ other arguments, answer or words"
            return [Span(f"{told}  ≠ in its place  - + one side only", "dim")]
        old, new = self.found.sides
        return [Span(f" » they part here first  - {old}  + {new}  = both  ~ differs", "dim")]
