"""Lines of styled text, before they are painted: cut, padded, aligned, ruled, in columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


class Span(NamedTuple):
    """One run of text in one style. `action` is what a click on it does, if anything."""

    text: str
    style: str = "text"
    action: str = ""


Line = Sequence[Span]


def width_of(line: Line) -> int:
    """Columns a line takes."""
    return sum(cell_len(span.text) for span in line)


def cut(text: str, width: int) -> str:
    """Text of at most `width` columns, ending in `…` when something was left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def middle(text: str, width: int) -> str:
    """An identifier of at most `width` columns: it loses its middle, never its end."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return cut(text, width)
    tail = width * 5 // 14
    head = width - 1 - tail
    return f"{set_cell_size(text, head)}…{text[-tail:]}" if text.isascii() else cut(text, width)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Text of exactly `width` columns, at the left or at the right."""
    short = width - cell_len(text)
    if short < 0:
        return set_cell_size(text, width)
    return " " * short + text if right else text + " " * short


def fit(line: Line, width: int) -> list[Span]:
    """A line of exactly `width` columns: cut with `…` or padded."""
    fitted: list[Span] = []
    left = width
    for number, span in enumerate(line):
        size = cell_len(span.text)
        more = number + 1 < len(line) and any(rest.text.strip() for rest in line[number + 1 :])
        if size > left or (size == left and more):
            kept = span.text if size < left else set_cell_size(span.text, max(0, left - 1)) + "…"
            fitted.append(span._replace(text=kept if left > 0 else ""))
            return fitted
        fitted.append(span)
        left -= size
    if left:
        fitted.append(Span(" " * left))
    return fitted


def spread(left: Line, right: Line, width: int) -> list[Span]:
    """One line with a left part and a right part; the left part gives way when they meet."""
    room = width - width_of(right)
    if room <= 0:
        return fit(right, width)
    return [*fit(left, room), *right]


def rule(
    width: int, left: Line = (), right: Line = (), *, heavy: bool = False, joint: int | None = None
) -> list[Span]:
    """A horizontal rule with words in it: heavy where the focus is. `joint` hangs a `┴` on it."""
    stroke = "━" if heavy else "─"
    style = "strong" if heavy else "rule"
    start: list[Span] = [Span(stroke * 2, style)]
    if left:
        start += [Span(" "), *left, Span(" ")]
    end: list[Span] = [Span(" "), *right, Span(" "), Span(stroke * 2, style)] if right else []
    gap = width - width_of(start) - width_of(end)
    if gap < 1 and right:
        return rule(width, left, heavy=heavy, joint=joint)
    if gap < 1:
        return fit(start, width)
    fill = stroke * gap
    if joint is not None:
        at = joint - width_of(start)
        if 0 <= at < gap:
            fill = fill[:at] + ("┻" if heavy else "┴") + fill[at + 1 :]
    return [*start, Span(fill, style), *end]


def reversed_line(line: Line) -> list[Span]:
    """The same line under the cursor: styles get a `*` that `paint` reads as reverse video."""
    return [span._replace(style=f"*{span.style}") for span in line]


def paint(line: Line, styles: Mapping[str, Style], width: int) -> Strip:
    """A line as the strip a widget returns, exactly `width` columns."""
    segments: list[Segment] = []
    for text, name, _ in fit(line, width):
        if text:
            style = styles[name.removeprefix("*")]
            if name[0] == "*":
                style = _under_cursor(style, styles["text"])
            if segments and segments[-1].style == style:
                segments[-1] = Segment(segments[-1].text + text, style)
            else:
                segments.append(Segment(text, style))
    return Strip(segments, width)


_REVERSE, _UNDER = Style(reverse=True), Style(underline=True)


def _under_cursor(style: Style, text: Style) -> Style:
    """A style below the cursor: one bar in the text's own colors. A cell that is filled or in
    reverse already keeps its color, and is underlined instead."""
    if style.reverse or style.bgcolor != text.bgcolor:
        return style + _UNDER
    return text + Style(bold=style.bold, italic=style.italic) + _REVERSE


def action_at(line: Line, x: int) -> str:
    """The action of the span under column `x`, or an empty string."""
    for span in line:
        x -= cell_len(span.text)
        if x < 0:
            return span.action
    return ""


def plain(lines: Iterable[Line]) -> str:
    """The text of lines, without styles: for copying and for tests."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def columns(spans: Sequence[Span], gap: str = "  ") -> list[Span]:
    """Spans side by side with a gap between them."""
    joined: list[Span] = []
    for span in spans:
        if joined:
            joined.append(Span(gap))
        joined.append(span)
    return joined


class Column(NamedTuple):
    """One column: its place, its width, whether the cell cursor may stand on it."""

    key: str
    x: int
    width: int
    cell: bool = False


class Sheet(Protocol):
    """How rows look at one width. `header` and `totals` are pinned above and below the rows."""

    @property
    def columns(self) -> Sequence[Column]:
        """Every column, from the left."""

    @property
    def header(self) -> Sequence[Line]:
        """Lines pinned above the rows."""

    @property
    def totals(self) -> Sequence[Line]:
        """Lines pinned below the rows."""

    def cells(self, row: Any) -> Sequence[Line]:
        """One run of spans per column; the grid fits it to the column's width."""

    def flag(self, row: Any) -> Span:
        """The one character between the row cursor and the first column."""
