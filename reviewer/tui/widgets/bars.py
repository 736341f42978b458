"""Shares and coefficients drawn from 0 to 1: value, limits and policy in one line of text."""

from collections.abc import Sequence

from reviewer.desk.labels.api import EstimateView
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.lines import Line, Span, cut, pad, spread
from reviewer.tui.widgets.words import UNKNOWN

TICKS = ((0.0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1.0, "1"))
LEAST = 22
"""The least width at which a bar can be read."""


def place(value: float, width: int) -> int:
    """The column of a value: 0 for 0 and less, `width - 1` for 1 and more."""
    return round(max(0.0, min(value, 1.0)) * (width - 1))


def axis(width: int) -> str:
    """The figures above a bar, each over its column."""
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
    """`···├────●──┊─┤··`: limits, value, policy. One limit only: the other side stays open to 0 or
    1. What lies below 0 ends in an arrow, for it goes on."""
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
    """`3 of 4`, or the value, or n/m."""
    if estimate.value is None:
        return UNKNOWN
    if estimate.hits is not None:
        return f"{estimate.hits:,} of {estimate.n:,}"
    return f"{estimate.value:.3f}"


def limits(estimate: EstimateView) -> str:
    """`0.194 to 0.994`, or that there are none."""
    if estimate.low is None or estimate.high is None:
        return "no interval"
    return f"{estimate.low:.3f} to {estimate.high:.3f}"


def heading(width: int) -> list[Span]:
    """The line above estimates."""
    name, room = _rooms(width)
    text = f"{pad('', name)} {pad('value', 9)} {pad('95% interval', 15)} {axis(room)}"
    return [Span(text, "dim")]


def estimate_line(estimate: EstimateView, width: int) -> list[Span]:
    """One estimate: its name, value, interval and bar; or why it is not measured."""
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
    """A heading and a line each; why a value has no interval follows it, dimmed."""
    lines: list[Line] = [heading(width)]
    for estimate in estimates:
        lines.append(estimate_line(estimate, width))
        if estimate.value is not None and estimate.why:
            why = visible_line(estimate.why).removeprefix("no interval: ")
            lines.append(spread([Span(f"  {why}", "dim")], (), width))
    return lines


def _rooms(width: int) -> tuple[int, int]:
    """Columns for names and for bars."""
    name = 26 if width < 120 else 40
    return name, max(LEAST, min(61, width - name - 27))
