"""The chooser: every candidate of every suite over the whole width, filtered by what is typed."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.views import CandidateInfo, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, hint_line, pressing
from reviewer.tui.settings.keys import bind, move
from reviewer.tui.settings.theme import STATES, VERDICTS, cell_style
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, cut, pad
from reviewer.tui.widgets.words import plural, suite_word

Row = tuple[SuiteInfo, CandidateInfo]
KEYS = (
    pressing("Enter", "choose", "enter"),
    pressing("↑↓", "move", "down"),
    pressing("Esc", "leave it", "escape"),
)


def told_apart(name: str, width: int) -> str:
    """Return a name of at most `width` columns: of a longer one its end, where versions are."""
    return name if len(name) <= width else "…" + name[len(name) - width + 1 :]


def candidate_line(row: Row, name: int, suite: int) -> list[Span]:
    """Return one candidate: its name, its suite, its verdict, its signature, its traces."""
    info, one = row
    state = VERDICTS[one.recommendation]
    signed = f"signed {visible_line(one.decided)}" if one.decided else "not signed"
    return [
        Span(" " + pad(told_apart(visible_line(one.candidate_id), name), name), "strong"),
        Span("  " + pad(told_apart(visible_line(info.suite_id), suite), suite) + " "),
        suite_word(info.state)._replace(text=suite_word(info.state).text[:1] + " "),
        Span(f" {STATES[state].glyph} {one.recommendation}".ljust(10), cell_style(state)),
        Span(f"  {signed}", "text" if one.decided else "dim"),
        Span(f"  {plural(one.traces, 'trace')}", "dim"),
    ]


def matching(rows: Sequence[Row], text: str) -> list[Row]:
    """Return the rows that have every word of a text in the candidate, suite, verdict or
    signature."""
    words = text.casefold().split()

    def found(row: Row) -> bool:
        info, one = row
        parts = (one.candidate_id, info.suite_id, one.recommendation, one.decided or "")
        said = " ".join(parts).casefold()
        return all(word in said for word in words)

    return [row for row in rows if found(row)]


class ChooseScreen(Dialog[tuple[str, str] | None]):
    """Every candidate of every suite, the newest first; letters filter."""

    NAME = "choose"
    ABOUT = (
        "Each line is a candidate on a suite, with its recommendation and decision, the newest",
        "first. Letters filter by any part of a name, a verdict or a signature.",
    )
    CSS = """
    ChooseScreen #box { width: 100%; max-width: 160; height: auto; max-height: 90%; }
    ChooseScreen #list { height: auto; max-height: 24; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "leave it"),
        move("move.up", "step(-1)", "line before"),
        move("move.down", "step(1)", "next line"),
    ]

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self._here = (suite_id, candidate_id)
        self._rows: list[Row] = []
        self._shown: list[Row] = []
        self._empty: list[SuiteInfo] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Input(placeholder="type to filter", id="text", select_on_focus=False)
            yield Menu(id="list")
            yield LineBox(id="words")

    def on_mount(self) -> None:
        self.headed("choose suite and candidate")
        self.query_one("#words", LineBox).show([[], [Span(" reading the candidates…", "dim")]])
        self.query_one(Input).focus()
        desk = self.shell.desk
        self.ask("choose", desk.workspace.all_candidates, self._offer)

    def _offer(self, found: tuple[list[Row], list[SuiteInfo]]) -> None:
        self._rows, self._empty = found
        self._draw(self._here)

    @property
    def _room(self) -> int:
        return max(40, min(160, self.app.size.width) - 4)

    def _draw(self, at: tuple[str, str] | None = None) -> None:
        self._shown = matching(self._rows, self.query_one(Input).value)
        room = self._room
        names = [len(visible_line(one.candidate_id)) for _, one in self._rows]
        suites = [len(visible_line(info.suite_id)) for info, _ in self._rows]
        left = room - 28  # for verdict and signature
        name = max(8, min(max(names, default=8), left * 3 // 5))
        suite = max(8, min(max(suites, default=8), left - name))
        places = [(info.suite_id, one.candidate_id) for info, one in self._shown]
        lines: list[Line] = [candidate_line(row, name, suite) for row in self._shown]
        cursor = places.index(at) if at in places else 0
        menu = self.query_one(Menu)
        menu.offer(lines, cursor)
        self._tell(menu.cursor)

    def _tell(self, at: int) -> None:
        room = self._room
        lines: list[Line] = [[Span(f" {len(self._shown):,} of {len(self._rows):,}", "dim")]]
        if at < len(self._shown):
            info, one = self._shown[at]
            signed = f", signed {one.decided}" if one.decided else ", not signed"
            whole = f"{one.candidate_id} on {info.suite_id}{signed}"
            lines[0] = [*lines[0], Span(cut(f"   {visible_line(whole)}", room - 14))]
        if self._empty:
            empty = ", ".join(visible_line(info.suite_id) for info in self._empty)
            lines.append([Span(cut(f" no traces yet: {empty}", room), "dim")])
        lines.append(hint_line(KEYS, room))
        self.query_one("#words", LineBox).show(lines)

    def on_input_changed(self, message: Input.Changed) -> None:
        self._draw()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        self._take(self.query_one(Menu).cursor)

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self._tell(message.menu.cursor)

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self._take(message.menu.cursor)

    def action_step(self, step: int) -> None:
        """The line before or after."""
        self.query_one(Menu).action_move(step)

    def _take(self, at: int) -> None:
        if at < len(self._shown):
            info, one = self._shown[at]
            self.dismiss((info.suite_id, one.candidate_id))
