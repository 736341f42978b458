"""Every figure of a suite's reports over its candidates: one plot, or all where there is room."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.trends.views import Trends
from reviewer.trace.safetext import visible
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.trends import view as view
from reviewer.tui.settings.keys import bind, move, worded
from reviewer.tui.shell.places import ToScorecard
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, fit

WIDE, TALL = 160, 37
"""From here on all figures stand side by side."""
CHROME = 5
"""Lines of the frame: three above, two below."""


class TrendsScreen(DeskScreen):
    """`at` is the figure drawn, `cursor` the candidate; both stay where they are when more come."""

    NAME = "trends"
    ABOUT = (
        "You are asked: does each candidate do better than those before it?",
        "Every figure is its own report's; candidates stand as this store's journal first",
        "names them. What is not measured leaves a gap. Targets of the articles bind nothing.",
    )
    ENTER = "the candidate's scorecard"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("hl", "candidate", "screen.point(1)"),
        ("tab", "next figure", "screen.next_figure(1)"),
        ("v", "table", "screen.view"),
        ("Enter", "scorecard", "screen.enter"),
        ("n", "next missed", "screen.missed(1)"),
        ("y", "copy", "screen.copy_point"),
        ("?", "help", "app.explain"),
        ("c", "choose", "screen.choose"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.left", "point(-1)", "candidate before"),
        move("move.right", "point(1)", "candidate after"),
        move("move.up", "rise(-1)", "figure before"),
        move("move.down", "rise(1)", "next figure"),
        move("move.first", "end(-1)", "first candidate"),
        move("move.last", "end(1)", "last candidate"),
        bind("tab", "next_figure(1)", "next figure", "The next figure."),
        bind("less_than_sign", "point(-1)"),
        bind("greater_than_sign", "point(1)"),
        bind("enter", "enter", "its scorecard", "The scorecard of this candidate."),
        bind("v", "view", "table, plot", "The figures behind the plot, and the plot again."),
        bind("n", "missed(1)", "next that misses it", "The next candidate that misses the target."),
        bind("N", "missed(-1)", "the one before"),
        bind("y", "copy_point", "copy the figure"),
        bind("c", "choose"),
    ]
    CSS = "TrendsScreen #plot { height: 1fr; }"

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: Trends | None = None
        self.at = 0
        self.cursor = 0
        self.table = False

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="plot")

    def on_mount(self) -> None:
        self.head([[Span(" reading the reports…", "dim")], []])
        self.foot()
        self._read()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk, suite = self.shell.desk, self.suite_id
        self.ask("trends", lambda: desk.trends.figures(suite), self._take, self._unreadable)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        if self.found is None:
            lines = [[Span(f" ○ {visible(error.text)}", "not_measured")]]
            lines += [[Span(f"   {visible(way)}")] for way in error.ways_out]
            self.query_one("#plot", LineBox).show(lines)

    def _take(self, found: Trends) -> None:
        names = [one.candidate_id for one in found.candidates]
        here = self._who() if self.found is not None else self.candidate_id
        fresh = self.found is None
        self.found, self._seen = found, self.shell.version
        last = max(0, len(names) - 1)
        self.cursor = names.index(here) if here in names else min(self.cursor or last, last)
        if fresh:
            missed = [
                number
                for number, one in enumerate(found.figures)
                if any(point.held == "failed" for point in one.points[-1:])
            ]
            self.at = missed[0] if missed else 0
        self.redraw()

    def _who(self) -> str:
        """The candidate with the cursor; "" without any."""
        known = self.found.candidates if self.found else ()
        return known[self.cursor].candidate_id if known else ""

    # drawing -----------------------------------------------------------------------------------

    @property
    def several(self) -> bool:
        """Whether all figures have room at once."""
        return self.columns >= WIDE and self.app.size.height >= TALL

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head([fit(line, self.columns) for line in view.top(found, self.at, self.columns)])
        self.foot()
        self.query_one("#plot", LineBox).show(self._body(found))

    def _body(self, found: Trends) -> list[Line]:
        if not found.candidates:
            words = (
                " no candidate has a trace on this suite yet: {screen.scorecard}, {import} imports"
            )
            return [[], [Span(worded(words))]]
        width, height = self.columns, max(view.FRAME + 3, self.app.size.height - CHROME)
        place = (found, self.at, self.cursor, width, height)
        if self.table:
            return view.table(*place, heavy=True)
        return view.several(*place) if self.several else view.single(*place)

    def legend(self) -> Line:
        if self.found is None or not self.found.candidates:
            return ()
        return view.point_line(self.found, self.at, self.cursor, self.columns)

    def hints(self) -> Iterable[Hint]:
        word = "plot" if self.table else "table"
        return [(key, word if key == "v" else words, act) for key, words, act in self.HINTS]

    # acts --------------------------------------------------------------------------------------

    def _to(self, cursor: int, at: int) -> None:
        """Move, and say the numbers there again."""
        if self.found is None or not self.found.candidates:
            return
        self._news = ()
        self.cursor = max(0, min(cursor, len(self.found.candidates) - 1))
        self.at = at % len(self.found.figures)
        self.redraw()

    def action_point(self, step: int) -> None:
        """The candidate before or after."""
        self._to(self.cursor + step, self.at)

    def action_end(self, step: int) -> None:
        """The first or the last candidate."""
        self._to(0 if step < 0 else len(self.found.candidates) if self.found else 0, self.at)

    def action_next_figure(self, step: int) -> None:
        """The next figure."""
        self._to(self.cursor, self.at + step)

    def action_figure(self, number: int) -> None:
        """The figure with that number."""
        self._to(self.cursor, number)

    def action_pick(self, number: int, point: int) -> None:
        """A point that was clicked: the cursor goes there, and from there to the scorecard."""
        if (number, point) == (self.at, self.cursor):
            self.action_enter()
        else:
            self._to(point, number)

    def action_rise(self, step: int) -> None:
        """The next figure; in the table the next line, which is a candidate."""
        if self.table:
            self.action_point(step)
        else:
            self.action_next_figure(step)

    def action_view(self) -> None:
        """The table behind the plot, or the plot."""
        self.table = not self.table
        self.redraw()

    def action_missed(self, step: int) -> None:
        """The next candidate whose figure misses the target."""
        points = self.found.figures[self.at].points if self.found and self.found.figures else ()
        after = [n for n, point in enumerate(points) if point.held == "failed"]
        ahead = [n for n in after if (n - self.cursor) * step > 0]
        if ahead:
            self._to(ahead[0] if step > 0 else ahead[-1], self.at)
        else:
            self.say("no more candidates that way whose figure misses its target")

    def action_enter(self) -> None:
        """The scorecard of the candidate with the cursor."""
        if self._who():
            self.shell.visit(ToScorecard(self.suite_id, self._who()))

    def action_copy_point(self) -> None:
        """Copy the numbers of the point with the cursor."""
        if self._who() and self.found is not None:
            self.copy(view.point_words(self.found, self.at, self.cursor), "the figure")

    def action_choose(self) -> None:
        """Choose suite and candidate from a list."""
        from reviewer.tui.screens.dialogs.choose import ChooseScreen

        self.app.push_screen(ChooseScreen(self.suite_id, self._who()), self._chosen)

    def _chosen(self, place: tuple[str, str] | None) -> None:
        if place is None:
            return
        if place[0] != self.suite_id:
            self.found = None
        self.suite_id, self.candidate_id = place
        if self.found is not None:
            names = [one.candidate_id for one in self.found.candidates]
            self._to(names.index(place[1]) if place[1] in names else self.cursor, self.at)
        self._read()
