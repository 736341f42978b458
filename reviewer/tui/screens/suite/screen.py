"""The suite: its contents, how bad agents do on it, how often its policy is wrong, and which of its
clauses are tested."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, cast

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.power.views import PowerView
from reviewer.desk.trials.views import AgentAttempt, ShownTrial, Trial, TriedEpisode
from reviewer.desk.workspace.views import MOST_LISTED, EpisodeContents, SuiteContents
from reviewer.suite.model import TRIAL_AGENTS, TrialAgent
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.suite import view
from reviewer.tui.screens.suite.sheets import (
    ClauseRow,
    ClauseSheet,
    EpisodeSheet,
    TrialSheet,
    Unread,
)
from reviewer.tui.settings.keys import bind, key_of
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Block, Line, Sheet, Span
from reviewer.tui.widgets.textview import TextView
from reviewer.tui.widgets.words import plural

PART = 200
"""Episodes of a large suite whose clauses are listed at once."""
RATES = (None, 0.95, 0.9, 0.8)
"""Rates that may be assumed for an agent; None: the rate with which the suite was frozen."""
Row = EpisodeContents | TriedEpisode | ClauseRow


class SuiteScreen(DeskScreen):
    """A list of the view, and the text about the row under the cursor; the power is a text."""

    NAME = "suite"
    SIZED = ("said",)
    ABOUT = (
        "You are asked: can this suite be trusted, and what does it require?",
        "Trial: the correct agent must pass, and seven bad agents must be stopped.",
        "Power: how often its policy is wrong. Clauses: which ones the trial tests.",
    )
    ENTER = "what the agent did, or its contract"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("v", "view", "screen.view"),
        ("r", "run trial", "screen.run"),
        ("o", "its file", "screen.pager"),
        ("y", "copy", "screen.copy_line"),
        ("tab", "region", "app.focus_next"),
        ("D", "decision", "app.go('decision')"),
        ("?", "help", "app.explain"),
    )
    OWN: ClassVar[dict[str, tuple[Hint, ...]]] = {
        "trial": (
            ("e", "what the agent did", "screen.evidence"),
            ("n", "next hole", "screen.next_open(1)"),
            ("f", "holes", "screen.failing"),
            ("w", "waive", "screen.waive"),
        ),
        "power": (("c", "assumed rate", "screen.choose"),),
        "clauses": (
            ("n", "next untested", "screen.next_open(1)"),
            ("f", "untested", "screen.failing"),
        ),
    }
    """Hints of a single view."""
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("v", "view", "contents, trial, power, clauses"),
        bind("e", "evidence", "what the agent did", "What the agent did, event by event."),
        bind("n", "next_open(1)", "next hole, untested clause"),
        bind("N", "next_open(-1)", "the one before"),
        bind("f", "failing", "only holes, only untested", "Only holes or untested clauses."),
        bind("r", "run", "try the suite", "Try the suite with eight agents."),
        bind("o", "pager", "the episode's file in $PAGER"),
        bind("w", "waive", "waive a hole, with a reason", "Write why a hole is accepted."),
        bind("c", "choose", "the rate assumed of an agent", "Ask what if an agent passed less."),
        bind("y", "copy_line", "copy the line", "Copy what is said of the line."),
    ]
    CSS = """
    SuiteScreen #grid { height: 1fr; min-height: 6; }
    SuiteScreen #said { height: 4; }
    SuiteScreen.-low #said { height: 9; }
    SuiteScreen.-tall #said { height: 45%; }
    SuiteScreen #power { height: 1fr; display: none; }
    SuiteScreen.-power #power { display: block; }
    SuiteScreen.-power #grid, SuiteScreen.-power #said { display: none; }
    """

    def __init__(self, suite_id: str, view_name: str = "trial") -> None:
        super().__init__()
        self.suite_id, self.view = suite_id, view_name
        self.contents: SuiteContents | None = None
        self.trial: ShownTrial | None = None
        self.power: PowerView | None = None
        self._refused: dict[str, DeskError] = {}
        self._only = False
        self._opened = False
        self._attempt: tuple[str, str, AgentAttempt] | None = None
        self._at: dict[str, int] = {}
        self._clauses: list[ClauseRow] = []
        self._clauses_of = (0, 0, 0)
        self._rate: float | None = None

    def regions(self) -> Iterable[Widget]:
        yield Grid(self._sheet, self._page, id="grid")
        yield TextView(id="said")
        yield TextView(id="power")

    @property
    def grid(self) -> Grid:
        """The list of the view."""
        return self.query_one("#grid", Grid)

    def on_mount(self) -> None:
        self.redraw()
        self.grid.focus()
        desk, suite = self.shell.desk, self.suite_id
        lost = self._lost("contents")
        self.consult("contents", lambda: desk.workspace.contents(suite), self._take, lost)
        self._read_trial()

    def _read_trial(self) -> None:
        desk, suite = self.shell.desk, self.suite_id
        self.ask("trial", lambda: desk.trials.shown(suite), self._take_trial, self._lost("trial"))

    def _read_power(self) -> None:
        if self.power is None and "power" not in self._refused:
            look = partial(self.shell.desk.power.of, self.suite_id, self._rate)
            self.consult("power", look, self._take_power, self._lost("power"))

    def _lost(self, name: str) -> Any:
        def lost(error: DeskError) -> None:
            self._refused.setdefault(name, error)
            self.redraw()

        return lost

    def _take(self, found: SuiteContents) -> None:
        self.contents = found
        if found.info.probe:
            why = DeskError("a probe has no contracts: nothing is tried, and no policy decides")
            self._refused = {name: why for name in view.VIEWS if name != "contents"}
            self.view = "contents"
        self._draw_rows()

    def _take_trial(self, found: ShownTrial) -> None:
        self.trial, self._attempt = found, None
        self._refused.pop("trial", None)
        self._draw_rows()

    def _take_power(self, found: PowerView) -> None:
        self.power = found
        self._draw_rows()

    # rows --------------------------------------------------------------------------------------

    @property
    def _tried(self) -> Trial | None:
        trial = self.trial.trial if self.trial is not None else None
        return trial if trial is not None and trial.tried else None

    @property
    def rows(self) -> Sequence[Row]:
        """The rows of the view, those with a hole first; on request only those."""
        found: Sequence[Row] = ()
        if self.view == "trial" and self._tried is not None:
            found = sorted(self._tried.episodes, key=lambda one: not self._open(one))
        elif self.view == "contents" and self.contents is not None:
            found = self.contents.episodes
        elif self.view == "clauses" and self.contents is not None:
            found = self.rows_of_clauses
        return [row for row in found if self._open(row)] if self._only else found

    @property
    def rows_of_clauses(self) -> list[ClauseRow]:
        """Every clause, sorted once for each reading; of a large suite only a part."""
        of = id(self.contents), id(self.trial), self._part.start
        if self._clauses_of != of and self.contents is not None:
            self._clauses_of = of
            try:
                some = self.contents.episodes[self._part]
            except DeskError as error:
                some = ()
                self.call_later(self.while_there(partial(self.refused, error)))
            self._clauses = view.clause_rows(self.contents, some, self.trial)
        return self._clauses

    @property
    def _part(self) -> slice:
        """The episodes whose clauses are listed: of a large suite as many as can be read at once,
        around the cursor of the contents."""
        count = len(self.contents.episodes) if self.contents is not None else 0
        if count <= MOST_LISTED:
            return slice(0, count)
        start = self._at.get("contents", 0) // PART * PART
        return slice(start, min(start + PART, count))

    def _open(self, row: Row) -> bool:
        """Return whether a row needs attention: a hole, or a clause that nothing tests."""
        if isinstance(row, TriedEpisode):
            return self._tried is not None and bool(self._tried.open_holes(row))
        return isinstance(row, ClauseRow) and row.tested is False

    def _sheet(self, width: int) -> Sheet:
        if self.view == "trial" and self._tried is not None:
            return TrialSheet(width, self._tried)
        if self.view == "trial":
            return Unread()
        return ClauseSheet(width) if self.view == "clauses" else EpisodeSheet(width)

    def _page(self, keys: list[int]) -> Sequence[Row | None]:
        rows = self.rows
        try:
            return [rows[key] for key in keys]
        except DeskError as error:  # a file was edited after the freeze
            self.call_later(self.while_there(partial(self.refused, error)))
            return [None for _ in keys]

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.grid.current

    @property
    def agent(self) -> TrialAgent:
        """The agent of the cell under the cursor."""
        known = self.grid.column in TRIAL_AGENTS
        return cast(TrialAgent, self.grid.column) if known else TRIAL_AGENTS[0]

    # drawing -----------------------------------------------------------------------------------

    def _draw_rows(self) -> None:
        """Draw another list, or the same one read again."""
        rows = self.rows
        self.grid.set_keys(range(len(rows)), min(self._at.get(self.view, 0), len(rows) - 1))
        self.grid.redress()
        if self.view == "trial" and self.grid.column not in TRIAL_AGENTS:
            self.grid.column = TRIAL_AGENTS[0]
        self.redraw()

    def redraw(self) -> None:
        width = self.columns
        top = view.top_line(self.suite_id, self.contents, self.view, width)
        self.head([top, *self._verdict(width)])
        self.set_class(self.view == "power", "-power")
        self.grid.caption(*self._caption())
        self._tell()
        self.foot()

    def _verdict(self, width: int) -> list[Line]:
        error = self._refused.get(self.view)
        if error is not None:
            return [[Span(f" ○ {visible_line(error.text)}", "not_measured")]]
        if self.view == "power":
            if self.power is None:
                return [[Span(" simulating releases…", "dim")]]
            return [view.power_line(self.power, width)]
        if self.view == "trial":
            if self.trial is None:
                return [[Span(" trying the suite with eight agents…", "dim")]]
            return [view.trial_line(self.trial)]
        if self.contents is None:
            if (error := self._refused.get("contents")) is not None:
                return [[Span(f" ○ {visible_line(error.text)}", "not_measured")]]
            return [[Span(" reading the suite…", "dim")]]
        if self.view == "contents":
            return view.policy_lines(self.contents, width)
        return [view.clause_line(self.trial, self.rows_of_clauses)]

    def _caption(self) -> tuple[Line, Line]:
        count = len(self.rows)
        if self.view == "trial" and self._tried is None:
            title, note = "trial: eight agents on every episode", "not tried" if self.trial else ""
        elif self.view == "trial":
            title = f"trial: eight agents on {plural(count, 'episode')}"
            holes = any(map(self._open, self.rows))
            note = "holes only" if self._only else "holes first" if holes else "no hole"
        elif self.view == "clauses":
            title, note = plural(count, "clause"), "untested " + ("only" if self._only else "first")
            part, of = self._part, self.contents
            if of is not None and part.stop - part.start < len(of.episodes):
                title += f" of episodes {part.start + 1:,} to {part.stop:,}"
                note = "contents chooses"
        else:
            title, note = plural(count, "contract"), "as the suite lists its episodes"
        return [Span(title, "strong")], [Span(note, "dim")]

    def _tell(self) -> None:
        """Show the text about the row under the cursor."""
        if not self.is_mounted:
            return
        if self.view == "power":
            blocks = list(view.power_blocks(self.power, self.columns - 2)) if self.power else []
            blocks = blocks or self._why("power")
            note = "" if self.power is None else "as it was frozen"
            if self._rate is not None:
                note = f"what if an agent passes {self._rate:g}"
            elif self.power is not None and not self.power.locked:
                note = "not locked: a freeze writes it"
            title = [Span("wrong of 100 releases", "strong")]
            self.query_one("#power", TextView).update(blocks, title, [Span(note, "dim")])
            return
        name, blocks, beside = self._said()
        self.query_one("#said", TextView).update(blocks, [Span(name, "strong")], beside)

    def _said(self) -> tuple[str, list[Block], Line]:
        row = self.row
        if isinstance(row, TriedEpisode) and self._tried is not None and self.trial is not None:
            title = f"{visible_line(row.episode_id)} · {self.agent}"
            blocks = view.cell_blocks(self._tried, row, self.agent, self.trial.way_out)
            if self._opened and (found := self._looked(row)) is not None:
                blocks = [*blocks[:1], *view.attempt_blocks(found, self.columns - 2)]
                many = f" of {found.attempts}" if found.attempts > 1 else ""
                return title, blocks, [Span(f"attempt {found.attempt}{many}", "dim")]
            if self.agent in self._tried.open_holes(row):
                return title, blocks, [Span("! a hole", "fail")]
            if self.agent in self._tried.holes(row):
                return title, blocks, [Span("~ waived", "advisory")]
            return title, blocks, [Span("as it should", "dim")]
        if isinstance(row, EpisodeContents):
            return visible_line(row.episode_id), list(view.episode_blocks(row)), ()
        if isinstance(row, ClauseRow):
            return visible_line(row.episode_id or "suite.json"), list(view.clause_blocks(row)), ()
        if not self._read:
            return "", [], ()
        return "nothing here", self._why(self.view) or [Block(self._none(), "dim")], ()

    @property
    def _read(self) -> bool:
        """Whether the data of the view was read, or refused."""
        found = self.trial if self.view == "trial" else self.contents
        return found is not None or self.view in self._refused or "contents" in self._refused

    def _none(self) -> str:
        if self._only:
            return "no rows match: f shows all"
        if self.view == "trial":
            run = key_of("run")
            return "" if self.trial is None else f"{run} runs the trial: eight agents, no network"
        probe = self.contents is not None and self.contents.info.probe
        return "episodes of a probe come with its traces and have no contract" if probe else ""

    def _why(self, name: str) -> list[Block]:
        error = self._refused.get(name)
        if error is None:
            return []
        return [Block(f"○ {visible(error.text)}", "not_measured"), *map(Block, error.ways_out)]

    def _looked(self, row: TriedEpisode) -> AgentAttempt | None:
        """Return the agent's attempt; ask the desk for it where it is missing."""
        place = row.episode_id, self.agent
        if self._attempt is not None and self._attempt[:2] == place:
            return self._attempt[2]
        if not row.cells:
            return None
        desk, suite, (episode, agent) = self.shell.desk, self.suite_id, place

        def take(found: AgentAttempt) -> None:
            self._attempt = episode, agent, found
            self._tell()

        self.ask("attempt", lambda: desk.trials.attempt(suite, agent, episode), take)
        return None

    def hints(self) -> Iterable[Hint]:
        own = () if self.view == "trial" and self._tried is None else self.OWN.get(self.view, ())
        return (*own, *self.HINTS)

    def legend(self) -> Line:
        if self.view == "trial" and self._tried is not None:
            return [Span(" a cell names the gate that stopped the agent; ! is a hole", "dim")]
        return ()

    def on_resize(self, event: Resize) -> None:
        self.set_class(24 <= event.size.height < 36, "-low")
        self.set_class(event.size.height >= 36, "-tall")
        super().on_resize(event)

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self._at[self.view] = self.grid.row
        self._tell()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        if self.view == "trial":
            self.action_evidence()
        else:
            self.query_one("#said").focus()

    # acts --------------------------------------------------------------------------------------

    def action_view(self) -> None:
        """Show the next view: contents, trial, power, clauses."""
        self.action_turn(view.VIEWS[(view.VIEWS.index(self.view) + 1) % len(view.VIEWS)])

    def action_turn(self, name: str) -> None:
        """Show a view."""
        self.view, self._only = name, False
        self._draw_rows()
        self.query_one("#power" if name == "power" else "#grid").focus()
        if name == "power":
            self._read_power()

    def action_evidence(self) -> None:
        """Show the agent's events, or the outcome again."""
        if not isinstance(self.row, TriedEpisode):
            self.say("a cell of the trial shows an agent's attempt: v switches to it")
            return
        self._opened = not self._opened
        self._tell()

    def action_next_open(self, step: int) -> None:
        """Go to the next row with a hole, or to the next clause that nothing tests."""
        rows, here = self.rows, self.grid.row
        places = [n for n, row in enumerate(rows) if self._open(row)]
        if not places:
            self.say("nothing to go to: no holes, no untested clauses")
            return
        after = [n for n in places if (n - here) * step > 0]
        row = (min(after) if step > 0 else max(after)) if after else places[0 if step > 0 else -1]
        found = rows[row]
        agent = None
        if isinstance(found, TriedEpisode) and self._tried is not None:
            agent = self._tried.open_holes(found)[0]
        self.grid.go(row, agent)

    def action_failing(self) -> None:
        """Show only rows with a hole, or only untested clauses; or all again."""
        if self.view in ("trial", "clauses"):
            self._only, self._at[self.view] = not self._only, 0
            self._draw_rows()
        else:
            self.say("holes are in the trial, untested clauses in the clauses: v switches")

    def action_run(self) -> None:
        """Try the suite with eight agents, even where its world runs programs of its own."""
        desk, suite = self.shell.desk, self.suite_id
        self.say("trying the suite with eight agents…")

        def tried() -> ShownTrial:
            desk.trials.trial(suite)
            return desk.trials.shown(suite)

        def done(found: ShownTrial) -> None:
            self.forget_news()
            self._take_trial(found)

        self.ask("trial", tried, done)

    def action_waive(self) -> None:
        """Write why the suite is used although it does not stop the agent of this cell."""
        trial, agent = self._tried, self.agent
        if self.view != "trial" or trial is None:
            self.say("a waiver is for a hole of the trial: v turns to it")
            return
        if agent not in {one.agent for one in trial.unsound}:
            self.say("this agent needs no waiver: n goes to the next hole")
            return
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        desk, suite = self.shell.desk, self.suite_id

        def write(reason: str | None) -> None:
            if reason:
                look = partial(desk.trials.waive, suite, agent, reason)
                self.ask("trial", look, self._waived)

        hint = "why the suite is used all the same: every report shows it"
        self.app.push_screen(PromptScreen(f"waive {agent}, because", "", hint), write)

    def _waived(self, found: ShownTrial) -> None:
        self._take_trial(found)
        self.say("written into suite.json: freezing puts it under the lock", "pass")

    def action_pager(self) -> None:
        """Open the file of the row's episode in $PAGER: the place to close a hole."""
        episode = self.row.episode_id if self.row is not None and self.view != "power" else ""
        if not episode:
            self.say("the file of an episode is opened on its row: v turns to one")
            return
        look = partial(self.shell.desk.workspace.contract_text, self.suite_id, episode)
        self.ask("file", look, self._lend)

    def _lend(self, text: str) -> None:
        from reviewer.tui.widgets.textview import open_in_pager

        if not open_in_pager(self.app, text):
            self.say(f"no pager can be opened here: {key_of('view')} turns to the contents")

    def action_choose(self) -> None:
        """Ask how often the policy is wrong if an agent passes a smaller rate. Nothing is
        written."""
        if self.view != "power":
            self.say("the rate that is assumed of an agent is on the power: v turns to it")
            return
        at = RATES.index(self._rate)
        self._rate, self.power = RATES[(at + 1) % len(RATES)], None
        self._refused.pop("power", None)
        self.redraw()
        self._read_power()

    def action_copy_line(self) -> None:
        """Copy the text about the row, or the sentence on the power."""
        if self.view == "power" and self.power is not None:
            self.copy(self.power.headline, "the sentence")
            return
        title, blocks, _ = self._said()
        text = "\n".join("".join(s.text for s in b.head) + b.text for b in blocks)
        self.copy(f"{title}\n{text}", "what is said of it")
