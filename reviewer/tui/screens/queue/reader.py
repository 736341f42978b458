"""What the queue and the agreement share: reading both, and what waits for a third person."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.labels.api import DisagreementView, LabelKind, LabelRole, QueueView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.queue import view as view
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import ToLabel
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Block, Span, plain
from reviewer.tui.widgets.textview import TextView

WIDE = 160
"""From here on panes stand side by side."""
OTHER: dict[LabelKind, LabelKind] = {"pair": "message", "message": "pair"}
QUEUE_KEYS: list[BindingType] = [
    bind("c", "other_kind", "pairs, or messages", "The queue of single messages, or of pairs."),
    bind("x", "export", "export labels", "Write the labels to a file for another reviewer."),
    bind("i", "take_in", "import labels", "Take in the labels of another reviewer's file."),
    bind("y", "copy", "copy", "Copy the line, the figures, or the id of the disagreement."),
]


class QueueReader(DeskScreen):
    """`found` is the newest answer; the disagreements stand at the foot."""

    DEFAULT_CSS = """
    QueueReader #split { height: 1fr; }
    QueueReader.-wide #split { layout: horizontal; }
    QueueReader #disagreements { height: auto; max-height: 5; }
    QueueReader.-tall #disagreements { max-height: 12; }
    QueueReader #disagreements.-none { display: none; }
    """
    HEAD: ClassVar[str]
    """The region with the focus while there are no disagreements."""

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: QueueView | None = None

    def regions(self) -> Iterable[Widget]:
        yield Vertical(*self.panes(), id="split")
        yield Menu(id="disagreements", ruled=True)

    @abstractmethod
    def panes(self) -> Iterable[Widget]:
        """What stands one below the other, or side by side where there is room; one of them is
        called `figures`."""

    @property
    def wide(self) -> bool:
        """Whether the panes stand side by side."""
        return self.columns >= WIDE

    def pane_columns(self) -> int:
        """Columns for the text of a pane."""
        return self.columns // 2 - 4 if self.wide else self.columns - 2

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 30, "-tall")
        self.set_class(self.wide, "-wide")
        self.redraw()

    @property
    def kind(self) -> LabelKind:
        """What is labeled: what was labeled last."""
        return self.shell.labeling.kind

    @property
    def parted(self) -> DisagreementView | None:
        """The disagreement with the cursor."""
        menu = self.query_one("#disagreements", Menu)
        known = self.found.disagreements if self.found else ()
        return known[menu.cursor] if menu.cursor < len(known) else None

    def on_mount(self) -> None:
        self.head([[Span(" reading the labels…", "dim")]])
        self.foot()
        self.query_one(self.HEAD).focus()
        self.read()

    # reading -----------------------------------------------------------------------------------

    def read(self) -> None:
        """Ask the desk."""
        desk, place, kind = self.shell.desk, (self.suite_id, self.candidate_id), self.kind
        self.ask(
            "queue", lambda: desk.labels.queue(*place, kind=kind), self._take, self._unreadable
        )

    def store_changed(self) -> None:
        super().store_changed()
        self.read()

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        if self.found is None:
            blocks = [Block(f"○ {error.text}"), *(Block(way) for way in error.ways_out)]
            self.query_one("#figures", TextView).show(blocks)

    def _take(self, found: QueueView) -> None:
        fresh = self.found is None or self.found.kind != found.kind
        self.found = found
        self.seen()
        self.taken(found, fresh=fresh)
        self._offer()
        self.redraw()
        self.draw_figures(fresh=fresh)

    def taken(self, found: QueueView, *, fresh: bool) -> None:
        """Take the answer in; `fresh` when it is of another kind of items than the one before."""

    @abstractmethod
    def draw_figures(self, *, fresh: bool) -> None:
        """Draw the figures; a `fresh` text starts at its top."""

    def hints(self) -> Iterable[Hint]:
        other = view.KINDS[OTHER[self.kind]].removeprefix("final ")
        return [(hint[0], other, hint[2]) if hint[0] == "c" else hint for hint in self.HINTS]

    # a third person ----------------------------------------------------------------------------

    def _offer(self) -> None:
        open_ = self.found.disagreements if self.found else ()
        menu = self.query_one("#disagreements", Menu)
        if not open_ and menu.has_focus:
            self.query_one(self.HEAD).focus()
        menu.set_class(not open_, "-none")
        menu.caption(
            [Span(f"to adjudicate {len(open_):,}", "strong")],
            [Span("Enter: a third person labels it, blind", "dim")],
        )
        menu.offer([view.disagreement_line(each, self.columns - 1) for each in open_])

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.adjudicate()

    def adjudicate(self) -> None:
        """Label the disagreement with the cursor as a third person."""
        parted = self.parted
        if parted is not None and parted.mine:
            self.say("you are one of those who part on it: somebody else must settle it")
        elif parted is not None:
            self.label("adjudicator", item=parted.item)

    def label(self, role: LabelRole = "rater", reason: str = "", item: str = "") -> None:
        """Go and label: what stands under a reason, or exactly one item."""
        self.shell.suite_id, self.shell.candidate_id = self.suite_id, self.candidate_id
        self.shell.visit(ToLabel(role, reason, item))

    # acts --------------------------------------------------------------------------------------

    def action_other_kind(self) -> None:
        """The queue of single messages, or of pairs."""
        self.shell.labeling.kind = OTHER[self.kind]
        self.read()

    def action_copy(self) -> None:
        """Copy what has the focus."""
        menu, figures = self.query_one("#disagreements", Menu), self.query_one("#figures", TextView)
        if menu.has_focus and self.parted is not None:
            self.copy(self.parted.item, "item")
        elif figures.has_focus:
            self.app.copy_to_clipboard(
                plain([[*each.head, Span(each.text)] for each in figures.blocks])
            )
            self.say("copied the figures as text")
        else:
            self.say("nothing to copy here: tab goes to the figures and the disagreements")

    def action_export(self) -> None:
        """Ask for a file and write the labels there."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen
        from reviewer.tui.views.labels import export_labels, file_name

        desk, suite = self.shell.desk, self.suite_id

        def write(name: str | None) -> None:
            if name:
                self.ask("file", lambda: export_labels(desk, suite, name), self._told)

        self.app.push_screen(PromptScreen("export labels to", file_name("labels", suite)), write)

    def action_take_in(self) -> None:
        """Ask for a file and take in its labels."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen
        from reviewer.tui.views.labels import import_labels

        desk = self.shell.desk

        def read(name: str | None) -> None:
            if name:
                self.ask("file", lambda: import_labels(desk, name), self._taken_in)

        self.app.push_screen(PromptScreen("import labels from", "", "a file of labels"), read)

    def _told(self, words: str) -> None:
        self.say(visible_line(words), "pass")

    def _taken_in(self, words: str) -> None:
        self._told(words)
        self.read()
