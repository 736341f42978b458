"""The decision: the report as it would be signed, and what may be said about it."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.decisions.api import Choice, DecisionView, Pending
from reviewer.desk.views import Evidence, KeyInfo, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.settings.theme import STATES
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.views.verdict import verdict_lines
from reviewer.tui.widgets import words
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Line, Span, middle, pad, spread
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import short

SENTENCES = {
    "PROMOTE": "may be released to {environment}.",
    "BLOCK": "must not be released to {environment}.",
    "REPAIR": "must be repaired and reviewed again.",
}


def top(found: DecisionView, width: int) -> list[Line]:
    """Return the subject of the decision, the verdict, and each reason with its evidence and
    policy."""
    decided = f"signed {visible_line(found.decided)}" if found.decided else "undecided"
    if found.pending is not None:
        decided = f"waits: decision {found.pending.number}"
    left = [
        Span(middle(visible_line(found.candidate_id), width // 3), "strong"),
        Span(" on ", "dim"),
        Span(middle(visible_line(found.suite_id), width // 4)),
        Span("   report ", "dim"),
        Span(words.short(found.report_digest)),
    ]
    lines: list[Line] = [spread(left, [Span(decided, "strong" if found.decided else "dim")], width)]
    return lines + verdict_lines(found.candidate_id, found.recommendation, found.reasons, 3, width)


def sections(found: DecisionView) -> list[Block]:
    """Every section of the report: mark, name, text."""
    blocks = []
    for mark, name, text in found.sections:
        state = STATES.get(mark)
        glyph = Span(f" {state.glyph} ", mark) if state else Span(" · ", "dim")
        label = Span(pad(visible_line(name), 15) + " ", "strong")
        blocks.append(Block(text, "text", [glyph, label]))
    return blocks


def choice_line(choice: Choice, chosen: bool) -> list[Span]:
    """One decision: whether it is chosen, whether it is open, and why not."""
    mark = "(x)" if chosen else "( )"
    why = "open" if choice.open else "closed"
    if choice.why:
        why += f": {visible_line(choice.why)}"
    name = choice.decision if choice.adds is None else f"co-sign {choice.decision}"
    return [
        Span(f" {mark} ", "strong"),
        Span(pad(name, 16), "strong" if choice.open else "dim"),
        Span(why, "text" if choice.open else "dim"),
    ]


def key_line(key: KeyInfo) -> list[Span]:
    """One key: who it is, its fingerprint, where it lies."""
    name = key.principal or f"{key.comment} (not in store/signers)"
    where_ = "in ssh-agent" if key.where == "ssh-agent" else key.where
    return [
        Span(visible_line(name), "strong" if key.principal else "not_measured"),
        Span(f"  {middle(visible_line(key.fingerprint), 20)}", "dim"),
        Span(f"  {middle(visible_line(where_), 24)}"),
    ]


def signer_lines(found: DecisionView, keys: Sequence[KeyInfo] | None, width: int) -> list[Line]:
    """Return the lines that name the signer and the digests that would be bound."""
    if keys is None:
        who: Line = [Span(" looking for keys…", "dim")]
    elif keys:
        who = [Span(" key ", "dim"), *key_line(keys[0])]
        if len(keys) > 1:
            who = [*who, Span(f"  1 of {len(keys)}", "dim")]
    else:
        who = [
            Span(" ○ no key", "not_measured"),
            Span(" in ssh-agent or ~/.ssh: reviewer keys says how to get one", "dim"),
        ]
    bound = [
        Span(" candidate ", "dim"),
        Span(words.short(found.candidate_digest)),
        Span("   suite ", "dim"),
        Span(words.short(found.suite_digest)),
        Span("   journal ", "dim"),
        Span(f"{words.short(found.journal_head)} at {found.journal_seq:,}"),
    ]
    exits = [Span(f"exit code {found.exit_code}", "dim")]
    wanted = [Span(f"PROMOTE takes {found.needed} people", "dim")] if found.needed > 1 else []
    return [spread(who, wanted, width), spread(bound, exits, width)]


def waiting_lines(pending: Pending) -> list[Line]:
    """Return the lines about the signature that was made first."""
    signed = f"{len(pending.signers)} of {pending.needed}"
    who = ", ".join(visible_line(name) for name in pending.signers) or "nobody that counts"
    lines: list[Line] = [
        [Span(f" {pad('signed', 10)}", "dim"), Span(f"{signed}: {who}", "strong")],
        [
            Span(f" {pad('made', 10)}", "dim"),
            Span(f"{visible_line(pending.created)}, until {visible_line(pending.expires)}"),
        ],
    ]
    said = visible_line(pending.comment)
    if said:
        lines.append([Span(f" {pad('comment', 10)}", "dim"), Span(middle(said, 56))])
    return lines


def signed_word(signed: SignedDecision) -> Span:
    """Return the outcome of a signature as a glyph and a word."""
    if signed.verified:
        return Span("✓ verified", "pass")
    if signed.pending:
        return Span("○ waits for another approver", "not_measured")
    return Span("✗ not verified", "fail")


MODES = ("report", "Markdown", "bytes")


class DecisionScreen(DeskScreen):
    """Choices at the foot, every section of the report above them."""

    NAME = "decision"
    ABOUT = (
        "You are asked: what do you say about this candidate, and do you sign it?",
        "What is hashed is what you see; {view} shows its exact bytes. Nothing is signed",
        "before the dialog that Enter opens. PROMOTE needs a report that says promote.",
    )
    ENTER = "sign the chosen decision"
    NUMBERS = "the evidence of that reason"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "choose", "screen.pick(1)"),
        ("Enter", "sign", "screen.sign"),
        ("n", "next reason", "screen.reason(1)"),
        ("v", "bytes", "screen.view"),
        ("x", "export", "screen.export"),
        ("y", "copy digest", "screen.copy_digest"),
        ("?", "help", "app.explain"),
        ("1-9", "evidence", "screen.numbered(1)"),
        ("o", "pager", "screen.pager"),
        ("E", "trends", "app.go('trends')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "reason(1)", "evidence of next reason"),
        bind("N", "reason(-1)", "of the reason before"),
        bind("v", "view", "report, Markdown, bytes"),
        bind("x", "export", "export the report"),
        bind("y", "copy_digest", "copy the report's digest"),
        bind("o", "pager", "open in $PAGER"),
        bind("slash", "search", "search the report"),
        *digits("numbered"),
    ]
    CSS = """
    #report { height: 1fr; }
    #choices { height: auto; max-height: 5; }
    #signer { height: 3; }
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: DecisionView | None = None
        self._keys: list[KeyInfo] | None = None
        self.mode = "report"
        self._reason = 0

    def regions(self) -> Iterable[Widget]:
        yield TextView(id="report")
        yield Menu(id="choices", ruled=True)
        yield LineBox(id="signer")

    @property
    def choices(self) -> Menu:
        """The choices at the foot."""
        return self.query_one("#choices", Menu)

    def on_mount(self) -> None:
        self.head([[Span(" building the report…", "dim")]])
        self.foot()
        self.choices.focus()
        self._read()
        self.ask("keys", self.shell.desk.decisions.keys, self._take_keys)

    def _read(self) -> None:
        desk, place = self.shell.desk, (self.suite_id, self.candidate_id)
        self.ask("decision", lambda: desk.decisions.view(*place), self._take)

    def _take_keys(self, keys: list[KeyInfo]) -> None:
        self._keys = sorted(keys, key=lambda key: key.principal is None)
        self.redraw()

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def _take(self, found: DecisionView) -> None:
        before, self.found = self.found, found
        self._seen = self.shell.version
        if before is None:
            wanted = [
                index
                for index, choice in enumerate(found.choices)
                if choice.open and choice.decision == found.preselected
            ]
            self.choices.offer([[] for _ in found.choices], wanted[0] if wanted else 0)
            self.say("nothing is signed yet" if not found.decided else f"signed {found.decided}")
        elif before.report_digest != found.report_digest:
            self._changed(before, found)
        self.redraw()
        self._draw_report(fresh=before is None)

    def _changed(self, before: DecisionView, found: DecisionView) -> None:
        from reviewer.tui.screens.decision.sign import SignScreen

        change = f"report changed: {short(before.report_digest)} → {short(found.report_digest)}"
        if isinstance(self.app.screen, SignScreen) and self.app.screen.dismissible:
            self.app.screen.dismiss(None)
        self.say(change, "strong")

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(top(found, self.columns))
        offered = [
            choice_line(choice, index == self.choices.cursor)
            for index, choice in enumerate(found.choices)
        ]
        self.choices.caption([Span("decision", "strong")], [Span(f"{len(offered)} choices", "dim")])
        self.choices.offer(offered)
        signer = signer_lines(found, self._keys, self.columns)
        self.query_one("#signer", LineBox).show([[Span("─" * self.columns, "rule")], *signer])
        self.foot()

    def _draw_report(self, *, fresh: bool) -> None:
        if self.found is None:
            return
        title = [Span("the report, as it will be signed", "strong")]
        note = [Span("v shows its bytes" if self.mode == "report" else self.mode, "dim")]
        if self.mode == "report":
            blocks = sections(self.found)
        elif self.mode == "Markdown":
            blocks = [Block(self.found.markdown)]
        else:
            blocks = [Block(self.found.report_json.decode("utf-8", "backslashreplace"))]
        report = self.query_one("#report", TextView)
        (report.show if fresh else report.update)(blocks, title, note)

    def on_resize(self, event: Resize) -> None:
        self.redraw()

    # acting ------------------------------------------------------------------------------------

    def action_pick(self, step: int) -> None:
        """The next choice."""
        self.choices.action_move(step)

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self.redraw()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.action_sign()

    def action_sign(self) -> None:
        """Open the dialog that signs the chosen decision."""
        from reviewer.tui.screens.decision.sign import SignScreen

        if self.found is None or self._keys is None:
            self.say("still reading: a moment")
            return
        if not self.found.choices:
            return
        choice = self.found.choices[self.choices.cursor]
        if not choice.open:
            what = choice.decision if choice.adds is None else f"decision {choice.adds}"
            self.say(f"{what} is closed: {choice.why}", "fail")
        elif not self._keys:
            self.say("no key to sign with: reviewer keys says how to get one", "fail")
        else:
            pending = self.found.pending if choice.adds is not None else None
            dialog = SignScreen(self.found, choice.decision, self._keys, pending)
            self.app.push_screen(dialog, self._signed)

    def _signed(self, signed: SignedDecision | None) -> None:
        if signed is not None:
            self._read()
            word = signed_word(signed)
            self.say(
                f"signed, decision {signed.number}, {signed.path} {word.text}; "
                f"{key_of('export')} exports it",
                word.style,
            )

    def action_reason(self, step: int) -> None:
        """The evidence of the next reason."""
        if self.found and self.found.reasons:
            self._reason = (self._reason + step - (self._reason == 0)) % len(self.found.reasons)
            self.action_numbered(self.found.reasons[self._reason].number)

    def action_numbered(self, number: int) -> None:
        """The evidence of a reason."""
        reasons = self.found.reasons if self.found else ()
        evidence: list[Evidence] = [
            each for reason in reasons if reason.number == number for each in reason.evidence
        ]
        if not evidence:
            self.say(f"reason {number} has no single event behind it")
            return
        first = evidence[0]
        self.shell.trace_id = first.trace_id
        self.shell.visit(ToTrace(first.trace_id, first.seq, first.gate))

    def action_view(self) -> None:
        """Sections, Markdown, the exact bytes."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self._draw_report(fresh=True)

    def action_search(self) -> None:
        """Search the report."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        report = self.query_one("#report", TextView)

        def find(text: str | None) -> None:
            if text and not report.search(text):
                self.say(f"not found in this view: {key_of('view')} shows Markdown and bytes")

        self.app.push_screen(PromptScreen("search the report", report.query_text), find)

    def action_export(self) -> None:
        """Write the report and its renderings to a folder."""
        from reviewer.tui.screens.dialogs.ask import export_to

        export_to(self, self.suite_id, self.candidate_id)

    def action_copy_digest(self) -> None:
        """Copy the report's digest."""
        if self.found is not None:
            self.copy(self.found.report_digest, "report digest")

    def action_pager(self) -> None:
        """Open the Markdown rendering in $PAGER."""
        from reviewer.tui.widgets.textview import open_in_pager

        if self.found is not None and not open_in_pager(self.app, self.found.markdown):
            self.say(f"no pager can be opened here: {key_of('view')} shows the Markdown")
