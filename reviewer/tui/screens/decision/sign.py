"""The sign dialog: the sentence, what is bound, the key; then the signature, or why not."""

import textwrap
import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from reviewer.desk.decisions.api import CheckedDecision, DecisionView, Pending
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, field
from reviewer.tui.screens.decision import lines as view
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, middle, pad

HELD = 0.3
"""Seconds without Enter before one counts: the Enter that opened the dialog may still be held."""


EXPORT, CHECK, CLOSE = range(3)
"""What can be done once it is signed."""


class SignScreen(Dialog[SignedDecision | KeyInfo | None]):
    """Signs one decision on one report, by digest. Answers what is in the store, a key that was
    chosen and may not sign yet, or None."""

    NAME = "sign"
    ABOUT = (
        "You put your name to one sentence about one report. What is listed is what is",
        "bound. tab goes through the fields; Esc leaves without signing. A passphrase is used",
        "here and kept nowhere.",
    )
    ENTER = "press the chosen button"
    NUMBERS = "that line, once it is signed"
    CSS = """
    SignScreen #box { width: 74; max-width: 100%; }
    SignScreen Horizontal { height: 1; }
    SignScreen Horizontal LineBox { width: 12; }
    SignScreen Input { width: 1fr; }
    SignScreen #keys { height: auto; max-height: 3; }
    SignScreen #state { height: auto; max-height: 7; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss_unsigned", "not now"),
        bind("y", "copy_digest", "copy the report's digest"),
        bind("r", "look_again", "look for keys again"),
        *digits("numbered"),
    ]

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self,
        found: DecisionView,
        decision: str,
        keys: Sequence[KeyInfo],
        pending: Pending | None = None,
        *,
        guided: bool = False,
    ) -> None:
        """`pending` is the decision to which a signature is added; None makes one. `guided` means
        that steps came before this one."""
        super().__init__()
        self._guided, self._tries = guided, 0
        self._found, self._decision, self._pending = found, decision, pending
        signed = pending.signers if pending is not None else ()
        # The person who signed already is not who is asked now.
        self._key_list = sorted(
            keys, key=lambda key: (not view.may_sign(key), key.principal in signed)
        )
        self._signed: SignedDecision | None = None
        self._waiting = False
        self._last_enter = 0.0
        self._own = decision.lower() == found.recommendation or pending is not None

    @property
    def dismissible(self) -> bool:
        """True while nothing has been signed and nothing is being signed."""
        return self._signed is None and not self._waiting

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield LineBox(id="facts")
            if self._pending is None:
                yield _asked("comment", "enters the decision", "comment")
            if self._decision == "PROMOTE":
                yield _asked("typed", "type PROMOTE to sign", "type it")
            yield Menu(id="keys", ruled=True)
            yield _asked("passphrase", "of the key's file", "passphrase", hidden=True)
            yield LineBox(id="state")
            yield Menu(id="buttons")

    def on_mount(self) -> None:
        self._last_enter = self.clock()
        title = f"sign {self._decision}"
        if self._pending is not None:
            title = f"add a signature to decision {self._pending.number}"
        self.headed(f"{title} · 3 of 3" if self._guided else title)
        self.query_one("#box").styles.width = self._width
        self.query_one("#facts", LineBox).show(self._facts())
        self._offer_keys()
        self._offer()
        self.query_one("#typed" if self._decision == "PROMOTE" else "#buttons").focus()

    @property
    def _width(self) -> int:
        return view.dialog_width(self.app.size.width)

    @property
    def _key(self) -> KeyInfo:
        return self._key_list[self.query_one("#keys", Menu).cursor]

    def _offer_keys(self) -> None:
        keys = self.query_one("#keys", Menu)
        count = words.plural(len(self._key_list), "key")
        keys.caption([Span("key", "dim")], [Span(count, "dim")])
        keys.offer(
            [
                [
                    Span(" ✓ ", "pass") if view.may_sign(key) else Span(" ✗ ", "fail"),
                    *view.key_line(key),
                ]
                for key in self._key_list
            ]
        )
        self._show_passphrase()

    def _show_passphrase(self) -> None:
        """Ask for a passphrase only where the chosen key has one."""
        box = self.query_one("#passphrase").parent
        assert box is not None
        box.display = self._key.locked and self._signed is None

    def _facts(self) -> list[Line]:
        found = self._found
        candidate = visible_line(found.candidate_id)
        comment = (
            ""
            if self._own
            else f"the report says {found.recommendation}: a comment must say why you do not"
        )

        pending = self._pending
        environment = found.environment if pending is None else pending.environment
        sentence = view.SENTENCES[self._decision].format(environment=visible_line(environment))
        reasons = f"{found.recommendation}, {words.plural(len(found.reasons), 'reason')}"
        head = f"{words.short(found.journal_head)} at {found.journal_seq:,}"
        return [
            [],
            [
                Span(" You say: "),
                Span(f"{middle(candidate, 30)} {sentence}", "strong"),
            ],
            [],
            view.fact("subject", found.candidate_id, found.candidate_digest),
            view.fact("suite", found.suite_id, found.suite_digest),
            view.fact("report", reasons, found.report_digest),
            *(
                view.waiting_lines(pending)
                if pending is not None
                else [
                    [Span(f" {pad('journal', 10)}", "dim"), Span(f"head {head}")],
                    self._valid(),
                ]
            ),
            [Span(f" {comment}", "quarantined")] if comment else [],
            *self._said_before(),
        ]

    def _said_before(self) -> list[Line]:
        """Return a line where this very decision was signed on this report by who sits here."""
        mine = {key.principal for key in self._key_list if key.principal is not None}
        before = view.signed_before(self._found, self._decision, mine)
        if before is None or self._pending is not None:
            return []
        told = f" you signed this at {before.created[11:16]}Z as decision {before.number}: signing"
        return [[Span(f"{told} again supersedes it", "quarantined")]]

    def _valid(self) -> Line:
        days = words.plural(self._found.valid_days, "day")
        needed = self._found.needed if self._decision == "PROMOTE" else 1
        more = f"; {needed} people must sign, you are the first" if needed > 1 else ""
        return [Span(f" {pad('valid', 10)}", "dim"), Span(f"{days} from signing{more}")]

    def _offer(self) -> None:
        buttons = self.query_one("#buttons", Menu)
        if self._signed is not None:
            export = f"{key_of('export')} exports report and renderings"
            buttons.offer(
                [
                    [Span(" 1  ", "strong"), Span(f"send it on         {export}")],
                    [Span(" 2  ", "strong"), Span("check it offline   copies the command")],
                    [Span(" 3  ", "strong"), Span("close")],
                ],
                CLOSE,
            )
        else:
            buttons.offer(
                [
                    [Span(f"  [ Sign {self._decision} ]", "strong")],
                    [Span("  [ Not now ]", "strong")],
                ]
            )

    def _say(self, text: str, style: str = "text") -> None:
        self.query_one("#state", LineBox).show([[], [Span(f" {text}", style)]])

    # pressing ----------------------------------------------------------------------------------

    def _held(self) -> bool:
        """Tell whether this Enter may be the repeat of one that is still held down."""
        now = self.clock()
        before, self._last_enter = self._last_enter, now
        return now - before < HELD

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._last_enter = self.clock()
        self.focus_next()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.id == "keys":
            self._last_enter = self.clock()
            self._after_key()
        elif self._held() or self._waiting:
            return
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
            self._show_passphrase()

    def action_numbered(self, number: int) -> None:
        """Take that line, once it is signed."""
        if self._signed is not None and number <= CLOSE + 1:
            self._after(number - 1)

    def _after(self, way: int) -> None:
        assert self._signed is not None
        if way == CLOSE:
            self.dismiss(self._signed)
        elif way == CHECK:
            command = (
                f"reviewer verify {self._signed.path} --signers store/signers --candidate-manifest "
                f"suites/{self._found.suite_id}/candidates/{self._found.candidate_id}.json"
            )
            self.app.copy_to_clipboard(command)
            self._add(f"copied: {command}")
        else:
            self._export()

    def _export(self) -> None:
        """Write the report beside the decision, into the folder that the decision screen offers."""
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
        """Say something more, once it is signed."""
        box = self.query_one("#state", LineBox)
        told = textwrap.wrap(visible_line(text), self._width - 8)
        box.show([*box.lines[:4], *([Span(f" {part}", "dim")] for part in told)][:7])

    def _value(self, name: str) -> str:
        found = self.query(f"#{name}")
        return found.first(Input).value if found else ""

    def _sign(self) -> None:
        key = self._key
        comment = self._value("comment").strip()
        if self._decision == "PROMOTE" and self._value("typed").strip() != "PROMOTE":
            self._say("type PROMOTE first: a release is not taken back", "fail")
            self.query_one("#typed").focus()
        elif not self._own and not comment:
            self._say("a comment must say why this is not what the report says", "fail")
            self.query_one("#comment").focus()
        elif not view.may_sign(key):
            self.dismiss(key)
        elif key.locked and not self._value("passphrase"):
            self._say("type the passphrase of the key's file: it is used here only", "fail")
            self.query_one("#passphrase").focus()
        else:
            self._ask_desk(key, comment)

    def _ask_desk(self, key: KeyInfo, comment: str) -> None:
        self._waiting = True
        agent = key.where == "ssh-agent"
        self._say(
            "waiting for ssh-agent: confirm or touch your key (Esc gives up)"
            if agent
            else "signing…"
        )
        found, desk = self._found, self.shell.desk
        passphrase = self._value("passphrase") if key.locked else None
        held = key.fingerprint if agent else key.where

        def sign() -> tuple[SignedDecision, CheckedDecision | None]:
            if self._pending is not None:
                signed = desk.decisions.cosign(self._pending.path, held, passphrase)
            else:
                signed = desk.decisions.sign(
                    found.suite_id, found.candidate_id, self._decision, held, comment,
                    found.report_digest, passphrase,
                )  # fmt: skip
            checked = desk.decisions.check(found.suite_id, found.candidate_id)
            return signed, next((one for one in checked if one.number == signed.number), None)

        self.ask("sign", sign, self._done, self._refused)

    def _done(self, ended: tuple[SignedDecision, CheckedDecision | None]) -> None:
        signed, check = ended
        self._waiting = False
        self._signed = signed
        self.query_one("#passphrase", Input).value = ""
        self._show_passphrase()
        checked = "signature verified, report derived again"
        if check is not None and check.sound:
            checked = f"bytes read back, {checked}"
        line: Line = [Span(" checked   ", "dim"), Span(checked)]
        if check is not None and not check.sound:
            line = [Span(f" ✗ its file: {visible_line('; '.join(check.lines))}", "fail")]
        lines: list[Line] = [
            [],
            [
                Span(f" signed, decision {signed.number}, by {visible_line(signed.principal)} "),
                view.signed_word(signed),
            ],
            [Span(f" {middle(visible_line(signed.path), self._width - 6)}")],
            line,
        ]
        self.query_one("#state", LineBox).show(lines)
        self.headed(f"sign {self._decision} · done")
        self._offer()
        self.query_one("#buttons").focus()

    def _refused(self, error: DeskError) -> None:
        self._waiting = False
        lines = view.error_lines(error, self._width - 6)
        if error.text.endswith("wrong passphrase"):
            self._tries += 1
            tries = words.plural(self._tries, "try").replace("trys", "tries")
            told = f" ✗ wrong passphrase, {tries} so far. Nothing was written."
            lines = [[Span(told, "fail")], *lines[1:]]
            passphrase = self.query_one("#passphrase", Input)
            passphrase.value = ""
            passphrase.focus()
        else:
            self.query_one("#buttons").focus()
        again = f" {key_of('run')} looks again whether ssh-agent holds a key"
        self.query_one("#state", LineBox).show([[], *lines[:5], [Span(again, "dim")]])

    def action_look_again(self) -> None:
        """Look for keys again: one may have been added to ssh-agent."""
        if self.dismissible:
            self.ask("keys", self.shell.desk.decisions.keys, self._look)

    def _look(self, keys: list[KeyInfo]) -> None:
        if keys and self.dismissible:
            self._key_list = sorted(keys, key=lambda key: not view.may_sign(key))
            self._offer_keys()
            self._say(f"{words.plural(len(keys), 'key')} found")

    def action_dismiss_unsigned(self) -> None:
        """Not now; after signing: done."""
        self.dismiss(self._signed)

    def action_copy_digest(self) -> None:
        """Copy the report's digest."""
        self.app.copy_to_clipboard(self._found.report_digest)
        self._say("copied the report's digest")

    def on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            self._last_enter = 0.0


def _asked(id: str, hint: str, label: str, *, hidden: bool = False) -> Horizontal:
    return field(label, Input(placeholder=hint, id=id, password=hidden, max_length=2000))
