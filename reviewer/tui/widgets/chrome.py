"""The cheap widgets that frame every screen: boxes of lines, menus, choices."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from reviewer.tui.settings.keys import bind, move, rows
from reviewer.tui.settings.theme import styles_of
from reviewer.tui.widgets.lines import Line, Span, action_at, barred_line, fit, paint, plain, rule

if TYPE_CHECKING:
    from textual.app import App


_styles: tuple[object, Mapping[str, Style]] = (None, {})


def styles_for(app: "App[Any]") -> Mapping[str, Style]:
    """Return the styles of the app's theme. Widgets keep them until `notify_style_update`."""
    global _styles
    theme = app.current_theme
    if _styles[0] is not theme:
        _styles = theme, styles_of(theme)
    return _styles[1]


class RowView(ScrollView):
    """Rows that a widget draws itself. Textual lays out the whole screen when the scrollable size
    of a view changes, for its scrollbars; this view has no scrollbars, and nothing is laid out."""

    DEFAULT_CSS = """
    RowView { height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: scroll;
              scrollbar-size: 0 0; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(ScrollView.show_vertical_scrollbar, True)

    def extend(self, rows: int) -> None:
        """Set the number of rows to scroll through."""
        self.set_reactive(ScrollView.virtual_size, Size(self.size.width, rows))
        self.scroll_y = self.validate_scroll_y(self.scroll_y)


class LineBox(Widget):
    """Lines painted as given. Only lines that changed are repainted; spans can be clicked."""

    DEFAULT_CSS = "LineBox { height: auto; width: 1fr; }"

    def __init__(self, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.lines: list[Line] = []
        self._styles_by_name: Mapping[str, Style] | None = None

    @property
    def named_styles(self) -> Mapping[str, Style]:
        """Styles by name, computed once per theme."""
        if self._styles_by_name is None:
            self._styles_by_name = styles_for(self.app)
        return self._styles_by_name

    @property
    def grows(self) -> bool:
        """Whether its height follows its lines; if not, more lines need no layout."""
        return self.styles.height is None or self.styles.height.is_auto

    def show(self, lines: Sequence[Line]) -> None:
        """Replace the lines; repaint those that differ, and lay out again if their number did."""
        old, self.lines = self.lines, list(lines)
        if len(old) != len(self.lines):
            self.refresh(layout=self.grows)
            return
        changed = [
            Region(0, y, self.size.width, 1)
            for y, (before, after) in enumerate(zip(old, self.lines, strict=True))
            if list(before) != list(after)
        ]
        if changed:
            self.refresh(*changed)

    def text(self) -> str:
        """Return the lines without styles."""
        return plain(self.lines)

    def notify_style_update(self) -> None:
        self._styles_by_name = None
        super().notify_style_update()

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines)

    def render_line(self, y: int) -> Strip:
        line: Line = self.lines[y] if y < len(self.lines) else ()
        return paint(line, self.named_styles, self.size.width)

    async def on_click(self, event: Click) -> None:
        if 0 <= event.y < len(self.lines):
            line = fit(self.lines[event.y], self.size.width)
            if action := action_at(line, event.x):
                event.stop()
                await self.screen.run_action(action)


class Field(LineBox):
    """One line of a form: a label, and the widget behind it."""

    DEFAULT_CSS = "Field { layout: horizontal; height: 1; width: 1fr; }"

    def __init__(self, label: str, widget: Widget, room: int = 13, style: str = "dim") -> None:
        super().__init__()
        self._label = Span(label, style)
        self.mark(False)
        widget.styles.margin = (0, 0, 0, room)
        self.compose_add_child(widget)

    def mark(self, here: bool) -> None:
        """Show whether this field receives typed text."""
        self.show([[Span("›", "strong") if here else Span(" "), self._label]])


class Menu(LineBox, can_focus=True):
    """Lines of which one is chosen: `›` and reverse video, keys, mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *rows(),
        bind("enter", "choose", "choose", "Choose this line."),
    ]

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, menu: "Menu") -> None:
            super().__init__()
            self.menu = menu

        @property
        def control(self) -> "Menu":
            return self.menu

    class Chosen(Moved):
        """Enter or a double click on a line."""

    def __init__(
        self, id: str | None = None, classes: str | None = None, *, ruled: bool = False
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.items: list[Line] = []
        self.cursor = 0
        self.title: Line = ()
        self.note: Line = ()
        self._ruled = int(ruled)
        self._first = 0

    def offer(self, items: Sequence[Line], cursor: int | None = None) -> None:
        """Replace the lines. The cursor stays unless one is given."""
        if len(items) != len(self.items):
            self.refresh(layout=self.grows)  # only as many are drawn as there is room for
        self.items = list(items)
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, len(self.items) - 1))
        self._draw()

    def caption(self, title: Line, note: Line = ()) -> None:
        """Set the words in the rule above the lines."""
        self.title, self.note = title, note
        self._draw()

    @property
    def room(self) -> int:
        """The number of visible lines."""
        return max(1, self.size.height - self._ruled) if self.size.height else len(self.items)

    def _draw(self) -> None:
        room = self.room
        last = len(self.items) - room  # no empty line at the end while lines above are hidden
        self._first = max(0, min(max(self._first, self.cursor - room + 1), self.cursor, last))
        lines: list[Line] = []
        if self._ruled:
            below = len(self.items) - self._first - room
            more = [Span(f"{', ' if self.note else ''}+{below} below", "dim")] if below > 0 else []
            width = self.size.width or 80
            lines.append(rule(width, self.title, [*self.note, *more], heavy=self.has_focus))
        for index, line in enumerate(self.items[self._first : self._first + room], self._first):
            if index != self.cursor:
                lines.append([Span(" "), *line])
            elif self.has_focus:
                lines.append(barred_line([Span("›", "strong"), *line]))
            else:
                lines.append([Span("›", "dim"), *line])
        self.show(lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.items) + self._ruled

    def on_resize(self, event: Resize) -> None:
        self._draw()

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def action_move(self, step: int) -> None:
        """Move the cursor, stopping at the ends."""
        target = max(0, min(self.cursor + step, len(self.items) - 1))
        if target != self.cursor:
            self.cursor = target
            self._draw()
            self.post_message(self.Moved(self))

    def action_end(self, side: int) -> None:
        """Move to the first or the last line."""
        self.action_move(side * len(self.items))

    def action_page(self, share: float) -> None:
        """Move by a page, or a part of one."""
        self.action_move(int(share * self.room) or (1 if share > 0 else -1))

    def action_choose(self) -> None:
        """Choose the line under the cursor."""
        if self.items:
            self.post_message(self.Chosen(self))

    async def on_click(self, event: Click) -> None:
        row = self._first + event.y - self._ruled
        if event.y >= self._ruled and row < len(self.items):
            event.stop()
            self.action_move(row - self.cursor)
            if event.chain > 1:
                self.action_choose()


class Scroll(VerticalScroll):
    """Scrolls as Textual's class does, and by letter keys too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.up", "scroll_up"),
        move("move.down", "scroll_down"),
        move("move.first", "scroll_home"),
        move("move.last", "scroll_end"),
        move("move.page.up", "page_up"),
        move("move.page.down", "page_down"),
        move("move.half.up", "half(-1)"),
        move("move.half.down", "half(1)"),
    ]

    def action_half(self, step: int) -> None:
        """Scroll by half a page."""
        self.scroll_relative(y=step * max(1, self.size.height // 2), animate=False)


class Choice(LineBox, can_focus=True):
    """One line; left and right choose, Enter submits the whole form."""

    DEFAULT_CSS = "Choice { height: 1; width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.left", "side(-1)", "word before"),
        move("move.right", "side(1)", "next word"),
        bind("enter", "take", "submit", "Submit the form."),
    ]

    class Changed(Message):
        """The reader has chosen another word."""

        def __init__(self, choice: "Choice") -> None:
            super().__init__()
            self.choice = choice

        @property
        def control(self) -> "Choice":
            return self.choice

    class Taken(Changed):
        """Enter."""

    def __init__(self, words: Sequence[str], id: str, note: str = "") -> None:
        super().__init__(id=id)
        self._words, self._note = words, note
        self.at = 0

    @property
    def value(self) -> str:
        """The chosen word."""
        return self._words[self.at]

    def choose(self, word: str) -> None:
        """Choose a word without posting a message."""
        self.at = self._words.index(word)
        self._draw()

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        line: list[Span] = []
        for number, word in enumerate(self._words):
            chosen = number == self.at
            style = "*text" if chosen and self.has_focus else "text" if chosen else "dim"
            line += [Span(f"({'x' if chosen else ' '}) {word}", style), Span("  ")]
        self.show([[*line, Span(self._note, "dim")]])

    def watch_has_focus(self, value: bool) -> None:
        super().watch_has_focus(value)
        self._draw()

    def _go(self, at: int) -> None:
        at = max(0, min(at, len(self._words) - 1))
        if at != self.at:
            self.at = at
            self._draw()
            self.post_message(self.Changed(self))

    def action_side(self, step: int) -> None:
        """Move to the word at the left or right."""
        self._go(self.at + step)

    def action_take(self) -> None:
        """Submit the form."""
        self.post_message(self.Taken(self))

    async def on_click(self, event: Click) -> None:
        x = event.x
        for number, word in enumerate(self._words):
            x -= len(word) + 6
            if x < 0:
                event.stop()
                self._go(number)
                return
