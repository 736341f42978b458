"""Dialogs of runs and imports: a call that asks for approval, and what an import said."""

import textwrap
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportView
from reviewer.desk.runs.api import ApprovalView, RunView
from reviewer.desk.views import SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line, pressing
from reviewer.tui.settings.keys import bind
from reviewer.tui.views.jobs import file_lines, import_ended
from reviewer.tui.widgets.chrome import LineBox, Scroll
from reviewer.tui.widgets.lines import Block, Line, Span, middle
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

HELD = 0.7
"""Seconds for which a call must be shown before an answer counts, and between two presses: a `y`
that is held down, or meant for the call before, approves nothing."""


class ApproveScreen(Dialog[None]):
    """The calls that wait, the oldest first. Closes when none is left."""

    NAME = "approve"
    ABOUT = (
        "You are asked: may this call be made?  It waits, and its attempt with it.",
        "If refused, the candidate is told; either way the trace names who answered.",
    )
    ENTER = "nothing: only {answer.yes} and {answer.no} answer the call"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("{answer.yes}", "approve", "screen.answer(True)"),
        ("{answer.no}", "refuse", "screen.answer(False)"),
        ("jk", "scroll", "focused.move(1)"),
        ("Esc", "later", "screen.dismiss(None)"),
    )
    CSS = """
    ApproveScreen #box { width: 76; max-width: 100%; height: 20; max-height: 92%;
                         border: heavy $match; }
    ApproveScreen TextView { height: 1fr; }
    ApproveScreen #facts { height: 5; }
    ApproveScreen #end { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "y",
            "answer(True)",
            "approve the call",
            show=False,
            id="answer.yes",
            tooltip="The call is made.",
        ),
        Binding(
            "n",
            "answer(False)",
            "refuse the call",
            show=False,
            id="answer.no",
            tooltip="The call is denied, and the candidate is told.",
        ),
        bind("escape", "dismiss(None)", "answer later"),
        bind("q", "dismiss(None)", "answer later"),
    ]

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self) -> None:
        super().__init__()
        self._now: tuple[RunView, ApprovalView] | None = None
        self._last = 0.0

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield TextView(id="arguments")
            yield LineBox(id="end")

    def on_mount(self) -> None:
        self.query_one(TextView).focus()

    def on_screen_resume(self) -> None:
        self.runs_changed()

    def runs_changed(self) -> None:
        """Show the oldest waiting call; keep the one shown while it waits."""
        waiting = self.shell.live.approvals
        shown = _key(self._now)
        same = [each for each in waiting if _key(each) == shown]
        if not waiting:
            self.dismiss(None)
            return
        self._now = same[0] if same else waiting[0]
        self.headed(
            f"a call asks for approval, 1 of {len(waiting):,}"
            if len(waiting) > 1
            else "a call asks for approval"
        )
        if not same:
            self._show(*self._now)

    def _show(self, view: RunView, approval: ApprovalView) -> None:
        facts: list[Line] = [
            [],
            [Span(" tool       ", "dim"), Span(visible_line(approval.tool), "strong")],
            [
                Span(" candidate  ", "dim"),
                Span(middle(visible_line(view.candidate_id), 60)),
                Span(f"  run {view.number}", "dim"),
            ],
            [
                Span(" attempt    ", "dim"),
                Span(middle(visible_line(approval.trace_id), 48)),
                Span(f" event {approval.seq}"),
            ],
            [],
        ]
        self.query_one("#facts", LineBox).show(facts)
        text = approval.arguments or "{}"
        self.query_one(TextView).show([Block(text)], [Span("arguments", "strong")])
        self._last = self.clock()
        self._say("")

    def _say(self, text: str) -> None:
        self.query_one("#end", LineBox).show(
            [
                [Span(f" {text}", "fail")],
                hint_line(self.HINTS, self.query_one("#end").size.width or 70),
            ]
        )

    def action_answer(self, granted: bool) -> None:
        """Grant or refuse the call shown, once it has been visible long enough."""
        now, before = self.clock(), self._last
        self._last = now
        if self._now is None:
            return
        if now - before < HELD:
            self._say("this call has just appeared: read it, then answer")
            return
        try:
            self.shell.live.answer(*self._now, granted)
        except DeskError as error:
            self._say(visible_line(error.line))


def _key(call: tuple[RunView, ApprovalView] | None) -> tuple[int, int] | None:
    return (call[0].number, call[1].number) if call else None


WIDTH = 72


class ImportReadScreen(Dialog[None]):
    """A box to read; the arrows scroll it."""

    NAME = "import read"
    ABOUT = ("What the reader of this format understood, and what it could not find.",)
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("↑ ↓", "scroll", "down"),
        pressing("Esc", "back", "escape"),
    )
    CSS = """
    ImportReadScreen #box { width: 80; max-width: 100%; max-height: 90%; }
    ImportReadScreen Scroll { height: auto; max-height: 18; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "back"),
        bind("q", "dismiss(None)", "back"),
        bind("enter", "dismiss(None)", "back"),
    ]

    def __init__(self, title: str, lines: list[Line]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    @classmethod
    def of_import(cls, view: ImportView) -> "ImportReadScreen":
        """Return a box about an import of this process."""
        lines: list[Line] = []
        if view.state != "reading":
            text, style = import_ended(view)
            lines += [[Span(line, style)] for line in textwrap.wrap(text, WIDTH)] + [[]]
        for result in view.results:
            lines += file_lines(result, WIDTH)
        if view.passed:
            lines.append([Span(f"{view.passed:,} other files: not traces, skipped", "dim")])
        return cls(f"import {view.number}", lines or [[Span("nothing read yet", "dim")]])

    @classmethod
    def of_source(cls, source: SourceInfo) -> "ImportReadScreen":
        """Return a box about a file that was imported, in this process or another."""
        counts = (
            f"{plural(source.records, 'record')}: {source.added:,} added, {source.known:,} known, "
            f"{source.refused:,} refused"
        )
        facts = [
            ("file", source.path),
            ("reader", source.reader),
            ("read", f"{source.at}, {source.state}"),
            ("sha256", source.sha256),
            ("records", counts),
        ]
        if source.suite_id or source.candidate_id:
            facts.append(("asked for", f"{source.suite_id} {source.candidate_id}".strip()))
        lines: list[Line] = []
        for name, value in facts:
            for number, part in enumerate(textwrap.wrap(visible_line(value), WIDTH - 10) or [""]):
                lines.append([Span(f"{name if not number else '':<10}", "dim"), Span(part)])
        if source.notes:
            lines += [[], [Span("what was missing or doubtful", "strong")]]
        for note in source.notes:
            wrapped = textwrap.wrap(visible_line(note), WIDTH - 2)
            lines += [[Span(("· " if not n else "  ") + part)] for n, part in enumerate(wrapped)]
        return cls("source", lines)

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            with Scroll():
                yield LineBox(id="lines")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed(self._title)
        self.query_one("#lines", LineBox).show(self._lines)
        self.query_one("#keys", LineBox).show([[], hint_line(self.HINTS, 76)])
        self.query_one(Scroll).focus()
