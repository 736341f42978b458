"""Trends in lines: the strip of figures, one plot or several, and the table behind each."""

from collections.abc import Sequence

from reviewer.desk.trends.views import Target, TrendFigure, TrendPoint, Trends, Unit
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import STATES
from reviewer.tui.widgets import plot
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, rule, spread, width_of
from reviewer.tui.widgets.words import UNKNOWN, plural, suite_word

UNITS: dict[Unit, str] = {"share": "{:.3f}", "count": "{:.2f}", "usd": "${:.4f}"}
TICKS: dict[Unit, str] = {"share": "{:.2f}", "count": "{:.3g}", "usd": "${:.3g}"}
HELD = {"met": "pass", "failed": "fail", "open": "not_measured"}
WORDS = {"met": "met", "failed": "missed", "open": "not decided", "none": "not held to a target"}
SOURCES = {"policy": "policy", "articles": "the articles"}
FRAME = 4
"""Lines of a plot that are not its rows: the rule, the axis, the names, the marks."""


def figure(value: float | None, unit: Unit) -> str:
    """A value in its unit, or n/m."""
    return UNKNOWN if value is None else UNITS[unit].format(value)


def interval(point: TrendPoint, unit: Unit) -> str:
    """`[low, high]`; "" where there is none."""
    if point.low is None or point.high is None:
        return ""
    return f"[{UNITS[unit].format(point.low)}, {UNITS[unit].format(point.high)}]"


def mark(point: TrendPoint) -> Span:
    """How a point stands, as a glyph: a blank where nothing holds it to anything."""
    if point.value is None:
        return Span(STATES["not_measured"].glyph, "not_measured")
    if point.held == "none":
        return Span(" ")
    return Span(STATES[HELD[point.held]].glyph, HELD[point.held])


def short_names(names: Sequence[str]) -> list[str]:
    """Candidate ids without the words that all of them begin with."""
    safe = [visible_line(name) for name in names]
    alike = [len(set(letters)) == 1 for letters in zip(*safe, strict=False)]
    shared = safe[0][: [*alike, False].index(False)] if len(safe) > 1 else ""
    start = max((shared.rfind(sign) for sign in "-_/.@: "), default=-1) + 1
    return [name[start:] or name for name in safe]


# the top ----------------------------------------------------------------------------------------


def top(found: Trends, at: int, width: int) -> list[Line]:
    """Lines 2 and 3: whose trends, and the figures with how the newest candidate stands."""
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
    """The figures by name, the one drawn in brackets, each with the newest candidate's mark."""
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
    """Shares stand over 0 to 1, always; others from 0 to a round figure above all."""
    if one.unit == "share":
        return plot.Scale(1.0, TICKS["share"])
    known = [each for p in one.points for each in (p.value, p.high) if each is not None]
    if one.target is not None and one.target.value is not None:
        known.append(one.target.value)
    return plot.Scale(plot.nice(max(known, default=1.0)), TICKS[one.unit])


def target_words(target: Target | None) -> str:
    """What a figure is held to, and whose that is."""
    if target is None:
        return "no target: neither the policy nor the articles name one"
    whose = SOURCES[target.source]
    if not target.compares:
        return f"{whose} say {target.text}: {target.why}"
    return f"target {target.text} ({whose})"


def panel(
    found: Trends, at: int, cursor: int, width: int, height: int, *, heavy: bool
) -> list[Line]:
    """One figure in `height` lines, `height` at least `FRAME` + 2."""
    one = found.figures[at]
    better = "↑ higher is better" if one.better == "higher" else "↓ lower is better"
    title = [Span(one.name, "strong", f"screen.figure({at})"), Span(f" {better}", "dim")]
    target = one.target
    compares = target is not None and target.compares
    marks = [
        plot.Mark(p.value, p.low, p.high, HELD.get(p.held, "strong") if compares else "strong")
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
    """What the marks mean and what they are held to; or why they are held to nothing."""
    if target is None or not target.compares:
        return [Span(" "), Span(cut(target_words(target), width - 2), "dim")]
    words = f"  {target_words(target)}"
    keys = [Span(" ✓ met", "pass"), Span(" ✗ missed", "fail"), Span(" ○ open", "not_measured")]
    return [*keys, Span(cut(words, max(0, width - width_of(keys))), "dim")]


def single(found: Trends, at: int, cursor: int, width: int, height: int) -> list[Line]:
    """One figure, and below it what the marks mean."""
    lines = panel(found, at, cursor, width, height - 1, heavy=True)
    return [*lines, key_line(found.figures[at].target, width)]


def several(found: Trends, at: int, cursor: int, width: int, height: int) -> list[Line]:
    """Every figure at once in two columns, and the table of the one with the cursor."""
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
    """The figures behind one plot, a candidate a line, the cursor's always among them."""
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
    """The numbers of one point in a line: who, the figure (`named` where nothing else names it),
    its limits, what it is made of."""
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
    """The same with its mark, for the news line: where it is narrow, the rule names the figure."""
    state = mark(found.figures[at].points[cursor])
    words = Span(f" {point_words(found, at, cursor, named=width >= 120)}")
    return [Span(" "), state, words] if state.text.strip() else [words]
