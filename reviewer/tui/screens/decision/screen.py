"""The decision: the report as it would be signed, and the decisions that are possible."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.decisions.api import CheckedDecision, DecisionView, SuiteStanding
from reviewer.desk.decisions.choices import signed_before
from reviewer.desk.views import Evidence, KeyInfo, Reason, SignedDecision
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.decision.done import done_blocks, read_behind
from reviewer.tui.screens.decision.guide import SigningGuide
from reviewer.tui.screens.decision.lines import (
    beside_blocks,
    checked_block,
    checked_words,
    choice_line,
    earlier_line,
    may_sign,
    sections,
    signed_word,
    signer_lines,
    standing,
    top,
)
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.views.attempt import Read
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Span, middle
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import short

MODES = ("report", "Markdown", "bytes")
SIDE, ROOMY = 150, 34
"""Columns from which the suite is shown next to the report, and lines from which the report names
every event and gate."""


UNSIGNED = "nothing is signed yet"


class DecisionScreen(DeskScreen):
    """Choices at the foot, every section of the report above them."""

    NAME = "decision"
    SIZED = ("earlier",)
    ABOUT = (
        "You are asked: what do you decide about this candidate, and do you sign it?",
        "What is hashed is what you see; {view} shows its exact bytes. Nothing is signed",
        "before the dialog that Enter opens. PROMOTE needs a report that says promote.",
        "Earlier decisions: Enter opens the bytes of one, {verify} verifies all of them.",
    )
    ENTER = "sign the chosen decision"
    NUMBERS = "the evidence of that reason"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("jk", "choose", "screen.pick(1)"),
        ("Enter", "sign", "screen.sign"),
        ("=", "verify", "screen.verify"),
        ("n", "next reason", "screen.reason(1)"),
        ("e", "evidence", "screen.evidence"),
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
        bind("e", "evidence", "", "What was done in the attempts behind the reasons, or not."),
        bind("equals_sign", "verify", "verify earlier decisions"),
        bind("x", "export", "export the report"),
        bind("y", "copy_digest", "copy the report's digest"),
        bind("o", "pager", "open in $PAGER"),
        bind("slash", "search", "search the report"),
        *digits("numbered"),
    ]
    CSS = """
    #pages { height: 1fr; min-height: 3; }
    #beside { display: none; }
    #pages.-side #beside { display: block; }
    #earlier { height: auto; max-height: 3; }
    #earlier.tall { max-height: 9; }
    #choices { height: auto; max-height: 5; }
    #signer { height: 3; }
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: DecisionView | None = None
        self._keys: list[KeyInfo] | None = None
        self._of_suite: SuiteStanding | None = None
        self.mode = "report"
        self._reason = 0
        self._opened = False
        self._behind: list[tuple[Reason, list[Read]]] = []
        self._guide = SigningGuide(self)

    def regions(self) -> Iterable[Widget]:
        yield Horizontal(TextView(id="report"), TextView(id="beside", edge=True), id="pages")
        yield Menu(id="earlier", ruled=True)
        yield Menu(id="choices", ruled=True)
        yield LineBox(id="signer")

    @property
    def choices(self) -> Menu:
        """The choices at the foot."""
        return self.query_one("#choices", Menu)

    def on_mount(self) -> None:
        self.head([[Span(" building the report…", "dim")]])
        self.foot()
        self.query_one("#earlier").display = False
        self.choices.focus()
        self._read()
        self.ask("keys", self.shell.desk.decisions.keys, self._take_keys)

    def _read(self) -> None:
        desk, place = self.shell.desk, (self.suite_id, self.candidate_id)
        self.consult("decision", lambda: desk.decisions.view(*place), self._take)

    def _take_keys(self, keys: list[KeyInfo]) -> None:
        self._keys = sorted(keys, key=lambda key: not may_sign(key))
        self.redraw()

    @property
    def mine(self) -> set[str]:
        """The principals whose keys are on this machine."""
        return {key.principal for key in self._keys or () if key.principal is not None}

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
            self.say(f"signed {found.decided}" if found.decided else UNSIGNED)
        elif found.decided and self.said == UNSIGNED:  # also under the dialog that signed it
            self.say(f"signed {found.decided}")
        elif before.report_digest != found.report_digest:
            self._changed(before, found)
        if before is None:
            desk = self.shell.desk
            told, suite = desk.decisions.suite_standing, self.suite_id
            self.consult("standing", lambda: told(suite), self._take_suite)
        self.redraw()
        self._draw_report(fresh=before is None)

    def _take_suite(self, found: SuiteStanding) -> None:
        self._of_suite = found
        self._draw_report(fresh=False)

    def _changed(self, before: DecisionView, found: DecisionView) -> None:
        change = f"report changed: {short(before.report_digest)} → {short(found.report_digest)}"
        self._guide.leave()
        self.say(change, "strong")

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(top(found, self.columns))
        offered = [
            choice_line(
                choice,
                index == self.choices.cursor,
                signed_before(found, choice.decision, self.mine),
            )
            for index, choice in enumerate(found.choices)
        ]
        can = sum(choice.open for choice in found.choices)
        note = f"{can} of {len(offered)} can be chosen"
        self.choices.caption([Span("decision", "strong")], [Span(note, "dim")])
        self.choices.offer(offered)
        self._draw_earlier(found)
        signer = signer_lines(
            found, self._keys, self.columns,
            throw_away=self.shell.desk.decisions.throw_away(), served=self.shell.desk.role,
        )  # fmt: skip
        self.query_one("#signer", LineBox).show([[Span("─" * self.columns, "rule")], *signer])
        self.foot()

    def _draw_earlier(self, found: DecisionView) -> None:
        menu = self.query_one("#earlier", Menu)
        menu.display = bool(found.earlier)
        menu.set_class(self.app.size.height >= 40, "tall")
        if found.earlier:
            note = f"Enter opens, {key_of('verify')} verifies"
            title = [Span("earlier decisions", "strong"), Span(f" {len(found.earlier)}", "dim")]
            more = len(menu.items) != len(found.earlier)
            menu.caption(title, [Span(note, "dim")])
            menu.offer(
                [earlier_line(one, self.mine, self.columns) for one in found.earlier],
                len(found.earlier) - 1 if more else None,
            )

    def _draw_report(self, *, fresh: bool) -> None:
        if self.found is None:
            return
        last = standing(self.found)
        signed = last is not None and last.report_digest == self.found.report_digest
        words = "the report, as it was signed" if signed else "the report, as it will be signed"
        title = [Span(words, "strong")]
        note = [Span("v shows its bytes" if self.mode == "report" else self.mode, "dim")]
        beside = self.columns >= SIDE
        self.query_one("#pages").set_class(beside, "-side")
        if beside:
            self.query_one("#beside", TextView).update(
                beside_blocks(self.found, self._of_suite, self.mine), [Span("the suite", "strong")]
            )
        report = self.query_one("#report", TextView)
        if self._opened:
            title = [Span("what was done, by reason", "strong")]
            note = [Span(f"{key_of('evidence')} shows the report again", "dim")]
            blocks = done_blocks(self._behind, max(40, report.size.width - 2))
        elif self.mode == "report":
            roomy = self.app.size.height >= ROOMY
            blocks = sections(self.found, self._of_suite, beside=beside, roomy=roomy)
        elif self.mode == "Markdown":
            blocks = [Block(self.found.markdown)]
        else:
            blocks = [Block(self.found.report_json.decode("utf-8", "backslashreplace"))]
        (report.show if fresh else report.update)(blocks, title, note)

    def on_resize(self, event: Resize) -> None:
        self.redraw()
        self._draw_report(fresh=False)

    # acting ------------------------------------------------------------------------------------

    def action_pick(self, step: int) -> None:
        """Move to the next choice."""
        self.choices.action_move(step)

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self.redraw()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.id == "earlier":
            self._open_earlier(message.menu.cursor)
        else:
            self.action_sign()

    def _open_earlier(self, at: int) -> None:
        """Show the bytes of an earlier decision."""
        if self.found is None or at >= len(self.found.earlier):
            return
        one, desk = self.found.earlier[at], self.shell.desk
        name = "break-glass record" if one.number is None else f"decision {one.number}"

        def show(text: str) -> None:
            title = [Span(f"{name}, what was signed", "strong")]
            note = [Span(f"{key_of('view')} shows the report again", "dim")]
            self.query_one("#report", TextView).show([Block(text)], title, note)
            self.mode, self._opened = MODES[-1], False
            self.say(self._place(one.path))

        self.ask("statement", lambda: desk.decisions.statement(one.path), show)

    def action_verify(self) -> None:
        """Verify the files of all earlier decisions."""
        self.say("verifying…", "dim")
        desk, place = self.shell.desk, (self.suite_id, self.candidate_id)
        self.ask("verify", lambda: desk.decisions.check(*place), self._checked)

    def _checked(self, found: list[CheckedDecision]) -> None:
        if not found:
            self.say(f"{UNSIGNED}: there is nothing to verify")
            return
        shown = self.found.report_digest if self.found is not None else ""
        title = [Span("what the verifier says", "strong")]
        note = [Span(f"{key_of('view')} shows the report again", "dim")]
        blocks = [checked_block(one, one.report_digest == shown) for one in found]
        self.query_one("#report", TextView).show(blocks, title, note)
        self.mode, self._opened = MODES[-1], False
        self.say(*checked_words(found))

    def action_sign(self) -> None:
        """Sign the chosen decision, guided from the first missing step."""
        if self.found is None or self._keys is None:
            self.say("still reading: a moment")
            return
        if not self.found.choices:
            return
        choice = self.found.choices[self.choices.cursor]
        if not choice.open:
            what = choice.decision if choice.adds is None else f"decision {choice.adds}"
            self.say(f"{what} is not possible: {choice.why}", "fail")
        else:
            self._guide.begin(self.found, choice, self._keys)

    def keys_found(self, keys: list[KeyInfo]) -> None:
        """Show the keys after the guide made, found or trusted one."""
        self._take_keys(keys)

    def signed(self, signed: SignedDecision | None) -> None:
        """Report the result of the guide; None: its dialog was closed."""
        if signed is not None:
            self._read()
            word = signed_word(signed)
            told = f"signed, decision {signed.number} {word.text}: "
            room = self.columns - len(told) - 1
            self.say(told + middle(self._place(signed.path), room), word.style)

    def _place(self, path: str) -> str:
        """Return the path of a file within the workspace."""
        return visible_line(path.replace(f"{self.shell.desk.path}/", ""))

    def action_reason(self, step: int) -> None:
        """Open the evidence of the next reason."""
        if self.found and self.found.reasons:
            self._reason = (self._reason + step - (self._reason == 0)) % len(self.found.reasons)
            self.action_numbered(self.found.reasons[self._reason].number)

    def action_numbered(self, number: int) -> None:
        """Open the evidence of a reason."""
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

    def action_evidence(self) -> None:
        """Show the events of the attempts behind the reasons, or the report again."""
        if self.found is None:
            return
        if not any(reason.evidence for reason in self.found.reasons):
            self.say("no reason has an attempt behind it")
            return
        self._opened = not self._opened
        if not self._opened:
            self._draw_report(fresh=True)
            return
        desk, reasons = self.shell.desk, self.found.reasons
        self.consult("behind", lambda: read_behind(desk, reasons), self._take_behind)

    def _take_behind(self, found: list[tuple[Reason, list[Read]]]) -> None:
        self._behind = found
        self._draw_report(fresh=True)

    def action_view(self) -> None:
        """Switch between sections, Markdown and the exact bytes."""
        self._opened = False
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
