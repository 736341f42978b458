"""Compare: what one candidate lost and gained against another, episode by episode."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.compare.views import AttemptComparison, Comparison, EpisodeChange
from reviewer.desk.errors import DeskError
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.screens.compare import view as view
from reviewer.tui.screens.compare.view import EpisodePair, EpisodeSheet
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.shell.places import ToAttempts
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import Block, Line, Span
from reviewer.tui.widgets.value_tree import Entry
from reviewer.tui.widgets.valueview import ValueView

MORE = "{screen.scorecard} then {run} runs one, {import} imports one"
DIFFERS = ("lost", "gained", "changed")


class CompareScreen(DeskScreen):
    """Two candidates of one suite. Without a baseline the desk chooses one."""

    NAME = "compare"
    SIZED = ("evidence",)
    ABOUT = (
        "You are asked: what did this candidate lose and gain against the other?",
        "Lost episodes come first. Enter sets the two attempts side by side.",
    )
    ENTER = "both attempts, event by event"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "both", "screen.enter"),
        ("n", "next change", "screen.change(1)"),
        ("f", "changed", "screen.only"),
        ("c", "baseline", "screen.other"),
        ("< >", "candidate", "screen.candidate(1)"),
        ("y", "copy", "screen.copy_line"),
        ("?", "help", "app.explain"),
        ("tab", "region", "app.focus_next"),
        ("S", "scorecard", "app.go('scorecard')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "change(1)", "next changed episode", "The next episode that changed."),
        bind("N", "change(-1)", "changed episode before", "The episode before that changed."),
        bind("f", "only", "only changed episodes", "Show only what changed, or everything again."),
        bind("c", "other", "choose the baseline", "Choose whom to compare with, or swap."),
        bind("less_than_sign", "candidate(-1)"),
        bind("greater_than_sign", "candidate(1)"),
        bind("y", "copy_line", "copy", "Copy what is said of this episode."),
    ]
    CSS = """
    CompareScreen #evidence { height: 6; }
    CompareScreen.-tall #evidence { height: 14; }
    """

    def __init__(
        self,
        suite_id: str,
        candidate_id: str,
        baseline_id: str | None = None,
        episode_id: str = "",
    ) -> None:
        super().__init__()
        self._first = episode_id
        self.suite_id, self.candidate_id, self.baseline_id = suite_id, candidate_id, baseline_id
        self.found: Comparison | None = None
        self.pair: AttemptComparison | None = None
        self._only = False
        self._shown: list[EpisodeChange] = []

    def regions(self) -> Iterable[Widget]:
        yield Grid(EpisodeSheet, self._rows, id="episodes")
        yield ValueView(id="evidence")

    @property
    def grid(self) -> Grid:
        """The episodes."""
        return self.query_one("#episodes", Grid)

    @property
    def drawer(self) -> ValueView:
        """The evidence that changed in the episode under the cursor."""
        return self.query_one("#evidence", ValueView)

    @property
    def current(self) -> EpisodeChange | None:
        """The episode under the cursor."""
        return self._shown[self.grid.row] if self.grid.row < len(self._shown) else None

    def on_mount(self) -> None:
        self.head([[Span(" comparing…", "dim")]])
        self.foot()
        self.grid.focus()
        self.read()

    # reading -----------------------------------------------------------------------------------

    def read(self) -> None:
        """Ask the desk for the comparison."""
        desk, asked = self.shell.desk, (self.suite_id, self.candidate_id, self.baseline_id)
        self.consult(
            "compare", lambda: desk.compare.candidates(*asked), self._take, self._unreadable
        )

    def store_changed(self) -> None:
        super().store_changed()
        self.read()

    def _unreadable(self, error: DeskError) -> None:
        if self.found is not None:
            self.refused(error)
        else:
            ways = [f"  {way}" for way in error.ways_out]
            self.nothing_here(error)
            self.drawer.show(
                [Block(text) for text in (error.text, *ways, worded(MORE))],
                [Span("nothing to compare", "strong")],
            )

    def _take(self, found: Comparison) -> None:
        here = self.current.episode_id if self.current and self._same_sides(found) else None
        here = here or (self._first if self.found is None else None)
        before = [each.episode_id for each in self.found.episodes] if self.found else []
        if here is not None and sorted(before) == sorted(e.episode_id for e in found.episodes):
            # Writes by others never move the rows under the reader.
            by_id = {each.episode_id: each for each in found.episodes}
            found = replace(found, episodes=tuple(by_id[name] for name in before))
        self.found = found
        self.baseline_id, self.candidate_id = found.baseline_id, found.candidate_id
        self._seen = self.shell.version
        self._offer(here)

    def _same_sides(self, found: Comparison) -> bool:
        old = self.found
        return old is not None and (old.baseline_id, old.candidate_id) == (
            found.baseline_id,
            found.candidate_id,
        )

    def _offer(self, here: str | None) -> None:
        if self.found is None:
            return
        self._shown = [e for e in self.found.episodes if not self._only or e.change in DIFFERS]
        names = [each.episode_id for each in self._shown]
        self.grid.set_keys(range(len(names)), names.index(here) if here in names else 0)
        self.redraw()
        self._ask_evidence()

    def _rows(self, keys: list[int]) -> Sequence[EpisodePair]:
        found, desk = self.found, self.shell.desk
        if found is None:
            return []
        changes = [self._shown[key] for key in keys]
        wanted = [each.key for each in changes]
        try:
            sides = [
                {row.key: row for row in desk.scorecards.rows(self.suite_id, name, wanted)}
                for name in (found.baseline_id, found.candidate_id)
            ]
        except DeskError as error:
            self.call_later(self.while_there(partial(self.refused, error)))
            return []
        return [EpisodePair(e, sides[0].get(e.key), sides[1].get(e.key)) for e in changes]

    def _ask_evidence(self) -> None:
        found, here, desk = self.found, self.current, self.shell.desk
        self.pair = None
        if found is None or here is None:
            words = worded("no episode changed: {failing} shows all") if self._only else ""
            self.drawer.show([Block(words)])
            return
        asked = found.suite.suite_id, found.candidate_id, found.baseline_id, here.episode_id
        self.ask("evidence", lambda: desk.compare.episode(*asked), self._tell, self._untold)

    def _tell(self, pair: AttemptComparison) -> None:
        self.pair = pair
        why = self.current.why if self.current else ""
        entries = [Entry(Block(why, "not_measured"))] if why else []
        note = [Span("which evidence changed", "dim")]
        self.drawer.put([*entries, *view.evidence_entries(pair)], view.pair_title(pair), note)

    def _untold(self, error: DeskError) -> None:
        name = self.current.episode_id if self.current else ""
        blocks = [Block(error.text, "not_measured"), *(Block(f"  {w}") for w in error.ways_out)]
        self.drawer.show(blocks, [Span(visible_line(name), "strong")])

    # drawing -----------------------------------------------------------------------------------

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        self.redraw()

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(view.top(found, self.columns))
        self.foot()
        total = f"episodes {len(self._shown):,} of {len(found.episodes):,}"
        order = "only what changed" if self._only else "lost, gained, changed, same"
        self.grid.caption([Span(total, "strong")], [Span(order, "dim")])

    def legend(self) -> Line:
        if self.found is None:
            return ()
        told = " ✗ LOST passed all, now fails  ✓ gained the reverse  ~ other gates fail"
        return [Span(told, "dim")]

    # acts --------------------------------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self._ask_evidence()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def on_value_view_followed(self, message: ValueView.Followed) -> None:
        """Open both attempts at the step that shows a line of evidence."""
        self.action_enter(message.go[1])

    def action_enter(self, step: int | None = None) -> None:
        """Open both attempts side by side, at a step or where they diverge."""
        if self.pair is None or self.found is None:
            self.say("nothing to open here: one side made no attempt of this episode")
            return
        names = [each.episode_id for each in self._shown]
        self.shell.visit(ToAttempts(self.found, names, self.grid.row, self.pair, step))

    def action_change(self, step: int) -> None:
        """Go to the next episode that changed."""
        here = self.grid.row
        ahead = [
            n for n, e in enumerate(self._shown) if e.change in DIFFERS and (n - here) * step > 0
        ]
        if ahead:
            self.grid.go(ahead[0] if step > 0 else ahead[-1])
        else:
            self.say("no more changed episodes that way")

    def action_only(self) -> None:
        """Show only changed episodes, or all."""
        here = self.current.episode_id if self.current else None
        self._only = not self._only
        self._offer(here)

    def action_candidate(self, step: int) -> None:
        """Compare the candidate before or after with the same baseline."""
        if self.found is None:
            return
        names = [name for name in self.found.candidates if name != self.found.baseline_id]
        at = names.index(self.found.candidate_id) + step
        if 0 <= at < len(names):
            self._turn_to(self.found.baseline_id, names[at])
        else:
            words = "no more candidates that way: {choose} chooses the baseline, or swaps"
            self.say(worded(words))

    def _turn_to(self, baseline_id: str, candidate_id: str) -> None:
        self.baseline_id, self.candidate_id = baseline_id, candidate_id
        self.shell.candidate_id = candidate_id
        self.read()

    def action_other(self) -> None:
        """Choose the baseline, or swap the two."""
        if self.found is None:
            return
        from reviewer.tui.screens.dialogs.ask import ChooseSide

        a, b = self.found.baseline_id, self.found.candidate_id
        offers = [(f"swap: {a} against {b}", (b, a))]
        offers += [
            (f"{b} against {name}", (name, b))
            for name in self.found.candidates
            if name not in (a, b)
        ]
        self.app.push_screen(ChooseSide("compare", offers), self._chosen)

    def _chosen(self, sides: tuple[str, str] | None) -> None:
        if sides is not None:
            self._turn_to(*sides)

    def action_copy_line(self) -> None:
        """Copy what is said about the episode."""
        if self.pair is not None:
            self.copy("; ".join(self.pair.evidence), "evidence")
