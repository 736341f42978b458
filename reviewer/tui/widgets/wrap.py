"""Wrapping text of any size without reading all of it first.

A document is a list of pieces: stretches of at most 16,384 characters that never cross a newline.
A clean long piece has a known number of rows; any other is measured when it is first seen, and
until then its rows are an estimate. So 10 MB open as fast as one screen of them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from textual.cache import LRUCache

from reviewer.trace.safetext import visible
from reviewer.tui.widgets.lines import Span

PIECE = 16_384
WORDS = 2_000  # a piece up to this long is wrapped at spaces, a longer one at the margin
FENCE = "┊ "
"""Stands before every row of a quoted text: what others wrote cannot pass for the screen's own
words, whatever it spells."""
_CLEAN = re.compile(r"[ -~]*")


class Block(NamedTuple):
    """Some text in one style, after a heading that stands before its first row only. A `quoted` one
    was written by others, and stands behind a fence. `marks` are stretches in another style, as
    (start, end, style) in order; they hold for a text that is safe and has no tabs."""

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
    """Where a piece stands in its block. `first` pieces carry the block's heading."""

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
        """Rows in all; an estimate while parts were never shown."""
        return self._sums[-1] if self._sums else 0

    def room(self, block: int) -> int:
        """Columns left for the text of a block, beside its heading."""
        return max(8, self.width - self._indents[block])

    def settle(self, top: int, count: int) -> None:
        """Measure what `count` rows from `top` show, so that `row` is exact there."""
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
        """The piece and row at a line, and whether it is its block's first."""
        index = bisect_right(self._sums, y)
        if not 0 <= y < self.height:
            return None
        piece = self.pieces[index]
        within = y - (self._sums[index] - self._counts[index])
        rows = self._wrapped(index)
        row = rows[within] if within < len(rows) else Row("", 0)
        return piece, row, piece.first and within == 0

    def find(self, block: int, position: int) -> int:
        """The row that shows a position of a block's source text."""
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
        """Block and source position where row `y` begins (to the piece)."""
        index = min(bisect_right(self._sums, y), len(self.pieces) - 1)
        return self.pieces[index].block, self.pieces[index].start

    def _piece_of(self, block: int, position: int) -> int:
        return max(
            0, bisect_right(self.pieces, (block, position), key=lambda p: (p.block, p.start)) - 1
        )

    def _guess(self, piece: Piece) -> tuple[int, bool]:
        """Rows of a piece, and whether that is exact. Short pieces are looked at when seen."""
        _, start, stop, _ = piece
        length, room = stop - start, self.room(piece.block)
        if length <= room:
            return 1, False
        text = self.blocks[piece.block].text
        clean = length > WORDS and _CLEAN.fullmatch(text, start, stop) is not None
        return -(-length // room), clean

    def _take(self, index: int) -> bool:
        """Measure one piece; whether its number of rows changed."""
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
            # Lone marks of no width get lost in chopping; a reviewer must see that they are there.
            parts = (text[at : at + room // 2] for at in range(0, len(text), room // 2))
    offset = 0
    for part in parts:
        yield Row(part, offset)
        offset += len(part)
