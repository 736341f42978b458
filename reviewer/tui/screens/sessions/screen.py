"""The chooser: sessions of coding agents found on this machine, imported into the store."""

from collections.abc import Iterable
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportOrder, ImportView
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.dialogs.ask import PromptScreen
from reviewer.tui.screens.sessions.view import (
    Row,
    about_lines,
    heading,
    is_refused,
    line,
    marks_of,
    nothing,
    progress,
    result_lines,
    rows_of,
    summary,
)
from reviewer.tui.settings.keys import bind, key_of
from reviewer.tui.views.jobs import IMPORTING, import_ended
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Block, Line, Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.imports.sessions import SessionView


class SessionsScreen(DeskScreen):
    """Sessions by project, each with a box. They are searched for outside the drawing thread, one
    tool at a time, so that the first tool's are shown during the search for the others."""

    NAME = "sessions"
    SIZED = ("said",)
    UNDER = "runs"
    ABOUT = (
        "Sessions that coding agents keep on this machine. Choose some, or a whole project:",
        "Enter imports them, ctrl+f also follows them as they grow. Only the start of each",
        "file was read for this list; requests are shown without identifiers.",
    )
    ENTER = "import what is chosen, or the line"
    CSS = """
    SessionsScreen #heading { height: 2; }
    SessionsScreen #list { height: 1fr; }
    SessionsScreen #said { height: 6; }
    SessionsScreen.-tall #said { height: 16; }
    """
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("space", "pick", "screen.tick"),
        ("Enter", "import", "screen.take"),
        ("^f", "follow", "screen.follow"),
        ("/", "find", "screen.filter"),
        ("v", "result", "screen.view"),
        ("z", "fold", "screen.fold"),
        ("r", "again", "screen.again"),
        ("?", "help", "app.explain"),
        ("tab", "text", "app.focus_next"),
        ("y", "copy", "screen.copy_path"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("space", "tick", "choose", "Choose this session or the whole project, or undo that."),
        bind("ctrl+f", "follow", "follow", "Import what is chosen, and follow it as it grows."),
        bind("slash", "filter", "filter", "Show only sessions that have these words."),
        bind("v", "view", "this line, results", "Details of the line, or the results of imports."),
        bind("z", "fold", "fold, unfold", "Collapse this project to its name, or expand it."),
        bind("r", "again", "look again", "Look for sessions again."),
        bind("y", "copy_path", "copy the path"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.found: list[SessionView] = []
        self.rows: list[Row] = []
        self.chosen: set[str] = set()
        self.folded: set[str] = set()
        self.words = ""
        self.results = False
        self._tools: list[str] = []
        self._begun: list[int] = []
        self._told: set[int] = set()

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="heading")
        yield Menu(id="list")
        yield TextView(id="said")

    def on_mount(self) -> None:
        self.query_one(Menu).focus()
        self.action_again()

    # looking -----------------------------------------------------------------------------------

    def action_again(self) -> None:
        """Look for sessions, one tool after the other."""
        self._tools = list(self.shell.desk.imports.session_tools())
        self._next(())

    def _next(self, fresh: "Iterable[SessionView]", done: str = "") -> None:
        """Add the sessions of a tool, and ask for those of the next one."""
        if done:
            self.found = [one for one in self.found if one.tool != done]
            self.found += fresh
            self._in_order()
        self._draw()
        if not self._tools:
            return
        imports, tool = self.shell.desk.imports, self._tools[0]

        def take(found: "list[SessionView]") -> None:
            del self._tools[:1]
            self._next(found, tool)

        def failed(error: DeskError) -> None:
            del self._tools[:1]
            self.refused(error)
            self._next((), tool)

        self.ask("sessions", lambda: imports.sessions(tool), take, failed)

    def _in_order(self) -> None:
        """Sort by project, the newest first, as within each tool."""
        newest: dict[str, str] = {}
        for one in self.found:
            newest[one.project] = max(newest.get(one.project, ""), one.at)
        self.found.sort(key=lambda one: one.at, reverse=True)
        self.found.sort(key=lambda one: (newest[one.project], one.project), reverse=True)

    # drawing -----------------------------------------------------------------------------------

    @property
    def here(self) -> Row | None:
        """The line under the cursor."""
        at = self.query_one(Menu).cursor
        return self.rows[at] if at < len(self.rows) else None

    @property
    def views(self) -> list[ImportView]:
        """Return the imports that were started here, the newest first."""
        return [view for view in self.shell.importing.views if view.number in self._begun]

    def _draw(self) -> None:
        """Draw everything; the cursor stays on its line."""
        if not self.query("#list"):
            return
        before = self.here
        self.rows = rows_of(self.found, self.words, self.folded)
        at = next((n for n, row in enumerate(self.rows) if _same(row, before)), None)
        if at is None and before is not None:  # it was folded away, or the filter excludes it
            at = next((n for n, row in enumerate(self.rows) if row.project == before.project), 0)
        self._offer(at or 0)
        self._tell()

    def _offer(self, at: int | None = None) -> None:
        """Draw the list and the lines above it."""
        width, marks = self.columns - 1, marks_of(reversed(self.views))
        lines = [line(row, self.chosen, marks, width) for row in self.rows]
        self.query_one(Menu).offer(lines, at)
        self._head_list()
        reading = self._tools[0] if self._tools else ""
        self.head(summary(self.found, self.chosen, self.rows, reading, self.words, self.columns))
        self.foot()

    def _head_list(self) -> None:
        menu = self.query_one(Menu)
        lines = heading(self.rows, menu.cursor, self.columns, heavy=menu.has_focus)
        self.query_one("#heading", LineBox).show(lines)

    def on_descendant_focus(self) -> None:
        self._head_list()

    def _tell(self) -> None:
        """Show the text about the line, or about the imports."""
        width = self.columns
        if self.results:
            lines, title = result_lines(self.views, width), "results"
        elif (row := self.here) is not None:
            lines, title = about_lines(row, width), "session" if row.session else "project"
        else:
            lines, title = self._nothing(), "nothing here"
        blocks = [Block("", head=one) for one in lines]
        note = f"{key_of('view')} shows {'the line' if self.results else 'results'}"
        shown = [Span(note, "dim")] if self._begun else []
        self.query_one("#said", TextView).update(blocks, [Span(title, "strong")], shown)

    def _nothing(self) -> list[Line]:
        if self._tools:
            return [[Span(" looking…", "dim")]]
        if self.found:
            return [[Span(" no session has these words", "dim")]]
        words = nothing(self.shell.desk.imports.session_tools())
        return [[Span(f" {part}", "dim")] for part in wrap(words, self.columns - 4)]

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self.results = False
        self._head_list()
        self._tell()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        super().on_resize(event)

    def redraw(self) -> None:
        super().redraw()
        self._draw()

    def imports_changed(self) -> None:
        super().imports_changed()
        if not self.query("#list") or not self._begun:
            return
        ended = [v for v in self.views if v.state not in IMPORTING and v.number not in self._told]
        self._offer()
        for view in ended:
            self._told.add(view.number)
            if any(map(is_refused, view.results)):
                self.results = True
        if ended:
            self.say(*import_ended(ended[0]))
        elif at_work := [view for view in self.views if view.state in IMPORTING]:
            self.say(progress(at_work[0]), "running")
        self._tell()

    # acts --------------------------------------------------------------------------------------

    def action_tick(self) -> None:
        """Choose the session or project under the cursor, or unchoose it."""
        row = self.here
        if row is None:
            return
        paths = {one.path for one in row.sessions}
        self.chosen = self.chosen - paths if paths <= self.chosen else self.chosen | paths
        menu = self.query_one(Menu)
        self._offer(min(menu.cursor + (row.session is not None), len(self.rows) - 1))
        self._tell()

    def action_fold(self) -> None:
        """Fold or unfold a project."""
        row = self.here
        if row is not None:
            self.folded ^= {row.project}
            self._draw()

    def action_filter(self) -> None:
        """Ask for words to filter by."""

        def take(words: str | None) -> None:
            if words is not None:
                self.words = words
                self._draw()

        hint = "words of the tool, project, day or request; empty: all"
        self.app.push_screen(PromptScreen("show", self.words, hint), take)

    def action_view(self) -> None:
        """Switch between the line under the cursor and the results of imports."""
        if not self._begun:
            self.say("nothing has been imported from here yet")
            return
        self.results = not self.results
        self._tell()

    def action_copy_path(self) -> None:
        """Copy the path of a session's file, or of a project's folder."""
        row = self.here
        if row is not None:
            self.copy(row.session.path if row.session else row.project, "path")

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Import the chosen sessions; if none is chosen, the one under the cursor."""
        self._begin(follow=False)

    def action_follow(self) -> None:
        """Import the sessions, and follow them as they grow."""
        self._begin(follow=True)

    def _begin(self, *, follow: bool) -> None:
        meant = [one for one in self.found if one.path in self.chosen]
        row = self.here
        if not meant and row is not None:
            meant = list(row.sessions)
        if not meant:
            self.say("there is no session to import")
            return
        self.chosen = set()
        tools = dict.fromkeys(one.tool for one in meant)
        for tool in tools:
            paths = tuple(one.path for one in meant if one.tool == tool)
            order = ImportOrder(path="", tool=tool, sessions=paths, follow=follow)
            self.shell.importing.start(order, self._started, self._refused)
        verb = "following" if follow else "importing"
        self.say(f"{verb} {plural(len(meant), 'session')}…", "running")
        self._offer()
        self._tell()

    def _started(self, view: ImportView) -> None:
        self._begun.append(view.number)
        self.results = True
        self.imports_changed()

    def _refused(self, error: DeskError) -> None:
        self.refused(error)


def _same(row: Row, before: Row | None) -> bool:
    """Return whether a line is of the same session or project as another."""
    if before is None or row.project != before.project:
        return False
    own = row.session.path if row.session else ""
    return own == (before.session.path if before.session else "")
