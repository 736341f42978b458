"""One judged pair whole: both messages, what people said, what the judge said in either order."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical

from reviewer.desk.judge.api import JudgeDetail, JudgePairRow, JudgeView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, hint_line
from reviewer.tui.screens.judge.pairs import OUTCOMES
from reviewer.tui.settings.keys import bind
from reviewer.tui.views.messages import alike, blocks
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Span, pad
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.wrap import Block


class JudgePairScreen(Dialog[None]):
    """For reading only: nothing is decided here."""

    NAME = "pair"
    ABOUT = (
        "The messages stand as the forward order shows them; tab goes through the texts.",
        "What stands behind ┊ is quoted: no line of it is the program's.",
    )
    CSS = """
    JudgePairScreen #box { width: 94%; max-width: 160; height: 92%; }
    JudgePairScreen #sides { height: 1fr; }
    JudgePairScreen #words { height: 8; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "close"),
        bind("q", "dismiss(None)", "close"),
        bind("enter", "dismiss(None)", "close"),
    ]

    def __init__(self, row: JudgePairRow, detail: JudgeDetail, found: JudgeView) -> None:
        super().__init__()
        self._row, self._detail, self._found = row, detail, found

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield Horizontal(TextView(id="left"), TextView(id="right", edge=True), id="sides")
            yield TextView(id="words")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        row, detail = self._row, self._detail
        self.headed(f"pair {row.pair:,}")
        words, style = OUTCOMES[row.outcome]
        facts = [
            Span(f" {visible_line(row.episode_id)}", "strong"),
            Span(f"   people {row.people}   forward {row.forward}   swapped {row.swapped}   "),
            Span(words, style),
        ]
        names = f" A is {visible_line(self._found.a_name)}, B is {visible_line(self._found.b_name)}"
        self.query_one("#facts", LineBox).show([facts, [Span(names, "dim")]])
        for name, text in (("left", detail.left), ("right", detail.right)):
            title = [Span(f"{name.title()}, forward order", "strong")]
            self.query_one(f"#{name}", TextView).show(blocks(text), title, alike(text))
        said = [
            Block(text or "nothing kept", head=[Span(pad(order, 9), "dim")], quoted=bool(text))
            for order, text in (("forward", detail.forward), ("swapped", detail.swapped))
        ]
        self.query_one("#words", TextView).show(said, [Span("what the judge said", "strong")])
        hints = (
            ("jk", "scroll", "focused.move(1)"),
            ("tab", "region", "app.focus_next"),
            ("Esc", "close", "screen.dismiss(None)"),
        )
        self.query_one("#keys", LineBox).show([hint_line(hints, 60)])
        self.query_one("#left").focus()
