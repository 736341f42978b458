"""The last step: the sentence, the bound digests, the key; then the signature, or why it failed."""

import shlex
import textwrap
import threading
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input

from reviewer.desk.decisions.api import CheckedDecision, DecisionView, EarlierDecision, Pending
from reviewer.desk.decisions.choices import signed_before
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint, hint_line, pressing
from reviewer.tui.screens.decision import lines as view
from reviewer.tui.screens.decision.step import Step, entry, way
from reviewer.tui.settings.keys import bind, digits
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, pad, rule

EXPORT, CHECK, CLOSE = range(3)
"""The acts that are possible after signing."""
ASKED = ("comment", "typed", "passphrase")
"""The fields, where this decision and this key need them."""


class Wanted:
    """Whether a signature is still wanted: either the person gives up, or it is kept, never
    both."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end = ""

    def give_up(self) -> bool:
        """Give up. Return whether nothing will be kept."""
        return self._ended("given up")

    def keep(self) -> bool:
        """Return whether the signature may be kept."""
        return self._ended("kept")

    def _ended(self, end: str) -> bool:
        with self._lock:
            self._end = self._end or end
            return self._end == end


class SignScreen(Step[SignedDecision | KeyInfo | None]):
    """Signs one decision on one report, by digest. Answers with the decision in the store, a key
    that was chosen and may not sign yet, or None."""

    NAME = "sign"
    ABOUT = (
        "You put your name to one sentence about one report. What is listed is what is",
        "bound. tab goes through the fields; Esc leaves without signing. A passphrase is used",
        "here and kept nowhere.",
    )
    ENTER = "press the chosen button"
    NUMBERS = "that line, once it is signed"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "press", "enter"),
        pressing("tab", "field", "tab"),
        pressing("Esc", "cancel", "escape"),
        ("y", "copy digest", "screen.copy_digest"),
        ("r", "look for keys", "screen.look_again"),
    )
    ENDED: ClassVar[tuple[Hint, ...]] = (
        ("1-3", "choose", "screen.numbered(3)"),
        pressing("Enter", "choose", "enter"),
        pressing("Esc", "close", "escape"),
        ("y", "copy digest", "screen.copy_digest"),
    )
    """The keys after signing."""
    DEFAULT_CSS = "SignScreen #keys { height: auto; max-height: 3; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "cancel"),
        bind("y", "copy_digest", "copy the report's digest"),
        bind("r", "look_again", "look for keys again"),
        *digits("numbered"),
    ]

    def __init__(
        self,
        found: DecisionView,
        decision: str,
        keys: Sequence[KeyInfo],
        pending: Pending | None = None,
        *,
        guided: bool = False,
    ) -> None:
        """Sign a new decision, or add a signature to `pending`. `guided`: steps came before this
        one."""
        super().__init__()
        self._guided, self._tries = guided, 0
        self._found, self._decision, self._pending = found, decision, pending
        self._key_list = self._sorted(keys)
        self._signed: SignedDecision | None = None
        self._wanted = Wanted()
        self._own = decision.lower() == found.recommendation or pending is not None

    def _sorted(self, keys: Sequence[KeyInfo]) -> list[KeyInfo]:
        """Return the keys, those that may sign first and those of persons who have already signed
        last."""
        signed = self._pending.signers if self._pending is not None else ()
        return sorted(keys, key=lambda key: (not view.may_sign(key), key.principal in signed))

    @property
    def dismissible(self) -> bool:
        """True while nothing has been signed and nothing is being signed."""
        return self._signed is None and not self._waiting

    def parts(self) -> Iterable[Widget]:
        if self._pending is None:
            yield entry("comment", "comment", "enters the decision")
        if self._decision == "PROMOTE":
            yield entry("typed", "type it", "type PROMOTE to sign")
        yield Menu(id="keys", ruled=True)
        yield entry("passphrase", "passphrase", "of the key's file", hidden=True)
        yield LineBox(id="state")
        yield Menu(id="buttons")

    def on_mount(self) -> None:
        title = f"sign {self._decision}"
        if self._pending is not None:
            title = f"add a signature to decision {self._pending.number}"
        self.opened(f"{title} · 3 of 3" if self._guided else title, [])
        self._offer_keys()
        self.query_one("#typed" if self._decision == "PROMOTE" else "#buttons").focus()

    @property
    def _key(self) -> KeyInfo:
        return self._key_list[self.query_one("#keys", Menu).cursor]

    def _offer_keys(self) -> None:
        keys = self.query_one("#keys", Menu)
        count = words.plural(len(self._key_list), "key")
        keys.caption([Span("key", "strong")], [Span(count, "dim")])
        keys.offer(
            [
                [
                    Span(" ✓ ", "pass") if view.may_sign(key) else Span(" ✗ ", "fail"),
                    *view.key_line(key, self.room - 4),
                ]
                for key in self._key_list
            ]
        )
        self._show_key()

    def _show_key(self) -> None:
        """Ask for a passphrase only if the chosen key has one; name an earlier decision of its
        person."""
        self.show_field("passphrase", self._key.locked and self._signed is None)
        self.query_one("#facts", LineBox).show(self._facts())
        self._offer()

    def _facts(self) -> list[Line]:
        found, pending = self._found, self._pending
        environment = found.environment if pending is None else pending.environment
        lines = [
            *view.bound_lines(found, self._decision, environment)[:-1],
            view.fact("suite", found.suite_id, found.suite_digest),
        ]
        if pending is not None:
            return [*lines, *view.waiting_lines(pending), []]
        lines.append(self._valid())
        if not self._own:
            says = f"the report says {found.recommendation}"
            told = f" {says}: say in the comment why you decide otherwise"
            lines.append([Span(told, "quarantined")])
        before = self._said_before()
        if before is not None and self._signed is None:
            told = f" you signed this at {before.created[11:16]}Z on {before.created[:10]}: "
            told += f"decision {before.number} is superseded"
            lines.append([Span(told, "quarantined")])
        return [*lines, []]

    def _said_before(self) -> EarlierDecision | None:
        """Return the earlier decision by which the person of the chosen key said the same."""
        if self._pending is not None or not self._key_list or self._key.principal is None:
            return None
        return signed_before(self._found, self._decision, {self._key.principal})

    def _valid(self) -> Line:
        found = self._found
        needed = found.needed if self._decision == "PROMOTE" else 1
        more = f"; {needed} people must sign" if needed > 1 else ""
        head = f"{words.short(found.journal_head)} at {found.journal_seq:,}"
        return [
            Span(f" {pad('valid', 10)}", "dim"),
            Span(pad(f"{words.plural(found.valid_days, 'day')}{more}", 30)),
            Span(f"journal {head}"),
        ]

    def _offer(self) -> None:
        buttons = self.query_one("#buttons", Menu)
        if self._signed is not None:
            ways = [
                way(1, "send it on", "exports report and renderings", 18),
                way(2, "check it offline", "copies the command: reviewer verify …", 18),
                way(3, "close", ""),
            ]
            buttons.offer(ways, CLOSE)
        else:
            again = " again" if self._said_before() is not None else ""
            buttons.offer(
                [
                    [Span(f"  [ Sign {self._decision}{again} ]", "strong")],
                    [Span("  [ Not now ]", "strong")],
                ]
            )

    # pressing ----------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not self.held():
            self.focus_next()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if self.held() or self._waiting:
            return
        if message.menu.id == "keys":
            self._after_key()
        elif self._signed is not None:
            self._after(message.menu.cursor)
        elif message.menu.cursor == 1:
            self.dismiss(None)
        else:
            self._sign()

    def _after_key(self) -> None:
        """Go on from the chosen key: to whether it may sign, to its passphrase, or to the end."""
        if not view.may_sign(self._key):
            self.dismiss(self._key)
        elif self._key.locked:
            self.query_one("#passphrase").focus()
        else:
            self.query_one("#buttons").focus()

    def on_menu_moved(self, message: Menu.Moved) -> None:
        if message.menu.id == "keys":
            self._show_key()

    def action_numbered(self, number: int) -> None:
        """Choose the line with that number, once the decision is signed."""
        if self._signed is not None and number <= CLOSE + 1:
            self._after(number - 1)

    def _after(self, way: int) -> None:
        assert self._signed is not None
        if way == CLOSE:
            self.dismiss(self._signed)
        elif way == CHECK:
            command = self._command(self._signed.path)
            self.app.copy_to_clipboard(command)
            self._add(f"copied: {command}")
        else:
            self._export()

    def _file(self, path: str) -> str:
        """Return the path of a file within the workspace."""
        return path.replace(f"{self.shell.desk.path}/", "")

    def _command(self, decision: str) -> str:
        root, found = self.shell.desk.place.root, self._found
        manifest = root / "suites" / found.suite_id / "candidates" / f"{found.candidate_id}.json"
        signers = root / "store" / "signers"
        named = ("--signers", str(signers), "--candidate-manifest", str(manifest))
        return shlex.join(("reviewer", "verify", decision, *named))

    def _export(self) -> None:
        """Write the report next to the decision, into the folder that the decision screen
        offers."""
        from reviewer.tui.screens.dialogs.ask import FORMATS, release_folder

        found, desk = self._found, self.shell.desk
        folder = release_folder(found.candidate_id)
        place = (found.suite_id, found.candidate_id, folder, FORMATS)
        self.ask(
            "export",
            lambda: desk.reports.export(*place),
            lambda done: self._add(
                f"exported {words.plural(len(done.files), 'file')} to {folder}/"
            ),
        )

    def _add(self, text: str) -> None:
        """Show a further message after signing."""
        box = self.query_one("#state", LineBox)
        told = textwrap.wrap(visible_line(text), self.room - 2, break_on_hyphens=False)
        box.show([*box.lines[:5], *([Span(f" {part}", "dim")] for part in told)])

    def _sign(self) -> None:
        key = self._key
        comment = self.value("comment").strip()
        if self._decision == "PROMOTE" and self.value("typed").strip() != "PROMOTE":
            self.tell_text("✗ type PROMOTE first: a release cannot be taken back", "fail")
            self.query_one("#typed").focus()
        elif not self._own and not comment:
            self.tell_text("✗ say in the comment why you decide against the report", "fail")
            self.query_one("#comment").focus()
        elif not view.may_sign(key):
            self.dismiss(key)
        elif key.locked and not self.value("passphrase"):
            self.tell_text("✗ type the passphrase of the key's file: it is used here only", "fail")
            self.query_one("#passphrase").focus()
        else:
            self._ask_desk(key, comment)

    def _ask_desk(self, key: KeyInfo, comment: str) -> None:
        self._waiting = True
        agent = key.where == "ssh-agent"
        self.tell_text(
            "waiting for ssh-agent: confirm or touch your key (Esc gives up)"
            if agent
            else "signing…"
        )
        found, desk = self._found, self.shell.desk
        passphrase = self.value("passphrase") if key.locked else None
        held = key.fingerprint if agent else key.where
        wanted = self._wanted = Wanted()

        def sign() -> tuple[SignedDecision, CheckedDecision | None]:
            if self._pending is not None:
                path = self._pending.path
                signed = desk.decisions.cosign(path, held, passphrase, keep=wanted.keep)
            else:
                signed = desk.decisions.sign(
                    found.suite_id, found.candidate_id, self._decision, held, comment,
                    found.report_digest, passphrase, keep=wanted.keep,
                )  # fmt: skip
            checked = desk.decisions.check(found.suite_id, found.candidate_id)
            return signed, next((one for one in checked if one.number == signed.number), None)

        self.ask("sign", sign, self._done, self.refused)

    def _done(self, ended: tuple[SignedDecision, CheckedDecision | None]) -> None:
        signed, check = ended
        self._waiting = False
        self._signed = signed
        self.query_one("#passphrase", Input).value = ""
        for name in ASKED:
            self.show_field(name, False)
        self.query_one("#keys").display = False
        self.query_one("#facts", LineBox).show(self._facts())
        title = [Span("signed", "strong")]
        state = self.query_one("#state", LineBox)
        state.styles.max_height = 12
        state.show(
            [
                rule(self.room, title, [view.signed_word(signed)]),
                *view.signed_lines(self._found, signed, self._file(signed.path), check, self.room),
                [],
            ]
        )
        self.headed(f"sign {self._decision} · done")
        self.query_one("#hints", LineBox).show([hint_line(self.ENDED, self.room)])
        self._offer()
        self.query_one("#buttons").focus()

    def refused(self, error: DeskError) -> None:
        """Show a refusal by the desk; after a wrong passphrase, ask for it again."""
        self._waiting = False
        if not self.is_attached:
            return
        lines = view.error_lines(error, self.room - 2)
        if error.text.endswith("wrong passphrase"):
            self._tries += 1
            tries = "1 try" if self._tries == 1 else f"{self._tries} tries"
            told = f" ✗ wrong passphrase, {tries} so far. Nothing was written."
            lines = [[Span(told, "fail")], *view.way_lines(error, self.room - 2)]
            passphrase = self.query_one("#passphrase", Input)
            passphrase.value = ""
            passphrase.focus()
        else:
            self.query_one("#buttons").focus()
        self.tell(lines[:5])

    def action_look_again(self) -> None:
        """Look for keys again: one may have been added to ssh-agent."""
        if self.dismissible:
            self.ask("keys", self.shell.desk.decisions.keys, self._look)

    def _look(self, keys: list[KeyInfo]) -> None:
        if keys and self.dismissible:
            self._key_list = self._sorted(keys)
            self._offer_keys()
            self.tell_text(f"{words.plural(len(keys), 'key')} found")

    def action_leave(self) -> None:
        """Close without signing, or after signing. Signing under way is abandoned, unless the
        signature is being kept at this moment; then say so."""
        if not self._waiting or self._wanted.give_up():
            self.dismiss(self._signed)
        else:
            self.tell_text("signed, and being written: please wait", "quarantined")

    def action_copy_digest(self) -> None:
        """Copy the report's digest."""
        self.app.copy_to_clipboard(self._found.report_digest)
        told = f"copied the report's digest: {words.short(self._found.report_digest)}…"
        self._add(told) if self._signed is not None else self.tell_text(told)
