"""What a grid needs to know of its rows: columns, pinned lines, and a row as spans."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from reviewer.tui.widgets.lines import Line, Span


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
