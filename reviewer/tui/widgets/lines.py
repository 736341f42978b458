"""Lines of styled text: cut, padded, ruled, in columns; and text of any size wrapped to a width.

A document is a list of pieces: stretches of at most 16,384 characters that never cross a newline. A
clean long piece has a known number of rows; any other is measured when it is first shown; until
then its rows are estimated. So 10 MB open as fast as one screen of them.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from reviewer.trace.safetext import visible


class Span(NamedTuple):
    """One run of text in one style. `action` is what a click on it does, if anything."""

    text: str
    style: str = "text"
    action: str = ""


Line = Sequence[Span]


def width_of(line: Line) -> int:
    """Return the columns of a line."""
    return sum(cell_len(span.text) for span in line)


def cut(text: str, width: int) -> str:
    """Return text of at most `width` columns, ending in `…` when something was left out."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def middle(text: str, width: int) -> str:
    """Return an identifier of at most `width` columns: it loses its middle, never its end."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return cut(text, width)
    tail = width * 5 // 14
    head = width - 1 - tail
    return f"{set_cell_size(text, head)}…{text[-tail:]}" if text.isascii() else cut(text, width)


def told_apart(text: str, width: int) -> str:
    """Return a name of at most `width` columns: of a longer one the end, which has the version."""
    if cell_len(text) <= width:
        return text
    while cell_len(text) > max(0, width - 1):
        text = text[1:]
    return f"…{text}"


def whole_parts(text: str, width: int) -> str:
    """Return a listing of at most `width` columns: it ends after a whole part, never within one."""
    if cell_len(text) <= width:
        return text
    parts = set_cell_size(text, max(0, width - 2)).rpartition(", ")[0]
    return f"{parts}, …" if parts else cut(text, width)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return text of exactly `width` columns, aligned left or right; a longer one ends in `…`."""
    short = width - cell_len(text)
    if short < 0:
        return set_cell_size(cut(text, width), width)
    return " " * short + text if right else text + " " * short


def fit(line: Line, width: int) -> list[Span]:
    """Return a line of exactly `width` columns: cut with `…` or padded."""
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
    """Return one line with a left and a right part; the left part is cut when they meet."""
    room = width - width_of(right)
    if room <= 0:
        return fit(right, width)
    return [*fit(left, room), *right]


def rule(
    width: int, left: Line = (), right: Line = (), *, heavy: bool = False, joint: int | None = None
) -> list[Span]:
    """Return a horizontal rule with words in it: heavy where the focus is. `joint` adds a `┴`."""
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
    """Return the line under the cell cursor: `paint` draws a style with `*` in reverse video."""
    return [span._replace(style=f"*{span.style}") for span in line]


def barred_line(line: Line) -> list[Span]:
    """Return the line in the cursor's row: `paint` draws a style with `=` on the ground of that
    row."""
    return [s if s.style[:1] == "*" else s._replace(style=f"={s.style}") for s in line]


def paint(line: Line, styles: Mapping[str, Style], width: int) -> Strip:
    """Return a line as the strip of a widget, exactly `width` columns."""
    segments: list[Segment] = []
    fitted = fit(line, width)
    if line and line[-1].style[:1] == "=":  # the row of the cursor extends to the last column
        fitted[-1] = fitted[-1]._replace(style=f"={fitted[-1].style.removeprefix('=')}")
    for text, name, _ in fitted:
        if text:
            style = styles[name.lstrip("*=")]
            if name[0] == "*":
                style = _under_cursor(style, styles["text"])
            elif name[0] == "=":
                style = _in_row(style, styles)
            if segments and segments[-1].style == style:
                segments[-1] = Segment(segments[-1].text + text, style)
            else:
                segments.append(Segment(text, style))
    return Strip(segments, width)


_REVERSE, _UNDER = Style(reverse=True), Style(underline=True)


def _under_cursor(style: Style, text: Style) -> Style:
    """Return a style under the cursor: one bar in the text's own colors. A cell that is filled or
    in reverse video keeps its color, and is underlined instead."""
    if style.reverse or style.bgcolor != text.bgcolor:
        return style + _UNDER
    return text + Style(bold=style.bold, italic=style.italic) + _REVERSE


def _in_row(style: Style, styles: Mapping[str, Style]) -> Style:
    """Return a style in the row of the cursor: on the row's ground, while a filled cell stays as it
    is. Where a theme has no such ground, the row is in reverse video."""
    text, bar = styles["text"], styles["bar"]
    if bar.reverse:
        return _under_cursor(style, text)
    if style.reverse or style.bgcolor != text.bgcolor:
        return style
    return style + bar


def action_at(line: Line, x: int) -> str:
    """Return the action of the span under column `x`, or an empty string."""
    for span in line:
        x -= cell_len(span.text)
        if x < 0:
            return span.action
    return ""


def plain(lines: Iterable[Line]) -> str:
    """Return the text of lines, without styles: for copying and for tests."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


class Column(NamedTuple):
    """One column: its place, its width, whether the cell cursor can be on it."""

    key: str
    x: int
    width: int
    cell: bool = False


def in_order(sizes: Iterable[tuple[str, int]], x: int = 2, gap: int = 1) -> list[Column]:
    """Return columns of these names and widths, the first at `x`, with a gap between them."""
    found: list[Column] = []
    for name, width in sizes:
        found.append(Column(name, x, width))
        x += width + gap
    return found


def heading(columns: Iterable[Column], right: Collection[str] = ()) -> list[Line]:
    """Return the line above columns: their names, those in `right` at the right of theirs."""
    line = ""
    for column in columns:
        name = pad(column.key, column.width, right=True) if column.key in right else column.key
        line = pad(line, column.x) + name
    return [[Span(line.rstrip(), "dim")]]


class Sheet(ABC):
    """The layout of rows at one width. `header` and `totals` stay above and below the rows."""

    columns: Sequence[Column]
    header: Sequence[Line] = ()
    totals: Sequence[Line] = ()

    @abstractmethod
    def cells(self, row: Any) -> Sequence[Line]:
        """Return one run of spans per column; the grid fits it to the column's width."""

    def beside(self, rows: Sequence[Any]) -> None:  # noqa: B027  # most sheets need none
        """Read the rows that are shown together; called before any of them is drawn."""

    def flag(self, row: Any) -> Span:
        """Return the one character between the row cursor and the first column."""
        return Span(" ")


PIECE = 16_384
WORDS = 2_000  # a piece up to this long is wrapped at spaces, a longer one at the margin
FENCE = "┊ "
"""Begins every row of a quoted text, so that words of others cannot pass for the screen's own."""
_CLEAN = re.compile(r"[ -~]*")


class Block(NamedTuple):
    """Text in one style, after a heading that is before its first row only. A `quoted` text was
    written by others, and is drawn behind a fence. `marks` are stretches in another style, as
    (start, end, style) in order; they apply to a text that is safe and has no tabs."""

    text: str
    style: str = "text"
    head: Sequence[Span] = ()
    quoted: bool = False
    marks: Sequence[tuple[int, int, str]] = ()

    @property
    def indent(self) -> int:
        """Columns before the text."""
        return sum(cell_len(span.text) for span in self.head) + len(FENCE) * self.quoted


class Piece(NamedTuple):
    """The position of a piece in its block. `first` pieces carry the block's heading."""

    block: int
    start: int
    stop: int
    first: bool


class Row(NamedTuple):
    """One row of the screen: its text, and the offset of that text in the piece's shown text."""

    text: str
    offset: int


class Document:
    """Blocks wrapped to a width, by the row."""

    def __init__(self, blocks: Sequence[Block], width: int) -> None:
        self.blocks = blocks
        self.width = max(8, width)
        self.pieces = [piece for n, block in enumerate(blocks) for piece in _cut(n, block.text)]
        self._indents = [block.indent for block in blocks]
        self._rows: LRUCache[int, list[Row]] = LRUCache(512)
        self._counts: list[int] = []
        self._exact: list[bool] = []
        for piece in self.pieces:
            count, exact = self._guess(piece)
            self._counts.append(count)
            self._exact.append(exact)
        self._sums = list(accumulate(self._counts))

    @property
    def height(self) -> int:
        """The number of all rows; an estimate while parts were never shown."""
        return self._sums[-1] if self._sums else 0

    def room(self, block: int) -> int:
        """Return the columns for the text of a block, after its heading."""
        return max(8, self.width - self._indents[block])

    def settle(self, top: int, count: int) -> None:
        """Measure the `count` rows from `top`, so that `row` is exact there."""
        while True:
            index = bisect_right(self._sums, top)
            shown, moved = 0, False
            while index < len(self.pieces) and shown < count + 1:
                if not self._exact[index]:
                    moved = self._take(index) or moved
                shown += self._counts[index] if shown or moved else self._sums[index] - top
                index += 1
            if not moved:
                return
            self._sums = list(accumulate(self._counts))

    def row(self, y: int) -> tuple[Piece, Row, bool] | None:
        """Return the piece and row at a line, and whether the row is its block's first."""
        index = bisect_right(self._sums, y)
        if not 0 <= y < self.height:
            return None
        piece = self.pieces[index]
        within = y - (self._sums[index] - self._counts[index])
        rows = self._wrapped(index)
        row = rows[within] if within < len(rows) else Row("", 0)
        return piece, row, piece.first and within == 0

    def find(self, block: int, position: int) -> int:
        """Return the row that shows a position of a block's source text."""
        for index in range(self._piece_of(block, position), -1, -1):
            piece = self.pieces[index]
            if not self._exact[index] and self._take(index):
                self._sums = list(accumulate(self._counts))
            shown = len(_shown(self.blocks[block].text[piece.start : position]))
            top = self._sums[index] - self._counts[index]
            offsets = [row.offset for row in self._wrapped(index)]
            return top + max(0, bisect_right(offsets, shown) - 1)
        return 0

    def positions(self, y: int) -> tuple[int, int]:
        """Return the block and source position at which row `y` begins (exact to the piece)."""
        index = min(bisect_right(self._sums, y), len(self.pieces) - 1)
        return self.pieces[index].block, self.pieces[index].start

    def _piece_of(self, block: int, position: int) -> int:
        return max(
            0, bisect_right(self.pieces, (block, position), key=lambda p: (p.block, p.start)) - 1
        )

    def _guess(self, piece: Piece) -> tuple[int, bool]:
        """Return the rows of a piece, and whether the number is exact. Short pieces are measured
        when shown."""
        _, start, stop, _ = piece
        length, room = stop - start, self.room(piece.block)
        if length <= room:
            return 1, False
        text = self.blocks[piece.block].text
        clean = length > WORDS and _CLEAN.fullmatch(text, start, stop) is not None
        return -(-length // room), clean

    def _take(self, index: int) -> bool:
        """Measure one piece; return whether its number of rows changed."""
        count = len(self._wrapped(index))
        self._exact[index] = True
        changed = count != self._counts[index]
        self._counts[index] = count
        return changed

    def _wrapped(self, index: int) -> list[Row]:
        rows = self._rows.get(index)
        if rows is None:
            piece = self.pieces[index]
            text = _shown(self.blocks[piece.block].text[piece.start : piece.stop])
            rows = self._rows[index] = list(_wrap(text, self.room(piece.block)))
        return rows


def _shown(text: str) -> str:
    return visible(text).expandtabs(4)


def _cut(number: int, text: str) -> Iterator[Piece]:
    start = 0
    while True:
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        for at in range(start, max(stop, start + 1), PIECE):
            yield Piece(number, at, min(at + PIECE, stop), at == 0)
        if stop >= len(text):
            return
        start = stop + 1


def _wrap(text: str, room: int) -> Iterator[Row]:
    if len(text) > WORDS or " " not in text:
        yield from _margin(text, room)
        return
    offset = 0
    while cell_len(text[offset:]) > room:
        part = next(iter(_margin(text[offset : offset + room + 1], room))).text
        space = part.rfind(" ")
        follows = text[offset + len(part) : offset + len(part) + 1]
        if follows != " " and space > room // 3:
            part = part[: space + 1]
        yield Row(part.rstrip(), offset)
        offset += len(part)
        offset += len(text[offset:]) - len(text[offset:].lstrip(" "))
    if offset < len(text) or not offset:
        yield Row(text[offset:], offset)


def _margin(text: str, room: int) -> Iterator[Row]:
    if text.isascii():
        parts: Iterable[str] = (text[at : at + room] for at in range(0, max(1, len(text)), room))
    elif cell_len(text) <= room:
        parts = (text,)
    else:
        parts = chop_cells(text, room)
        if sum(len(part) for part in parts) != len(text):
            # Lone marks without width get lost in wrapping; a reviewer must see that they are
            # there.
            parts = (text[at : at + room // 2] for at in range(0, len(text), room // 2))
    offset = 0
    for part in parts:
        yield Row(part, offset)
        offset += len(part)
