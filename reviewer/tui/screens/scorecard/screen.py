"""The scorecard: may this candidate be promoted? Home of the workstation, and its acts."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.scorecards.views import Group
from reviewer.desk.views import CellLine, Scorecard
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.run_acts import RUN_HINTS, RUN_KEYS, RunActs
from reviewer.tui.screens.scorecard import view as view
from reviewer.tui.screens.scorecard.cell import (
    CellDrawer,
    Place,
    RunFollowing,
    Seeking,
    is_red,
    reds_first,
)
from reviewer.tui.screens.scorecard.controller import ScorecardReading
from reviewer.tui.screens.scorecard.preview import Preview
from reviewer.tui.screens.scorecard.reading import BrokenLock
from reviewer.tui.screens.scorecard.sheet import ScorecardSheet, SidesSheet
from reviewer.tui.screens.scorecard.ways import WAY_KEYS, Ways
from reviewer.tui.settings.keys import bind, digits, key_of
from reviewer.tui.shell.places import Around, ToTrace
from reviewer.tui.views import jobs as run_view
from reviewer.tui.views.jobs import AT_WORK
from reviewer.tui.views.verdict import where
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Line, Sheet, Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.runs.api import RunView
    from reviewer.tui.shell.places import Ready

START_HINTS: tuple[Hint, ...] = (
    ("jk", "choose", "screen.start(1)"),
    ("Enter", "start", "screen.start(0)"),
    ("r", "run", "screen.run"),
    ("?", "help", "app.explain"),
    ("ctrl+p", "acts", "app.palette"),
    ("ctrl+q", "quit", "app.quit"),
)

LOW = 20
"""Lines below which the reasons are one line and the drawer is folded until the reader opens it."""


class ScorecardScreen(DeskScreen):
    """Episodes by gates for one candidate, the verdict above, the cell's attempts below."""

    NAME = "scorecard"
    ABOUT = (
        "You are asked: may this candidate be promoted?  The banner answers; a",
        "red cell is a reason. Go to the cell, press Enter: it opens the event.",
    )
    CSS = """
    #drawer { height: 5; }
    #drawer.-tall { height: 11; }
    .-folded { display: none; }
    #lower { height: auto; }
    #behind { width: 1fr; height: auto; }
    #preview, #contract { width: 1fr; height: 1fr; display: none; }
    #lower.-roomy #preview, #lower.-roomy #contract { display: block; }
    #lower.-roomy #behind { height: 1fr; }
    #lower.-folded { display: none; }
    #drawer.-low { display: none; }
    #drawer.-low.-folded { display: block; max-height: 3; }
    """
    ENTER = "the event behind the cell"
    NUMBERS = "the evidence of that reason"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "event", "screen.enter"),
        ("n", "next red", "screen.red(1)"),
        ("f", "failing", "screen.failing"),
        ("/", "filter", "screen.filter"),
        ("s", "sort", "screen.sort"),
        ("v", "views", "screen.views"),
        ("c", "choose", "screen.choose"),
        ("r", "run", "screen.run"),
        ("D", "decision", "app.go('decision')"),
        ("?", "help", "app.explain"),
        ("#", "group", "screen.group"),
        ("|", "side by side", "screen.side_by_side"),
        ("x", "export", "screen.export"),
        ("z", "fold", "screen.fold"),
        ("y", "copy id", "screen.copy_id"),
        ("< >", "candidate", "screen.candidate(1)"),
        ("1-9", "reason", "screen.numbered(1)"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "red(1)", "next red cell"),
        bind("N", "red(-1)", "red cell before"),
        *WAY_KEYS,
        bind("c", "choose", "choose suite, candidate"),
        bind("less_than_sign", "candidate(-1)"),
        bind("greater_than_sign", "candidate(1)"),
        bind("y", "copy_id", "copy the trace id"),
        bind("z", "fold", "fold the group, or the lower drawer"),
        bind("x", "export", "export the report"),
        *RUN_KEYS,
        bind("escape", "unfilter", "drop the filter, then back"),
        *digits("numbered"),
    ]

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__()
        self.reading = ScorecardReading(self, suite_id, candidate_id)
        self.cell = CellDrawer(self, self.reading)
        self.preview = Preview(self)
        self.following = RunFollowing(self, self.reading)
        self.ways = Ways(self, self.reading)
        self.seeking = Seeking(self, self.reading)
        self._shared: tuple[int, int] | None = None
        self.steering = RunActs(self, self.following.chosen_run)

    def palette_acts(self) -> Iterator[tuple[str, str, Any]]:
        """Yield saved views as commands of the palette."""
        return self.ways.palette_acts()

    @property
    def grid(self) -> Grid:
        """The episodes."""
        return self.query_one("#grid", Grid)

    @property
    def drawer(self) -> Menu:
        """The attempts behind the cell."""
        return self.query_one("#drawer", Menu)

    def on_mount(self) -> None:
        self.head([[Span(" reading the store…", "dim")]])
        self.foot()
        self.fold_as_before()
        self.grid.focus()
        self.reading.open()
        self.ways.begin()

    def store_changed(self) -> None:
        super().store_changed()
        self.reading.store_changed()

    def redraw(self) -> None:
        if self.reading.card is not None:
            self._draw_card(self.reading.card)
        elif self.reading.refused is not None:
            self._draw_refused(self.reading.refused)
        else:
            super().redraw()
        self.query_one("#run", LineBox).show(self._run_lines())

    def _draw_card(self, card: Scorecard) -> None:
        candidate, names = self.reading.candidate_id, self.reading.names
        lines: list[Line] = [
            view.context(card.suite, candidate, card.decided, names, self.columns),
            *view.banner(card, roomy=self.roomy, width=self.columns, low=self._low),
            *view.figures(card, self.columns),
        ]
        self._draw_frame(lines)

    def _draw_refused(self, refused: BrokenLock) -> None:
        suite, names = refused.suite, self.reading.names
        context = view.context(suite, self.reading.candidate_id, None, names, self.columns)
        self._draw_frame([context, *view.no_verdict(suite, self.columns)])

    def _draw_frame(self, lines: list[Line]) -> None:
        self.head(lines)
        self.foot()
        self.grid.caption([Span(self._title(), "strong")], [Span(self._order_words(), "dim")])
        self._share(len(lines))

    def _share(self, above: int) -> None:
        """Give the drawer the lines that the rows leave free, and at least a third of the screen
        where there is room for the attempt next to it."""
        lower, height = self.query_one("#lower"), self.app.size.height
        lower.set_class(self.roomy, "-roomy")
        # a grid that was hidden until now has no width yet
        sheet = self.grid.sheet if self.grid.size.width else self._sheet(self.columns)
        rows = len(self.grid.keys) + 1 + len(sheet.header) + len(sheet.totals)
        free = height - above - 3 - rows - len(self._run_lines())
        attempts = self.reading.card.suite.attempts if self.reading.card is not None else 4
        wanted = (
            self.lines_of("lower") or max(free, height // 3, 9),
            max(4, min(attempts + 3, height // 5)),
        )
        shared = wanted if self.roomy else None
        if self._shared != shared and self.zoomed.region is None:
            self._shared = shared
            lower.styles.height = wanted[0] if shared else "auto"
            self.drawer.styles.max_height = wanted[1] if shared else self.lines_of("drawer")

    def sized(self) -> tuple[str, ...]:
        return ("lower",) if self.roomy else ("drawer",)

    def settle(self, region: str, lines: int) -> None:
        if region == "drawer":
            super().settle(region, lines)
        else:
            self.drawer.styles.inline.clear_rule("height")

    def _episodes(self) -> int:
        """Return the number of episodes of the suite; 0 while it is not known."""
        if self.reading.card is not None:
            return self.reading.card.episodes
        return self.reading.refused.suite.episodes if self.reading.refused is not None else 0

    def _title(self) -> str:
        of = self._episodes()
        # Until the rows of another view are there, the groups are those of the view before.
        groups, kind = len(self.reading.rows.groups), self.reading.looking.group
        if groups and kind != "none":
            kinds = kind if groups == 1 else {"tag": "tags", "category": "categories"}[kind]
            return f"{groups:,} {kinds}, {plural(of, 'episode')}"
        count = "…" if self.reading.rows.partial or groups else f"{len(self.grid.keys):,}"
        title = f"episodes {count} of {of:,}"
        if self.reading.mode == "candidates" and len(self.reading.sides) < len(self.reading.names):
            title += f", {len(self.reading.sides)} of {len(self.reading.names)} candidates"
        card = self.reading.card
        if self.reading.mode == "gates" and card is not None and card.outcome:
            hidden = sum(not total.passed + total.failed for total in card.totals)
            title += f", {plural(hidden, 'gate')} not measured" if hidden else ""
        return title

    def _order_words(self) -> str:
        how = self.reading.looking
        found = "worst first" if how.by == "worst" else f"by {how.by}"
        if how.by != "worst":
            found += ", falling" if how.descending else ", rising"
        if how.of:
            found += f" of {visible_line(how.of)}"
        if how.only_failing:
            found = f"only failing, {found}"
        if how.text:
            found = f"{visible_line(how.text)}, {found}"
        moved = self.reading.moved_order
        return f"the order has changed: {key_of('sort')} sorts again, {found}" if moved else found

    @property
    def roomy(self) -> bool:
        """True where reasons have lines of their own, and an attempt is shown next to the
        drawer."""
        return self.columns >= 120 and self.app.size.height >= 36

    def on_resize(self, event: Resize) -> None:
        self.drawer.set_class(event.size.height >= 40, "-tall")
        self.drawer.set_class(self._low, "-low")
        self.redraw()
        self.cell.look()
        self.preview.again()

    @property
    def _low(self) -> bool:
        return self.app.size.height < LOW

    def on_menu_moved(self, message: Menu.Moved) -> None:
        if message.menu is self.drawer:
            self.cell.look()

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.cell.draw()

    def regions(self) -> Iterable[Widget]:
        yield Grid(self._sheet, self.reading.page, id="grid")
        behind = Vertical(Menu(id="drawer", ruled=True), TextView("contract"), id="behind")
        yield Horizontal(behind, TextView("preview", edge=True), id="lower")
        yield LineBox(id="run")

    def _sheet(self, width: int) -> Sheet:
        if self.reading.mode == "candidates":
            sides, totals = self.reading.sides, self.reading.rows.totals
            return SidesSheet(width, sides, totals, self._episodes())
        return ScorecardSheet(
            width,
            self.reading.card,
            self.following.overlay,
            self.reading.folded,
            self.reading.gates,
            self.reading.rows.filtered,
        )

    def run_begun(self, view: "RunView", *, asked: bool) -> None:
        """Follow the run when it was ordered here, or when there is nothing else to show."""
        if asked or self.grid.has_class("-folded"):
            self.following.follow(view)
        elif self.reading.card is None:
            self.following.offered = view  # still reading: followed if the reading finds nothing
        self.runs_changed()

    def run_ended(self, view: "RunView", text: str, style: str) -> None:
        self.following.ended(view, text, style)

    def runs_changed(self) -> None:
        """Redraw overlay, run line and line 1 for the run; read nothing from the store."""
        if not self.query("#run"):
            return
        self.redraw()
        self.grid.redress()
        self.cell.offer_attempts()

    def _run_lines(self) -> list[Line]:
        run, approvals = self.following.chosen_run(), self.shell.live.approvals
        lines: list[Line] = []
        if approvals:
            lines.append(run_view.approval_line(approvals[0][1], len(approvals), self.columns))
        elif turns := self.shell.live.turns:
            lines.append(run_view.turn_line(turns[0][1], len(turns), self.columns))
        if run is not None and (run.state in AT_WORK or run.state == "failed"):
            shown = self.reading.suite_id, self.reading.candidate_id
            here = (run.suite_id, run.candidate_id) == shown
            lines.append(run_view.run_line(run, here, self.columns))
        return lines

    def hints(self) -> Iterable[Hint]:
        if self.grid.has_class("-folded"):
            return START_HINTS
        return (*self.HINTS, *RUN_HINTS) if self.shell.live.at_work else self.HINTS

    def legend(self) -> Line:
        return run_view.LEGEND if self.following.overlay.open else view.LEGEND

    def action_run(self) -> None:
        """Choose a candidate and run it."""
        self.steering.run(self.shell.suite_id, self.shell.candidate_id)

    def action_import_traces(self) -> None:
        """Ask for traces to import."""
        self.steering.import_traces()

    def action_pause(self) -> None:
        """Pause the run, or resume it."""
        self.steering.pause()

    def action_stop_run(self) -> None:
        """Stop the run; for a run that is stopping, ask whether to abandon the attempts at work."""
        self.steering.stop()

    def action_sort(self) -> None:
        """Sort by the cursor's column, or reverse the order; after rows have moved, apply the new
        order."""
        self.ways.sort()

    def action_failing(self) -> None:
        """Show only failing episodes, or all again."""
        self.ways.failing()

    def action_filter(self) -> None:
        """Ask for a filter."""
        self.ways.filter()

    async def action_unfilter(self) -> None:
        """Remove the filter, else the view, else go back."""
        await self.ways.unfilter()

    def action_group(self) -> None:
        """Group by tag, then by category, then not at all."""
        self.ways.group()

    def action_side_by_side(self) -> None:
        """Show candidates as columns, or gates again."""
        self.ways.side_by_side()

    def action_views(self) -> None:
        """Choose a view, save the one on screen, or remove a saved one."""
        self.ways.views()

    def action_releases(self, by: Any) -> None:
        """Open every candidate of every suite, by suite or by candidate."""
        self.ways.releases(by)

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_start(self, step: int) -> None:
        """Move in the first steps, or take one, while there is no trace."""
        menu = self.query_one("#start", Menu)
        menu.action_move(step) if step else menu.action_choose()

    def action_enter(self) -> None:
        """Open the event that broke the gate, in the first attempt that failed it."""
        here, row = self.grid.current, self.cell.episode
        if isinstance(here, Group):
            self.ways.fold_group(here)
        if row is None:
            return
        suite, (candidate, gate), desk = self.reading.suite_id, self.cell.place, self.shell.desk
        self._go_in(
            gate, lambda: reds_first(desk.scorecards.cell(suite, candidate, row.episode_id, gate))
        )

    def _go_in(self, gate: str, attempts: Callable[[], Iterable[CellLine]]) -> None:
        """Open the first of some attempts that has a trace. It is read while the rows are still
        shown, so that the first frame of its screen shows it."""
        desk = self.shell.desk

        def read() -> "tuple[CellLine, Ready] | None":
            from reviewer.tui.shell.places import read_whole

            for line in attempts():
                if line.trace_id is not None:
                    return line, read_whole(desk, line.trace_id)
            return None

        self.ask("enter", read, partial(self._open, gate))

    def _open(self, gate: str, found: "tuple[CellLine, Ready] | None") -> None:
        if found is None:
            self.say("this cell has no trace yet: the attempt was neither imported nor run")
            return
        line, ready = found
        self.shell.trace_id = ready.trace.trace_id
        keys, at = self.grid.keys, self.grid.row
        if self.reading.rows.groups:
            at -= sum(key < 0 for key in keys[:at])
            keys = [key for key in keys if key >= 0]
        self.shell.around = Around(keys, at)
        self.shell.visit(ToTrace(ready.trace.trace_id, line.seq, gate, ready=ready))

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        if message.menu.cursor < len(self.cell.drawn):
            line = self.cell.drawn[message.menu.cursor]
            self._go_in(self.cell.gate, lambda: [line])

    def action_red(self, step: int) -> None:
        """Go to the next or previous failing cell."""
        column, cells = self.grid.column, self.reading.columns_of_cells
        at = cells.index(column) if column in cells else len(cells)
        start = Place(self.grid.row, at)
        told = "in the open groups: Enter opens one" if self.reading.folded else "that way"
        missed = partial(self.say, f"no more red cells {told}")
        self.seeking.hush()
        self.seeking.go(start, step, is_red, missed, self.seeking.red_keys())

    def action_numbered(self, number: int) -> None:
        """Go to the cell of a reason."""
        reasons = self.reading.card.reasons if self.reading.card else ()
        chosen = [reason for reason in reasons if reason.number == number]
        if not chosen:
            self.say(f"there is no reason {number}: the banner numbers them")
            return
        if not chosen[0].evidence:
            decision = key_of("screen.decision")
            self.say(f"reason {number} has no single event behind it: {decision} shows it whole")
            return
        evidence = chosen[0].evidence[0]
        self.ways.unfold()
        lost = f"{where(evidence)} is not among the rows shown: Esc drops the filter"
        self.seeking.hush()
        self.seeking.to_evidence(evidence, partial(self.say, lost))

    def action_candidate(self, step: int) -> None:
        """Show the candidate before or after."""
        names = self.reading.names
        if self.reading.candidate_id in names:
            at = names.index(self.reading.candidate_id) + step
            if 0 <= at < len(names):
                self.reading.turn_to(self.reading.suite_id, names[at])
            else:
                self.say("no more candidates that way")

    def action_choose(self) -> None:
        """Choose suite and candidate from a list."""
        place = self.reading.suite_id, self.reading.candidate_id
        self.shell.find("c:", self.reading.turn_to, place)

    def action_fold(self) -> None:
        """Fold or unfold the group under the cursor, or the drawer."""
        here = self.grid.current
        if self.grid.has_focus and isinstance(here, Group):
            self.ways.fold_group(here)
            return
        self.fold_drawer(not self.drawer.has_class("-folded"))
        if not self._low:  # on a low screen it is open only while the reader wants it
            self.shell.panes.note("scorecard drawer", folded=self.drawer.has_class("-folded"))
        if self.focused is not None and self.focused.id in ("drawer", "contract", "preview"):
            self.grid.focus()

    def fold_drawer(self, folded: bool) -> None:
        """Fold the drawer and the attempt next to it, or unfold them. On a low screen it is open
        only while the reader wants it, by the same mark."""
        self.drawer.set_class(folded, "-folded")
        self.query_one("#lower").set_class(folded and not self._low, "-folded")

    def fold_as_before(self) -> None:
        """Fold the drawer if it was folded when the person last saw it."""
        folded = self.shell.panes.folded("scorecard drawer") and not self._low
        self.fold_drawer(folded)

    def action_copy_id(self) -> None:
        """Copy the id of the trace behind the cell."""
        if self.shell.trace_id:
            self.copy(self.shell.trace_id, "trace id")

    def action_export(self) -> None:
        """Write the report and its renderings to a folder."""
        from reviewer.tui.screens.dialogs.ask import export_to

        if self.reading.refused is not None:
            self.say("the suite does not match its lock: no report is made on it", "not_measured")
        elif self.reading.card is not None:
            export_to(self, self.reading.suite_id, self.reading.candidate_id)
