"""A pane of lines that fold, with a cursor, and a search that also finds text in folded lines."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click
from textual.message import Message

from reviewer.trace.jsontree import Hit, find
from reviewer.tui.settings.keys import bind, motions
from reviewer.tui.widgets.lines import Block, Line, Span, barred_line
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.value_tree import Entry, Tree

Part = Entry | Tree


class Seek(list[tuple[Tree | int, Hit]]):
    """The matches of `wanted` in some parts, in reading order, found on demand.

    May be used in any thread, by one thread at a time; the parts do not change.
    """

    def __init__(self, parts: Sequence[Part], wanted: str) -> None:
        super().__init__()
        self.wanted = wanted
        self._rest = self._all(parts, wanted)

    def more(self) -> bool:
        """Look for one more match; return whether there is one."""
        found = next(self._rest, None)
        if found is not None:
            self.append(found)
        return found is not None

    @staticmethod
    def _all(parts: Sequence[Part], wanted: str) -> Iterator[tuple[Tree | int, Hit]]:
        small = wanted.casefold()
        for number, part in enumerate(parts):
            if isinstance(part, Tree):
                yield from ((part, hit) for hit in find(part.raw, wanted))
            elif small in part.block.text.casefold():
                yield number, Hit("", False, 0)


class ValueView(TextView):
    """Entries and trees, one below the other. `cursor` counts the lines that are shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *motions(),
        bind("enter", "turn", "fold, unfold, go", "Fold or unfold a value, or go where it leads."),
    ]

    class Followed(Message):
        """Enter was pressed on a line that links elsewhere."""

        def __init__(self, view: "ValueView", go: tuple[str, int]) -> None:
            super().__init__()
            self.view, self.go = view, go

    def __init__(self, id: str | None = None, *, edge: bool = False) -> None:
        super().__init__(id=id, edge=edge)
        self.parts: Sequence[Part] = ()
        self.entries: list[Entry] = []
        self.trees: list[Tree | None] = []
        self.cursor = 0
        self.seek: Seek | None = None
        self._at = -1

    # what it shows -----------------------------------------------------------------------------

    def put(
        self, parts: Sequence[Part], title: Line = (), note: Line = (), *, stay: bool = False
    ) -> None:
        """Show these parts; `stay` keeps the reader's place."""
        self.parts, self.title, self.note = parts, title, note
        if not stay:
            self.cursor, self.seek, self._at = 0, None, -1
        self._flow()
        if not stay:
            self.scroll_to(y=0, animate=False, immediate=True, force=True)

    def show(self, blocks: Sequence[Block], title: Line = (), note: Line = ()) -> None:
        self.put([Entry(block) for block in blocks], title, note)

    def update(self, blocks: Sequence[Block], title: Line = (), note: Line = ()) -> None:
        self.put([Entry(block) for block in blocks], title, note, stay=True)

    def _flow(self) -> None:
        """Build the lines again, at the present width."""
        width = max(20, (self.size.width or 80) - len(self._edge) - 2)
        self.entries, self.trees = [], []
        for part in self.parts:
            made = part.entries(width) if isinstance(part, Tree) else [part]
            self.entries += made
            self.trees += [part if isinstance(part, Tree) else None] * len(made)
        self.cursor = max(0, min(self.cursor, len(self.entries) - 1))
        self.blocks = [entry.block for entry in self.entries]
        super()._lay_out()

    def _lay_out(self) -> None:
        self._flow()

    @property
    def current(self) -> Entry | None:
        """The line under the cursor."""
        return self.entries[self.cursor] if self.cursor < len(self.entries) else None

    # moving ------------------------------------------------------------------------------------

    def _rows(self, number: int) -> tuple[int, int]:
        """Return the first row of a line, and the row after its last."""
        last = len(self.entries) - 1
        start = self._document.find(number, 0)
        return start, self._document.find(number + 1, 0) if number < last else max(
            start + 1, self._document.height
        )

    def go(self, number: int) -> None:
        """Put the cursor on a line, and show its start."""
        self.cursor = max(0, min(number, len(self.entries) - 1))
        if not self.entries:
            return
        start, end = self._rows(self.cursor)
        top = self.scroll_offset.y
        if start < top:
            self.to_row(start)
        elif end > top + self.body:
            self.to_row(min(start, end - self.body))
        self.refresh()

    def action_move(self, step: int) -> None:
        """Move to the next line; through a line longer than the pane, row by row."""
        if not self.entries:
            return
        start, end = self._rows(self.cursor)
        top = self.scroll_offset.y
        if (step > 0 and end > top + self.body) or (step < 0 and start < top):
            self.to_row(top + step)
        else:
            self.go(self.cursor + step)

    def action_end(self, step: int) -> None:
        self.go(0 if step < 0 else len(self.entries) - 1)
        super().action_end(step)

    def action_page(self, pages: float) -> None:
        super().action_page(pages)
        self._follow(int(pages * self.body))

    def _follow(self, rows: int) -> None:
        """Keep the cursor among the rows that are visible."""
        top = self.scroll_offset.y
        at = self._document.find(self.cursor, 0) if self.entries else 0
        moved = max(top, min(at + rows, top + self.body - 1))
        self.cursor = self._document.positions(moved)[0] if self.entries else 0
        self.refresh()

    def action_side(self, step: int) -> None:
        """Unfold (right), or fold (left); if that is done already, move in, or to the parent."""
        here = self.current
        if here is None:
            return
        tree = self.trees[self.cursor]
        if step > 0 and here.fold is not None and not here.opened:
            self.turn(True)
        elif step > 0 and here.opened:
            self.go(self.cursor + 1)
        elif step < 0 and here.opened:
            self.turn(False)
        elif step < 0 and tree is not None:
            self.go(self._owner(self.cursor))

    def _owner(self, number: int) -> int:
        """Return the foldable line above a line."""
        tree, depth = self.trees[number], self.entries[number].depth
        while number > 0 and self.trees[number - 1] is tree and self.entries[number].depth >= depth:
            number -= 1
        return number

    # acts --------------------------------------------------------------------------------------

    def action_turn(self) -> None:
        """Fold or unfold this line, show more of it, or follow its link."""
        here = self.current
        tree = self.trees[self.cursor] if here is not None else None
        if here is None:
            return
        if here.go is not None:
            self.post_message(self.Followed(self, here.go))
        elif here.more is not None and tree is not None:
            tree.move(*here.more)
            self._again()
        elif here.fold is not None:
            self.turn(not here.opened)

    def turn(self, to: bool) -> None:
        """Fold or unfold the line under the cursor."""
        here, tree = self.current, self.trees[self.cursor]
        if here is not None and here.fold is not None and tree is not None:
            tree.turn(here.fold, to)
            self._again()

    def turn_all(self) -> None:
        """Fold every value, or unfold as many as there is room for."""
        to = not any(entry.opened and entry.depth for entry in self.entries)
        for part in self.parts:
            if isinstance(part, Tree):
                part.all(to)
        self._again()

    def _again(self) -> None:
        """Build the lines again, with the cursor on the same line."""
        here, number = self.current, self.cursor
        self._flow()
        if here is None:
            return
        known = (here.pointer, here.line, here.fold)
        same = [n for n, each in enumerate(self.entries) if each is here]
        alike = [
            n for n, each in enumerate(self.entries)
            if here.pointer and (each.pointer, each.line, each.fold) == known
        ]  # fmt: skip
        self.go(next(iter((*same, *alike)), number))

    async def on_click(self, event: Click) -> None:
        row = self._document.row(self.scroll_offset.y + event.y - 1) if event.y else None
        if row is None:
            return
        number = row[0].block
        again = number == self.cursor
        self.go(number)
        entry = self.entries[number]
        mark = len(self._edge) + 1 + 2 * entry.depth
        on_mark = entry.fold is not None and mark <= event.x < mark + 2
        if on_mark or entry.more is not None or (event.chain > 1 and again):
            self.action_turn()

    # searching ---------------------------------------------------------------------------------

    def begin(self, wanted: str) -> Seek:
        """Search for other words, or again from the top. The caller goes to the first match."""
        self.query_text, self._at = wanted, -1
        self.seek = Seek(self.parts, wanted)
        self.refresh()
        return self.seek

    def step(self, way: int) -> bool:
        """Go to the match after or before the last one; return whether it was found already."""
        at = self._at + way
        if self.seek is None or not 0 <= at < len(self.seek):
            return False
        self._at = at
        part, hit = self.seek[at]
        if isinstance(part, int):
            self._flow()
            entry = self.parts[part]
            self.go(next(n for n, each in enumerate(self.entries) if each is entry))
            return True
        line = part.reveal(hit.pointer, hit.position)
        self._flow()
        place = part.place + hit.pointer
        lines = [
            n for n, each in enumerate(self.entries)
            if each.pointer == place and self.trees[n] is part
        ]  # fmt: skip
        exact = [n for n in lines if self.entries[n].line == line and not hit.in_name]
        number = (exact or lines)[-1 if exact else 0]
        self.go(number)
        self._into(number, hit)
        return True

    def _into(self, number: int, hit: Hit) -> None:
        """Scroll within a line longer than the pane to its match."""
        text = self.entries[number].block.text.casefold()
        at = text.find(self.query_text.casefold())
        if at > 0 and not hit.in_name:
            row = self._document.find(number, at)
            if not self.scroll_offset.y <= row < self.scroll_offset.y + self.body:
                self.to_row(row - self.body // 3)

    # drawing -----------------------------------------------------------------------------------

    def _line(self, y: int) -> list[Span]:
        line = super()._line(y)
        if not y or not self.entries:
            return line
        found = self._document.row(self.scroll_offset.y + y - 1)
        if found is None or found[0].block != self.cursor:
            return line
        first, edge = found[2], line[0]
        sign = "›" if first else " "
        found_line = [edge._replace(text=edge.text[:-1]), Span(sign, "strong"), *line[1:]]
        return barred_line(found_line) if self.has_focus and first else found_line

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
