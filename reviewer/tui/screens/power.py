"""How often the suite's policy is wrong: the errors in a sentence, by agent, by size, and drawn."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.power.views import PowerView
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, cut, pad, rule

PLOT = 12
"""Lines of the plot."""
VIEWS = ("size", "agent", "plot")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Line]:
    """Return the rows under their heads, in columns as wide as their widest cell."""
    columns = zip(head, *rows, strict=True)
    wide = [max(map(len, column)) + 2 for column in columns]

    def line(cells: Sequence[str]) -> str:
        return cut(" " + "".join(map(pad, cells, wide)), width)

    return [[Span(line(head), "dim")], *([Span(line(row))] for row in rows)]


def body(found: PowerView, width: int, height: int, view: str) -> list[Line]:
    """Return the table of the view, and the plot where there is room for it, or the plot."""
    told: list[Line] = []
    if view == "agent":
        told = table(("agent", "promoted", "range", "stopped by"), _short(found.rows), width)
        title = "of 100 releases, by agent"
    elif view == "plot":
        title = "wrong of 100 releases"
    else:
        told = table(_heads(found.size_head), found.sizes, width)
        title = "wrong of 100 releases, by size: lower is better"
    note = "as it was frozen" if found.locked else "not locked: a freeze writes it"
    lines: list[Line] = [rule(width, [Span(title, "strong")], [Span(note, "dim")], heavy=True)]
    lines += told
    if height - len(lines) > PLOT:
        lines.append(rule(width, [Span("by episodes × attempts", "strong")], []))
        lines += [[Span(f" {cut(line, width - 2)}")] for line in found.plot(width - 3)]
    more = height - len(lines) - 1
    if more > 0:
        lines.append(rule(width, [Span("what it assumes", "strong")], []))
        for text in found.assumptions:
            wrapped = wrap(visible_line(text), width - 2, subsequent_indent="  ")
            lines += [[Span(f" {line}", "dim")] for line in wrapped]
    return lines[:height]


def _short(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the rows without the chances of each gate, which the command prints."""
    return [(row[0], row[1], row[2], row[4]) for row in rows]


def _heads(head: Sequence[str]) -> list[str]:
    return [text.replace(" points worse let through", " worse") for text in head]


class PowerScreen(DeskScreen):
    """`view` is the place in `VIEWS` of what is shown."""

    NAME = "power"
    UNDER = "decision"
    ABOUT = (
        "You are asked: how often is this policy wrong?",
        "An identical agent that is stopped is a false alarm, a worse one let through a miss.",
        "Figures are simulated, before any run, and locked with the suite when it is frozen.",
    )
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("v", "by size, by agent, plot", "screen.view"),
        ("y", "copy", "screen.copy_headline"),
        ("?", "help", "app.explain"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("v", "view", "by size, by agent, plot", "The table by size, by agent, and the plot."),
        bind("y", "copy_headline", "copy the sentence"),
    ]
    CSS = "PowerScreen #power { height: 1fr; }"

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: PowerView | None = None
        self.view = 0

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="power")

    def on_mount(self) -> None:
        self.head([[Span(" simulating releases…", "dim")], []])
        self.foot()
        desk, suite = self.shell.desk, self.suite_id
        self.ask("power", lambda: desk.power.of(suite), self._take, self._unreadable)

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        lines: list[Line] = [[Span(f" ○ {visible(error.text)}", "not_measured")]]
        lines += [[Span(f"   {visible(way)}")] for way in error.ways_out]
        self.query_one("#power", LineBox).show(lines)

    def _take(self, found: PowerView) -> None:
        self.found = found
        self.redraw()

    def redraw(self) -> None:
        if self.found is None:
            return
        found, width = self.found, self.size.width
        mark = Span("✗ ", "fail-cell") if found.alarm else Span("✓ ", "pass")
        stopped, *worse = found.sizes[0][1:]
        points = (one.removesuffix(" let through") for one in found.size_head[2:])
        misses = ", ".join(f"{by} {share}" for by, share in zip(points, worse, strict=True))
        said = f"{visible_line(self.suite_id)}: an identical agent is stopped in {stopped} of 100"
        below = found.limits or f"let through of 100: {misses}"
        self.head(
            [
                [Span(" "), mark, Span(cut(said, width - 4), "strong")],
                [Span(f"   {cut(below, width - 4)}", "fail" if found.limits else "dim")],
            ]
        )
        box = self.query_one("#power", LineBox)
        box.show(body(found, width, self.size.height - 5, VIEWS[self.view]))
        self.foot()

    def action_view(self) -> None:
        """The next view: by size, by agent, the plot."""
        self.view = (self.view + 1) % len(VIEWS)
        self.redraw()

    def action_copy_headline(self) -> None:
        """Copy the sentence with both errors."""
        if self.found is not None:
            self.copy(self.found.headline, "the sentence")
