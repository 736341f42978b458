"""The scorecard as it is drawn: verdict and figures above, the cell's attempts below."""

from textual.events import Resize

from reviewer.desk.scorecards.views import Group, SidesRow
from reviewer.desk.views import ALWAYS, CellLine, EpisodeRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.scorecard import view as view
from reviewer.tui.screens.scorecard.asking import ScorecardAsking
from reviewer.tui.screens.scorecard.groups import group_lines, group_name
from reviewer.tui.screens.scorecard.seek import Episode
from reviewer.tui.screens.scorecard.sides import SIDE, sides_shown
from reviewer.tui.settings.keys import key_of
from reviewer.tui.settings.theme import RED
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Span

START_HINTS: tuple[Hint, ...] = (
    ("jk", "choose", "screen.start(1)"),
    ("Enter", "take it", "screen.start(0)"),
    ("r", "run", "screen.run"),
    ("?", "help", "app.explain"),
    ("ctrl+p", "palette", "app.command_palette"),
    ("ctrl+q", "quit", "app.quit"),
)


class ScorecardReader(ScorecardAsking):
    """Everything of the scorecard that is drawn, and nothing of what a reader does."""

    NAME = "scorecard"
    CSS = """
    #drawer { height: 5; }
    #drawer.-tall { height: 11; }
    .-folded { display: none; }
    """

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__(suite_id, candidate_id)
        self._drawn: list[CellLine] = []
        self._drawn_row: EpisodeRow | None = None

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        if self.card is None:
            super().redraw()
            return
        lines: list[Line] = [
            view.context(
                self.card.suite, self.candidate_id, self.card.decided, self.names, self.columns
            )
        ]
        lines += view.banner(self.card, roomy=self._roomy, width=self.columns)
        lines += view.figures(self.card, self.columns)
        self.head(lines)
        self.foot()
        self.grid.caption([Span(self._title(), "strong")], [Span(self._order_words(), "dim")])

    def _title(self) -> str:
        of = self.card.episodes if self.card else 0
        if self.rows.groups:
            groups, kind = len(self.rows.groups), self.looking.group
            kinds = kind if groups == 1 else {"tag": "tags", "category": "categories"}[kind]
            return f"{groups:,} {kinds}, {of:,} episodes"
        count = "…" if self.rows.partial else f"{len(self.grid.keys):,}"
        title = f"episodes {count} of {of:,}"
        if self.mode == "candidates" and len(self.sides) < len(self.names):
            title += f", {len(self.sides)} of {len(self.names)} candidates"
        return title

    @property
    def sides(self) -> tuple[str, ...]:
        """Candidates with traces, as many as fit side by side."""
        return sides_shown(self.columns, self.candidates, self.candidate_id)

    @property
    def columns_of_cells(self) -> tuple[str, ...]:
        """The columns whose cells are results: gates, or candidates."""
        if self.mode == "candidates":
            return tuple(f"{SIDE}{each}" for each in self.sides) or ("episode",)
        return self.gates

    @property
    def gates(self) -> tuple[str, ...]:
        """The gates that are in force on this suite."""
        return self.card.gates if self.card else ALWAYS

    @property
    def names(self) -> list[str]:
        """Candidates of the suite with traces or a run, as `<` and `>` go through them."""
        names = list(self.candidates)
        mine = [each for each in self.shell.live.views if each.suite_id == self.suite_id]
        names += [each.candidate_id for each in reversed(mine)]
        return list(dict.fromkeys(names))

    def _order_words(self) -> str:
        how = self.looking
        found = "worst first" if how.by == "worst" else f"by {how.by}"
        if how.by != "worst":
            found += ", falling" if how.descending else ", rising"
        if how.of:
            found += f" of {visible_line(how.of)}"
        if how.only_failing:
            found = f"only failing, {found}"
        if how.text:
            found = f"{visible_line(how.text)}, {found}"
        return f"order changed: {key_of('sort')} takes it, {found}" if self._moved_order else found

    @property
    def _roomy(self) -> bool:
        return self.columns >= 120 and self.app.size.height >= 36

    def on_resize(self, event: Resize) -> None:
        self.drawer.set_class(event.size.height >= 40, "-tall")
        self.redraw()

    # the cell under the cursor -----------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.draw_cell()

    @property
    def episode(self) -> Episode | None:
        """The episode under the cursor, None on the head of a group."""
        row = self.grid.current
        return None if isinstance(row, Group) else row

    @property
    def cell(self) -> tuple[str, str]:
        """(candidate, gate) of the cell under the cursor."""
        row, column = self.episode, self.grid.column
        if self.mode == "candidates":
            shown = [f"{SIDE}{each}" for each in self.sides]
            at = shown.index(column) if column in shown else 0
            known = isinstance(row, SidesRow) and at < len(row.sides)
            gate = row.sides[at].gate if isinstance(row, SidesRow) and known else ""
            return (self.sides[at] if shown else self.candidate_id), gate or ALWAYS[0]
        if column not in self.gates and isinstance(row, EpisodeRow):
            reds = [
                name for name, each in zip(self.gates, row.cells, strict=True) if each.mark in RED
            ]
            return self.candidate_id, reds[0] if reds else ALWAYS[0]
        return self.candidate_id, column if column in self.gates else ALWAYS[0]

    @property
    def gate(self) -> str:
        """The gate under the cell cursor; of a candidate's cell, the one that fails most."""
        return self.cell[1]

    def draw_cell(self) -> None:
        row = self.grid.current
        if row is None or isinstance(row, Group):
            self._drawn, self._drawn_row = [], None
            self._draw_head(row)
            return
        suite, (candidate, gate), desk = self.suite_id, self.cell, self.shell.desk
        self.ask(
            "cell",
            lambda: (row, gate, desk.scorecards.cell(suite, candidate, row.episode_id, gate)),
            self._drawer,
        )

    def _draw_head(self, group: Group | None) -> None:
        if group is None:
            self.drawer.caption(())
            self.drawer.offer([])
            return
        self.drawer.caption(
            [Span(group_name(group), "strong"), Span(f" · {self.looking.group}")],
            [Span("Enter folds, unfolds", "dim")],
        )
        self.drawer.offer(
            group_lines(group, self.card.pass_hat_k if self.card else 0, self.gates), 0
        )

    def _drawer(self, answer: tuple[Episode, str, list[CellLine]]) -> None:
        row, gate, lines = answer
        if self.episode is None:
            return  # the cursor has moved on, to a head of a group
        if isinstance(row, EpisodeRow):
            self.drawer.caption(*view.drawer_title(row, gate, row.cells[self.gates.index(gate)]))
        else:
            name = Span(f"{visible_line(row.episode_id)} · {gate}", "strong")
            self.drawer.caption([name], [Span(visible_line(self.cell[0]), "dim")])
        same = self._drawn and [each.trace_id for each in self._drawn] == [
            each.trace_id for each in lines
        ]
        self._drawn, self._drawn_row = lines, row if isinstance(row, EpisodeRow) else None
        self._offer_attempts(None if same else 0)
        traces = [line.trace_id for line in reds_first(lines) if line.trace_id]
        if traces:
            self.shell.trace_id = traces[0]

    def _offer_attempts(self, cursor: int | None = None) -> None:
        self.drawer.offer([view.drawer_line(line) for line in self._drawn], cursor)


def reds_first(lines: list[CellLine]) -> list[CellLine]:
    """The first attempt that failed leads; without one, the first with an event that proves it."""
    return sorted(lines, key=lambda line: (line.mark not in RED, line.attempt))
