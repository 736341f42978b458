"""The dialog that makes an episode from a trace: what was wrong, what is right, and Enter."""

from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.episodes.views import TYPED, MadeAndProven
from reviewer.desk.errors import DeskError
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, hint_line, pressing
from reviewer.tui.settings.keys import bind, move
from reviewer.tui.widgets.chrome import Field, LineBox, Scroll
from reviewer.tui.widgets.lines import Line, Span
from reviewer.tui.widgets.words import plural

WIDTH = 72
"""Characters of a line in the dialog, without its margin and the scrollbar."""


class EpisodeScreen(Dialog[None]):
    """Asks for the marks of one trace. Enter writes the episode and plays its proof; once it is
    written, Enter with other marks overwrites it. `hidden` are words that nothing here may say, so
    that those who label do not learn whose trace it is."""

    NAME = "episode"
    ABOUT = (
        "Say what was wrong in this trace and what a good attempt does. Enter writes the episode",
        "and plays its proof: what was recorded must fail by the marks, the corrected one pass.",
    )
    ENTER = "write it, and prove it"
    CSS = """
    EpisodeScreen #box { width: 80; max-width: 100%; }
    EpisodeScreen Input { width: 1fr; }
    EpisodeScreen #told { height: 7; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "cancel"),
        move("move.page.down", "turn(1)", "more of the result"),
        move("move.page.up", "turn(-1)", "the result before"),
    ]

    def __init__(self, trace_id: str, wrong: str = "", hidden: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._trace_id, self._wrong, self._hidden = trace_id, wrong, hidden
        self._busy = self._written = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            for name, hint in TYPED:
                value = self._wrong if name == "wrong" else ""
                own = Input(value, id=_own(name), placeholder=hint, select_on_focus=False)
                yield Field(name, own)
            yield LineBox(id="state")
            with Scroll(id="told"):
                yield LineBox(id="lines")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed(f"an episode of {'this item' if self._hidden else self._trace_id}")
        hints = (
            pressing("Enter", "write and prove", "enter"),
            pressing("tab", "field", "tab"),
            pressing("PgDn", "more of the result", "pagedown"),
            pressing("Esc", "leave", "escape"),
        )
        self.query_one("#keys", LineBox).show([hint_line(hints, 76)])
        self._say("Enter writes the episode and plays its proof", "dim")
        self.query_one(f"#{_own('wrong')}").focus()
        desk, trace_id = self.shell.desk, self._trace_id
        self.ask("asked", lambda: desk.episodes.asked(trace_id), self._asked)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._busy:
            return
        typed = {name: self.query_one(f"#{_own(name)}", Input).value for name, _ in TYPED}
        desk, trace_id, written = self.shell.desk, self._trace_id, self._written
        self._busy = True
        self._say("writing…", "dim")
        self.ask("episode", lambda: desk.episodes.from_form(trace_id, typed, written), self._made)

    def _asked(self, request: str) -> None:
        """Offer the trace's request, unless something was typed in the meantime."""
        own = self.query_one(f"#{_own('request')}", Input)
        if not own.value and self._blinded(request) == request:
            own.value = request

    def action_turn(self, pages: int) -> None:
        """Turn the pages of the result, whichever field is in focus."""
        told = self.query_one("#told", Scroll)
        told.scroll_relative(y=pages * told.size.height, animate=False)

    def _made(self, found: MadeAndProven) -> None:
        self._busy, self._written = False, True
        made, proof = found.made, found.proof
        told = f"{made.suite_id}/{made.episode_id}"
        if proof is not None and proof.proven:
            self._say(f"✓ {visible_line(told)} is written and proven", "pass")
        else:
            self._say(f"{visible_line(told)} is written and not proven", "not_measured")
        lines: list[Line] = [
            [Span(f" {plural(made.blanks, 'blank')}, {plural(len(made.gaps), 'gap')}", "text")]
        ]
        if proof is None:
            lines += self._told(found.unproven, "fail")
        for run in () if proof is None else proof.runs:
            mark, style = ("✓", "pass") if run.holds else ("✗", "fail")
            lines += self._told(f"{mark} {run.plan}: {run.why}", style)
        for problem in made.problems:
            lines += self._told(problem, "dim")
        self._show(lines)

    def refused(self, error: DeskError) -> None:
        self._busy = False
        self._say(f"✗ {visible_line(error.text)}", "fail")
        self._show([line for way in error.ways_out for line in self._told(way, "dim")])

    def _blinded(self, text: str) -> str:
        for name in self._hidden:
            text = text.replace(name, "…")
        return text

    def _show(self, lines: list[Line]) -> None:
        self.query_one("#lines", LineBox).show(lines)
        self.query_one("#told", Scroll).scroll_home(animate=False)

    def _say(self, text: str, style: str) -> None:
        self.query_one("#state", LineBox).show([[], [Span(f" {self._blinded(text)}", style)]])

    def _told(self, text: str, style: str) -> list[Line]:
        """Return a text as lines of the dialog's width."""
        shown = visible_line(self._blinded(text))
        parts = wrap(shown, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        return [[Span(f" {part}", style)] for part in parts]


def _own(name: str) -> str:
    return "typed-" + name.replace(" ", "-")
