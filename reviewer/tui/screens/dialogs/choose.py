"""Choosing from a short list: a suite and a candidate, or a side of a comparison."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from reviewer.desk.views import CandidateInfo, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, choosing, hint_line
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.theme import STATES, VERDICTS
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, middle, pad
from reviewer.tui.widgets.words import suite_word


class ChooseScreen(Dialog[tuple[str, str] | None]):
    """Every candidate of every suite, one line each."""

    NAME = "choose"
    WORD = "choose"
    ABOUT = ("Each line is a candidate on a suite, with its recommendation and decision.",)
    CSS = """
    ChooseScreen #box { width: 72; max-width: 100%; height: auto; max-height: 80%; }
    ChooseScreen #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it"),
        bind("q", "dismiss(None)", "leave it"),
    ]

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self._here = (suite_id, candidate_id)
        self._places: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="list")
            yield LineBox(id="words")

    def on_mount(self) -> None:
        self.headed("choose suite and candidate")
        self.query_one("#words", LineBox).show([[], [Span(" reading…", "dim")]])
        self.query_one(Menu).focus()
        desk = self.shell.desk
        self.ask(
            "choose",
            lambda: [
                (suite, desk.workspace.candidates(suite.suite_id))
                for suite in desk.workspace.suites()
            ],
            self._offer,
        )

    def _offer(self, found: list[tuple[SuiteInfo, list[CandidateInfo]]]) -> None:
        lines: list[Line] = []
        for suite, candidates in found:
            for candidate in candidates:
                self._places.append((suite.suite_id, candidate.candidate_id))
                lines.append(_line(suite, candidate))
        at = self._places.index(self._here) if self._here in self._places else 0
        self.query_one(Menu).offer(lines, at)
        empty = [suite.suite_id for suite, candidates in found if not candidates]
        note = f" no traces yet: {', '.join(empty)}" if empty else ""
        self.query_one("#words", LineBox).show(
            [
                [Span(visible_line(note), "dim")],
                hint_line(choosing("choose", "leave it"), 68),
            ]
        )

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._places[message.menu.cursor])


def _line(suite: SuiteInfo, candidate: CandidateInfo) -> list[Span]:
    state = VERDICTS[candidate.recommendation]
    return [
        Span(" " + pad(middle(visible_line(suite.suite_id), 20), 20)),
        suite_word(suite.state)._replace(text=suite_word(suite.state).text[:1] + "  "),
        Span(pad(middle(visible_line(candidate.candidate_id), 22), 22), "strong"),
        Span(pad(f" {STATES[state].glyph} {candidate.recommendation}", 10), state),
        Span(f" {words.plural(candidate.traces, 'trace')}", "dim"),
        Span(f" signed {visible_line(candidate.decided)}" if candidate.decided else ""),
    ]


class ChooseSide(Dialog[tuple[str, str] | None]):
    """Answers with the (baseline, candidate) of the chosen line, None at Esc."""

    NAME = "choose"
    ABOUT = ("Each line is a comparison: who is looked at, and against whom.",)
    CSS = """
    ChooseSide #box { width: 72; max-width: 100%; height: auto; max-height: 80%; }
    ChooseSide #list { height: auto; max-height: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it"),
        bind("q", "dismiss(None)", "leave it"),
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
        self.query_one("#words", LineBox).show([[], hint_line(choosing("choose", "leave it"), 68)])
        self.query_one(Menu).focus()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(self._offers[message.menu.cursor][1])
