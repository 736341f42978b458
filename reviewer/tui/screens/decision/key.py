"""The first step to a signature: a key, made here or named by its file."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from reviewer.desk.decisions.api import DecisionView
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint, pressing
from reviewer.tui.screens.decision.lines import bound_lines
from reviewer.tui.screens.decision.step import Step, entry, way
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Span, middle

MAKE, FILE, LATER = range(3)


class KeyScreen(Step[KeyInfo | None]):
    """Answers with a key that is present from now on, or None."""

    NAME = "sign-key"
    ABOUT = (
        "A key identifies you. Make one here, with a passphrase, or name a key file.",
        "It signs nothing yet: the next step asks whether it may sign.",
    )
    ENTER = "choose this line"
    NUMBERS = "that line"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("1-3", "choose", "screen.numbered(1)"),
        pressing("Enter", "choose", "enter"),
        pressing("tab", "next field", "tab"),
        pressing("Esc", "cancel", "escape"),
        ("r", "look again", "screen.look_again"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "cancel"),
        bind("r", "look_again", "look for keys again"),
        *digits("numbered"),
    ]

    def __init__(
        self, found: DecisionView, decision: str, step: str, known: Sequence[KeyInfo] = ()
    ) -> None:
        """Ask for a key that is not among `known`, the keys found earlier."""
        super().__init__()
        self._found, self._decision, self._step = found, decision, step
        self._known = {key.fingerprint for key in known}

    def parts(self) -> Iterable[Widget]:
        yield Menu(id="ways", ruled=True)
        yield entry("passphrase", "passphrase", "typed here, kept nowhere", hidden=True)
        yield entry("again", "again", "the same once more", hidden=True)
        yield entry("path", "file", "~/.ssh/id_ed25519", longest=4000)
        yield LineBox(id="state")

    def on_mount(self) -> None:
        self.opened(
            f"sign {self._decision} · {self._step}", bound_lines(self._found, self._decision)
        )
        decisions, ways = self.shell.desk.decisions, self.query_one("#ways", Menu)
        makes = f"ed25519, {visible_line(decisions.key_file())}, with a passphrase"
        if decisions.throw_away():
            makes = "for this demo only: deleted with its workspace"
        ways.caption([Span("key", "strong")], [Span("looking for keys…", "dim")])
        ways.offer(
            [
                way(1, "make one now", makes),
                way(2, "use a file", "type its path"),
                way(3, "cancel", f"the report can be exported unsigned: {key_of('export')}"),
            ]
        )
        self._open(None)
        self._begin()
        ways.focus()
        self.ask("looked-in", decisions.looked_in, self._looked)

    def _begin(self) -> None:
        lines = [[Span(" a key identifies you; who may sign comes next", "dim")]]
        if not self.shell.desk.decisions.throw_away():
            told = f" or add one: ssh-add FILE (ssh-add -X unlocks an agent), then {key_of('run')}"
            lines.append([Span(told, "dim")])
        self.tell(lines)

    def _looked(self, places: list[tuple[str, str]]) -> None:
        told = "another one" if self._known else "none found"
        self.query_one("#ways", Menu).caption([Span("key", "strong")], [Span(told, "dim")])
        where = "; ".join(f"{place}: {says}" for place, says in places)
        facts = bound_lines(self._found, self._decision)
        looked = f" looked in {middle(visible_line(where), self.room - 12)}"
        if not self.shell.desk.decisions.throw_away():
            facts = [*facts, [Span(looked, "dim")]]
        self.query_one("#facts", LineBox).show(facts)

    def _open(self, chosen: int | None) -> None:
        for name, of in (("passphrase", MAKE), ("again", MAKE), ("path", FILE)):
            self.show_field(name, chosen == of)

    # looking again -----------------------------------------------------------------------------

    def action_look_again(self) -> None:
        """Look for keys again: one may have been added to ssh-agent."""
        if not self._waiting:
            self.ask("keys", self.shell.desk.decisions.keys, self._look)

    def _look(self, keys: list[KeyInfo]) -> None:
        new = [key for key in keys if key.fingerprint not in self._known]
        if new:
            self.dismiss(new[0])
        else:
            self.tell_text("✗ still no key that can sign", "fail")
            self.ask("looked-in", self.shell.desk.decisions.looked_in, self._looked)

    # taking ------------------------------------------------------------------------------------

    def action_numbered(self, number: int) -> None:
        """Choose the line with that number."""
        menu = self.query_one("#ways", Menu)
        if number <= len(menu.items):
            menu.offer(menu.items, number - 1)
            self._take(number - 1)

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if not self.held():
            self._take(message.menu.cursor)

    def _take(self, chosen: int) -> None:
        if self._waiting:
            return
        self._open(chosen)
        if chosen == LATER:
            self.dismiss(None)
        elif chosen == FILE:
            self.tell_text("the file of a private key, or a .pub whose key ssh-agent holds")
            self.query_one("#path").focus()
        else:
            text = "it locks the file; this program forgets it when the key is made"
            if self.shell.desk.decisions.throw_away():
                text = "Enter in both for none: the key is deleted with this workspace"
            self.tell_text(text)
            self.query_one("#passphrase").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._waiting or self.held():
            return
        if event.input.id == "passphrase":
            self.query_one("#again").focus()
        elif event.input.id == "again":
            self._make()
        else:
            path, desk = event.value.strip(), self.shell.desk
            self._waiting = True
            self.ask("key-at", lambda: desk.decisions.key_at(path), self._took, self.refused)

    def _make(self) -> None:
        first, again = (self.query_one(f"#{name}", Input) for name in ("passphrase", "again"))
        passphrase = first.value
        if passphrase != again.value:
            first.value = again.value = ""
            self.tell_text("✗ the two passphrases differ: type both again", "fail")
            first.focus()
            return
        self._waiting = True
        self.tell_text("making the key…")
        desk = self.shell.desk
        self.ask("make-key", lambda: desk.decisions.make_key(passphrase), self._took, self._not)

    def _took(self, key: KeyInfo) -> None:
        self.dismiss(key)

    def _not(self, error: DeskError) -> None:
        self.refused(error)
        self.query_one("#passphrase").focus()
