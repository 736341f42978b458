"""The first step to a signature: a key, made here or named by its file."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from reviewer.desk.decisions.api import DecisionView
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, Hint, field, hint_line, pressing
from reviewer.tui.screens.decision.lines import bound_lines, dialog_width, error_lines
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, middle, pad

MAKE, FILE, LATER = range(3)


class KeyScreen(Dialog[KeyInfo | None]):
    """Answers a key that lies here from now on, or None."""

    NAME = "sign-key"
    ABOUT = (
        "A key says who you are. Make one here, with a passphrase, or name the file of one.",
        "Nothing is signed by it yet: the next step asks whether it may sign.",
    )
    ENTER = "take the chosen line"
    NUMBERS = "that line"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-3", "choose", "screen.numbered(1)"),
        pressing("Enter", "take it", "enter"),
        pressing("tab", "field", "tab"),
        pressing("Esc", "not now", "escape"),
    )
    CSS = """
    KeyScreen #box { width: 74; max-width: 100%; }
    KeyScreen Horizontal { height: 1; }
    KeyScreen Horizontal LineBox { width: 12; }
    KeyScreen Input { width: 1fr; }
    KeyScreen #state { height: auto; max-height: 5; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "not now"),
        *digits("numbered"),
    ]

    def __init__(self, found: DecisionView, decision: str, step: str) -> None:
        super().__init__()
        self._found, self._decision, self._step = found, decision, step
        self._waiting = False

    def compose(self) -> ComposeResult:
        hint = "typed here, kept nowhere"
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            yield Menu(id="ways", ruled=True)
            yield field("passphrase", _secret("passphrase", hint))
            yield field("again", _secret("again", "the same once more"))
            yield field("file", Input(id="path", placeholder="~/.ssh/id_ed25519", max_length=4000))
            yield LineBox(id="state")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed(f"sign {self._decision} · {self._step}")
        width = dialog_width(self.app.size.width)
        self.query_one("#box").styles.width = width
        self.query_one("#keys", LineBox).show([[], hint_line(self.HINTS, width - 4)])
        desk = self.shell.desk
        self.query_one("#facts", LineBox).show(bound_lines(self._found, self._decision))
        self.query_one("#ways", Menu).caption(
            [Span("key", "strong")], [Span("looking for keys…", "dim")]
        )
        makes = f"ed25519, {visible_line(desk.decisions.key_file())}"
        makes += ", thrown away with this workspace" if desk.decisions.throw_away else ""
        self.query_one("#ways", Menu).offer(
            [
                _way(1, "make one now", makes),
                _way(2, "use a file", "type its path"),
                _way(3, "not now", "the report can be exported unsigned"),
            ]
        )
        self._open(None)
        self._say([[Span(" who may sign is the list store/signers: that comes next", "dim")]])
        self.query_one("#ways").focus()
        self.ask("looked-in", desk.decisions.looked_in, self._looked)

    def _looked(self, places: list[tuple[str, str]]) -> None:
        self.query_one("#ways", Menu).caption(
            [Span("key", "strong")], [Span("none that is used yet", "dim")]
        )
        where = "; ".join(f"{place}: {says}" for place, says in places)
        facts = bound_lines(self._found, self._decision)
        looked = (
            f" looked in  {middle(visible_line(where), dialog_width(self.app.size.width) - 17)}"
        )
        self.query_one("#facts", LineBox).show([*facts, [Span(looked, "dim")]])

    def _open(self, way: int | None) -> None:
        for name, of in (("passphrase", MAKE), ("again", MAKE), ("path", FILE)):
            box = self.query_one(f"#{name}").parent
            assert box is not None
            box.display = way == of

    def _say(self, lines: list[Line]) -> None:
        self.query_one("#state", LineBox).show([[], *lines])

    # taking ------------------------------------------------------------------------------------

    def action_numbered(self, number: int) -> None:
        """Take that line."""
        menu = self.query_one("#ways", Menu)
        if number <= len(menu.items):
            menu.offer(menu.items, number - 1)
            self._take(number - 1)

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self._take(message.menu.cursor)

    def _take(self, way: int) -> None:
        self._open(way)
        if way == LATER:
            self.dismiss(None)
        elif way == FILE:
            self._say(
                [[Span(" the file of a private key, or a .pub whose key ssh-agent holds", "dim")]]
            )
            self.query_one("#path").focus()
        else:
            text = " it locks the file; this program forgets it when the key is made"
            if self.shell.desk.decisions.throw_away:
                text = " Enter twice for none: the key goes when this workspace goes"
            self._say([[Span(text, "dim")]])
            self.query_one("#passphrase").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._waiting:
            return
        if event.input.id == "passphrase":
            self.query_one("#again").focus()
        elif event.input.id == "again":
            self._make()
        else:
            path, desk = event.value.strip(), self.shell.desk
            self._waiting = True
            self.ask("key-at", lambda: desk.decisions.key_at(path), self._took, self._refused)

    def _make(self) -> None:
        first, again = (self.query_one(f"#{name}", Input) for name in ("passphrase", "again"))
        passphrase = first.value
        if passphrase != again.value:
            first.value = again.value = ""
            self._say([[Span(" ✗ the two are not the same: type both again", "fail")]])
            first.focus()
            return
        self._waiting = True
        self._say([[Span(" making the key…", "dim")]])
        desk = self.shell.desk
        self.ask("make-key", lambda: desk.decisions.make_key(passphrase), self._took, self._refused)

    def _took(self, key: KeyInfo) -> None:
        for name in ("passphrase", "again"):
            self.query_one(f"#{name}", Input).value = ""
        self.dismiss(key)

    def _refused(self, error: DeskError) -> None:
        self._waiting = False
        self._say(error_lines(error, dialog_width(self.app.size.width) - 6))


def _way(number: int, what: str, how: str) -> list[Span]:
    return [Span(f" {number}  ", "strong"), Span(pad(what, 16), "strong"), Span(how, "dim")]


def _secret(id: str, hint: str) -> Input:
    return Input(id=id, placeholder=hint, password=True, max_length=2000)
