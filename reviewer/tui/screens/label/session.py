"""The session behind the label screens: the next item, saving, undoing, handing back.

An item leaves the screen in one of two ways: as a label that is durable in the store, or handed
back with its draft, to be offered again after others.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import (
    EstimateView,
    Holder,
    ItemEvidence,
    ItemTrace,
    LabelDraft,
    LabelItem,
    LabelRole,
    SavedLabel,
    Session,
    Side,
)
from reviewer.desk.review_sets.views import SetChoice
from reviewer.tui.screens.label.view import held_words, names_of, saved_words
from reviewer.tui.settings.keys import worded
from reviewer.tui.shell.labeling import Draft
from reviewer.tui.shell.places import ToLabel

if TYPE_CHECKING:
    from reviewer.tui.screens.label.screen import LabelScreen

PATIENCE = 0.15
"""Seconds that a save may take before a message appears."""


class Turn(NamedTuple):
    """The next item, or at the end the figures this reviewer may know of their own labels.
    `missed`: the requested item can no longer be labeled. `held`: who has the remaining items; with
    `missed`, who has the requested item."""

    session: Session
    item: LabelItem | None
    own: tuple[EstimateView, ...]
    missed: bool = False
    held: tuple[Holder, ...] = ()


class LabelSession:
    """The part of labeling that talks to the desk. `reason` limits it to one line of the queue
    while that line has any left; `item` is the first item."""

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(
        self,
        screen: "LabelScreen",
        suite_id: str,
        candidate_id: str,
        role: LabelRole = "rater",
        reason: str = "",
        item: str = "",
    ) -> None:
        self._screen = screen
        self._suite_id, self._candidate_id = suite_id, candidate_id
        self.role: LabelRole = role
        self._reason, self._wanted = reason, item
        self.session: Session | None = None
        self.item: LabelItem | None = None
        self.draft = Draft()
        self._since = 0.0
        self._busy = self._saving = False
        self._at_end = self._waiting = False

    @property
    def _claims(self) -> bool:
        """True where others may see what this person does."""
        return self._screen.shell.settings.presence

    @property
    def here(self) -> bool:
        """True while the reader is on this screen, or in a dialog over it."""
        return self._screen.shell.here is self._screen

    @property
    def open(self) -> bool:
        """True while there is an item to answer. Keys pressed while an item is being saved are
        dropped: they were not meant for the next item, which nobody has seen."""
        return self.item is not None and not self._busy

    @property
    def at_end(self) -> bool:
        """True when the desk has no item to give."""
        return self._at_end

    @property
    def spent(self) -> float:
        """Seconds this item has been on screen, now and before."""
        return self.draft.spent + max(0.0, self.clock() - self._since)

    # what comes next ---------------------------------------------------------------------------

    def resumed(self) -> None:
        """Go on: the reader is on the screen again."""
        if self.item is None and not self._busy and not self._at_end:
            self.go_on()

    def go_on(self) -> None:
        """Ask for the next item."""
        self._busy = True
        desk, known, reason = self._screen.shell.desk, self.session, self._reason or None
        wanted, self._wanted = self._wanted, ""
        where, kind, role = (self._suite_id, self._candidate_id), self._screen.KIND, self.role
        labeling, claim = self._screen.shell.labeling, self._claims
        name = labeling.review_sets.get(self._suite_id, "")

        def look() -> Turn:
            session = known or (
                desk.labels.session(*where, role=role, review_set=name)
                if name
                else desk.labels.session(*where, kind=kind, role=role)
            )
            back = labeling.handed_back(session)
            item = desk.labels.next_item(session, back, reason, wanted or None, claim)
            missed = item is None and bool(wanted)
            held = desk.labels.held(session, wanted) if item is None else ()
            if item is None and (wanted or reason):
                item = desk.labels.next_item(session, back, None, None, claim)
            if item is None and wanted:
                held = desk.labels.held(session)
            own = desk.labels.own_end(session) if item is None else ()
            return Turn(session, item, own, missed, held)

        self._screen.ask("item", look, self._take, self._nothing)

    def _take(self, turn: Turn) -> None:
        self._busy = False
        self.session = turn.session
        if not self.here:
            self._release()  # left in the meantime: this item was never on screen
            return
        if turn.item is None:
            self.item, self._at_end = None, True
            more = worded("{screen.agreement} shows the agreement.")
            done = held_words(turn.held) if turn.held else ("everything here is done.",)
            if not (self._waiting and turn.held):
                self._screen.show_end((*done, more), turn.own)
            self._waiting = bool(turn.held)
        else:
            self._put(turn.session, turn.item)
        if turn.missed and turn.held and turn.item is not None:
            self._screen.say(f"{names_of(turn.held)} has the item you chose: here is another")
        elif turn.missed and not turn.held:
            self._screen.say("the item you chose has been settled meanwhile")

    def look_again(self) -> None:
        """Ask again if the remaining items belonged to others at the last question."""
        if self._waiting and self._at_end and self.here and not self._busy:
            self.go_on()

    def _release(self) -> None:
        """Let others have the item. For use while no question to the desk is under way."""
        if self._claims:
            self._screen.ask("item", self._screen.shell.desk.labels.release, lambda _: None)

    def _put(self, session: Session, item: LabelItem) -> None:
        self.item, self._at_end, self._waiting = item, False, False
        self.draft = self._screen.shell.labeling.draft(session, item)
        self._since = self.clock()
        self._screen.show_item(item)

    def _nothing(self, error: DeskError) -> None:
        """Show that the desk has no item, and why; go to the review set of a suite that is labeled
        through its sets alone."""
        self._busy = False
        shell, suite_id = self._screen.shell, self._suite_id

        def known(choices: tuple[SetChoice, ...]) -> None:
            if not self.here:
                return
            if choices and choices[0].name and not shell.labeling.review_sets.get(suite_id):
                shell.labeling.kind = choices[0].kind
                shell.labeling.review_sets[suite_id] = choices[0].name
                if choices[0].kind == self._screen.KIND:
                    self.go_on()
                else:
                    shell.visit(ToLabel(self.role))
                return
            self.item, self._at_end = None, True
            self._screen.show_end((f"○ {error.text}", *error.ways_out), ())

        self._screen.consult("sets", lambda: shell.desk.review_sets.choices(suite_id), known)

    # leaving -----------------------------------------------------------------------------------

    def suspended(self) -> None:
        """Hand the item back when the reader leaves the screen; do nothing under a dialog."""
        if self.here:
            return  # a dialog covers the screen, and the item stays
        if self.open and self.session is not None and self.item is not None:
            self.draft.spent = self.spent
            self._screen.shell.labeling.hand_back(self.session, self.item)
            self._screen.say("the item is put back: it comes again later, with your answers")
            self._release()
        self.item, self._at_end = None, False
        self._screen.clear()

    def blinded(self, text: str) -> str:
        """Return words without the names that must stay hidden while an item is on screen."""
        known = (self.session.candidate_id, self.session.baseline_id) if self.session else ()
        for name in (self._candidate_id, *known):
            text = text.replace(name, "…") if name and self.item else text
        return text

    def behind(self, side: Side, done: Callable[[ItemTrace], None]) -> None:
        """Ask which trace ends with the message that is shown on a side."""
        session, item, desk = self.session, self.item, self._screen.shell.desk
        if session is not None and item is not None:
            self._screen.ask("trace", lambda: desk.labels.trace_of(session, item, side), done)

    def look(self, done: Callable[[ItemEvidence], None]) -> None:
        """Ask for the events before the messages on screen; once they are shown, the draft records
        it."""
        session, item, draft = self.session, self.item, self.draft
        desk = self._screen.shell.desk

        def show(found: ItemEvidence) -> None:
            if self.item is item and self._screen.shell.labeling.evidence:
                draft.evidence_opened = True
                done(found)

        if session is not None and item is not None:
            self._screen.ask("evidence", lambda: desk.labels.evidence(session, item), show)

    # saving ------------------------------------------------------------------------------------

    def record(self, skipped: str | None = None) -> None:
        """Save the draft, or that the item is skipped and why; then show the next item."""
        session, item, draft = self.session, self.item, self.draft
        if session is None or item is None or self._busy:
            return
        self._busy = True
        pair, answered = self._screen.KIND == "pair", skipped is None
        drafted = LabelDraft(
            item=item.item,
            showing=item.showing,
            answer=draft.answer if answered and pair else None,
            marks=dict(draft.marks) if answered and not pair else {},
            decided=dict(draft.decided) if answered and pair else {},
            flag=draft.flag,
            note=draft.note,
            skipped=skipped,
            duration_ms=round(self.spent * 1000),
            evidence_opened=draft.evidence_opened,
        )
        desk = self._screen.shell.desk
        self._saving = True
        self._screen.after(PATIENCE, self._still_saving)
        self._screen.ask(
            "item",
            lambda: desk.labels.record(session, drafted),
            lambda saved: self._saved(session, item, saved),
            self._unsaved,
        )

    def _still_saving(self) -> None:
        if self._saving:
            self._screen.say("saving…")

    def _saved(self, session: Session, item: LabelItem, saved: SavedLabel) -> None:
        self._busy = self._saving = False
        self.draft.spent = self.spent
        self._screen.shell.labeling.saved(session, item)
        self._screen.say(saved_words(saved, item.place))
        if self.here:
            self.go_on()

    def _unsaved(self, error: DeskError) -> None:
        self._busy = self._saving = False
        if not self.here:  # left during the save: the message appears where the reader is now
            self._screen.shell.hold(lambda here: here.refused(error))
            self._screen.shell.release()
            self._release()
        elif self.item is None:
            self._screen.refused(error)
            self.go_on()
        else:
            self._screen.refused(error)

    def undo(self) -> None:
        """Take back the last saved label, and show its item again."""
        session, desk = self.session, self._screen.shell.desk
        if session is None or self._busy:
            return
        self._busy = True
        self.draft.spent = self.spent if self.item is not None else self.draft.spent

        def back(item: LabelItem) -> None:
            self._busy = False
            if not self.here:
                self._release()
                return
            self._put(session, item)
            self._screen.say("taken back: change your answer, then Enter saves it again")

        claim = self._claims
        self._screen.ask("item", lambda: desk.labels.undo(session, claim), back, self._unsaved)
