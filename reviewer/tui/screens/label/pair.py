"""Two final messages of one episode, side by side and blind: which is better?"""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.labels.api import Answer, ItemEvidence, LabelItem, Side
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.label import view as view
from reviewer.tui.screens.label.screen import LABEL_KEYS, LabelScreen, working
from reviewer.tui.settings.keys import bind, digits, move, scrolling
from reviewer.tui.views.labels import alike, blocks, done_blocks
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Block, Line, Span
from reviewer.tui.widgets.textview import Passage

SIDES: tuple[Side, ...] = ("left", "right")
WIDENED = ("", "done", "left", "right", "request")
"""The parts that tab shows over the full width, in order: the events if they are open, then the
texts; both sides again at the end."""
DONE = ("done-left", "done-right")


class LabelPairScreen(LabelScreen):
    """A winner and Enter are enough. Nothing is preselected."""

    KIND = "pair"
    ABOUT = (
        "You are asked: which of these two messages is better for this customer?",
        "A side and Enter are enough; a criterion's number says what decided it.",
        "Text after ┊ is quoted: no line of it is the program's.",
    )
    NUMBERS = "the criterion that decided"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("hl", "side", "screen.answer('left')"),
        ("t", "tie", "screen.answer('tie')"),
        ("b", "both bad", "screen.answer('both_bad')"),
        ("1-9", "criterion", "screen.numbered(1)"),
        ("e", "evidence", "screen.evidence"),
        ("Enter", "save", "screen.save"),
        ("u", "undo", "screen.undo"),
        ("-", "skip", "screen.skip"),
        ("?", "help", "app.explain"),
        ("w", "note", "screen.note"),
        ("!", "flag", "screen.flag"),
        ("jk", "scroll", "screen.read(1)"),
        ("tab", "widen", "screen.widen"),
        ("c", "messages", "screen.other_kind"),
        ("Q", "queue", "app.go('queue')"),
    )
    SIZED = ("request",)
    BINDINGS: ClassVar[list[BindingType]] = [
        move("move.left", "answer('left')", "Left is better", "The message on the left."),
        move("move.right", "answer('right')", "Right is better", "The message on the right."),
        bind("t", "answer('tie')", "neither is better: a tie"),
        bind("b", "answer('both_bad')", "both are bad"),
        *digits("numbered"),
        *LABEL_KEYS,
        bind(
            "tab",
            "widen",
            "one text over the full width",
            "What was done where it is open, Left, Right, request, both again.",
        ),
        *scrolling(),
    ]
    CSS = """
    LabelPairScreen #request { height: 3; }
    LabelPairScreen.-deep #request { height: 4; }
    LabelPairScreen #sides { height: 1fr; }
    LabelPairScreen.-tall #request { height: 5; }
    LabelPairScreen.-evidence #request { height: 2; }
    LabelPairScreen.-evidence #sides { height: 2fr; }
    LabelPairScreen.-left #done, LabelPairScreen.-right #done { display: none; }
    LabelPairScreen.-done #sides, LabelPairScreen.-request #done { display: none; }
    LabelPairScreen.-left #right, LabelPairScreen.-right #left { display: none; }
    LabelPairScreen.-request #sides { display: none; }
    LabelPairScreen.-request #request { height: 1fr; }
    """

    _row = 0
    _wide = ""

    def work(self) -> Iterable[Widget]:
        yield working(Passage(id="request"))
        yield working(Horizontal(Passage(id="left"), Passage(id="right", edge=True), id="sides"))
        yield Horizontal(Passage(id=DONE[0]), Passage(id=DONE[1], edge=True), id="done")
        yield working(LineBox(id="why"))
        yield working(LineBox(id="answers"))

    def _passage(self, name: str) -> Passage:
        return self.query_one(f"#{name}", Passage)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 32, "-tall")
        self._deepen()
        super().on_resize(event)

    # what is shown -----------------------------------------------------------------------------

    def show_texts(self, item: LabelItem) -> None:
        self._row = 0
        self._widen("")
        self._deepen()
        request = item.user_request
        self._passage("request").show(
            [Block(request, quoted=True)], view.request_title(item), alike(request)
        )
        for name, text in (("left", item.left), ("right", item.right)):
            title = [Span(view.SIDES[name], "strong")]
            self._passage(name).show(blocks(text), title, alike(text))

    def show_evidence(self, found: ItemEvidence | None) -> None:
        sides = (None, None) if found is None else (found.left, found.right)
        for name, side in zip(SIDES, sides, strict=True):
            title = [Span(f"what was done, {name}", "strong")]
            note = [Span("masked", "dim")]
            self._passage(f"done-{name}").show(done_blocks(side), title, note)

    def evidence_turned(self) -> None:
        if self._wide == "done":
            self._widen("")
        self._settle()

    def draw_marks(self, item: LabelItem) -> None:
        width = self.columns
        joint = None if self._wide else self._passage("right").region.x or width // 2
        why = view.criteria_lines(item, self.labeling.draft, width, joint)
        self.query_one("#why", LineBox).show(why)
        lines: list[Line] = [
            [Span("─" * width, "rule")],
            view.answer_line(self.labeling.draft, width),
        ]
        lines += [
            view.note_line(self.labeling.draft),
            view.progress_line(item, self.labeling.spent, width),
        ]
        self.query_one("#answers", LineBox).show(lines)

    def digits(self) -> int:
        return max(1, len(self.labeling.item.criteria)) if self.labeling.item is not None else 9

    # choosing ----------------------------------------------------------------------------------

    def action_answer(self, answer: Answer) -> None:
        """Choose a side, a tie, or both bad."""
        if self.labeling.open:
            self.labeling.draft.answer = answer
            self.redraw()

    def action_numbered(self, number: int) -> None:
        """Choose the criterion that decided: for the chosen side, for the other, for none."""
        if not self.labeling.open or self.labeling.item is None:
            return
        found = [each for each in self.labeling.item.criteria if each.number == number]
        if not found:
            self.say(f"there is no criterion {number}: they are numbered on the screen")
            return
        first, second = SIDES if self.labeling.draft.answer != "right" else SIDES[::-1]
        turn: dict[Side | None, Side | None] = {None: first, first: second, second: None}
        decided = self.labeling.draft.decided
        side = turn[decided.pop(found[0].criterion_id, None)]
        if side is not None:
            decided[found[0].criterion_id] = side
        self.redraw()

    def lacking(self) -> str:
        if self.labeling.draft.answer is None:
            return "choose a side first: h Left, l Right, t tie, b both bad"
        for each in self.labeling.item.criteria if self.labeling.item else ():
            if each.required and each.criterion_id not in self.labeling.draft.decided:
                return f"criterion {each.number} is needed: press {each.number} for a side"
        return ""

    # reading -----------------------------------------------------------------------------------

    def action_widen(self) -> None:
        """Show the left text over the full width, then the right one, the request, and both sides
        again."""
        if self.labeling.item is not None:
            opened = self.shell.labeling.evidence
            names = [name for name in WIDENED if opened or name != "done"]
            at = names.index(self._wide)
            self._row = 0
            self._widen(names[(at + 1) % len(names)])
            self.call_after_refresh(self.while_there(self._settle))

    def _widen(self, name: str) -> None:
        self._wide = name
        for each in WIDENED[1:]:
            self.set_class(each == name, f"-{each}")
        self._passage("request").activate(name == "request")
        for side in SIDES:
            self._passage(side).activate(name not in ("request", "done"))
        for each in DONE:
            self._passage(each).activate(name == "done")

    def _settle(self) -> None:
        self._show_from(self._row)
        self.redraw()

    @property
    def _reading(self) -> tuple[Passage, ...]:
        """The texts that scroll now; both sides scroll together."""
        names = {"": SIDES, "done": DONE}.get(self._wide, (self._wide,))
        return tuple(self._passage(name) for name in names)

    def _show_from(self, row: int) -> None:
        texts = self._reading
        self._row = max(0, min(row, max(text.last for text in texts)))
        for text in texts:
            text.to_row(min(self._row, text.last))

    def action_read(self, step: int) -> None:
        """Scroll both sides."""
        self._show_from(self._row + step)

    def action_read_page(self, pages: float) -> None:
        """Scroll both sides by a page, or half of one."""
        self._show_from(self._row + int(pages * self._reading[0].body))

    def action_read_end(self, step: int) -> None:
        """Scroll to the start, or to the end of the longer text."""
        self._show_from(0 if step < 0 else max(text.last for text in self._reading))

    def on_passage_wheeled(self, message: Passage.Wheeled) -> None:
        if message.passage in self._reading:
            self._show_from(self._row + message.rows)
        else:
            passage = message.passage
            passage.to_row(passage.scroll_offset.y + message.rows)
