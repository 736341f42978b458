"""The import dialog: a path, a preview of its content, and a second Enter to import it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.suggester import Suggester
from textual.widgets import Input

from reviewer.desk.errors import DeskError
from reviewer.desk.imports.api import ImportOrder, ImportView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Dialog, hint_line, pressing
from reviewer.tui.settings.keys import bind
from reviewer.tui.views.jobs import plan_lines
from reviewer.tui.widgets.chrome import Field, LineBox, Scroll
from reviewer.tui.widgets.lines import Line, Span

FIELDS = (
    ("path", "a file, a folder, or a pattern: runs/*.json"),
    ("suite", "a private suite to fill; empty: the file's own"),
    ("candidate", "for files that name no candidate"),
    ("episode map", "how the files call the suite's episodes"),
)


class PathSuggester(Suggester):
    """Suggests the first file or folder that starts with the typed text."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        folder, _, start = value.rpartition("/")
        base = Path(folder or ("/" if value.startswith("/") else ".")).expanduser()
        try:
            with os.scandir(base) as entries:
                found = sorted(
                    (entry.name, entry.is_dir())
                    for entry, _ in zip(entries, range(10_000), strict=False)
                    if entry.name.startswith(start) and (start or entry.name[0] != ".")
                )
        except OSError:
            return None
        if not found or not value:
            return None
        name, is_folder = found[0]
        whole = f"{folder}/{name}" if "/" in value else name
        return f"{whole}/" if is_folder else whole


class ImportScreen(Dialog[ImportView | None]):
    """Answers with the import that was begun. The first Enter reads without writing and says what
    would be imported; the second imports it. Any change of a field requires the first Enter
    again."""

    NAME = "import"
    ABOUT = (
        "Name traces: a file or folder of this or another tool. Enter reads, and writes nothing;",
        "what was understood is shown below. Enter again imports them.",
    )
    ENTER = "preview; again: import"
    CSS = """
    ImportScreen #box { width: 80; max-width: 100%; }
    ImportScreen Input { width: 1fr; }
    ImportScreen #plan { height: 11; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("escape", "leave", "do not import"),
        bind("ctrl+s", "sessions", "sessions found here"),
    ]

    def __init__(self, path: str = "", suite_id: str = "") -> None:
        super().__init__()
        self._path, self._suite_id = path, suite_id
        self._looked: ImportOrder | None = None
        self._number = 0
        self._taking = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="dialog"):
            for name, hint in FIELDS:
                own = name.replace(" ", "-")
                suggester = PathSuggester() if name in ("path", "episode map") else None
                value = {"path": self._path, "suite": self._suite_id}.get(name, "")
                yield Field(
                    name,
                    Input(
                        value, id=own, placeholder=hint, suggester=suggester, select_on_focus=False
                    ),
                )
            yield LineBox(id="state")
            with Scroll(id="plan"):
                yield LineBox(id="lines")
            yield LineBox(id="keys")

    def on_mount(self) -> None:
        self.headed("import traces")
        self._hints()
        self._say("Enter reads the path and writes nothing", "dim")
        self.query_one("#path").focus()

    def _hints(self) -> None:
        verb = "import" if self._looked is not None else "preview"
        hints = (
            pressing("Enter", verb, "enter"),
            pressing("→", "complete", "right"),
            pressing("tab", "field", "tab"),
            ("ctrl+s", "sessions", "screen.sessions"),
            pressing("Esc", "cancel", "escape"),
        )
        self.query_one("#keys", LineBox).show([hint_line(hints, 76)])

    def _order(self, dry: bool) -> ImportOrder:
        def typed(name: str) -> str:
            return self.query_one(f"#{name}", Input).value.strip()

        return ImportOrder(
            path=typed("path"),
            suite_id=typed("suite"),
            candidate_id=typed("candidate"),
            episode_map=typed("episode-map"),
            dry=dry,
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._looked is not None and self._looked != self._order(dry=True):
            self._looked = None
            self._stop_looking()
            self._say("changed: Enter reads it again", "dim")
            self._hints()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._taking:
            return
        order = self._order(dry=True)
        if not order.path:
            self._say("a path is needed", "fail")
            return
        view = self.shell.importing.view(self._number)
        if self._looked != order:
            self._stop_looking()
            self._looked = order
            self._say("reading…", "dim")
            self._hints()
            self.shell.importing.start(order, self._began_looking, self._refused)
        elif view is not None and view.state == "reading":
            self._say("still reading; Enter again when it is done", "dim")
        elif view is not None and not any(one.added for one in view.results):
            self._say("nothing in it is new: nothing would be imported", "not_measured")
        else:
            self._taking = True
            self._say("beginning…", "dim")
            self.shell.importing.start(self._order(dry=False), self._begun, self._refused)

    def _began_looking(self, view: ImportView) -> None:
        self._number = view.number
        self.imports_changed()

    def imports_changed(self) -> None:
        view = self.shell.importing.view(self._number)
        if view is None or self._taking or self._looked is None:
            return
        width = max(40, self.query_one("#plan").size.width - 2)
        told, style, lines = plan_lines(view, width)
        self._say(told, style)
        self._show(lines)

    def _begun(self, view: ImportView) -> None:
        if self.is_current:
            self.dismiss(view)

    def _refused(self, error: DeskError) -> None:
        self._taking, self._looked = False, None
        self._say(f"✗ {visible_line(error.text)}", "fail")
        self._show([[Span(f"   {visible_line(way)}", "dim")] for way in error.ways_out])
        self._hints()

    def action_leave(self) -> None:
        """Close; a preview under way ends."""
        self._stop_looking()
        self.dismiss(None)

    def action_sessions(self) -> None:
        """Go to the sessions of coding agents found on this machine."""
        self.action_leave()
        self.shell.action_go("sessions")

    def _stop_looking(self) -> None:
        view = self.shell.importing.view(self._number)
        if view is not None and view.order.dry and view.state == "reading":
            self.shell.importing.stop(view)
        self._number = 0
        self._show(())

    def _say(self, text: str, style: str = "text") -> None:
        self.query_one("#state", LineBox).show([[], [Span(f" {text}", style)]])

    def _show(self, lines: Sequence[Line]) -> None:
        self.query_one("#lines", LineBox).show(list(lines))
