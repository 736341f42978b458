"""The dialog in which a person plays the user of an episode."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunView, TurnEnd, TurnView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, hint_line, pressing
from reviewer.tui.settings.keys import bind, move
from reviewer.tui.views.jobs import AT_WORK
from reviewer.tui.widgets.chrome import Choice, Field, LineBox
from reviewer.tui.widgets.lines import Block, Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

THEN: tuple[TurnEnd, ...] = ("go on", "satisfied", "give up")
_TELL = {"freely": "say it at any time", "asked": "only when asked", "never": "never say it"}


class TalkScreen(Dialog[None]):
    """The turn that waits, the oldest first; open while its attempt goes on."""

    NAME = "talk"
    ABOUT = (
        "You play the user. Say what such a user would say, from what you know and nothing else.",
        "The time you take is not the agent's. What you say wrongly is counted by rule.",
        "A talk ends where you are satisfied or give up; one that you leave counts for nothing.",
    )
    ENTER = "send the message, and do what is chosen"
    CSS = """
    TalkScreen #box { width: 84; max-width: 100%; height: 24; max-height: 96%;
                      border: heavy $match; }
    TalkScreen TextView { height: 1fr; }
    TalkScreen Input { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "leave the talk"),
        move("move.page.down", "turn(1)", "more of the talk"),
        move("move.page.up", "turn(-1)", "the talk before"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._now: tuple[RunView, TurnView] | None = None
        self._warned = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield TextView(id="talk")
            yield Field("message", Input(id="message"), 9)
            yield Field("then", Choice(THEN, "then"), 9)
            yield LineBox(id="state")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        hints = (
            pressing("Enter", "send", "enter"),
            pressing("tab", "field", "tab"),
            pressing("PgDn", "more of the talk", "pagedown"),
            pressing("Esc", "leave the talk", "escape"),
        )
        self.query_one("#keys", LineBox).show([hint_line(hints, 76)])
        self.query_one("#message", Input).focus()

    def on_screen_resume(self) -> None:
        self.runs_changed()

    def runs_changed(self) -> None:
        """Show the turn that waits; stay while the attempt of the shown turn is at work."""
        waiting = self.shell.live.turns
        shown = _key(self._now)
        if any(_key(each) == shown for each in waiting):
            return
        mine = [each for each in waiting if self._now and each[1].trace_id == self._now[1].trace_id]
        if mine or (waiting and not self._going_on()):
            self._now = (mine or waiting)[0]
            self._show(self._now[1])
        elif not self._going_on():
            self.dismiss(None)
        else:
            self._say("the agent is working", "dim")

    def _going_on(self) -> bool:
        if self._now is None:
            return False
        run, turn = self._now
        place = turn.trace_id.split("/")[-2:]
        return any(
            view.number == run.number and view.state in AT_WORK
            and any([episode, str(attempt)] == place for episode, attempt in view.running)
            for view in self.shell.live.views
        )  # fmt: skip

    def _show(self, turn: TurnView) -> None:
        self._warned = ""
        self.headed(f"you play the user of {turn.trace_id}")
        self.query_one(TextView).show(
            _blocks(turn), [Span("the talk, and what you know", "strong")]
        )
        message = self.query_one("#message", Input)
        message.value = ""
        message.focus()
        self.query_one("#then", Choice).choose("go on")
        left = f"{plural(turn.left, 'message')} left"
        self._say(f"the agent asks you to confirm; {left}" if turn.confirms else left, "dim")

    def _say(self, text: str, style: str) -> None:
        self.query_one("#state", LineBox).show([[Span(f" {text}", style)]])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._send()

    def on_choice_taken(self, _: Choice.Taken) -> None:
        self._send()

    def _send(self) -> None:
        waiting = [_key(each) for each in self.shell.live.turns]
        if self._now is None or _key(self._now) not in waiting:
            self._say("the agent is working: there is nothing to answer yet", "dim")
            return
        message = self.query_one("#message", Input).value
        then: TurnEnd = THEN[self.query_one("#then", Choice).at]
        if then == "satisfied" and self._now[1].confirms and self._warned != "end":
            self._warned = "end"
            self._say("the agent waits for your answer and could not act on it: Enter ends", "fail")
            return
        try:
            self.shell.live.say(*self._now, message, then)
        except DeskError as error:
            self._say(visible_line(error.line), "fail")

    def action_leave(self) -> None:
        """Leave the talk after a second press; where nothing waits, only close the dialog."""
        waiting = [_key(each) for each in self.shell.live.turns]
        if self._now is None or _key(self._now) not in waiting:
            self.dismiss(None)
        elif self._warned != "leave":
            self._warned = "leave"
            self._say("the attempt will count for nothing: Esc again leaves the talk", "fail")
        else:
            self.shell.live.leave_talk(*self._now)

    def action_turn(self, pages: int) -> None:
        """Turn the pages of the talk, whichever field is in focus."""
        text = self.query_one(TextView)
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)


def _blocks(turn: TurnView) -> list[Block]:
    """Return the agent's last message, the person's part, then the earlier messages."""
    said = [
        Block(text, "text", [Span("the agent " if by_agent else "you ", "strong")], by_agent)
        for by_agent, text in turn.talk
    ]
    begin = Block("You begin: write your first message to the agent.", "dim")
    card = [
        Block(text, "text", [Span(f"{name} ", "dim")])
        for name, text in (
            ("you are", turn.persona),
            ("you talk", turn.style),
            *(("you want", goal) for goal in turn.goals),
            *(
                (f"you know {visible_line(name)} ({_TELL[tell]})", value)
                for name, value, tell in turn.facts
            ),
        )
        if text
    ]
    blank = Block("")
    before = [blank, Block("before", "dim"), *said[:-1]] if said[:-1] else []
    return [*(said[-1:] or [begin]), blank, *card, *before]


def _key(turn: tuple[RunView, TurnView] | None) -> tuple[int, int] | None:
    return (turn[0].number, turn[1].number) if turn else None
