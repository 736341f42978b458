"""A question with a few answers, the harmless one chosen: what becomes of a run."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.desk.judge.api import JudgeRunView
from reviewer.desk.runs.api import RunView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, choosing, hint_line
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Span, pad
from reviewer.tui.widgets.words import plural


class QuestionScreen(Dialog[str | None]):
    """Answers the chosen word; None at Esc. `choices` are (answer, words), the harmless first."""

    NAME = "question"
    ABOUT = ("Nothing is decided until you choose: Esc leaves everything as it is.",)
    CSS = """
    QuestionScreen #box { width: 72; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it as it is"),
        bind("q", "dismiss(None)", "leave it as it is"),
    ]

    def __init__(
        self, title: str, facts: Sequence[str], choices: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__()
        self._title, self._facts, self._choices = title, facts, choices

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield Menu(id="choices")
            yield LineBox(id="end")

    def on_mount(self) -> None:
        self.headed(self._title)
        facts = [[Span(f" {visible_line(fact)}")] for fact in self._facts]
        self.query_one("#facts", LineBox).show([[], *facts, []])
        menu = self.query_one(Menu)
        menu.offer([[Span(f" {pad(words, 64)}")] for _, words in self._choices], 0)
        self.query_one("#end", LineBox).show([[], hint_line(choosing("take it", "leave it"), 68)])
        menu.focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._choices[message.menu.cursor][0])


def leaving(views: Sequence[RunView]) -> QuestionScreen:
    """What becomes of the runs at work when the reader quits."""
    at_work = sum(len(view.running) for view in views)
    waiting = sum(len(view.pending) for view in views)
    names = ", ".join(view.candidate_id for view in views)
    facts = (
        f"{plural(len(views), 'run')} at work: {names}",
        f"{plural(at_work, 'attempt')} at work, {waiting:,} not begun. What has finished is kept.",
        worded("Ctrl+Q again quits now: what is at work is abandoned, {run} makes it anew."),
    )
    return QuestionScreen(
        "a run goes on",
        facts,
        (
            ("stay", "stay here"),
            ("finish", worded("finish the attempts at work, then quit ({run} takes up the rest)")),
            ("abandon", "abandon the attempts at work and quit now"),
        ),
    )


def leaving_judge(view: JudgeRunView) -> QuestionScreen:
    """What becomes of a judge at work when the reader quits."""
    facts = (
        f"{view.judge_id} is at work: {view.done:,} of {plural(view.calls, 'call')} answered.",
        "What has been answered is kept and not asked, or paid for, again.",
        "Ctrl+Q again quits now: answers under way are lost.",
    )
    return QuestionScreen(
        "a judge is at work",
        facts,
        (("stay", "stay here"), ("stop", "make no more calls, and quit when those made answer")),
    )


def abandoning(view: RunView) -> QuestionScreen:
    """Whether the attempts at work in a run that is stopping are killed."""
    facts = (
        f"{view.candidate_id} is stopping: {plural(len(view.running), 'attempt')} at work.",
        worded("What is abandoned leaves no trace; {run} runs it anew."),
    )
    return QuestionScreen(
        "abandon what is at work",
        facts,
        (("wait", "wait for them to finish"), ("abandon", "abandon them")),
    )
