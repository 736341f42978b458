"""The sign dialog: the sentence, what is bound, the key; then the signature, or why not."""

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from reviewer.desk.decisions.api import DecisionView, Pending
from reviewer.desk.errors import DeskError
from reviewer.desk.views import KeyInfo, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, field
from reviewer.tui.screens.decision import screen as view
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, middle, pad

HELD = 0.3
"""Seconds without Enter before one counts: the Enter that opened the dialog may still be held."""


class SignScreen(Dialog[SignedDecision | None]):
    """Signs one decision on one report, by digest. Answers what is in the store, or None."""

    NAME = "sign"
    ABOUT = (
        "You put your name to one sentence about one report. What is listed is what is",
        "bound. tab goes through the fields; Esc leaves without signing.",
    )
    ENTER = "press the chosen button"
    CSS = """
    SignScreen #box { width: 72; max-width: 100%; }
    SignScreen Horizontal { height: 1; }
    SignScreen Horizontal LineBox { width: 12; }
    SignScreen Input { width: 1fr; }
    SignScreen #keys { height: auto; max-height: 3; }
    SignScreen #state { height: auto; max-height: 6; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss_unsigned", "not now"),
        bind("y", "copy_digest", "copy the report's digest"),
    ]

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self,
        found: DecisionView,
        decision: str,
        keys: Sequence[KeyInfo],
        pending: Pending | None = None,
    ) -> None:
        """`pending` is the decision to which a signature is added; None makes one."""
        super().__init__()
        self._found, self._decision, self._pending = found, decision, pending
        signed = pending.signers if pending is not None else ()
        # The person who signed already is not who is asked now.
        self._key_list = sorted(keys, key=lambda key: key.principal in signed)
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
            if any(key.where != "ssh-agent" for key in self._key_list):
                hint = "only for a key file that is locked"
                yield _asked("passphrase", hint, "passphrase", hidden=True)
            yield LineBox(id="state")
            yield Menu(id="buttons")

    def on_mount(self) -> None:
        self._last_enter = self.clock()
        title = f"sign {self._decision}"
        if self._pending is not None:
            title = f"add a signature to decision {self._pending.number}"
        self.headed(title)
        self.query_one("#facts", LineBox).show(self._facts())
        keys = self.query_one("#keys", Menu)
        keys.caption([Span("key", "dim")], [Span(words.plural(len(self._key_list), "key"), "dim")])
        keys.offer([[Span(" "), *view.key_line(key)] for key in self._key_list])
        self._offer()
        self.query_one("#typed" if self._decision == "PROMOTE" else "#buttons").focus()

    def _facts(self) -> list[Line]:
        found = self._found
        candidate = visible_line(found.candidate_id)
        comment = (
            ""
            if self._own
            else f"the report says {found.recommendation}: a comment must say why you do not"
        )

        def fact(label: str, name: str, digest: str | None) -> list[Span]:
            sha = f"sha256 {words.short(digest)}" if digest else "digest not measured"
            return [
                Span(f" {pad(label, 10)}", "dim"),
                Span(pad(middle(visible_line(name), 28), 30)),
                Span(sha),
            ]

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
            fact("subject", found.candidate_id, found.candidate_digest),
            fact("suite", found.suite_id, found.suite_digest),
            fact("report", reasons, found.report_digest),
            *(
                view.waiting_lines(pending)
                if pending is not None
                else [
                    [Span(f" {pad('journal', 10)}", "dim"), Span(f"head {head}")],
                    self._valid(),
                ]
            ),
            [Span(f" {comment}", "quarantined")] if comment else [],
        ]

    def _valid(self) -> Line:
        days = words.plural(self._found.valid_days, "day")
        needed = self._found.needed if self._decision == "PROMOTE" else 1
        more = f"; {needed} people must sign, you are the first" if needed > 1 else ""
        return [Span(f" {pad('valid', 10)}", "dim"), Span(f"{days} from signing{more}")]

    def _offer(self) -> None:
        buttons = self.query_one("#buttons", Menu)
        if self._signed is not None:
            buttons.offer([[Span("  [ Done ]", "strong")]], 0)
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
            self.query_one("#buttons").focus()
        elif self._held() or self._waiting:
            return
        elif self._signed is not None:
            self.dismiss(self._signed)
        elif message.menu.cursor == 1:
            self.dismiss(None)
        else:
            self._sign()

    def _value(self, name: str) -> str:
        found = self.query(f"#{name}")
        return found.first(Input).value if found else ""

    def _sign(self) -> None:
        key = self._key_list[self.query_one("#keys", Menu).cursor]
        comment = self._value("comment").strip()
        if self._decision == "PROMOTE" and self._value("typed").strip() != "PROMOTE":
            self._say("type PROMOTE first: a release is not taken back", "fail")
            self.query_one("#typed").focus()
        elif not self._own and not comment:
            self._say("a comment must say why this is not what the report says", "fail")
            self.query_one("#comment").focus()
        elif key.principal is None:
            self._say("this key is not in store/signers", "fail")
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
        passphrase = None if agent else self._value("passphrase") or None
        held = key.fingerprint if agent else key.where

        def sign() -> SignedDecision:
            if self._pending is not None:
                return desk.decisions.cosign(self._pending.path, held, passphrase)
            return desk.decisions.sign(
                found.suite_id, found.candidate_id, self._decision, held, comment,
                found.report_digest, passphrase,
            )  # fmt: skip

        self.ask("sign", sign, self._done, self._refused)

    def _done(self, signed: SignedDecision) -> None:
        self._waiting = False
        self._signed = signed
        lines: list[Line] = [
            [],
            [
                Span(f" signed, decision {signed.number}, by {visible_line(signed.principal)} "),
                view.signed_word(signed),
            ],
            [Span(f" {middle(visible_line(signed.path), 66)}")],
        ]
        self.query_one("#state", LineBox).show(lines)
        self._offer()
        self.query_one("#buttons").focus()

    def _refused(self, error: DeskError) -> None:
        self._waiting = False
        ways = [[Span(f"   {visible_line(way)}", "dim")] for way in error.ways_out[:3]]
        self.query_one("#state", LineBox).show(
            [[], [Span(f" ✗ {visible_line(error.text)}", "fail")], *ways]
        )
        self.query_one("#buttons").focus()

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
