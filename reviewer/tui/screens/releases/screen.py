"""Every candidate of every suite: what each is worth, by suite or by candidate."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.views import SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.releases.sheet import (
    Head,
    Release,
    ReleaseSheet,
    Row,
    laid_out,
    release_lines,
)
from reviewer.tui.settings.keys import bind
from reviewer.tui.shell.places import By, ToCompare, ToScorecard
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Span, spread
from reviewer.tui.widgets.words import plural


class ReleasesScreen(DeskScreen):
    """Rows come suite by suite, as they are known; `here` is where the cursor begins."""

    NAME = "releases"
    UNDER = "scorecard"
    ABOUT = (
        "You are asked: which candidate, on which suite, stands how?",
        "Each line is a scorecard in short. Enter opens it; on the head of a group, it folds.",
    )
    ENTER = "its scorecard; a group folds"
    CSS = "ReleasesScreen Grid { height: 1fr; }"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "scorecard", "screen.enter"),
        ("#", "by suite, candidate", "screen.regroup"),
        ("/", "filter", "screen.filter"),
        ("z", "fold all", "screen.fold"),
        ("C", "compare", "screen.compare"),
        ("y", "copy", "screen.copy_line"),
        ("?", "help", "app.explain"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("number_sign", "regroup", "by suite, by candidate", "Group by suite or by candidate."),
        bind("slash", "filter", "filter by name", "Only names with these letters."),
        bind("z", "fold", "fold, unfold all", "Fold every group, or unfold them."),
        bind("C", "compare", "compare it", "This candidate against another of its suite."),
        bind("y", "copy_line", "copy what is said of it"),
        bind("escape", "unfilter", "all again, back"),
    ]

    def __init__(self, by: By, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.by: By = by
        self._here: tuple[str, str] | None = (suite_id, candidate_id)
        self.found: list[Release] = []
        self.rows: list[Row] = []
        self._waiting: list[SuiteInfo] = []
        self._of: dict[str, list[str]] = {}
        self._folded: frozenset[str] = frozenset()
        self._wanted = ""

    def regions(self) -> Iterable[Widget]:
        yield Grid(
            lambda width: ReleaseSheet(width, self.by),
            lambda keys: self.rows[keys[0] : keys[-1] + 1],
            id="releases",
        )

    @property
    def grid(self) -> Grid:
        """The releases."""
        return self.query_one("#releases", Grid)

    def on_mount(self) -> None:
        self.grid.column = "name"
        self.grid.focus()
        self.redraw()
        self._read()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk = self.shell.desk

        def land(found: tuple[list[SuiteInfo], list[tuple[str, str]]]) -> None:
            suites, releases = found
            self._of = {}
            for suite_id, candidate_id in releases:
                self._of.setdefault(suite_id, []).append(candidate_id)
            self.found = [one for one in self.found if one.suite.suite_id in self._of]
            self._waiting = [suite for suite in suites if suite.suite_id in self._of]
            self._next()

        self.ask("releases", lambda: (desk.workspace.suites(), desk.workspace.releases()), land)

    def _next(self) -> None:
        """Read the next suite."""
        if not self._waiting:
            self._seen = self.shell.version
            self.redraw()
            return
        suite = self._waiting.pop(0)
        names, desk = self._of[suite.suite_id], self.shell.desk

        def look() -> list[Release]:
            read = []
            for name in names:
                try:
                    read.append(Release(suite, name, desk.scorecards.card(suite.suite_id, name)))
                except DeskError as error:
                    read.append(Release(suite, name, None, error.text))
            return read

        def land(read: list[Release]) -> None:
            others = [one for one in self.found if one.suite.suite_id != suite.suite_id]
            self.found = [*others, *read]
            self._lay_out()
            self._next()

        self.ask("releases", look, land)

    def store_changed(self) -> None:
        super().store_changed()
        if not self._waiting:
            self._read()

    def _lay_out(self) -> None:
        """The rows anew, with the cursor on the line it was on."""
        here = self.rows[self.grid.row] if self.grid.row < len(self.rows) else None
        place = self._here or _place(here)
        self.rows = laid_out(self.found, self.by, self._folded, self._wanted)
        places = [_place(row) for row in self.rows]
        at = places.index(place) if place in places else 0
        self.grid.set_keys(range(len(self.rows)), at)
        self.redraw()

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        suites = len({one.suite.suite_id for one in self.found})
        names = len({one.candidate_id for one in self.found})
        told = f"{plural(len(self.found), 'release')}: {plural(suites, 'suite')}, "
        told += plural(names, "candidate")
        left: Line = [Span(told, "strong"), Span(f"   by {self.by}", "dim")]
        state = f"reading, {plural(len(self._waiting), 'suite')} left" if self._waiting else ""
        if self._wanted:
            left = [*left, Span(f"   filter {visible_line(self._wanted)}", "match")]
        self.head([spread(left, [Span(state, "dim")], self.columns)])
        self.grid.caption([Span(f"releases by {self.by}", "strong")])
        self.foot()

    def legend(self) -> Line:
        row = self.grid.current
        if isinstance(row, Release):
            return [Span(f" {visible_line(release_lines(row))}", "dim")]
        return [Span(" n/m: not measured, never good", "dim")]

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self._here, self._news = None, ()
        self.foot()

    # acts --------------------------------------------------------------------------------------

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        """The scorecard; of a group, its rows away or back."""
        row = self.grid.current
        if isinstance(row, Head):
            self._folded ^= {row.name}
            self._here = None
            self._lay_out()
        elif isinstance(row, Release):
            self.shell.visit(ToScorecard(row.suite.suite_id, row.candidate_id))

    def action_regroup(self) -> None:
        """By suite, or by candidate."""
        row = self.grid.current
        self._here = _place(row) if isinstance(row, Release) else None
        self.by = "candidate" if self.by == "suite" else "suite"
        self._folded = frozenset()
        self.grid.redress()
        self._lay_out()

    def action_fold(self) -> None:
        """Fold every group, or unfold them."""
        heads = {row.name for row in self.rows if isinstance(row, Head)}
        self._folded = frozenset() if self._folded else frozenset(heads)
        self._here = None
        self._lay_out()

    def action_filter(self) -> None:
        """Only names with these letters."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen

        self.app.push_screen(
            PromptScreen("filter", self._wanted, "a part of a suite or candidate"), self._filtered
        )

    def _filtered(self, text: str | None) -> None:
        if text is not None:
            self._wanted = text
            self._lay_out()

    async def action_unfilter(self) -> None:
        """Drop the filter, then go back."""
        if self._wanted:
            self._filtered("")
        else:
            await self.shell.action_back()

    def action_compare(self) -> None:
        """This candidate against another of its suite."""
        row = self.grid.current
        if isinstance(row, Release):
            self.shell.suite_id, self.shell.candidate_id = row.suite.suite_id, row.candidate_id
            self.shell.visit(ToCompare(row.suite.suite_id, row.candidate_id))
        else:
            self.say("stand on a candidate to compare it")

    def action_copy_line(self) -> None:
        """Copy what is said of it."""
        row = self.grid.current
        if isinstance(row, Release):
            self.copy(release_lines(row), "line")


def _place(row: Row | None) -> tuple[str, str] | None:
    if isinstance(row, Release):
        return row.suite.suite_id, row.candidate_id
    return ("", row.name) if isinstance(row, Head) else None
