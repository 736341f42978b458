"""A value as lines that fold: names, numbers, texts, each with its place in the record.

Nothing below a folded line is read. Of a long list or text only a window is shown, which grows and
then slides, so that 50 MB are as quick as 50 bytes.
"""

import json
from collections import deque
from collections.abc import Iterator, Mapping, MutableMapping
from typing import NamedTuple

from reviewer.trace.jsontree import (
    NOTHING,
    WITHIN,
    Buffer,
    Members,
    above,
    held,
    indented,
    kind,
    members,
    step,
    text_in,
)
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.lines import Block, Span, cut, middle
from reviewer.tui.widgets.words import plural, size

MEMBERS = 100
"""Members of one node that are shown before the reader asks for more."""
LINES = 40
"""Lines of one text that are shown before the reader asks for more."""
MOST = 2_000
"""The size from which a window slides instead of growing."""
BUDGET = 30
"""Lines up to which a value is opened initially, level by level."""
ROOM = 2_000
"""Lines up to which everything is opened on request."""
COUNTED = 200_000
"""Bytes of a folded value that are read to count its content; of a larger value, the size is
shown."""
SHORT_TEXT = 300
"""Characters up to which a text of one line is shown in full next to its name."""
SHORT_ROOT = 40
"""The same for a text that is the whole value: a longer text is below its label."""
BESIDE = 16
"""Columns that a long name leaves for the text next to it."""
FEW_LINES = 12
"""Lines up to which a text is opened initially."""
OPEN, FOLDED = "▾ ", "▸ "
SIGNS = {"+": "pass", "-": "fail", "~": "match"}
"""The style of each kind of change; its glyph and its word say the same."""


def read(raw: Buffer) -> str:
    """Return a value for copying: a text as it is, JSON indented."""
    return text_in(raw) if kind(raw) == "text" else indented(raw)


class Entry(NamedTuple):
    """One line of a pane. `fold` names the node that folds here and `opened` says whether it is
    open, `more` the window that moves and its direction, `go` the target of Enter: ("event",
    number) or ("clause", number). `raw` is the value on this line and `pointer` its place in the
    record; `line` counts the lines of a text."""

    block: Block
    depth: int = 0
    fold: str | None = None
    opened: bool = False
    more: tuple[str, int] | None = None
    go: tuple[str, int] | None = None
    pointer: str = ""
    raw: Buffer | None = None
    line: int = 0

    def value(self) -> str:
        """Return the value on this line, for copying."""
        return self.block.text if self.raw is None else read(self.raw)


class _Window(NamedTuple):
    """Members or lines from `first` on; in a text, line `first` begins at `offset`."""

    first: int
    many: int
    offset: int = 0


class _Node(NamedTuple):
    pointer: str
    name: str | int
    raw: Buffer
    depth: int


class Tree:
    """One value under a label. `place` is its JSON pointer in the record; `turned` has what the
    reader folded and unfolded, by pointer below the value; `touched` marks changed values. A
    `literal` tree reads no JSON in texts, and writes them as the record does. `budget` lines are
    open at first."""

    def __init__(
        self,
        label: str,
        raw: Buffer,
        place: str,
        turned: MutableMapping[str, bool] | None = None,
        touched: Mapping[str, str] | None = None,
        note: str = "",
        literal: bool = False,
        budget: int = BUDGET,
    ) -> None:
        self.label, self.raw, self.place, self.note = label, raw, place, note
        self._literal = literal
        self.turned = {} if turned is None else turned
        self.touched = touched or {}
        self._members: dict[str, Members] = {}
        self._texts: dict[str, str] = {}
        self._lines: dict[str, int] = {}
        self._inner: dict[str, bytes | None] = {}
        self._windows: dict[str, _Window] = {}
        self._opened = {pointer for one in self.touched for pointer in above(one)}
        self._opened |= self._within(budget)

    def whole(self) -> str:
        """Return the whole value, whatever is folded."""
        return read(self.raw)

    # what there is -----------------------------------------------------------------------------

    def _level(self, node: _Node) -> Members:
        """Return the members of a node; of a text, the members of the JSON in it."""
        found = self._members.get(node.pointer)
        if found is None:
            raw = self._json(node) if kind(node.raw) == "text" else node.raw
            found = self._members[node.pointer] = NOTHING if raw is None else members(raw)
        return found

    def _json(self, node: _Node) -> bytes | None:
        if self._literal:
            return None
        if node.pointer not in self._inner:
            self._inner[node.pointer] = held(self._text(node))
        return self._inner[node.pointer]

    def _text(self, node: _Node) -> str:
        if node.pointer not in self._texts:
            self._texts[node.pointer] = text_in(node.raw)
        return self._texts[node.pointer]

    def _line_count(self, node: _Node) -> int:
        if node.pointer not in self._lines:
            self._lines[node.pointer] = self._text(node).count("\n") + 1
        return self._lines[node.pointer]

    def _below(self, node: _Node, first: int = 0, count: int = MOST) -> Iterator[_Node]:
        level = self._level(node)
        inside = WITHIN if kind(node.raw) == "text" else ""
        for at in range(first, min(first + count, len(level.values))):
            name = level.names[at]
            pointer = node.pointer + inside + step(name)
            yield _Node(pointer, name, level.values[at], node.depth + 1)

    @property
    def _root(self) -> _Node:
        return _Node("", self.label, self.raw, 0)

    def _folds(self, node: _Node) -> bool:
        """Return whether a node can be opened. A large text counts as openable without being
        read."""
        if kind(node.raw) == "text":
            if len(memoryview(node.raw)) > COUNTED:
                return True
            text, most = self._text(node), SHORT_TEXT if node.depth else SHORT_ROOT
            return len(text) > most or "\n" in text or bool(self._level(node).values)
        return kind(node.raw) != "scalar" and (_large(node.raw) or bool(self._level(node).values))

    def is_open(self, node: _Node) -> bool:
        turned = self.turned.get(node.pointer)
        if turned is not None:
            return turned
        return node.depth == 0 or node.pointer in self._opened

    def _within(self, budget: int) -> set[str]:
        """Return the nodes that can be opened, level by level, within a number of lines."""
        opened: set[str] = set()
        waiting = deque([self._root])
        while waiting:
            node = waiting.popleft()
            if node.depth and (_large(node.raw) or not self._folds(node)):
                continue
            lines = len(self._level(node).values)
            if not lines and kind(node.raw) == "text":
                lines = self._line_count(node) if node.depth else 0
                if lines > FEW_LINES or len(self._text(node)) > FEW_LINES * 80:
                    continue
            if lines > budget and node.depth:
                continue
            budget -= lines
            opened.add(node.pointer)
            waiting.extend(self._below(node, count=MEMBERS))
        return opened

    # acts --------------------------------------------------------------------------------------

    def turn(self, pointer: str, to: bool) -> None:
        """Fold or unfold a node."""
        self.turned[pointer] = to

    def all(self, to: bool) -> None:
        """Unfold as much as there is room for, or fold everything below the value itself."""
        self.turned.clear()
        self._windows.clear()
        self._opened = self._within(ROOM) if to else set()

    def move(self, pointer: str, way: int) -> None:
        """Show more of a list or a text: after the window, or (`way` -1) before it."""
        window = self._windows[pointer]
        text = self._texts.get(pointer) if pointer in self._lines else None
        if way > 0 and window.many < MOST:
            self._windows[pointer] = window._replace(many=min(MOST, window.many * 10))
        elif text is None:
            first = max(0, window.first + way * window.many)
            self._windows[pointer] = window._replace(first=first)
        else:
            self._windows[pointer] = _slid(text, window, way * window.many)

    def reveal(self, pointer: str, position: int) -> int:
        """Unfold the way to a node and a position of its text; return the line of that position."""
        node = self._root
        for ahead in [*above(pointer)[1:], pointer] if pointer else []:
            self.turned[node.pointer] = True
            node = self._child(node, ahead)
        if len(self._level(node).values) or kind(node.raw) != "text" or not self._folds(node):
            return 0
        self.turned[node.pointer] = True
        text = self._text(node)
        line = text.count("\n", 0, position)
        window = self._windows.get(node.pointer, _Window(0, LINES))
        if not window.first <= line < window.first + window.many:
            start = _Window(line, window.many, text.rfind("\n", 0, position) + 1)
            self._windows[node.pointer] = _slid(text, start, -3)
        return line

    def _child(self, node: _Node, pointer: str) -> _Node:
        """Return the child of a node with that pointer, after moving the window to it."""
        level = self._level(node)
        name = pointer[len(node.pointer) :].removeprefix(WITHIN)
        at = next(n for n, each in enumerate(level.names) if step(each) == name)
        window = self._windows.get(node.pointer, _Window(0, MEMBERS))
        if not window.first <= at < window.first + window.many:
            self._windows[node.pointer] = window._replace(first=max(0, at - 3))
        return next(self._below(node, at, 1))

    # lines -------------------------------------------------------------------------------------

    def entries(self, width: int) -> list[Entry]:
        """Return the value in lines; the summary of a folded value is cut to `width` columns."""
        return list(self._entries(self._root, width))

    def _entries(self, node: _Node, width: int) -> Iterator[Entry]:
        folds = self._folds(node)
        opened = folds and self.is_open(node)
        yield self._head(node, folds, opened, width)
        if not opened:
            return
        if self._level(node).values:
            yield from self._members_of(node, width)
        else:
            yield from self._text_of(node)

    def _members_of(self, node: _Node, width: int) -> Iterator[Entry]:
        total = len(self._level(node).values)
        window = self._windows.setdefault(node.pointer, _Window(0, MEMBERS))
        yield from self._more(node, window.first, -1, "before", "member")
        for child in self._below(node, window.first, window.many):
            yield from self._entries(child, width)
        yield from self._more(node, total - window.first - window.many, 1, "more", "member")

    def _text_of(self, node: _Node) -> Iterator[Entry]:
        text, total = self._text(node), self._line_count(node)
        window = self._windows.setdefault(node.pointer, _Window(0, LINES))
        yield from self._more(node, window.first, -1, "before", "line")
        start = window.offset
        for number in range(window.first, min(window.first + window.many, total)):
            end = text.find("\n", start)
            line = text[start:] if end < 0 else text[start:end]
            yield Entry(
                Block(line, head=[Span(_indent(node.depth + 1))], quoted=node.depth > 0),
                node.depth + 1,
                pointer=self.place + node.pointer,
                raw=node.raw,
                line=number,
            )
            start = end + 1
        yield from self._more(node, total - window.first - window.many, 1, "more", "line")

    def _more(self, node: _Node, count: int, way: int, word: str, what: str) -> Iterator[Entry]:
        if count > 0:
            told = f"… {plural(count, what)} {word}, Enter shows them"
            block = Block(told, "key", [Span(_indent(node.depth + 1))])
            yield Entry(block, node.depth + 1, more=(node.pointer, way))

    def _head(self, node: _Node, folds: bool, opened: bool, width: int) -> Entry:
        mark = (OPEN if opened else FOLDED) if folds else "  "
        sign = self.touched.get(node.pointer, "")
        name = visible_line(str(node.name))
        room = max(12, width - 2 * node.depth - BESIDE)
        head = [
            Span(" " * 2 * node.depth),
            Span(mark, "key"),
            Span(f"{sign} " if sign else "", SIGNS.get(sign, "text")),
            Span(f"{middle(name, room)}  ", "key" if node.depth else "strong"),
        ]
        style = SIGNS.get(sign, "text")
        if node.depth == 0 and self.note:
            head.append(Span(f"{self.note}  ", "dim"))
        taken = sum(len(span.text) for span in head)
        text = self._beside(node, folds, opened, width - taken)
        block = Block(text, "dim" if folds else style, head)
        fold = node.pointer if folds else None
        place = self.place + node.pointer
        return Entry(block, node.depth, fold, opened, pointer=place, raw=node.raw)

    def _beside(self, node: _Node, folds: bool, opened: bool, room: int) -> str:
        """Return the text next to a name: the value, or how much can be unfolded."""
        if not folds:
            if kind(node.raw) == "text" and not self._literal:
                return json.dumps(self._text(node), ensure_ascii=False)
            return bytes(node.raw).decode("utf-8", "replace")
        told = self._amount(node)
        if opened:
            return told
        start = visible_line(_start(node.raw))
        return cut(f"{told}  {start}", max(room, len(told)))

    def _amount(self, node: _Node) -> str:
        if _large(node.raw) and node.pointer not in self._members:
            return f"{size(len(memoryview(node.raw)))}B"
        count = len(self._level(node).values)
        if kind(node.raw) == "text":
            text = self._text(node)
            if not count:
                return f"{plural(self._line_count(node), 'line')}, {size(len(text))} characters"
            return f"JSON in a text, {plural(count, 'member')}"
        return plural(count, "element" if kind(node.raw) == "array" else "member")


def _large(raw: Buffer) -> bool:
    return len(memoryview(raw)) > COUNTED


def _indent(depth: int) -> str:
    return "  " * depth


def _start(raw: Buffer) -> str:
    """Return the first words of a folded value."""
    start = bytes(memoryview(raw)[:300]).decode("utf-8", "ignore")
    return start.replace("\\n", " ").replace("\\r", " ").replace('\\"', '"')


def _slid(text: str, window: _Window, lines: int) -> _Window:
    """Return the window moved by a number of lines, forwards or backwards."""
    first, offset = window.first, window.offset
    for _ in range(abs(lines)):
        if lines > 0:
            found = text.find("\n", offset)
            if found < 0:
                break
            first, offset = first + 1, found + 1
        elif first:
            first, offset = first - 1, text.rfind("\n", 0, max(0, offset - 1)) + 1
    return _Window(first, window.many, offset)
