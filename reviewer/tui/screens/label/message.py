"""One final message, blind, answered criterion by criterion."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Container, Horizontal
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.labels.api import ItemEvidence, LabelItem
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.label import view as view
from reviewer.tui.screens.label.screen import LABEL_KEYS, LabelScreen, working
from reviewer.tui.settings.keys import bind, digits, scrolling
from reviewer.tui.views.labels import alike, blocks, done_blocks
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Block, Line, Span
from reviewer.tui.widgets.textview import Passage

BESIDE = 160
"""Columns from which the events are shown next to the message; with fewer they are below it."""


class Pane(LineBox):
    """Lines that are drawn for the pane's size, which is known only after layout."""

    def on_resize(self) -> None:
        screen = self.screen
        assert isinstance(screen, LabelMessageScreen)
        screen.call_later(screen.while_there(screen.redraw))


class LabelMessageScreen(LabelScreen):
    """A digit answers the criterion with the cursor and goes to the next one without an answer."""

    KIND = "message"
    ABOUT = (
        "You are asked: how good is this message for this customer, by each criterion?",
        "Of a set about users a conversation is shown: does its user keep to what it is told?",
        "A digit answers the criterion with the cursor; after the last one, Enter.",
        "Text after ┊ is quoted: no line of it is the program's.",
    )
    NUMBERS = "answer the criterion"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-9", "answer", "screen.nothing"),
        ("0", "clear", "screen.clear_mark"),
        ("jk", "criterion", "screen.read(1)"),
        ("e", "evidence", "screen.evidence"),
        ("Enter", "save", "screen.save"),
        ("u", "undo", "screen.undo"),
        ("!", "flag", "screen.flag"),
        ("-", "skip", "screen.skip"),
        ("?", "help", "app.explain"),
        ("w", "note", "screen.note"),
        ("tab", "read", "screen.turn"),
        ("c", "pairs", "screen.other_kind"),
        ("Q", "queue", "app.go('queue')"),
    )
    SIZED = ("request",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *digits("numbered"),
        bind("0", "clear_mark"),
        *LABEL_KEYS,
        bind("tab", "turn", "message, evidence, request", "What j and k move in."),
        *scrolling(),
    ]
    CSS = """
    LabelMessageScreen #request { height: 3; }
    LabelMessageScreen.-deep #request { height: 4; }
    LabelMessageScreen #sides { height: 1fr; }
    LabelMessageScreen #criteria { width: 48%; max-width: 72; height: 1fr; }
    LabelMessageScreen.-tall #request { height: 5; }
    LabelMessageScreen #answers { height: 3; }
    LabelMessageScreen #texts { height: 1fr; layout: vertical; }
    LabelMessageScreen.-beside #texts { layout: horizontal; }
    LabelMessageScreen.-beside #message, LabelMessageScreen.-beside #done { height: 1fr; }
    LabelMessageScreen.-beside #criteria { width: 36%; }
    """

    _at = 0
    _turned = "criteria"

    def work(self) -> Iterable[Widget]:
        yield working(Passage(id="request"))
        texts = Container(Passage(id="message"), Passage(id="done"), id="texts")
        yield working(Horizontal(texts, Pane(id="criteria"), id="sides"))
        yield working(LineBox(id="answers"))

    def _passage(self, name: str) -> Passage:
        return self.query_one(f"#{name}", Passage)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 32, "-tall")
        self.set_class(event.size.width >= BESIDE, "-beside")
        self._passage("done").join(event.size.width >= BESIDE)
        self._deepen()
        super().on_resize(event)

    # what is shown -----------------------------------------------------------------------------

    def show_texts(self, item: LabelItem) -> None:
        self._at = view.first_open(item, self.labeling.draft) or 0
        self._turn("criteria")
        self._deepen()
        request = item.user_request
        self._passage("request").show(
            [Block(request, quoted=True)], view.request_title(item), alike(request)
        )
        what = "conversation: judge its user" if item.about else "final message"
        title = [Span(what, "strong")]
        self._passage("message").show(blocks(item.message), title, alike(item.message))

    def show_evidence(self, found: ItemEvidence | None) -> None:
        title = [Span("what was done", "strong")]
        blocks = done_blocks(None if found is None else found.left)
        self._passage("done").show(blocks, title, [Span("masked", "dim")])

    def evidence_turned(self) -> None:
        if self._turned == "done":
            self._turn("criteria")
        self.redraw()

    def draw_marks(self, item: LabelItem) -> None:
        pane, width = self.query_one("#criteria", LineBox), self.columns
        active = self._turned == "criteria"
        size = pane.size
        pane.show(
            view.pane(
                item, self.labeling.draft, self._at, size.width, max(1, size.height), active=active
            )
        )
        lines: list[Line] = [[Span("─" * width, "rule")]]
        lines += [
            view.progress_line(item, self.labeling.spent, width),
            view.note_line(self.labeling.draft, flag=True),
        ]
        self.query_one("#answers", LineBox).show(lines)

    def hints(self) -> Iterable[Hint]:
        """Return the hints, with saving first once every criterion is answered."""
        hints = list(super().hints())
        if (
            self.labeling.item is not None
            and view.first_open(self.labeling.item, self.labeling.draft) is None
        ):
            hints.sort(key=lambda hint: hint[0] != "Enter")
        return hints

    def digits(self) -> int:
        if self.labeling.item is None or not self.labeling.item.criteria:
            return 9
        return max(1, len(view.levels(self.labeling.item.criteria[self._at])))

    # answering ---------------------------------------------------------------------------------

    def action_nothing(self) -> None:
        """Do nothing: answers are digits."""

    def action_numbered(self, value: int) -> None:
        """Answer the criterion with the cursor."""
        if self.labeling.item is not None and self.labeling.item.criteria:
            self.action_mark(self.labeling.item.criteria[self._at].number, value)

    def action_mark(self, number: int, value: int) -> None:
        """Answer a criterion, and go to the next one without an answer."""
        if not self.labeling.open or self.labeling.item is None:
            return
        at = next(n for n, each in enumerate(self.labeling.item.criteria) if each.number == number)
        criterion = self.labeling.item.criteria[at]
        allowed = view.levels(criterion)
        if value not in allowed:
            self.say(f"criterion {number} takes 1 to {allowed[-1]}" if allowed else "no scale")
            return
        self.labeling.draft.marks[criterion.criterion_id] = value
        following = view.first_open(self.labeling.item, self.labeling.draft, at)
        self._at = at if following is None else following
        self.redraw()

    def action_clear_mark(self) -> None:
        """Remove the answer to this criterion."""
        if self.labeling.open and self.labeling.item is not None and self.labeling.item.criteria:
            self.labeling.draft.marks.pop(self.labeling.item.criteria[self._at].criterion_id, None)
            self.redraw()

    def lacking(self) -> str:
        left = (
            view.first_open(self.labeling.item, self.labeling.draft)
            if self.labeling.item is not None
            else None
        )
        if left is None or self.labeling.item is None:
            return ""
        self._at = left
        self._turn("criteria")
        return f"criterion {self.labeling.item.criteria[left].number} has no answer yet"

    # moving ------------------------------------------------------------------------------------

    def action_turn(self) -> None:
        """Move to the message, to the events if they are open, to the request, and back."""
        done = ("done",) if self.shell.labeling.evidence else ()
        order = ("criteria", "message", *done, "request")
        self._turn(order[(order.index(self._turned) + 1) % len(order)])
        self.redraw()

    def _turn(self, name: str) -> None:
        self._turned = name
        for each in ("message", "done", "request"):
            self._passage(each).activate(each == name)

    @property
    def _read(self) -> Passage | None:
        return None if self._turned == "criteria" else self._passage(self._turned)

    def action_read(self, step: int) -> None:
        """Move to the next criterion; in a text, to the next row."""
        text = self._read
        if text is not None:
            text.action_move(step)
        elif self.labeling.item is not None and self.labeling.item.criteria:
            self._at = max(0, min(self._at + step, len(self.labeling.item.criteria) - 1))
            self.redraw()

    def action_read_page(self, pages: float) -> None:
        """Scroll the text by a page, or half of one."""
        (self._read or self._passage("message")).action_page(pages)

    def action_read_end(self, step: int) -> None:
        """Move to the first or last criterion; in a text, to its start or end."""
        text = self._read
        if text is not None:
            text.action_end(step)
        elif self.labeling.item is not None:
            self.action_read(step * len(self.labeling.item.criteria))

    def on_passage_wheeled(self, message: Passage.Wheeled) -> None:
        message.passage.to_row(message.passage.scroll_offset.y + message.rows)
