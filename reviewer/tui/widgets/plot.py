"""Values drawn as text: points over columns with limits and a target, and bars from 0 to 1.

Pure: numbers in, lines out. Every glyph here has an ASCII equivalent in `app.terminal`. An unknown
value leaves its column empty.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from reviewer.desk.labels.api import EstimateView
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.lines import Line, Span, cut, fit, middle, pad, spread, width_of
from reviewer.tui.widgets.words import UNKNOWN

GUTTER = 8
"""Columns left of the plot, including the axis."""
WIDEST = 14
"""The most columns between two points, unless their names need more: a few candidates stay close
enough to compare."""
NAMED = 24
"""The most columns between two points whatever their names are."""

ROUND = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8)
LEGIBLE = 8
"""The least columns between points at which every point's name is drawn, cut to fit."""
APART = 3
"""The least columns between points at which the limits of each are drawn."""


class Mark(NamedTuple):
    """One point: its value and limits, the style of its glyph, and its `side` of the target: 1
    above, -1 below, 0 for neither."""

    value: float | None
    low: float | None = None
    high: float | None = None
    style: str = "strong"
    side: int = 0


class Scale(NamedTuple):
    """The range of the vertical axis: from 0 at the bottom row to `top`; `form` formats its
    figures."""

    top: float
    form: str


def nice(most: float) -> float:
    """Return the least round figure, with round quarters, that is at least `most`; 1 for 0 or
    less."""
    if not 0 < most < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next((step * power for step in ROUND if step * power >= most), 10 * power)


def row_of(value: float, top: float, height: int) -> int:
    """Return the row of a value, 0 the uppermost: the row whose own value is nearest."""
    share = max(0.0, min(value / top, 1.0))
    return height - 1 - round(share * (height - 1))


def widest_of(names: Sequence[str]) -> int:
    """Return the most columns between two points of these names: the longest in `[ ]`, within
    limits."""
    return min(NAMED, max([WIDEST, *(width_of([Span(f"[{name}] ")]) for name in names)]))


def slot_of(count: int, width: int, widest: int = WIDEST) -> int:
    """Return the columns of each of `count` points, of `width` in all, `widest` at most."""
    return max(1, min(widest, width // max(1, count)))


def columns_of(count: int, width: int, widest: int = WIDEST) -> list[int]:
    """Return the column of each of `count` points, evenly spaced from the left; `count` ≤
    `width`."""
    slot = slot_of(count, width, widest)
    return [slot * index + slot // 2 for index in range(count)]


def reached(
    line: Line, count: int, width: int, action: Callable[[int], str], widest: int = WIDEST
) -> list[Span]:
    """Return the line of a plot of `count` points, where a click on a point's columns does `action`
    of its number."""
    body = max(1, width - GUTTER)
    hidden = max(0, count - body)
    slot, shown = slot_of(count - hidden, body, widest), count - hidden
    spans: list[Span] = []
    column = 0
    for span in line:
        for char in span.text:
            at = (column - GUTTER) // slot
            act = action(at + hidden) if column >= GUTTER and at < shown else span.action
            if spans and spans[-1].action == act and spans[-1].style == span.style:
                spans[-1] = Span(spans[-1].text + char, span.style, act)
            else:
                spans.append(Span(char, span.style, act))
            column += cell_len(char)
    return spans


def crowded(count: int, width: int) -> bool:
    """Return whether the points are so close that their limits would be a wall."""
    return count > 1 and (width - GUTTER) // count < APART


def draw(
    marks: Sequence[Mark],
    scale: Scale,
    height: int,
    width: int,
    *,
    target: float | None = None,
    words: str = "",
    cursor: int | None = None,
    widest: int = WIDEST,
) -> list[list[Span]]:
    """Return `height` rows of exactly `width` columns, the axis at the left. `words` are written on
    the target line where it is free. If there are more marks than columns, the last are drawn, as
    `columns_of` places them; in a crowd, limits are drawn only at the cursor."""
    body = max(1, width - GUTTER)
    hidden = max(0, len(marks) - body)
    marks = marks[hidden:]
    cells = [[(" ", "text")] * body for _ in range(height)]
    if target is not None:
        cells[row_of(target, scale.top, height)] = [("─", "key")] * body
    cursor = None if cursor is None else cursor - hidden
    columns = columns_of(len(marks), body, widest)
    for index, (mark, column) in enumerate(zip(marks, columns, strict=True)):
        here = index == cursor
        bare = mark._replace(low=None, high=None)
        _stand(
            cells,
            mark if here or not crowded(len(marks), width) else bare,
            column,
            scale.top,
            here,
            None if target is None else row_of(target, scale.top, height),
        )
    if target is not None and words:
        _write(cells[row_of(target, scale.top, height)], f" {words} ")
    labels = _labels(scale, height, target)
    return [[*_gutter(labels.get(number)), *_joined(row)] for number, row in enumerate(cells)]


def _stand(
    cells: list[list[tuple[str, str]]],
    mark: Mark,
    column: int,
    top: float,
    strong: bool,
    target: int | None = None,
) -> None:
    """Draw one point with its whiskers; a point off the target is not drawn on the target's row."""
    if mark.value is None:
        return
    height = len(cells)
    at = row_of(mark.value, top, height)
    if mark.side and at == target:
        at = max(0, min(at - mark.side, height - 1))
    style = "strong" if strong else "rule"
    ends = [row_of(end, top, height) for end in (mark.high, mark.low) if end is not None]
    for row in range(min([at, *ends]), max([at, *ends]) + 1):
        crosses = cells[row][column][0] == "─"
        cells[row][column] = ("┼" if crosses else "│", style)
    for end, cap in ((mark.high, "┬"), (mark.low, "┴")):
        if end is not None and row_of(end, top, height) != at:
            cells[row_of(end, top, height)][column] = (cap, style)
    cells[at][column] = ("●", f"*{mark.style}" if strong else mark.style)


def _write(row: list[tuple[str, str]], words: str) -> None:
    """Write words on a line, at the right-most free place."""
    free = "".join("─" if cell[0] == "─" else " " for cell in row)
    at = free.rfind("─" * (len(words) + 1))
    if at >= 0:
        row[at : at + len(words)] = [(char, "key") for char in words]


def _labels(scale: Scale, height: int, target: float | None) -> dict[int, tuple[str, bool]]:
    """Return the figure at the axis of some rows, and whether it is the target's; figures next to
    the target are left out."""
    parts = 4 if height >= 9 else 2
    found = {
        row_of(scale.top * part / parts, scale.top, height): (
            scale.form.format(scale.top * part / parts),
            False,
        )
        for part in range(parts + 1)
    }
    if target is not None:
        at = row_of(target, scale.top, height)
        for near in (at - 1, at + 1):
            if near not in (0, height - 1):
                found.pop(near, None)
        found[at] = scale.form.format(target), True
    return found


def _gutter(label: tuple[str, bool] | None) -> list[Span]:
    if label is None:
        return [Span(" " * (GUTTER - 1)), Span("│", "rule")]
    text, target = label
    room = GUTTER - 2
    return [
        Span(pad(cut(text, room), room, right=True) + " ", "key" if target else "dim"),
        Span("┼" if target else "┤", "rule"),
    ]


def _joined(row: Sequence[tuple[str, str]]) -> list[Span]:
    spans: list[Span] = []
    for char, style in row:
        if spans and spans[-1].style == style:
            spans[-1] = Span(spans[-1].text + char, style)
        else:
            spans.append(Span(char, style))
    return spans


def axis(width: int) -> list[Span]:
    """Return the line under the lowest row."""
    return [Span(" " * (GUTTER - 1) + "└" + "─" * max(0, width - GUTTER), "rule")]


def names_under(names: Sequence[str], width: int, cursor: int) -> list[Span]:
    """Return a name under each point, the one with the cursor in `[ ]`: cut to the columns of its
    point, or, where points are too close for that, only where there is room, the cursor's first."""
    body = max(1, width - GUTTER)
    first = max(0, len(names) - body)
    widest = widest_of(names)
    columns = columns_of(len(names) - first, body, widest)
    slot = slot_of(len(names) - first, body, widest)
    room = slot - 1 if slot >= LEGIBLE else min(body, WIDEST)

    def drawn(index: int) -> str:
        if index != cursor:
            return middle(names[index], room)
        return cut(f"[{middle(names[index], max(1, room - 2))}]", room)

    cells: list[str] = [" "] * body
    order = sorted(range(first, len(names)), key=lambda index: (index != cursor, -index))
    for index in order:
        text = drawn(index)
        size = width_of([Span(text)])
        at = max(0, min(columns[index - first] - (size - 1) // 2, body - size))
        if not text.isascii() and size != len(text):
            continue  # wide characters would shift everything to their right
        if all(cell == " " for cell in cells[max(0, at - 1) : at + size + 1]):
            cells[at : at + size] = text
    line = "".join(cells)
    here = drawn(cursor) if names else ""
    before, found, after = line.partition(here) if here else (line, "", "")
    return [Span(" " * GUTTER), Span(before), Span(found, "strong"), Span(after)]


def glyphs_under(marks: Sequence[Span], width: int, label: str, widest: int = WIDEST) -> list[Span]:
    """Return a glyph under each point."""
    body = max(1, width - GUTTER)
    marks = marks[-body:]
    row = [(" ", "text")] * body
    for mark, column in zip(marks, columns_of(len(marks), body, widest), strict=True):
        row[column] = mark.text, mark.style
    return [Span(pad(label, GUTTER - 1, right=True) + " ", "dim"), *_joined(row)]


def beside(left: Sequence[Line], right: Sequence[Line], width: int, height: int) -> list[Line]:
    """Return two panels of `height` lines, each `width` columns wide, with a line between them."""
    return [
        [
            *fit(left[n] if n < len(left) else (), width),
            Span("│", "rule"),
            *fit(right[n] if n < len(right) else (), width),
        ]
        for n in range(height)
    ]


TICKS = ((0.0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1.0, "1"))
LEAST = 22
"""The least width at which a bar can be read."""


def place(value: float, width: int) -> int:
    """Return the column of a value: 0 for 0 and less, `width - 1` for 1 and more."""
    return round(max(0.0, min(value, 1.0)) * (width - 1))


def bar_axis(width: int) -> str:
    """Return the figures above a bar, each over its column."""
    line = [" "] * width
    for value, text in TICKS:
        at = min(place(value, width), width - len(text))
        line[at : at + len(text)] = text
    return "".join(line)


def bar(
    value: float | None,
    low: float | None,
    high: float | None,
    width: int,
    limit: float | None = None,
) -> list[Span]:
    """Return `···├────●──┊─┤··`: limits, value, policy. With one limit, the other side extends to 0
    or 1. A limit below 0 is drawn as an arrow, because it goes on."""
    cells = ["·"] * width
    if low is not None or high is not None:
        first, last = place(low or 0.0, width), place(1.0 if high is None else high, width)
        cells[first : last + 1] = "─" * (last + 1 - first)
        cells[first], cells[last] = "├", "┤"
        if low is not None and low < 0:
            cells[first] = "←"
    if limit is not None:
        cells[place(limit, width)] = "┊"
    if value is not None:
        cells[place(value, width)] = "←" if value < 0 else "●"
    spans: list[Span] = []
    for cell in cells:
        style = "strong" if cell in "●←" else "key" if cell == "┊" else "rule"
        if spans and spans[-1].style == style:
            spans[-1] = Span(spans[-1].text + cell, style)
        else:
            spans.append(Span(cell, style))
    return spans


def figure(estimate: EstimateView) -> str:
    """Return `3 of 4`, or the value, or n/m."""
    if estimate.value is None:
        return UNKNOWN
    if estimate.hits is not None:
        return f"{estimate.hits:,} of {estimate.n:,}"
    return f"{estimate.value:z.3f}"


def limits(estimate: EstimateView) -> str:
    """Return `0.194 to 0.994`, or `no interval`."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"{estimate.low:z.3f} to {estimate.high:z.3f}"


def heading(width: int) -> list[Span]:
    """Return the line above estimates."""
    name, room = _rooms(width)
    text = f"{pad('', name)} {pad('value', 9)} {pad('95% interval', 15)} {bar_axis(room)}"
    return [Span(text, "dim")]


def estimate_line(estimate: EstimateView, width: int) -> list[Span]:
    """Return one estimate: its name, value, interval and bar; or why it is not measured."""
    name, room = _rooms(width)
    label = Span(f"{pad(cut(visible_line(estimate.name), name), name)} ")
    if estimate.value is None:
        why = f" ({visible_line(estimate.why)})" if estimate.why else ""
        return [label, Span(cut(f"○ not measured{why}", width - name - 1), "not_measured")]
    between = limits(estimate)
    return [
        label,
        Span(pad(figure(estimate), 9) + " ", "strong"),
        Span(pad(between, 15) + " ", "dim" if between == "no interval" else "text"),
        *bar(estimate.value, estimate.low, estimate.high, room),
    ]


def estimate_lines(estimates: Sequence[EstimateView], width: int) -> list[Line]:
    """Return a heading and a line each; the reason why a value has no interval follows it,
    dimmed."""
    lines: list[Line] = [heading(width)]
    for estimate in estimates:
        lines.append(estimate_line(estimate, width))
        if estimate.value is not None and estimate.why:
            why = visible_line(estimate.why).removeprefix("no interval: ")
            lines.append(spread([Span(f"  {why}", "dim")], (), width))
    return lines


def _rooms(width: int) -> tuple[int, int]:
    """Return the columns for names and for bars."""
    name = 26 if width < 120 else 40
    return name, max(LEAST, min(61, width - name - 27))
