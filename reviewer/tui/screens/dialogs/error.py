"""An error in full: the fact, what it stops, what was not harmed, the ways out by number."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.desk.errors import DeskError
from reviewer.desk.runs.api import RunView
from reviewer.desk.views import SuiteInfo
from reviewer.exit_codes import ExitCode
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Document, Line, Span
from reviewer.tui.widgets.words import plural

WIDTH = 70
FRAME = 8
"""Lines of the box other than facts and ways out."""


class ErrorScreen(Dialog[None]):
    """Shows sentences and ways out that the reader can take, never a traceback."""

    NAME = "error"
    ABOUT = (
        "A check failed. The box says which, what it stops and what was not",
        "harmed. The first way out is the safe one; Enter copies it.",
    )
    ENTER = "copy this way out"
    NUMBERS = "that way out"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-9", "choose", "screen.numbered(1)"),
        ("Enter", "copy it", "screen.copy_way"),
        ("r", "check again", "screen.again"),
        ("y", "copy all", "screen.copy_all"),
        ("Esc", "close", "screen.dismiss(None)"),
    )
    CSS = """
    ErrorScreen #box { width: 74; max-width: 100%; border: heavy $gate-fail; }
    ErrorScreen #ways { height: auto; max-height: 9; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("r", "again", "check again", "Check again."),
        bind("y", "copy_all", "copy all of it"),
        bind("escape", "dismiss(None)", "close, stay read only"),
        bind("q", "dismiss(None)", "close, stay read only"),
        *digits("numbered"),
    ]

    def __init__(
        self,
        title: str,
        facts: tuple[str, ...],
        ways_out: tuple[str, ...],
        exit_code: int,
        again: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._facts, self._ways = title, facts, ways_out
        self._exit_code, self._again = exit_code, again

    @classmethod
    def of(cls, error: DeskError, again: Callable[[], None] | None = None) -> "ErrorScreen":
        """Return the dialog for an error of the desk."""
        facts = (error.text, "", "Nothing in the store was changed.")
        return cls("the desk cannot answer", facts, tuple(error.ways_out), error.exit_code, again)

    @classmethod
    def of_suite(
        cls, suite: SuiteInfo, ways_out: tuple[str, ...], again: Callable[[], None]
    ) -> "ErrorScreen":
        """Return the dialog for a suite that no longer matches its lock."""
        facts = (
            suite.problem or f"{suite.suite_id}: its files and its lock differ",
            "",
            "Stopped on this suite: score, run, export, sign. Reading stays open.",
            "Nothing in the store was changed. The rows behind this were judged with the locked "
            "files.",
        )
        return cls("the suite no longer matches its lock", facts, ways_out, ExitCode.INVALID, again)

    @classmethod
    def of_run(cls, run: RunView) -> "ErrorScreen":
        """Return the dialog for a run that failed."""
        kept = f"{run.done:,} of {plural(run.planned, 'attempt')} were made; they are kept."
        title = f"run {run.number} failed"
        return cls(title, (f"{run.candidate_id}: {run.problem}", "", kept), (), 20)

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield Menu(id="ways")
            yield LineBox(id="end")

    def on_mount(self) -> None:
        self.headed(f"✗ {self._title}")
        width = min(WIDTH, self.app.size.width - 4)
        document = Document([Block(visible(fact)) for fact in self._facts], width)
        document.settle(0, 10_000)
        rows = [found for y in range(document.height) if (found := document.row(y)) is not None]
        first: list[Line] = [[Span(row.text)] for piece, row, _ in rows if not piece.block]
        rest: list[Line] = [[Span(row.text)] for piece, row, _ in rows if piece.block]
        room = max(2, self.app.size.height - FRAME - len(self._ways) - len(rest))
        if len(first) > room:
            first = [*first[: room - 1], [Span("… y copies all of it", "dim")]]
        ways: Line = [Span("Ways out", "strong")] if self._ways else []
        self.query_one("#facts", LineBox).show([[], *first, *rest, [], ways])
        self.query_one(Menu).offer(
            [
                [Span(f" {number}  ", "key"), Span(visible_line(way))]
                for number, way in enumerate(self._ways, 1)
            ]
        )
        self.query_one("#end", LineBox).show(
            [
                [],
                [
                    Span("exit code of the same command in a pipeline: ", "dim"),
                    Span(f"{self._exit_code}"),
                ],
                hint_line(self.HINTS, width),
            ]
        )
        self.query_one(Menu).focus()

    def action_numbered(self, number: int) -> None:
        """Choose a way out."""
        menu = self.query_one(Menu)
        menu.action_move(number - 1 - menu.cursor)

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.action_copy_way()

    def action_copy_way(self) -> None:
        """Copy the chosen way out."""
        if self._ways:
            self.app.copy_to_clipboard(self._ways[self.query_one(Menu).cursor])
            self.notify("copied", markup=False, timeout=2)

    def action_copy_all(self) -> None:
        """Copy all the text of the dialog."""
        self.app.copy_to_clipboard("\n".join((self._title, *self._facts, *self._ways)))
        self.notify("copied", markup=False, timeout=2)

    def action_again(self) -> None:
        """Check again whether the error persists."""
        self.dismiss(None)
        if self._again is not None:
            self._again()
