"""Short dialogs: a choice from a list, one line of text, a question with a few answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.judge.api import JudgeRunView
from reviewer.desk.runs.api import RunView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Dialog, Hint, choosing, hint_line, pressing
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.widgets.chrome import Field, LineBox, Menu
from reviewer.tui.widgets.lines import Span, middle, pad
from reviewer.tui.widgets.opening import Veiled
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.reports.api import ExportedReport


class ChooseSide(Dialog[tuple[str, str] | None]):
    """Answers with the (baseline, candidate) of the chosen line, None at Esc."""

    NAME = "choose"
    ABOUT = ("Each line is a comparison: a candidate and its baseline.",)
    CSS = """
    ChooseSide #box { width: 72; max-width: 100%; height: auto; max-height: 80%; }
    ChooseSide #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "cancel"),
        bind("q", "dismiss(None)", "cancel"),
    ]

    def __init__(self, title: str, offers: Sequence[tuple[str, tuple[str, str]]]) -> None:
        super().__init__()
        self._title, self._offers = title, offers

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="list")
            yield LineBox(id="words")

    def on_mount(self) -> None:
        self.headed(self._title)
        self.query_one(Menu).offer(
            [[Span(" " + middle(visible_line(words), 66))] for words, _ in self._offers]
        )
        self.query_one("#words", LineBox).show([[], hint_line(choosing("choose", "cancel"), 68)])
        self.query_one(Menu).focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._offers[message.menu.cursor][1])


FORMATS = ("json", "md", "html", "junit")


class PromptScreen(Veiled[str | None]):
    """Answers with the text at Enter, None at Esc."""

    NAME = "prompt"
    ENTER = "accept the text"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "accept", "enter"),
        pressing("Esc", "cancel", "escape"),
    )
    CSS = """
    PromptScreen { align: left bottom; background: $background 0%; }
    PromptScreen #keys { height: 1; }
    PromptScreen Input { width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "cancel", "Cancel; nothing changes."),
    ]

    def __init__(self, label: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._label, self._value, self._hint = label, value, hint

    def compose(self) -> ComposeResult:
        yield from self.above()
        typed = Input(self._value, placeholder=self._hint, select_on_focus=False)
        yield Field(f"{self._label}: ", typed, len(self._label) + 3, "strong")
        yield LineBox(id="keys")

    def above(self) -> ComposeResult:
        """Yield the widgets above the box."""
        yield from ()

    def on_mount(self) -> None:
        self.query_one("#keys", LineBox).show([hint_line(self.HINTS, self.app.size.width)])
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


def export_to(screen: DeskScreen, suite_id: str, candidate_id: str) -> None:
    """Ask for a folder and write the report and its renderings there."""

    def write(folder: str | None) -> None:
        if folder:
            screen.say("exporting…")
            desk = screen.shell.desk
            screen.ask(
                "export",
                lambda: desk.reports.export(suite_id, candidate_id, folder, FORMATS),
                written,
            )

    def written(done: "ExportedReport") -> None:
        folder = done.files[0][0].rpartition("/")[0] if done.files else "nowhere"
        count = plural(len(done.files), "file")
        told = f"exported {count} to {folder}/, exit code would be {done.exit_code}"
        if done.left:
            names = ", ".join(path.rpartition("/")[2] for path in done.left)
            screen.say(
                visible_line(f"{told}; of another report, left there: {names}"), "not_measured"
            )
        else:
            screen.say(visible_line(told), "pass")

    screen.app.push_screen(
        PromptScreen("export to", release_folder(candidate_id), "a folder"), write
    )


def release_folder(candidate_id: str) -> str:
    """Return the folder that is offered for the export of a candidate's report."""
    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in candidate_id)
    return f"release/{safe}"


class QuestionScreen(Dialog[str | None]):
    """Answers with the chosen word; None at Esc. `choices` are (answer, words), the harmless one
    first."""

    NAME = "question"
    ABOUT = ("Nothing happens until you choose: Esc changes nothing.",)
    KEYS: ClassVar[tuple[Hint, ...]] = choosing("choose", "cancel")
    CSS = """
    QuestionScreen #box { width: 72; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "change nothing"),
        bind("q", "dismiss(None)", "change nothing"),
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
        self.query_one("#end", LineBox).show([[], hint_line(self.KEYS, 68)])
        menu.focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._choices[message.menu.cursor][0])


class QuitScreen(QuestionScreen):
    """Asks whether to quit: `y` chooses the second answer, which stops at a safe point; `n`
    stays."""

    NAME = "quit"
    CSS = "QuitScreen #box { width: 72; max-width: 100%; }"
    KEYS = (
        *choosing("choose", "stay"),
        ("{answer.yes}", "quit", "screen.answer(True)"),
        ("{answer.no}", "stay", "screen.answer(False)"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "y", "answer(True)", "quit", show=False, id="answer.yes",
            tooltip="Quit; running work is stopped at a safe point first.",
        ),
        Binding("n", "answer(False)", "stay", show=False, id="answer.no", tooltip="Stay here."),
    ]  # fmt: skip

    def __init__(
        self, title: str, facts: Sequence[str], choices: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__(title, facts, choices)
        self._yes = choices[1][0]

    def action_answer(self, yes: bool) -> None:
        """Quit, or stay."""
        self.dismiss(self._yes if yes else "stay")


def leaving_idle() -> QuestionScreen:
    """Return the question whether the reader quits while no work is under way."""
    facts = ("Nothing is running here. Everything saved is kept.",)
    return QuitScreen("quit?", facts, (("stay", "stay here"), ("quit", "quit")))


def leaving(views: Sequence[RunView]) -> QuestionScreen:
    """Return the question about the runs at work when the reader quits."""
    at_work = sum(len(view.running) for view in views)
    waiting = sum(len(view.pending) for view in views)
    names = ", ".join(view.candidate_id for view in views)
    facts = (
        f"{plural(len(views), 'run')} in progress: {names}",
        f"{plural(at_work, 'attempt')} running, {waiting:,} waiting. What has finished is kept.",
        worded("Ctrl+Q again quits now: running attempts are abandoned, {run} makes them again."),
    )
    return QuitScreen(
        "a run is in progress",
        facts,
        (
            ("stay", "stay here"),
            ("finish", worded("finish the running attempts, then quit ({run} makes the rest)")),
            ("abandon", "abandon the running attempts and quit now"),
        ),
    )


def leaving_judge(view: JudgeRunView) -> QuestionScreen:
    """Return the question about a judge at work when the reader quits."""
    facts = (
        f"{view.judge_id} is running: {view.done:,} of {plural(view.calls, 'call')} answered.",
        "What has been answered is kept and not asked, or paid for, again.",
        "Ctrl+Q again quits now: answers under way are lost.",
    )
    return QuitScreen(
        "a judge is running",
        facts,
        (("stay", "stay here"), ("stop", "make no more calls, and quit when those made answer")),
    )


def abandoning(view: RunView) -> QuestionScreen:
    """Return the question whether to kill the attempts at work in a run that is stopping."""
    facts = (
        f"{view.candidate_id} is stopping: {plural(len(view.running), 'attempt')} running.",
        worded("What is abandoned leaves no trace; {run} runs it again."),
    )
    return QuestionScreen(
        "abandon the running attempts",
        facts,
        (("wait", "wait for them to finish"), ("abandon", "abandon them")),
    )
