"""Every candidate of every suite with its recommendation, by suite or by candidate."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.views import Scorecard, SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.theme import STATES, VERDICTS, cell_style
from reviewer.tui.shell.places import By, ToCompare, ToScorecard
from reviewer.tui.widgets import words
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import (
    Line,
    Sheet,
    Span,
    cut,
    heading,
    in_order,
    middle,
    spread,
)
from reviewer.tui.widgets.words import SHORT, plural, suite_word


class Release(NamedTuple):
    """One candidate on one suite; `card` None with the reason where it cannot be shown."""

    suite: SuiteInfo
    candidate_id: str
    card: Scorecard | None
    problem: str = ""


class Head(NamedTuple):
    """The head of a group: the name its rows share, their number, and the number in each state."""

    name: str
    size: int
    word: Span
    stand: Sequence[tuple[str, int]]
    folded: bool


Row = Release | Head


def laid_out(found: Sequence[Release], by: By, folded: frozenset[str], wanted: str) -> list[Row]:
    """Return heads and rows. `wanted` is a part of a name; groups are in the order of their
    names."""
    groups: dict[str, list[Release]] = {}
    for one in found:
        if wanted.casefold() in f"{one.suite.suite_id} {one.candidate_id}".casefold():
            key = one.suite.suite_id if by == "suite" else one.candidate_id
            groups.setdefault(key, []).append(one)
    rows: list[Row] = []
    for name in sorted(groups):
        mine = groups[name]
        stand = Counter(one.card.recommendation if one.card else "unreadable" for one in mine)
        word = suite_word(mine[0].suite.state) if by == "suite" else Span("")
        if by == "suite" and mine[0].suite.probe:
            word = Span("○ probe", "not_measured")
        rows.append(Head(name, len(mine), word, tuple(stand.items()), name in folded))
        rows += [] if name in folded else mine
    return rows


class ReleaseSheet(Sheet):
    """Columns at one width; the failing gates from 110 columns on."""

    def __init__(self, width: int, by: By) -> None:
        self._by = by
        sizes = [("says", 10), ("hard pass", 13), ("pass^k", 7), ("CPST", 8), ("p50", 7)]
        self._roomy = width >= 110
        sizes += [("signed", 9)] if width >= 90 else []
        self._failing = min(60, width - 93)
        sizes += [("failing attempts", self._failing)] if self._roomy else []
        name = max(16, min(60, width - 4 - sum(size + 1 for _, size in sizes)))
        first, *rest = in_order([("name", name), *sizes])
        self.columns = [first._replace(cell=True), *rest]
        named = first._replace(key="candidate" if by == "suite" else "suite")
        self.header = heading([named, *rest])

    def flag(self, row: Row) -> Span:
        if isinstance(row, Head):
            return Span(" ")
        return Span("▲", "critical") if row.card and row.card.critical else Span(" ")

    def cells(self, row: Row) -> list[Line]:
        width = self.columns[0].width
        if isinstance(row, Head):
            return self._head(row, width)
        name = row.candidate_id if self._by == "suite" else row.suite.suite_id
        first = [Span(f"  {middle(visible_line(name), width - 2)}")]
        if row.card is None:
            told = Span(cut(f"✗ {visible_line(row.problem)}", 38), "fail")
            return [first, [told], *([[Span("")]] * (len(self.columns) - 2))]
        card = row.card
        state, word = VERDICTS[card.recommendation], str(card.recommendation)
        if row.suite.probe:
            state, word = "not_measured", "probe"
        rate = card.hard_pass
        known = rate.value is not None
        passed = f"{rate.passes:,}/{rate.n:,} {words.decimal(rate.value)}"
        if not known:
            passed = words.passed(rate) if rate.n and rate.known is not None else words.UNKNOWN
        cells: list[Line] = [
            first,
            [Span(f"{STATES[state].glyph} {word}", cell_style(state))],
            [Span(passed, "text" if known else "not_measured")],
            [_figure(words.decimal(card.pass_hat.value))],
            [_figure(words.money(card.cpst_usd))],
            [_figure(words.seconds(card.latency_p50_ms))],
        ]
        if len(self.columns) > 6:
            cells.append([Span(visible_line(card.decided or "").partition(",")[0], "strong")])
        if self._roomy:
            failing = [
                f"{SHORT.get(total.gate, total.gate)} {total.failed:,}"
                for total in card.totals
                if total.failed
            ]
            cells.append([Span(cut(", ".join(failing), self._failing), "fail")])
        return cells

    def _head(self, row: Head, width: int) -> list[Line]:
        mark = "+" if row.folded else "-"
        name = middle(visible_line(row.name), max(8, width - 8))
        told = [Span(f"{mark} {name} {row.size:,}", "strong")]
        stand = []
        for word, count in row.stand:
            state = VERDICTS.get(word, "fail")
            stand += [Span(f"{STATES[state].glyph}{count:,}", cell_style(state)), Span(" ")]
        rest: list[Line] = [[row.word], stand]
        return [told, *rest, *([[Span("")]] * (len(self.columns) - 3))]


def _figure(text: str) -> Span:
    return Span(text, "not_measured" if text == words.UNKNOWN else "text")


def release_lines(one: Release) -> str:
    """Return one release as a sentence for the news line."""
    if one.card is None:
        return f"{one.candidate_id} on {one.suite.suite_id}: {one.problem}"
    card = one.card
    told = ", ".join(reason.text for reason in card.reasons) or " ".join(card.needs[:1])
    signed = f"; signed {card.decided}" if card.decided else ""
    return f"{one.candidate_id} on {one.suite.suite_id}: {card.recommendation} {told}{signed}"


class ReleasesScreen(DeskScreen):
    """Rows come suite by suite, as they are read; `here` is where the cursor starts."""

    NAME = "releases"
    UNDER = "scorecard"
    ABOUT = (
        "You are asked: which candidate, on which suite, is in which state?",
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

        self.consult("releases", lambda: (desk.workspace.suites(), desk.workspace.releases()), land)

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
                    read.append(Release(suite, name, None, error.line))
            return read

        def land(read: list[Release]) -> None:
            others = [one for one in self.found if one.suite.suite_id != suite.suite_id]
            self.found = [*others, *read]
            self._lay_out()
            self._next()

        self.consult("releases", look, land)

    def store_changed(self) -> None:
        super().store_changed()
        if not self._waiting:
            self._read()

    def _lay_out(self) -> None:
        """Build the rows again, with the cursor on the same line."""
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
        """Open the scorecard; on the head of a group, fold or unfold its rows."""
        row = self.grid.current
        if isinstance(row, Head):
            self._folded ^= {row.name}
            self._here = None
            self._lay_out()
        elif isinstance(row, Release):
            self.shell.visit(ToScorecard(row.suite.suite_id, row.candidate_id))

    def action_regroup(self) -> None:
        """Group by suite, or by candidate."""
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
        """Filter by a part of a name."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

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
        """Compare this candidate with another of its suite."""
        row = self.grid.current
        if isinstance(row, Release):
            self.shell.suite_id, self.shell.candidate_id = row.suite.suite_id, row.candidate_id
            self.shell.visit(ToCompare(row.suite.suite_id, row.candidate_id))
        else:
            self.say("put the cursor on a candidate to compare it")

    def action_copy_line(self) -> None:
        """Copy the sentence about this release."""
        row = self.grid.current
        if isinstance(row, Release):
            self.copy(release_lines(row), "line")


def _place(row: Row | None) -> tuple[str, str] | None:
    if isinstance(row, Release):
        return row.suite.suite_id, row.candidate_id
    return ("", row.name) if isinstance(row, Head) else None
