"""Help over any screen: what you are here for, what acts here, what acts everywhere."""

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen

from reviewer.tui.chrome import LineBox
from reviewer.tui.keys import EVERYWHERE, SHOWN, VERBS, bind
from reviewer.tui.lines import Line, Span, pad
from reviewer.tui.screens.base import Dialog, hint_line
from reviewer.tui.textview import TextView
from reviewer.tui.theme import STATES
from reviewer.tui.wrap import Block

LEGEND = ("pass", "fail", "critical", "not_measured", "running", "missing", "infra")


def acts(screen: Screen[Any]) -> list[tuple[str, str]]:
    """What acts on a screen, as (keys, words): from its bindings, so that help cannot drift."""
    found: dict[str, list[str]] = {}
    for binding in screen.BINDINGS:
        if isinstance(binding, Binding) and binding.description:
            words = binding.description
            if binding.action.startswith("numbered"):
                words = "the thing with that number"
            found.setdefault(words, []).append(binding.key_display or binding.key)
    return [(_joined(keys), words) for words, keys in found.items()]


def _joined(keys: list[str]) -> str:
    if len(keys) > 2 and all(key.isdigit() for key in keys):
        return f"{keys[0]}-{keys[-1]}"
    return " ".join(keys)


def help_lines(screen: Screen[Any], width: int) -> list[Line]:
    """The help of a screen, in lines."""
    about = getattr(screen, "ABOUT", ())
    lines: list[Line] = [[Span(text)] for text in about]
    lines += [[], [Span(pad("here", 38), "strong"), Span("everywhere", "strong")]]
    here = acts(screen)
    if all(keys != "Enter" for keys, _ in here):
        here.insert(0, ("Enter", getattr(screen, "ENTER", "go in, choose")))
    rows = max(len(here), len(EVERYWHERE))
    for index in range(rows):
        line: list[Span] = []
        for table, room in ((here, 38), (EVERYWHERE, width - 38)):
            key, words = table[index] if index < len(table) else ("", "")
            line += [Span(pad(key, 10), "key"), Span(pad(words, max(1, room - 10)))]
        lines.append(line)
    if getattr(screen, "BLIND", False):
        return lines
    lines.append([])
    legend: list[Span] = []
    for name in LEGEND:
        state = STATES[name]
        legend += [Span(f"{state.glyph}{state.cell}", name), Span("  ")]
    legend.append(Span("n/m: not measured, never good", "dim"))
    return [*lines, legend]


def key_map() -> list[Line]:
    """Every key and the one thing it means."""
    lines: list[Line] = [
        [Span(pad(SHOWN.get(key, key), 14), "key"), Span(pad(words, 24)), Span(tip, "dim")]
        for key, (_, words, tip) in VERBS.items()
        if not key.isdigit()
    ]
    return [*lines, [Span(pad("1-9", 14), "key"), Span("the thing with that number")]]


class HelpScreen(Dialog[None]):
    """Closes with Esc, `?` or q; `v` shows the whole key map."""

    NAME = "help"
    CSS = """
    HelpScreen #box { width: 80; max-width: 100%; height: 92%; max-height: 44; }
    HelpScreen LineBox { height: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("v", "view", "all keys"),
        bind("question_mark", "dismiss(None)", "close"),
        bind("escape", "dismiss(None)", "close"),
        bind("q", "dismiss(None)", "close"),
    ]

    def __init__(self, about: Screen[Any]) -> None:
        super().__init__()
        self._about = about
        self._all = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield TextView(id="text")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        hints = (
            ("jk", "scroll", "screen.nothing"),
            ("v", "all keys", "screen.view"),
            ("Esc", "close", "screen.dismiss(None)"),
        )
        self.query_one("#keys", LineBox).show([hint_line(hints, 60)])
        self.query_one(TextView).focus()
        self._draw()

    def _draw(self) -> None:
        lines = key_map() if self._all else help_lines(self._about, 75)
        name = "all keys" if self._all else getattr(self._about, "NAME", "") or "this screen"
        title = [Span(f"help · {name}", "strong")]
        self.query_one(TextView).show([Block("", head=line) for line in lines], title)

    def action_nothing(self) -> None:
        """Scrolling is by keys and wheel."""

    def action_view(self) -> None:
        """The whole key map, or this screen's help."""
        self._all = not self._all
        self._draw()
