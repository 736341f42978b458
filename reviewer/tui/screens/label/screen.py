"""Labeling of either kind of item: the acts that both kinds share, and the end of the queue."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize, ScreenResume, ScreenSuspend
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import (
    EstimateView,
    ItemEvidence,
    ItemTrace,
    LabelItem,
    LabelKind,
    LabelRole,
)
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Dialog, Hint, choosing, hint_line
from reviewer.tui.screens.label import view as view
from reviewer.tui.screens.label.session import LabelSession
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.shell.places import ToLabel
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Document, Span
from reviewer.tui.widgets.plot import estimate_lines
from reviewer.tui.widgets.textview import Passage

REASONS = (
    "not enough to judge by",
    "I do not understand the request",
    "a language I do not read",
    "unreadable or garbled",
    "I should not judge this one",
    "other: the note says it",
)


class SkipScreen(Dialog[str | None]):
    """Answers with the reason, None at Esc."""

    NAME = "skip"
    BLIND = True
    ABOUT = ("The item is skipped with the reason you choose; {undo} undoes that.",)
    ENTER = "skip with this reason"
    NUMBERS = "skip for that reason"
    CSS = """
    SkipScreen #box { width: 56; max-width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "dismiss(None)", "do not skip"),
        bind("q", "dismiss(None)", "do not skip"),
        *digits("numbered"),
    ]

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            yield Menu(id="reasons")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed("skip this item, because")
        menu = self.query_one(Menu)
        menu.offer(
            [[Span(f" {n} ", "key"), Span(f" {words}")] for n, words in enumerate(REASONS, 1)], 0
        )
        skip = (f"1-{len(REASONS)}", "skip", "focused.choose")
        hints = (skip, *choosing("skip", "do not skip"))
        self.query_one("#keys", LineBox).show([[], hint_line(hints, 52)])
        menu.focus()

    def action_numbered(self, number: int) -> None:
        """Skip with this reason."""
        if number <= len(REASONS):
            self.dismiss(REASONS[number - 1])

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.dismiss(REASONS[message.menu.cursor])


MAX_NOTE = 4000
OTHER: dict[LabelKind, tuple[LabelKind, str]] = {
    "pair": ("message", "final messages, one by one"),
    "message": ("pair", "pairs of final messages"),
}
LABEL_KEYS: list[BindingType] = [
    bind("enter", "save", "save, then the next item", "Save the label; the next item comes."),
    bind("u", "undo"),
    bind("e", "evidence", "", "What was done before each message, masked; again closes it."),
    bind("minus", "skip"),
    bind("exclamation_mark", "flag"),
    bind("w", "note", "write a note"),
    bind("c", "other_kind", "messages, or pairs", "Label final messages one by one, or in pairs."),
    bind("plus", "make_episode", "an episode of this"),
]


def working(widget: Widget) -> Widget:
    """Mark a widget as part of an item's display; it is hidden while there is no item."""
    widget.add_class("work")
    return widget


class LabelScreen(DeskScreen):
    """The acts that pairs and messages share."""

    NAME = "label"
    BLIND = True
    KIND: ClassVar[LabelKind]
    EVERY: ClassVar[float] = 1.0
    END_HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Q", "queue", "app.go('queue')"),
        ("A", "agreement", "app.go('agreement')"),
        ("u", "undo", "screen.undo"),
        ("c", "messages, or pairs", "screen.other_kind"),
        ("Esc", "back", "app.back"),
        ("?", "help", "app.explain"),
    )
    DEFAULT_CSS = """
    LabelScreen #end { display: none; }
    LabelScreen.-idle .work { display: none; }
    LabelScreen.-idle #end { display: block; }
    LabelScreen #done { display: none; height: 3fr; }
    LabelScreen.-evidence #done { display: block; }
    """

    def __init__(
        self,
        suite_id: str,
        candidate_id: str,
        role: LabelRole = "rater",
        reason: str = "",
        item: str = "",
    ) -> None:
        super().__init__()
        self.labeling = LabelSession(self, suite_id, candidate_id, role, reason, item)
        self._ending: tuple[tuple[str, ...], tuple[EstimateView, ...]] = ((), ())

    def regions(self) -> Iterable[Widget]:
        yield from self.work()
        yield Passage(id="end")

    @abstractmethod
    def work(self) -> Iterable[Widget]:
        """Return the widgets that show an item; each goes through `working`."""

    def on_mount(self) -> None:
        self.app.clear_notifications()  # another screen's toast may say names that are hidden here
        self.shell.labeling.kind = self.KIND
        self.add_class("-idle")
        self.head([[Span(" reading…", "dim")]])
        self.foot()
        self.every(self.EVERY, self._tick)

    def on_screen_resume(self, event: ScreenResume) -> None:
        super().on_screen_resume(event)
        self.labeling.resumed()

    def on_screen_suspend(self, event: ScreenSuspend) -> None:
        self.labeling.suspended()

    def refused(self, error: DeskError) -> None:
        """Show a refusal by the desk. While an item is on screen, names are removed from its
        words."""
        self.gave_up()
        self.say(self.labeling.blinded(visible_line(self.refusal(error))), "fail")

    # what is shown -----------------------------------------------------------------------------

    def show_item(self, item: LabelItem) -> None:
        """Put a new item on the screen."""
        self.remove_class("-idle")
        self.show_texts(item)
        self._open_evidence()
        self.redraw()

    def show_end(self, texts: tuple[str, ...], own: tuple[EstimateView, ...]) -> None:
        """Say that there is no item, and why; with the figures this person may know of their own
        labels."""
        self._ending = texts, own
        self.add_class("-idle")
        self._draw_end()
        if self.labeling.session is None:
            self.head([[Span(" nothing to label here", "dim")]])
        self.redraw()

    def clear(self) -> None:
        """Remove the item from the screen."""
        self._ending = (), ()
        self.add_class("-idle")
        self.query_one("#end", Passage).show([])

    def _draw_end(self) -> None:
        texts, own = self._ending
        blocks = [Block(text) for text in texts]
        if own:
            blocks += [Block(""), Block("you, with yourself when the sides were exchanged", "dim")]
            width = max(20, self.columns - 2)
            blocks += [Block("", head=line) for line in estimate_lines(own, width)]
        blocks += [Block(""), Block(f"{key_of('choose')} turns to {OTHER[self.KIND][1]}.", "dim")]
        self.query_one("#end", Passage).show(blocks, [Span("nothing to label", "strong")])

    def _open_evidence(self) -> None:
        """Show or hide the events, as the reader last chose."""
        opened = self.shell.labeling.evidence
        self.set_class(opened, "-evidence")
        if not opened:
            return
        self.show_evidence(None)
        self.labeling.look(self._show_evidence)

    def _show_evidence(self, found: ItemEvidence) -> None:
        self.show_evidence(found)
        self.redraw()

    @abstractmethod
    def show_evidence(self, found: ItemEvidence | None) -> None:
        """Show the events next to the messages; None while they are being read."""

    @abstractmethod
    def show_texts(self, item: LabelItem) -> None:
        """Put the texts of a new item on the screen."""

    def _deepen(self) -> None:
        """Give the request more rows where needed: both texts are judged by it."""
        text = self.labeling.item.user_request if self.labeling.item is not None else ""
        document = Document([Block(text, quoted=True)], self.columns - 2)
        document.settle(0, 3)
        self.set_class(document.height > 2, "-deep")

    @abstractmethod
    def draw_marks(self, item: LabelItem) -> None:
        """Draw the answers chosen so far, and progress."""

    def on_resize(self, event: Resize) -> None:
        if self.labeling.at_end:
            self._draw_end()
        self.redraw()

    def redraw(self) -> None:
        if self.labeling.session is None:
            super().redraw()
            return
        self.head([view.context(self.labeling.session, self.labeling.item, self.columns)])
        self.foot()
        if self.labeling.item is not None:
            self.draw_marks(self.labeling.item)

    def store_changed(self) -> None:
        super().store_changed()
        self.labeling.look_again()

    def who_changed(self) -> None:
        super().who_changed()
        self.labeling.look_again()

    def _tick(self) -> None:
        if self.labeling.open and self.labeling.item is not None:
            self.draw_marks(self.labeling.item)

    def hints(self) -> Iterable[Hint]:
        if self.labeling.at_end:
            return self.END_HINTS
        last = self.digits()
        return [(f"1-{last}" if hint[0] == "1-9" else hint[0], *hint[1:]) for hint in self.HINTS]

    @abstractmethod
    def digits(self) -> int:
        """Return the highest digit that has an effect."""

    # acts --------------------------------------------------------------------------------------

    @abstractmethod
    def lacking(self) -> str:
        """Return what an answer still lacks; "" when it can be saved."""

    def action_save(self) -> None:
        """Save the label; the next item comes when the store has it."""
        if not self.labeling.open:
            return
        lack = self.lacking()
        if lack:
            self.say(lack, "not_measured")
            self.redraw()
        else:
            self.labeling.record()

    def action_skip(self) -> None:
        """Ask why this item is skipped; a number chooses the reason."""

        def skip(reason: str | None) -> None:
            if reason is not None and self.labeling.open:
                self.labeling.record(reason)

        if self.labeling.open:
            self.app.push_screen(SkipScreen(), skip)

    def action_flag(self) -> None:
        """Flag the item, or remove the flag."""
        if self.labeling.open:
            self.labeling.draft.flag = not self.labeling.draft.flag
            self.redraw()

    def action_evidence(self) -> None:
        """Show or hide the events before each message, for this item and the next ones."""
        if not self.labeling.open:
            return
        self.shell.labeling.evidence = not self.shell.labeling.evidence
        self._open_evidence()
        if self.shell.labeling.evidence:
            self.say(
                "names, models, costs and times are masked; the label records that it was opened"
            )
        self.call_after_refresh(self.while_there(self.evidence_turned))
        self.redraw()

    @abstractmethod
    def evidence_turned(self) -> None:
        """Rearrange the screen after the events were shown or hidden."""

    def action_note(self) -> None:
        """Write a note; what identifies a person is masked before it is kept."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        draft = self.labeling.draft

        def write(text: str | None) -> None:
            if text is not None:
                draft.note = text[:MAX_NOTE]
                self.redraw()

        if self.labeling.open:
            self.app.push_screen(PromptScreen("note", draft.note), write)

    def action_make_episode(self) -> None:
        """Make an episode from the trace behind the message, without saying whose trace it is."""
        from reviewer.tui.screens.dialogs.ask import QuestionScreen

        def chosen(side: str | None) -> None:
            if side is not None:
                self.labeling.behind("right" if side == "right" else "left", self._make_episode)

        if not self.labeling.open:
            return
        if self.KIND == "message":
            chosen("left")
            return
        choices = (("left", "the left message"), ("right", "the right message"))
        self.app.push_screen(QuestionScreen("an episode of which trace", (), choices), chosen)

    def _make_episode(self, found: ItemTrace) -> None:
        from reviewer.tui.screens.dialogs.episode import EpisodeScreen

        hidden = (found.trace_id, found.candidate_id)
        if self.shell.here is self:
            self.app.push_screen(EpisodeScreen(found.trace_id, hidden=hidden))

    def action_other_kind(self) -> None:
        """Switch between pairs and single messages; from a review set, switch to the candidate's
        own queue. An item on screen is handed back."""
        self.shell.labeling.review_sets.clear()
        self.shell.labeling.kind = OTHER[self.KIND][0]
        self.shell.visit(ToLabel(self.labeling.role))

    def action_undo(self) -> None:
        """Take back the last saved label, and show its item again."""
        self.labeling.undo()
