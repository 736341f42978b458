"""Text of any length in a window: wrapped lazily, searchable, opened in a pager."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rich.style import Style
from textual.app import App, SuspendNotSupported
from textual.binding import BindingType
from textual.events import MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.settings.keys import motions
from reviewer.tui.widgets.chrome import RowView, styles_for
from reviewer.tui.widgets.lines import FENCE, Block, Document, Line, Span, paint, rule, width_of


class TextView(RowView, can_focus=True):
    """Blocks of text under a rule. `edge` draws a line at the left, against a neighbor."""

    BINDINGS: ClassVar[list[BindingType]] = motions()

    def __init__(self, id: str | None = None, *, edge: bool = False) -> None:
        super().__init__(id=id)
        self.blocks: Sequence[Block] = ()
        self.title: Line = ()
        self.note: Line = ()
        self.query_text = ""
        self._edge = "│" if edge else ""
        self._document = Document((), 80)
        self._named: Mapping[str, Style] | None = None
        self._match: tuple[int, int] | None = None

    def show(self, blocks: Sequence[Block], title: Line = (), note: Line = ()) -> None:
        """Replace the text; a search continues in the new text. Scrolls to the top."""
        self.blocks, self.title, self.note = blocks, title, note
        self._match = None
        self._lay_out()
        self.scroll_to(y=0, animate=False, immediate=True, force=True)

    def update(self, blocks: Sequence[Block], title: Line = (), note: Line = ()) -> None:
        """Replace the text and stay where the reader is."""
        if list(blocks) != list(self.blocks) or list(title) != list(self.title):
            self.blocks, self.title, self.note = blocks, title, note
            self._lay_out()

    def join(self, joined: bool) -> None:
        """Draw the line at the left, against a neighbor, or leave it out."""
        if joined != bool(self._edge):
            self._edge = "│" if joined else ""
            self._lay_out()

    def _lay_out(self) -> None:
        self._document = Document(self.blocks, self.size.width - len(self._edge) - 2)
        self._document.settle(0, self.body)
        self._measure()
        self.refresh()

    def _measure(self) -> None:
        self.extend(self._document.height + 1)

    @property
    def body(self) -> int:
        """The number of visible rows of text."""
        return max(1, self.size.height - 1)

    def on_resize(self, event: Resize) -> None:
        if self._document.width != max(8, self.size.width - len(self._edge) - 2):
            self._lay_out()
        else:
            self._document.settle(self.scroll_offset.y, self.body)
            self._measure()

    def notify_style_update(self) -> None:
        self._named = None
        super().notify_style_update()

    # moving ------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The row that is at the top while the end is visible."""
        return max(0, self._document.height - self.body)

    @property
    def heavy(self) -> bool:
        """True while the rule above shows that keys act here."""
        return self.has_focus

    def to_row(self, y: int) -> None:
        """Scroll so that row `y` is at the top, as far as there are rows."""
        y = max(0, min(y, self._document.height - self.body))
        self._document.settle(y, self.body)
        self._measure()
        self.scroll_to(y=y, animate=False, immediate=True, force=True)
        self.refresh()

    def action_move(self, step: int) -> None:
        """Scroll by one row."""
        self.to_row(self.scroll_offset.y + step)

    def action_side(self, step: int) -> None:
        """Do nothing: text is wrapped, so it has no sides."""

    def action_end(self, step: int) -> None:
        """Scroll to the start or the end."""
        self.to_row(0 if step < 0 else self._document.height)
        if step > 0:
            self.to_row(self._document.height)

    def action_page(self, pages: float) -> None:
        """Scroll by a page, or half of one."""
        self.to_row(self.scroll_offset.y + int(pages * self.body))

    # searching ---------------------------------------------------------------------------------

    def search(self, text: str, step: int = 1) -> bool:
        """Go to the next (or previous) match of `text`, after the last one found."""
        if text != self.query_text:
            self.query_text, self._match = text, None
        if not text:
            self.refresh()
            return False
        pattern = re.compile(re.escape(text), re.IGNORECASE)
        found = self._after(pattern) if step > 0 else self._before(pattern)
        if found is None:
            self.refresh()
            return False
        self._match = found
        self.to_row(self._document.find(*found) - self.body // 3)
        return True

    def _after(self, pattern: re.Pattern[str]) -> tuple[int, int] | None:
        block, position = self._match or (0, -1)
        for number in range(block, len(self.blocks)):
            found = pattern.search(self.blocks[number].text, position + 1)
            if found:
                return number, found.start()
            position = -1
        return None

    def _before(self, pattern: re.Pattern[str]) -> tuple[int, int] | None:
        block, position = self._match or (len(self.blocks) - 1, len(self.blocks[-1].text))
        for number in range(block, -1, -1):
            last = None
            for found in pattern.finditer(self.blocks[number].text, 0, max(0, position)):
                last = found.start()
            if last is not None:
                return number, last
            position = len(self.blocks[number - 1].text) if number else 0
        return None

    # drawing -----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if self._named is None:
            self._named = styles_for(self.app)
        return paint(self._line(y), self._named, self.size.width)

    def _line(self, y: int) -> list[Span]:
        if y == 0:
            return self._rule()
        top = self.scroll_offset.y
        self._document.settle(top, self.body)
        edge = [Span(self._edge + " ", "rule")]
        found = self._document.row(top + y - 1)
        if found is None:
            return edge
        piece, row, first = found
        block = self.blocks[piece.block]
        head = list(block.head) if first else [Span(" " * width_of(block.head))]
        if block.quoted:
            head.append(Span(FENCE, "rule"))
        if block.marks and not self.query_text:
            return [*edge, *head, *_styled(block, piece.start + row.offset, row.text)]
        return [*edge, *head, *self._marked(row.text, block.style)]

    def _rule(self) -> list[Span]:
        if not self._edge and not self.title:
            return rule(self.size.width, heavy=self.heavy)
        note = list(self.note)
        if self._document.height > self.body:
            below = self._document.height - self.scroll_offset.y - self.body
            note.append(Span(f"{', ' if note else ''}{max(0, below):,} below", "dim"))
        joint = [Span(("┳" if self.heavy else "┬"), "rule")] if self._edge else []
        width = self.size.width - len(joint)
        return [*joint, *rule(width, self.title, note, heavy=self.heavy)]

    def _marked(self, text: str, style: str) -> list[Span]:
        if not self.query_text:
            return [Span(text, style)]
        spans, at = [], 0
        wanted = visible_line(self.query_text)
        for found in re.finditer(re.escape(wanted), text, re.IGNORECASE):
            spans += [Span(text[at : found.start()], style), Span(found.group(), "match")]
            at = found.end()
        return [*spans, Span(text[at:], style)]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        rows = [self.render_line(y).text.rstrip() for y in range(self.size.height)]
        return selection.extract("\n".join(rows)), "\n"

    def on_focus(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))

    def on_blur(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))


def _styled(block: Block, start: int, text: str) -> list[Span]:
    """Return the spans of one row of a marked text."""
    spans: list[Span] = []
    at, end = start, start + len(text)
    for first, last, style in block.marks:
        if last <= at or first >= end:
            continue
        if first > at:
            spans.append(Span(text[at - start : first - start], block.style))
        at, upto = max(first, at), min(last, end)
        spans.append(Span(text[at - start : upto - start], style))
        at = upto
    return [*spans, Span(text[at - start :], block.style)]


WHEEL = 3
"""Rows that one step of the wheel scrolls."""


class Passage(TextView, can_focus=False):
    """`active` draws the heavy rule that other texts draw with the focus."""

    class Wheeled(Message):
        """The wheel was turned over this text; the screen scrolls."""

        def __init__(self, passage: "Passage", rows: int) -> None:
            super().__init__()
            self.passage, self.rows = passage, rows

    active = False

    @property
    def heavy(self) -> bool:
        return self.active

    def activate(self, active: bool) -> None:
        """Show whether keys act on this text."""
        if active != self.active:
            self.active = active
            self.refresh()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._wheel(event, WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._wheel(event, -WHEEL)

    def _wheel(self, event: MouseScrollDown | MouseScrollUp, rows: int) -> None:
        event.stop()
        event.prevent_default()
        self.post_message(self.Wheeled(self, rows))


def open_in_pager(app: App[Any], text: str) -> bool:
    """Show `text` in $PAGER (or less); return False where the terminal cannot be handed over."""
    return open_in_program(app, text, "PAGER", "less")


def open_in_program(app: App[Any], text: str, variable: str, otherwise: str) -> bool:
    """Show a copy of `text` in the program that an environment variable names."""
    import os
    import shlex
    import subprocess
    import tempfile
    from pathlib import Path

    command = shlex.split(os.environ.get(variable) or otherwise)
    with tempfile.TemporaryDirectory(prefix="reviewer-") as folder:
        path = Path(folder) / "value.txt"
        path.write_text(visible(text), encoding="utf-8")
        try:
            with app.suspend():
                subprocess.run([*command, str(path)], check=False)
        except (SuspendNotSupported, OSError):
            return False
    return True
