"""What an import said, whole: its files, what they brought, notes and refusals."""

import textwrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.desk.imports.api import ImportView
from reviewer.desk.views import SourceInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, hint_line, pressing
from reviewer.tui.settings.keys import bind
from reviewer.tui.views.imports import ended_words, file_lines
from reviewer.tui.widgets.chrome import LineBox, Scroll
from reviewer.tui.widgets.lines import Line, Span
from reviewer.tui.widgets.words import plural

WIDTH = 72


HINTS: tuple[Hint, ...] = (
    pressing("↑ ↓", "scroll", "down"),
    pressing("Esc", "back", "escape"),
)


class ImportReadScreen(Dialog[None]):
    """A box to read; the arrows scroll it."""

    NAME = "import read"
    ABOUT = ("What the reader of this format understood, and what it could not find.",)
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
        """An import of this process."""
        lines: list[Line] = []
        if view.state != "reading":
            text, style = ended_words(view)
            lines += [[Span(line, style)] for line in textwrap.wrap(text, WIDTH)] + [[]]
        for result in view.results:
            lines += file_lines(result, WIDTH)
        if view.passed:
            lines.append([Span(f"{view.passed:,} other files: no traces, passed over", "dim")])
        return cls(f"import {view.number}", lines or [[Span("nothing read yet", "dim")]])

    @classmethod
    def of_source(cls, source: SourceInfo) -> "ImportReadScreen":
        """A file that was imported, by whomever."""
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
        self.query_one("#keys", LineBox).show([[], hint_line(HINTS, 76)])
        self.query_one(Scroll).focus()
