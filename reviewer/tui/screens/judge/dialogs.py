"""The judge's dialogs: ordering its calls at a known price, and one judged pair in full."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import JudgeDetail, JudgeOrder, JudgePairRow, JudgePlan, JudgeView
from reviewer.desk.labels.api import LabelKind
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line, pressing
from reviewer.tui.screens.judge.screen import OUTCOMES
from reviewer.tui.settings.keys import bind
from reviewer.tui.views.judge import cost, plan_lines
from reviewer.tui.views.labels import alike, blocks
from reviewer.tui.widgets.chrome import Choice, Field, LineBox, Menu
from reviewer.tui.widgets.lines import Block, Line, Span, pad
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

KINDS: dict[str, tuple[LabelKind, ...]] = {
    "pairs": ("pair",),
    "messages": ("message",),
    "both": ("pair", "message"),
}
KEY = "OPENAI_API_KEY"
MOST = 64
"""The most calls at a time, and the most repeats."""


class JudgeOrderScreen(Dialog[bool | None]):
    """Nothing is sent before the button is pressed, and the button names the cost."""

    NAME = "judge"
    ABOUT = (
        "Say which endpoint and model; the calls and their price are computed first.",
        "The key itself is read from the environment: give the variable's name.",
    )
    ENTER = "next field; the chosen button"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("tab", "field", "tab"),
        pressing("← →", "choose", "right"),
        pressing("Enter", "next, the button", "enter"),
        pressing("Esc", "ask nothing", "escape"),
    )
    CSS = """
    JudgeOrderScreen #box { width: 76; max-width: 100%; }
    JudgeOrderScreen Input { width: 1fr; }
    JudgeOrderScreen #plan { height: 4; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [bind("escape", "dismiss(None)", "ask nothing")]

    def __init__(self, suite_id: str, candidate_id: str, model: str) -> None:
        super().__init__()
        self._suite_id, self._candidate_id, self._model = suite_id, candidate_id, model
        self._planned: tuple[JudgeOrder, JudgePlan] | None = None
        self._starting = False

    def compose(self) -> ComposeResult:
        last = self.shell.judging.order
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="gap")
            url = Input(last.base_url if last else "", id="url", max_length=2000)
            url.placeholder = "https://…/v1 of an OpenAI-compatible endpoint"
            yield Field("base URL", url, 14)
            model = Input(last.model if last else self._model, id="model", max_length=200)
            yield Field("model", model, 14)
            yield Field("key in $", Input(last.api_key_env if last else KEY, id="key"), 14)
            yield Field("what", Choice(tuple(KINDS), "kinds"), 14)
            yield Field("repeats", Input("1", id="repeats", max_length=3), 14)
            yield Field("at a time", Input("4", id="jobs", max_length=3), 14)
            yield LineBox(id="plan")
            yield Menu(id="buttons")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed("run the judge")
        self.query_one("#gap", LineBox).show([[]])
        self.query_one("#keys", LineBox).show([hint_line(self.HINTS, 72)])
        self.query_one("#url").focus()
        self._plan()

    # the price ---------------------------------------------------------------------------------

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def _number(self, name: str, label: str) -> int:
        typed = self._value(name)
        if not (typed.isascii() and typed.isdigit() and 1 <= int(typed) <= MOST):
            raise ValueError(f"{label}: a whole number from 1 to {MOST} is needed")
        return int(typed)

    def _order(self) -> JudgeOrder:
        """Return the order as typed. Raises ValueError with the words to show."""
        return JudgeOrder(
            suite_id=self._suite_id,
            candidate_id=self._candidate_id,
            kinds=KINDS[self.query_one("#kinds", Choice).value],
            base_url=self._value("url"),
            model=self._value("model"),
            api_key_env=self._value("key"),
            repeats=self._number("repeats", "repeats"),
            jobs=self._number("jobs", "at a time"),
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        self._plan()

    def on_choice_changed(self, message: Choice.Changed) -> None:
        self._plan()

    def _plan(self) -> None:
        """Estimate the calls and the cost of the order; the button names them only for this
        order."""
        self._planned = None
        self._offer()
        try:
            order = self._order()
        except ValueError as error:
            self._tell([[Span(f" ✗ {error}", "fail")]])
            return
        if not (order.base_url and order.model):
            self._tell([[Span(" base URL and model first; nothing is sent before the button")]])
            return
        self._tell([[Span(" reckoning…", "dim")]])
        desk = self.shell.desk

        def take(plan: JudgePlan) -> None:
            self._planned = order, plan
            self._tell(plan_lines(plan))
            self._offer()

        self.ask("plan", lambda: desk.judge.plan(order), take, self._refused)

    def _tell(self, lines: list[Line]) -> None:
        self.query_one("#plan", LineBox).show([[], *lines])

    def _refused(self, error: DeskError) -> None:
        self._starting = False
        ways: list[Line] = [[Span(f"   {visible_line(way)}", "dim")] for way in error.ways_out[:1]]
        self._tell([[Span(f" ✗ {visible_line(error.text)}", "fail")], *ways])

    def _offer(self) -> None:
        ready = self._planned is not None and not self._planned[1].problem
        ask = [Span("  [ Ask the judge ]", "dim")]
        if self._planned is not None and ready:
            plan = self._planned[1]
            price = cost(plan.cost_usd)
            ask = [Span(f"  [ Ask the judge: {plural(plan.calls, 'call')}, {price} ]", "strong")]
        self.query_one("#buttons", Menu).offer([[Span("  [ Not now ]", "strong")], ask])

    # asking ------------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.focus_next()

    def on_choice_taken(self, message: Choice.Taken) -> None:
        message.stop()
        self.focus_next()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.cursor == 0:
            self.dismiss(None)
        elif self._planned is None or self._planned[1].problem or self._starting:
            return
        else:
            self._starting = True
            self._tell([[Span(" starting…", "dim")]])
            self.shell.judging.start(self._planned[0], self._begun, self._refused)

    def _begun(self) -> None:
        if self.is_current:
            self.dismiss(True)


class JudgePairScreen(Dialog[None]):
    """For reading only: nothing is decided here."""

    NAME = "pair"
    ABOUT = (
        "The messages are in the forward order; tab goes through the texts.",
        "Text after ┊ is quoted: no line of it is the program's.",
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
