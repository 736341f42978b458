"""The queue as its two screens read it: the answer, the disagreements at the foot, label files."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import DisagreementView, LabelKind, LabelRole, QueueView
from reviewer.desk.review_sets.views import SetChoice, SetView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.queue import view as view
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import ToLabel
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Block, Span, plain
from reviewer.tui.widgets.textview import TextView

if TYPE_CHECKING:
    from reviewer.tui.screens.queue.screen import AgreementScreen, QueueScreen

WIDE = 160
"""Columns from which panes are side by side."""
QUEUE_KEYS: list[BindingType] = [
    bind(
        "c",
        "other_kind",
        "pairs, or messages",
        "The queue of single messages, of pairs, or of the next review set.",
    ),
    bind("x", "export", "export labels", "Write the labels to a file for another reviewer."),
    bind("i", "take_in", "import labels", "Import the labels of another reviewer's file."),
    bind(
        "e",
        "evidence",
        "open items with what was done",
        "Items open with what was done before each message, or without it.",
    ),
    bind("y", "copy", "copy", "Copy the line, the figures, or the id of the disagreement."),
]


def queue_css(screen: str) -> str:
    """Return the style sheet of the panes and the disagreements of a screen."""
    return f"""
    {screen} #split {{ height: 1fr; }}
    {screen}.-wide #split {{ layout: horizontal; }}
    {screen} #disagreements {{ height: auto; max-height: 5; }}
    {screen}.-tall #disagreements {{ max-height: 12; }}
    {screen} #disagreements.-none {{ display: none; }}
    """


class QueueReading:
    """The queue of a candidate, or of a review set of its suite. `found` is the newest answer,
    `held` its set; `show` draws the answer and receives whether it has other items than the one
    before. `head` is the region that has the focus while there are no disagreements."""

    def __init__(
        self,
        screen: "QueueScreen | AgreementScreen",
        place: tuple[str, str],
        head: str,
        show: Callable[[QueueView, bool], None],
    ) -> None:
        self._screen, self._head, self._show = screen, head, show
        self._place = place
        self.found: QueueView | None = None
        self.held: SetView | None = None
        self._sets: tuple[SetChoice, ...] = ()
        # What `c` asked for. What Enter labels follows only when the queue of it was read.
        self._asked: tuple[LabelKind, str] | None = None

    def regions(self, *panes: Widget) -> Iterable[Widget]:
        """Yield the panes, one of which is `figures`, and the disagreements below them."""
        yield Vertical(*panes, id="split")
        yield Menu(id="disagreements", ruled=True)

    @property
    def menu(self) -> Menu:
        """The disagreements."""
        return self._screen.query_one("#disagreements", Menu)

    @property
    def figures(self) -> TextView:
        """The figures."""
        return self._screen.query_one("#figures", TextView)

    @property
    def wide(self) -> bool:
        """True while the panes are side by side."""
        return self._screen.columns >= WIDE

    @property
    def pane_columns(self) -> int:
        """Columns for the text of a pane."""
        columns = self._screen.columns
        return columns // 2 - 4 if self.wide else columns - 2

    def resized(self, event: Resize) -> None:
        """Arrange the panes for a new size."""
        self._screen.set_class(event.size.height >= 30, "-tall")
        self._screen.set_class(self.wide, "-wide")
        self._screen.redraw()

    @property
    def kind(self) -> LabelKind:
        """The kind of items shown: the one that was labeled last."""
        return self._screen.shell.labeling.kind

    @property
    def review_set(self) -> str:
        """The name of the review set shown; "" for the candidate's own queue."""
        return self._screen.shell.labeling.review_sets.get(self._place[0], "")

    @property
    def _next(self) -> tuple[LabelKind, str]:
        """The kind and set to which `c` switches: pairs and messages where the suite has a rubric,
        then each review set of the suite."""
        choices = [(one.kind, one.name) for one in self._sets]
        here = self._asked or (self.kind, self.review_set)
        if not choices:
            return here
        at = choices.index(here) if here in choices else -1
        return choices[(at + 1) % len(choices)]

    def hints(self, hints: Iterable[Hint]) -> Iterable[Hint]:
        """Return the hints of the last line, with the name of the kind or set to which `c`
        switches; without it where there is one queue only."""
        if len(self._sets) == 1:
            return [hint for hint in hints if hint[0] != "c"]
        kind, name = self._next
        other = "review set" if name else view.KINDS[kind].removeprefix("final ")
        return [(hint[0], other, hint[2]) if hint[0] == "c" else hint for hint in hints]

    # reading -----------------------------------------------------------------------------------

    def open(self) -> None:
        """Ask for the queue when the screen opens."""
        self._screen.head([[Span(" reading the labels…", "dim")]])
        self._screen.foot()
        self._screen.query_one(self._head).focus()
        self.read()

    def read(self) -> None:
        """Ask the desk for the queue."""
        desk, place = self._screen.shell.desk, self._place
        kind, name = self._asked or (self.kind, self.review_set)
        first = self.found is None

        def of_set(name: str) -> tuple[QueueView, SetView | None]:
            return desk.labels.queue(*place, review_set=name), desk.review_sets.view(name)

        def look() -> tuple[QueueView, SetView | None]:
            if name:
                return of_set(name)
            try:
                return desk.labels.queue(*place, kind=kind), None
            except DeskError:
                choices = desk.review_sets.choices(place[0]) if first else ()
                named = [one.name for one in choices if one.name]
                if not named:
                    raise
                return of_set(named[0])  # a suite without a rubric is labeled through its sets

        self._screen.consult("queue", look, self._take, self._unreadable)
        self._screen.consult("sets", lambda: desk.review_sets.choices(place[0]), self._know)

    def _know(self, sets: tuple[SetChoice, ...]) -> None:
        if sets != self._sets:
            self._sets = sets
            self._screen.foot()

    def _unreadable(self, error: DeskError) -> None:
        if self.found is not None:
            self._screen.refused(error)
        else:
            self._screen.nothing_here(error)
            self.figures.show([Block(f"○ {error.text}"), *(Block(way) for way in error.ways_out)])

    def _take(self, answer: tuple[QueueView, SetView | None]) -> None:
        found, self.held = answer
        fresh = (
            self.found is None
            or self.found.kind != found.kind
            or self.found.review_set != found.review_set
        )
        self.found, self._asked = found, None
        self._screen.shell.labeling.kind = found.kind
        self._screen.shell.labeling.review_sets[self._place[0]] = found.review_set
        self._screen.seen()
        self._offer(found.disagreements)
        self._show(found, fresh)

    # a third person ----------------------------------------------------------------------------

    @property
    def disagreement(self) -> DisagreementView | None:
        """The disagreement with the cursor."""
        known = self.found.disagreements if self.found else ()
        return known[self.menu.cursor] if self.menu.cursor < len(known) else None

    def _offer(self, unsettled: Iterable[DisagreementView]) -> None:
        columns = self._screen.columns
        lines = [view.disagreement_line(each, columns - 1) for each in unsettled]
        menu = self.menu
        if not lines and menu.has_focus:
            self._screen.query_one(self._head).focus()
        menu.set_class(not lines, "-none")
        menu.caption(
            [Span(f"to adjudicate {len(lines):,}", "strong")],
            [Span("Enter: a third person labels it, blind", "dim")],
        )
        menu.offer(lines)

    def adjudicate(self) -> None:
        """Label the disagreement with the cursor as a third person."""
        disagreement = self.disagreement
        if disagreement is not None and disagreement.mine:
            self._screen.say("you are one of the two who disagree: somebody else must settle it")
        elif disagreement is not None:
            self.label("adjudicator", item=disagreement.item)

    def label(self, role: LabelRole = "rater", reason: str = "", item: str = "") -> None:
        """Open labeling: the items of a reason, or exactly one item."""
        shell = self._screen.shell
        shell.suite_id, shell.candidate_id = self._place
        shell.visit(ToLabel(role, reason, item))

    # acts --------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Show the queue of single messages, of pairs, or of the next review set."""
        self._asked = self._next
        self.read()

    def evidence(self) -> None:
        """Switch whether items open with the events next to them. No item here shows its events,
        because here no record would say that they were seen before the label."""
        labeling = self._screen.shell.labeling
        labeling.evidence = not labeling.evidence
        self._screen.redraw()
        told = "items open with what was done, masked; each label keeps that it was open"
        self._screen.say(told if labeling.evidence else "items open without what was done")

    def copy(self) -> None:
        """Copy the text of the region in focus."""
        if self.menu.has_focus and self.disagreement is not None:
            self._screen.copy(self.disagreement.item, "item")
        elif self.figures.has_focus:
            lines = [[*each.head, Span(each.text)] for each in self.figures.blocks]
            self._screen.app.copy_to_clipboard(plain(lines))
            self._screen.say("copied the figures as text")
        else:
            self._screen.say("nothing to copy here: tab goes to the figures and the disagreements")

    def export(self) -> None:
        """Ask for a file and write the labels there."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen
        from reviewer.tui.views.labels import export_labels, file_name

        desk, suite = self._screen.shell.desk, self._place[0]

        def write(name: str | None) -> None:
            if name:
                self._screen.ask("file", lambda: export_labels(desk, suite, name), self._told)

        dialog = PromptScreen("export labels to", file_name("labels", suite))
        self._screen.app.push_screen(dialog, write)

    def take_in(self) -> None:
        """Ask for a file and import its labels."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen
        from reviewer.tui.views.labels import import_labels

        desk = self._screen.shell.desk

        def read(name: str | None) -> None:
            if name:
                self._screen.ask("file", lambda: import_labels(desk, name), taken)

        def taken(words: str) -> None:
            self._told(words)
            self.read()

        dialog = PromptScreen("import labels from", "", "a file of labels")
        self._screen.app.push_screen(dialog, read)

    def _told(self, words: str) -> None:
        self._screen.say(visible_line(words), "pass")
