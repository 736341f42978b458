"""A signature with a key of another machine: the decision is prepared here, signed there, and the
signature pasted. For pages of `reviewer serve`, whose machine holds no key of any guest."""

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, TextArea

from reviewer.desk.decisions.api import DecisionView, Pending
from reviewer.desk.errors import DeskError
from reviewer.desk.views import SignedDecision
from reviewer.tui.screens.base import Hint, hint_line, pressing
from reviewer.tui.screens.decision import lines as view
from reviewer.tui.screens.decision.step import Step, entry
from reviewer.tui.settings.keys import bind
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span

if TYPE_CHECKING:
    from reviewer.desk.decisions.own_key import Prepared

KEEP, COPY, AGAIN, LEAVE = range(4)
"""The acts that are possible once the decision is prepared."""


class OwnKeyScreen(Step[SignedDecision | None]):
    """Prepares a decision and takes the signature that its person made on another machine. Answers
    with the decision in the store, or None."""

    NAME = "sign-own-key"
    ABOUT = (
        "You sign with a key of your own machine, which never reaches this one. The file that is",
        "prepared here is signed there by the command shown; its .sig is pasted here and verified.",
    )
    ENTER = "press the chosen button"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        pressing("Enter", "press", "enter"),
        pressing("tab", "field", "tab"),
        pressing("Esc", "cancel", "escape"),
    )
    DEFAULT_CSS = """
    OwnKeyScreen TextArea, OwnKeyScreen TextArea:focus { border: none; }
    OwnKeyScreen TextArea { height: 4; display: none; padding: 0 1; }
    OwnKeyScreen #state { max-height: 8; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [bind("escape", "leave", "cancel")]

    def __init__(self, found: DecisionView, decision: str, pending: Pending | None) -> None:
        """Prepare a decision, or add a signature to `pending`."""
        super().__init__()
        self._found, self._decision, self._pending = found, decision, pending
        self._own = decision.lower() == found.recommendation or pending is not None
        self._prepared: Prepared | None = None

    def parts(self) -> Iterable[Widget]:
        if self._pending is None:
            yield entry("comment", "comment", "enters the decision")
        if self._decision == "PROMOTE":
            yield entry("typed", "type it", "type PROMOTE to sign")
        yield TextArea(id="signature", tab_behavior="focus", soft_wrap=False)
        yield LineBox(id="state")
        yield Menu(id="buttons")

    def on_mount(self) -> None:
        title = f"sign {self._decision} with your own key"
        if self._pending is not None:
            title = f"add a signature to decision {self._pending.number} with your own key"
        self.opened(title, self._facts())
        self._offer()
        self.query_one("#typed" if self._decision == "PROMOTE" else "#buttons").focus()

    def _facts(self) -> list[Line]:
        found, pending = self._found, self._pending
        environment = found.environment if pending is None else pending.environment
        facts = [
            *view.bound_lines(found, self._decision, environment)[:-1],
            view.fact("suite", found.suite_id, found.suite_digest),
        ]
        if pending is not None:
            facts += view.waiting_lines(pending)
        return [*facts, []]

    def _offer(self) -> None:
        buttons = self.query_one("#buttons", Menu)
        told = ["[ Prepare ]", "[ Not now ]"]
        if self._prepared is not None:
            told = [
                f"[ Keep {self._decision} with this signature ]", "[ Copy the command ]",
                "[ Save the file again ]", "[ Not now ]",
            ]  # fmt: skip
        buttons.offer([[Span(f"  {text}", "strong")] for text in told])

    # pressing ----------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not self.held():
            self.focus_next()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if self.held() or self._waiting:
            return
        chosen = message.menu.cursor
        if self._prepared is None:
            self._prepare() if chosen == 0 else self.dismiss(None)
        elif chosen == KEEP:
            self._keep(self._prepared)
        elif chosen == COPY:
            self.app.copy_to_clipboard(self._prepared.command)
        elif chosen == AGAIN:
            self._hand_over(self._prepared)
        else:
            self.dismiss(None)

    def _prepare(self) -> None:
        comment = self.value("comment").strip()
        if self._decision == "PROMOTE" and self.value("typed").strip() != "PROMOTE":
            self.tell_text("✗ type PROMOTE first: a release cannot be taken back", "fail")
            self.query_one("#typed").focus()
            return
        if not self._own and not comment:
            self.tell_text("✗ say in the comment why you decide against the report", "fail")
            self.query_one("#comment").focus()
            return
        self._waiting = True
        self.tell_text("preparing…")
        found, desk, pending = self._found, self.shell.desk, self._pending

        def prepare() -> "Prepared":
            if pending is not None:
                return desk.decisions.prepare_added(pending.path)
            return desk.decisions.prepare(
                found.suite_id, found.candidate_id, self._decision, comment, found.report_digest
            )

        self.ask("prepare", prepare, self._took, self.refused)

    def _took(self, prepared: "Prepared") -> None:
        self._waiting, self._prepared = False, prepared
        for name in ("comment", "typed"):
            self.show_field(name, False)
        self.query_one("#facts", LineBox).show(self._facts()[:2])
        self._hand_over(prepared)
        area = self.query_one("#signature", TextArea)
        area.styles.display = "block"
        area.focus()
        self._offer()
        self.query_one("#hints", LineBox).show([hint_line(self.HINTS, self.room)])

    def _hand_over(self, prepared: "Prepared") -> None:
        """Give the file to the page's reader, and say what to do with it."""
        from reviewer.desk.decisions.own_key import FILE

        file = io.BytesIO(prepared.signed_bytes)
        self.app.deliver_binary(file, save_filename=FILE, open_method="download")
        command = prepared.command.replace("-f ", "-f\n   ") if self.room < 90 else prepared.command
        self.tell(
            [
                [Span(f" {FILE} was handed to your browser: sha256 ", "dim"),
                 Span(words.short(prepared.sha256))],
                [Span(" where it was saved, on your machine:", "dim")],
                *([Span(f"   {part.strip()}", "strong")] for part in command.split("\n")),
                [Span(f" then paste the text of {FILE}.sig above, and keep it", "dim")],
            ]
        )  # fmt: skip

    def _keep(self, prepared: "Prepared") -> None:
        signature = self.query_one("#signature", TextArea).text.strip()
        if not signature:
            self.tell_text("✗ paste the signature first", "fail")
            self.query_one("#signature").focus()
            return
        self._waiting = True
        self.tell_text("verifying…")
        desk, made = self.shell.desk, f"{signature}\n".encode("utf-8", "replace")
        self.ask(
            "sign", lambda: desk.decisions.sign_prepared(prepared, made), self._done, self.refused
        )

    def _done(self, signed: SignedDecision) -> None:
        self.dismiss(signed)

    def refused(self, error: DeskError) -> None:
        """Say why the desk refused."""
        if self.is_attached:
            super().refused(error)
            self.query_one("#buttons").focus()
