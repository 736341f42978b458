"""A table of any length by the line API: rows are fetched by page and drawn one line at a time.

The grid owns a list of row keys (the order), a row cursor and a cell cursor. A `Sheet`, made for
the present width, draws the rows. One widget serves the scorecard, events and sources.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.events import Click, Resize
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from reviewer.desk.scorecards.views import PAGE
from reviewer.tui.settings.keys import bind, motions
from reviewer.tui.widgets.chrome import RowView, styles_for
from reviewer.tui.widgets.lines import (
    Column,
    Line,
    Sheet,
    Span,
    barred_line,
    fit,
    paint,
    reversed_line,
    rule,
)


class Grid(RowView, can_focus=True):
    """Rows of a sheet, by page, with a row cursor `›` and a cell cursor `[ ]`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(),
        bind("enter", "choose", "go in", "Open the row or cell under the cursor."),
    ]

    class Moved(Message):
        """The cursor has moved."""

        def __init__(self, grid: "Grid") -> None:
            super().__init__()
            self.grid = grid

        @property
        def control(self) -> "Grid":
            return self.grid

    class Chosen(Moved):
        """Enter or a double click."""

    def __init__(
        self,
        sheet: Callable[[int], Sheet],
        fetch: Callable[[list[int]], Sequence[Any]],
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._make_sheet = sheet
        self._fetch = fetch
        self.keys: Sequence[int] = array("q")
        self.row = 0
        self.column = ""
        self.title: Line = ()
        self.note: Line = ()
        self._pages: LRUCache[int, Sequence[Any]] = LRUCache(32)
        self._strips: LRUCache[tuple[int, bool, str, bool], Strip] = LRUCache(512)
        self._met: set[int] = set()  # the pages that the sheet has seen
        self._painted: dict[int, Strip] = {}  # the lines on the screen, by number
        self._sheet: Sheet | None = None
        self._made_for = 0
        self._named: Mapping[str, Style] | None = None

    # what it shows -----------------------------------------------------------------------------

    @property
    def sheet(self) -> Sheet:
        """The sheet for the present width."""
        width = self.size.width or 80
        if self._sheet is None or self._made_for != width:
            self._sheet, self._made_for = self._make_sheet(width), width
            self._strips.clear()
            self._met.clear()
        return self._sheet

    def set_keys(self, keys: Iterable[int], row: int = 0) -> None:
        """Show rows in a new order; the cursor goes to `row`."""
        self.keys = keys if isinstance(keys, range | array) else array("q", keys)
        self.row = max(0, min(row, len(self.keys) - 1))
        self._forget()
        self._measure()
        self.reveal()
        self.refresh()

    def grow(self, keys: Iterable[int]) -> None:
        """Add rows after the present ones: nothing moves."""
        self._pages.discard(len(self.keys) // PAGE)  # it was the last page, and not full
        self.keys = keys if isinstance(keys, range | array) else array("q", keys)
        self._measure()
        self.refresh()

    def reload(self) -> None:
        """Fetch the visible rows again and repaint the lines that differ. Nothing moves."""
        self._repaint(self._forget)

    def redress(self) -> None:
        """Draw the rows in memory again, in a new sheet, and repaint the lines that differ."""

        def undress() -> None:
            self._strips.clear()
            self._sheet = None

        self._repaint(undress)

    def _repaint(self, forget: Callable[[], None]) -> None:
        painted = dict(self._painted)
        forget()
        changed = [
            Region(0, y, self.size.width, 1)
            for y in range(self.size.height)
            if self.render_line(y) != painted.get(y)
        ]
        if changed:
            self.refresh(*changed)

    def caption(self, title: Line, note: Line = ()) -> None:
        """Set the words in the rule above the grid."""
        if list(title) != list(self.title) or list(note) != list(self.note):
            self.title, self.note = title, note
            self.refresh(Region(0, 0, self.size.width, 1))

    def at(self, index: int) -> Any | None:
        """Return the row at an index, None when it could not be fetched."""
        if not 0 <= index < len(self.keys):
            return None
        page, offset = divmod(index, PAGE)
        rows = self._pages.get(page)
        if rows is None:
            rows = self._fetch(list(self.keys[page * PAGE : (page + 1) * PAGE]))
            self._pages[page] = rows
        return rows[offset] if offset < len(rows) else None

    @property
    def current(self) -> Any | None:
        """The row under the cursor."""
        return self.at(self.row)

    def _forget(self) -> None:
        self._pages.clear()
        self._strips.clear()
        self._sheet = None

    def notify_style_update(self) -> None:
        self._named = None
        self._strips.clear()
        super().notify_style_update()

    # where it is -------------------------------------------------------------------------------

    @property
    def _above(self) -> int:
        return 1 + len(self.sheet.header)

    @property
    def body(self) -> int:
        """The number of visible rows."""
        return max(1, self.size.height - self._above - len(self.sheet.totals))

    @property
    def first(self) -> int:
        """The index of the first visible row."""
        return self.scroll_offset.y

    def _measure(self) -> None:
        pinned = self._above + len(self.sheet.totals)
        self.extend(len(self.keys) + pinned)

    def on_resize(self, event: Resize) -> None:
        self._strips.clear()
        self._sheet = None
        self._measure()
        self.reveal()

    def reveal(self) -> None:
        """Scroll so that the cursor is visible."""
        top = self.first
        if self.row < top:
            top = self.row
        elif self.row >= top + self.body:
            top = self.row - self.body + 1
        if top != self.first:
            self.scroll_to(y=top, animate=False, immediate=True, force=True)

    def go(self, row: int, column: str | None = None) -> None:
        """Put the cursor on a row, and on a cell if one is named."""
        row = max(0, min(row, len(self.keys) - 1))
        column = self.column if column is None else column
        if (row, column) == (self.row, self.column):
            return
        changed = {self.row, row}
        self.row, self.column = row, column
        self.reveal()
        for index in changed:
            self.refresh(Region(0, self._above + index - self.first, self.size.width, 1))
        self.post_message(self.Moved(self))

    def action_move(self, step: int) -> None:
        """Move up or down."""
        self.go(self.row + step)

    def action_side(self, step: int) -> None:
        """Move to the cell at the left or right, where a row has cells."""
        names = [column.key for column in self.sheet.columns if column.cell]
        if names:
            at = names.index(self.column) if self.column in names else 0
            self.go(self.row, names[max(0, min(at + step, len(names) - 1))])

    def action_end(self, step: int) -> None:
        """Move to the first or last row."""
        self.go(0 if step < 0 else len(self.keys) - 1)

    def action_page(self, pages: float) -> None:
        """Move by a page, or half of one."""
        self.go(self.row + int(pages * self.body))

    def action_choose(self) -> None:
        """Open the row or cell under the cursor."""
        if self.keys:
            self.post_message(self.Chosen(self))

    def on_click(self, event: Click) -> None:
        index = event.y - self._above + self.first
        if 0 <= event.y - self._above < self.body and index < len(self.keys):
            hit = [c.key for c in self.sheet.columns if c.cell and c.x <= event.x < c.x + c.width]
            self.go(index, hit[0] if hit else None)
            if event.chain > 1:
                self.action_choose()

    # how it is drawn ---------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        strip = self._painted[y] = self._line(y)
        return strip

    def _line(self, y: int) -> Strip:
        if self._named is None:
            self._named = styles_for(self.app)
        width, header, totals = self.size.width, self.sheet.header, self.sheet.totals
        if y == 0:
            return paint(self._rule(width), self._named, width)
        if y <= len(header):
            return paint(header[y - 1], self._named, width)
        if y >= self.size.height - len(totals):
            return paint(totals[y - self.size.height + len(totals)], self._named, width)
        return self._row_strip(self.first + y - self._above, width, self._named)

    def _rule(self, width: int) -> list[Span]:
        note = self.note
        if len(self.keys) > self.body:
            last = min(self.first + self.body, len(self.keys))
            seen = f"{self.first + 1:,} to {last:,}"
            note = [Span(seen, "dim"), Span(", " if note else "", "dim"), *note]
        return rule(width, self.title, note, heavy=self.has_focus)

    def _row_strip(self, index: int, width: int, styles: Mapping[str, Style]) -> Strip:
        if index >= len(self.keys):
            return paint((), styles, width)
        here = index == self.row
        key = (index, here, self.column if here else "", self.has_focus)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = paint(self._row_line(index, here), styles, width)
        return strip

    def _row_line(self, index: int, here: bool) -> list[Span]:
        row = self.at(index)
        sheet, page = self.sheet, index // PAGE
        if page not in self._met:
            self._met.add(page)
            sheet.beside([each for each in self._pages.get(page) or () if each is not None])
        cursor = Span("›" if here else " ", "strong")
        if row is None:
            return [cursor, Span(" ○ this row could not be read", "not_measured")]
        line = [cursor, sheet.flag(row)]
        x = 2
        closing = False
        for column, cell in zip(sheet.columns, sheet.cells(row), strict=True):
            on = here and column.cell and column.key == self.column
            gap = " " * max(0, column.x - x)
            opening = on and bool(gap) and column.x + column.width < self._ends(column)
            if opening or closing:
                gap = ("]" if closing else "") + gap[int(closing) + int(opening) :] + "[" * opening
            line.append(Span(gap, "strong" if opening or closing else "text"))
            cell = fit(cell, column.width)
            if on and self.has_focus:  # the blanks that fill a cell belong to it: one block
                fill = cell[0].style
                cell = [s._replace(style=fill) if s.text.isspace() else s for s in cell]
                cell = reversed_line(cell)
            line += cell
            x, closing = column.x + column.width, opening
        if closing:
            line.append(Span("]", "strong"))
        return barred_line(line) if here and self.has_focus else line

    def _ends(self, column: Column) -> int:
        """Return where the gap after a column ends: at the next column, or for the last column at
        the edge of the screen. Without a gap on both sides the cell cursor has no brackets."""
        behind = [other.x for other in self.sheet.columns if other.x > column.x]
        return min(behind, default=self.size.width)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
