"""Every figure of a suite's reports over its candidates: one plot, or all where there is room."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.trends.views import Target, TrendFigure, TrendPoint, Trends, Unit
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind, move, worded
from reviewer.tui.settings.theme import STATES
from reviewer.tui.shell.places import ToScorecard
from reviewer.tui.widgets import plot
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, cut, fit, middle, pad, rule, spread, width_of
from reviewer.tui.widgets.words import UNKNOWN, plural, suite_word
from reviewer.tui.widgets.words import mark as words_mark

UNITS: dict[Unit, str] = {"share": "{:.3f}", "count": "{:.2f}", "usd": "${:.4f}"}
TICKS: dict[Unit, str] = {"share": "{:.2f}", "count": "{:.3g}", "usd": "${:.3g}"}
HELD = {"met": "pass", "failed": "fail", "open": "not_measured"}
WORDS = {"met": "met", "failed": "missed", "open": "not decided", "none": "not held to a target"}
SOURCES = {"policy": "policy", "articles": "guideline, not policy"}
FRAME = 4
"""Lines of a plot other than its rows: the rule, the axis, the names, the marks."""


def figure(value: float | None, unit: Unit) -> str:
    """Return a value in its unit, or n/m."""
    return UNKNOWN if value is None else UNITS[unit].format(value)


def interval(point: TrendPoint, unit: Unit) -> str:
    """Return `[low, high]`; "" where there is none."""
    if point.low is None or point.high is None:
        return ""
    return f"[{UNITS[unit].format(point.low)}, {UNITS[unit].format(point.high)}]"


def mark(point: TrendPoint) -> Span:
    """Return the glyph of a point against its target: a blank where it has none."""
    if point.value is None:
        return Span(STATES["not_measured"].glyph, "not_measured")
    if point.held == "none":
        return Span(" ")
    return words_mark(HELD[point.held])


def short_names(names: Sequence[str]) -> list[str]:
    """Return candidate ids without the words with which all of them begin."""
    safe = [visible_line(name) for name in names]
    alike = [len(set(letters)) == 1 for letters in zip(*safe, strict=False)]
    shared = safe[0][: [*alike, False].index(False)] if len(safe) > 1 else ""
    start = max((shared.rfind(sign) for sign in "-_/.@: "), default=-1) + 1
    return [name[start:] or name for name in safe]


# the top ----------------------------------------------------------------------------------------


def top(found: Trends, at: int, width: int) -> list[Line]:
    """Return lines 2 and 3: the suite, and the figures with the state of the newest candidate."""
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite.suite_id), 24 if width < 120 else 60), "strong"),
        Span(" "),
    ]
    if found.suite.probe:
        left.append(Span("○ PROBE, certifies nothing", "not_measured"))
    else:
        left.append(suite_word(found.suite.state))
    count = len(found.candidates)
    many = plural(count, "candidate")
    if found.earlier:
        many = f"the newest {count:,} of {count + found.earlier:,} candidates"
    days = [one.at[:10] for one in found.candidates if one.at]
    when = f", since {days[0]}" if days else ""
    left.append(Span(f"   {many} by journal{when}"))
    return [spread(left, (), width), strip(found, at)]


def strip(found: Trends, at: int) -> list[Span]:
    """Return the figures by name, the one drawn in brackets, each with the newest candidate's
    mark."""
    line: list[Span] = []
    for number, one in enumerate(found.figures):
        state = mark(one.points[-1]) if one.points else Span(" ")
        here = number == at
        before = "[" if here else "" if number and number - 1 == at else " "
        line += [Span(before, "strong"), state]
        style = "strong" if here else "dim"
        line.append(Span(one.name, style, f"screen.figure({number})"))
        if here:
            line.append(Span("]", "strong"))
    return line


# plots ------------------------------------------------------------------------------------------


def scale_of(one: TrendFigure) -> plot.Scale:
    """Return the axis of a figure: 0 to 1 for shares, else 0 to a round figure above all values."""
    if one.unit == "share":
        return plot.Scale(1.0, TICKS["share"])
    known = [each for p in one.points for each in (p.value, p.high) if each is not None]
    if one.target is not None and one.target.value is not None:
        known.append(one.target.value)
    return plot.Scale(plot.nice(max(known, default=1.0)), TICKS[one.unit])


def _side(one: TrendFigure, point: TrendPoint) -> int:
    """Return the side of the target that a point that misses it is drawn on."""
    if point.held != "failed":
        return 0
    return -1 if one.better == "higher" else 1


def target_words(target: Target | None) -> str:
    """Return the target of a figure, and where it comes from."""
    if target is None:
        return "no target: neither the policy nor a guideline sets one"
    whose = SOURCES[target.source]
    if not target.compares:
        return f"{whose}: {target.text}; {target.why}"
    return f"target {target.text} ({whose})"


def panel(
    found: Trends, at: int, cursor: int, width: int, height: int, *, heavy: bool
) -> list[Line]:
    """Return one figure in `height` lines, `height` at least `FRAME` + 2."""
    one = found.figures[at]
    better = "↑ higher is better" if one.better == "higher" else "↓ lower is better"
    title = [Span(one.name, "strong", f"screen.figure({at})"), Span(f" {better}", "dim")]
    target = one.target
    compares = target is not None and target.compares
    marks = [
        plot.Mark(
            p.value,
            p.low,
            p.high,
            HELD.get(p.held, "strong") if compares else "strong",
            _side(one, p),
        )
        for p in one.points
    ]
    names = short_names([each.candidate_id for each in found.candidates])
    widest = plot.widest_of(names)
    rows = plot.draw(
        marks,
        scale_of(one),
        height - FRAME,
        width,
        target=target.value if target is not None else None,
        words=f"{target.text} ({SOURCES[target.source]})" if target is not None else "",
        cursor=cursor,
        widest=widest,
    )
    if marks and all(mark.value is None for mark in marks):
        words = f"○ not measured: {visible_line(one.points[cursor].why)}"
        middle_row = rows[len(rows) // 2]
        rows[len(rows) // 2] = [*middle_row[:2], Span(f" {words}", "not_measured")]
    many = plot.crowded(len(marks), width) and any(point.high is not None for point in one.points)
    limits = f"{one.limits}{' at the cursor' if many else ''}"
    lines: list[Line] = [
        *rows,
        plot.axis(width),
        plot.names_under(names, width, cursor),
        plot.glyphs_under([mark(point) for point in one.points], width, "target", widest),
    ]

    def to(point: int) -> str:
        return f"screen.pick({at}, {point})"

    return [
        rule(width, title, [Span(limits, "dim")], heavy=heavy),
        *(plot.reached(line, len(marks), width, to, widest) for line in lines),
    ]


def key_line(target: Target | None, width: int) -> Line:
    """Return the line that explains the marks and their target, or why there is no target."""
    if target is None or not target.compares:
        return [Span(" "), Span(cut(target_words(target), width - 2), "dim")]
    words = f"  {target_words(target)}"
    missed = Span("✗ missed", "fail-cell")
    keys = [Span(" ✓ met ", "pass"), missed, Span(" ○ open", "not_measured")]
    return [*keys, Span(cut(words, max(0, width - width_of(keys))), "dim")]


def single(found: Trends, at: int, cursor: int, width: int, height: int) -> list[Line]:
    """Return one figure, and below it the meaning of the marks."""
    lines = panel(found, at, cursor, width, height - 1, heavy=True)
    return [*lines, key_line(found.figures[at].target, width)]


def several(found: Trends, at: int, cursor: int, width: int, height: int) -> list[Line]:
    """Return every figure at once in two columns, and the table of the one with the cursor."""
    count = len(found.figures)
    rows = (count + 2) // 2
    room, tall = (width - 1) // 2, height // rows
    panels = [
        panel(found, number, cursor, room, tall, heavy=number == at) for number in range(count)
    ]
    panels.append(table(found, at, cursor, room, tall, heavy=False))
    if len(panels) % 2:
        panels.append([])
    lines: list[Line] = []
    for number in range(0, len(panels), 2):
        lines += plot.beside(panels[number], panels[number + 1], room, tall)
    return lines


# the table --------------------------------------------------------------------------------------


def table(
    found: Trends, at: int, cursor: int, width: int, height: int, *, heavy: bool
) -> list[Line]:
    """Return the figures behind one plot, one candidate per line, the cursor's always among
    them."""
    one = found.figures[at]
    room = max(1, height - 3)
    first = max(0, min(cursor - room // 2, len(one.points) - room))
    wide = width >= 110
    name, came = (32, 21) if wide else (18, 11)
    below = len(one.points) - first - room
    note = [Span(f"{below:,} below, " if below > 0 else "", "dim"), Span(one.limits, "dim")]
    head = f"  {pad('#', 4)}{pad('candidate', name)}{pad('came', came)}  {pad('value', 9)}"
    lines: list[Line] = [
        rule(width, [Span(f"{one.name}, figure by figure", "strong")], note, heavy=heavy),
        [Span(f"{head}{pad('limits', 19)}made of", "dim")],
    ]
    for number in range(first, min(first + room, len(one.points))):
        who, point = found.candidates[number], one.points[number]
        here = number == cursor
        label = pad(middle(visible_line(who.candidate_id), name - 1), name)
        start = f"{'›' if here else ' '} {pad(str(number + 1), 4)}{label}"
        style = "strong" if here else "text"
        line = [Span(start, style), Span(pad(who.at[: came - 1], came), "dim"), mark(point)]
        if point.value is None:
            line.append(Span(f" {UNKNOWN}  {visible_line(point.why)}", "not_measured"))
        else:
            line.append(Span(f" {pad(figure(point.value, one.unit), 9)}", style))
            line.append(Span(pad(interval(point, one.unit) or "-", 19)))
            line.append(Span(visible_line(point.about), "dim"))
        act = f"screen.pick({at}, {number})"
        lines.append([span._replace(action=act) for span in line])
    lines += [[] for _ in range(height - 1 - len(lines))]
    words = f"{target_words(one.target)}; came: {found.clock}"
    return [*lines, [Span(" "), Span(cut(words, width - 2), "dim")]]


# at the cursor ----------------------------------------------------------------------------------


def point_words(found: Trends, at: int, cursor: int, *, named: bool = True) -> str:
    """Return the numbers of one point in a line: the candidate, the figure (`named` where nothing
    else names it), its limits, its parts."""
    one, who = found.figures[at], found.candidates[cursor]
    point = one.points[cursor]
    start = visible_line(who.candidate_id) + (f": {one.name}" if named else "")
    if point.value is None:
        return f"{start} not measured ({visible_line(point.why)})"
    parts = [f"{start} {figure(point.value, one.unit)}", interval(point, one.unit)]
    text = " ".join(part for part in parts if part)
    if point.held != "none" and one.target is not None:
        text = f"{text}, {WORDS[point.held]}: {one.target.text}"
    return f"{text}; {visible_line(point.about)}"


def point_line(found: Trends, at: int, cursor: int, width: int) -> list[Span]:
    """Return the same with its mark, for the news line; on a narrow screen without the figure's
    name, which the rule shows."""
    state = mark(found.figures[at].points[cursor])
    words = Span(f" {point_words(found, at, cursor, named=width >= 120)}")
    return [Span(" "), state, words] if state.text.strip() else [words]


WIDE, TALL = 160, 37
"""Columns and lines from which all figures are side by side."""
CHROME = 5
"""Lines of the frame: three above, two below."""


class TrendsScreen(DeskScreen):
    """`at` is the figure drawn, `cursor` the candidate; both stay the same when more come."""

    NAME = "trends"
    ABOUT = (
        "You are asked: does each candidate do better than those before it?",
        "Every figure is its own report's; candidates are listed as this store's journal first",
        "names them. What is not measured leaves a gap. A guideline's target binds nothing.",
    )
    ENTER = "the candidate's scorecard"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("hl", "candidate", "screen.turn(1)"),
        ("jk", "figure", "screen.rise(1)"),
        ("v", "table", "screen.view"),
        ("Enter", "scorecard", "screen.enter"),
        ("n", "next missed", "screen.missed(1)"),
        ("y", "copy", "screen.copy_point"),
        ("?", "help", "app.explain"),
        ("c", "choose", "screen.choose"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.left", "turn(-1)", "candidate before; table: figure"),
        move("move.right", "turn(1)", "candidate after; table: figure"),
        move("move.up", "rise(-1)", "figure before"),
        move("move.down", "rise(1)", "next figure"),
        move("move.first", "end(-1)", "first candidate"),
        move("move.last", "end(1)", "last candidate"),
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
        self.consult("trends", lambda: desk.trends.figures(suite), self._take, self._unreadable)

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
        """Return the candidate with the cursor; "" without any."""
        known = self.found.candidates if self.found else ()
        return known[self.cursor].candidate_id if known else ""

    # drawing -----------------------------------------------------------------------------------

    @property
    def several(self) -> bool:
        """True where all figures have room at once."""
        return self.columns >= WIDE and self.app.size.height >= TALL

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head([fit(line, self.columns) for line in top(found, self.at, self.columns)])
        self.foot()
        self.query_one("#plot", LineBox).show(self._body(found))

    def _body(self, found: Trends) -> list[Line]:
        if not found.candidates:
            words = (
                " no candidate has a trace on this suite yet: {screen.scorecard}, {import} imports"
            )
            return [[], [Span(worded(words))]]
        width, height = self.columns, max(FRAME + 3, self.app.size.height - CHROME)
        place = (found, self.at, self.cursor, width, height)
        if self.table:
            return table(*place, heavy=True)
        return several(*place) if self.several else single(*place)

    def legend(self) -> Line:
        if self.found is None or not self.found.candidates:
            return ()
        return point_line(self.found, self.at, self.cursor, self.columns)

    def hints(self) -> Iterable[Hint]:
        word = "plot" if self.table else "table"
        other = {"v": word} | ({"hl": "figure", "jk": "candidate"} if self.table else {})
        return [(key, other.get(key, words), act) for key, words, act in self.HINTS]

    # acts --------------------------------------------------------------------------------------

    def _to(self, cursor: int, at: int) -> None:
        """Move, and show the numbers there."""
        if self.found is None or not self.found.candidates:
            return
        self._news = ()
        self.cursor = max(0, min(cursor, len(self.found.candidates) - 1))
        self.at = at % len(self.found.figures)
        self.redraw()

    def action_point(self, step: int) -> None:
        """Go to the candidate before or after."""
        self._to(self.cursor + step, self.at)

    def action_end(self, step: int) -> None:
        """Go to the first or the last candidate."""
        self._to(0 if step < 0 else len(self.found.candidates) if self.found else 0, self.at)

    def action_turn(self, step: int) -> None:
        """Go to the candidate before or after; in the table, whose lines are candidates, to the
        next figure."""
        if self.table:
            self._to(self.cursor, self.at + step)
        else:
            self.action_point(step)

    def action_figure(self, number: int) -> None:
        """Show the figure with that number."""
        self._to(self.cursor, number)

    def action_pick(self, number: int, point: int) -> None:
        """Move the cursor to the point that was clicked; if it is there already, open the
        scorecard."""
        if (number, point) == (self.at, self.cursor):
            self.action_enter()
        else:
            self._to(point, number)

    def action_rise(self, step: int) -> None:
        """Show the next figure; in the table go to the next line, which is a candidate."""
        if self.table:
            self.action_point(step)
        else:
            self._to(self.cursor, self.at + step)

    def action_view(self) -> None:
        """Show the table behind the plot, or the plot."""
        self.table = not self.table
        self.redraw()

    def action_missed(self, step: int) -> None:
        """Go to the next candidate whose figure misses the target."""
        points = self.found.figures[self.at].points if self.found and self.found.figures else ()
        after = [n for n, point in enumerate(points) if point.held == "failed"]
        ahead = [n for n in after if (n - self.cursor) * step > 0]
        if ahead:
            self._to(ahead[0] if step > 0 else ahead[-1], self.at)
        else:
            self.say("no more candidates that way whose figure misses its target")

    def action_enter(self) -> None:
        """Open the scorecard of the candidate with the cursor."""
        if self._who():
            self.shell.visit(ToScorecard(self.suite_id, self._who()))

    def action_copy_point(self) -> None:
        """Copy the numbers of the point with the cursor."""
        if self._who() and self.found is not None:
            self.copy(point_words(self.found, self.at, self.cursor), "the figure")

    def action_choose(self) -> None:
        """Choose suite and candidate from a list."""
        self.shell.find("c:", self._chosen, (self.suite_id, self._who()))

    def _chosen(self, suite_id: str, candidate_id: str) -> None:
        if suite_id != self.suite_id:
            self.found = None
        self.suite_id, self.candidate_id = suite_id, candidate_id
        if self.found is not None:
            names = [one.candidate_id for one in self.found.candidates]
            at = names.index(candidate_id) if candidate_id in names else self.cursor
            self._to(at, self.at)
        self._read()
