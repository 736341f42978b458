"""Ways of looking at the scorecard: order, filter, groups, candidates side by side, saved views."""

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from textual.binding import BindingType

from reviewer.desk.scorecards.views import GROUPS, FilterValues, Group, SavedView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.scorecard.live import ScorecardLive
from reviewer.tui.screens.scorecard.reading import Looking, laid_out
from reviewer.tui.screens.scorecard.sheet import SORTS
from reviewer.tui.screens.scorecard.sides import SIDE
from reviewer.tui.settings.keys import bind, key_of, worded
from reviewer.tui.shell.places import ToReleases

WAY_KEYS: tuple[BindingType, ...] = (
    bind("f", "failing", "only failing episodes"),
    bind("slash", "filter", "filter: gate:authority"),
    bind("s", "sort", "sort by this column"),
    bind("number_sign", "group", "group: tag, category, none"),
    bind("vertical_line", "side_by_side", "candidates side by side"),
    bind("v", "views", "views, saved views"),
)


class ScorecardWays(ScorecardLive):
    """The part of the scorecard that picks and orders rows."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, suite_id: str = "", candidate_id: str = "") -> None:
        super().__init__(suite_id, candidate_id)
        self._saved: list[SavedView] = []

    def on_mount(self) -> None:
        desk = self.shell.desk
        # What cannot be read is said when views are asked for.
        self.ask("saved views", desk.scorecards.saved_views, self._have, lambda error: None)

    def _have(self, saved: list[SavedView]) -> None:
        self._saved = saved

    # order and filter --------------------------------------------------------------------------

    def action_sort(self) -> None:
        """By the cursor's column; again reverses; on rows that moved, takes the new order."""
        if self._moved_order is None:
            self.looking = self._sorted(self.looking)
        self.reorder()

    def _sorted(self, how: Looking) -> Looking:
        column = self.grid.column
        if column.startswith(SIDE):
            return how._replace(by="worst", descending=False, of=column.removeprefix(SIDE))
        by = SORTS.get(column, self.gate)
        if how.by == by and how.descending:
            return how._replace(by="worst", descending=False, of="")
        return how._replace(by=by, descending=how.by == by, of="")

    def action_failing(self) -> None:
        """Only failing episodes, or all again."""
        self.looking = self.looking._replace(only_failing=not self.looking.only_failing)
        self.reorder()

    def action_filter(self) -> None:
        """Ask for a filter."""
        from reviewer.tui.screens.scorecard.filter import FilterPrompt

        prompt = FilterPrompt(self.looking.text)
        self.app.push_screen(prompt, self._filtered)
        suite, candidate, desk = self.suite_id, self.candidate_id, self.shell.desk

        def known(values: FilterValues) -> None:
            if prompt.is_attached:
                prompt.knows(values)

        self.ask("filter values", lambda: desk.scorecards.filter_values(suite, candidate), known)

    def _filtered(self, text: str | None) -> None:
        if text is not None and text != self.looking.text:
            self.looking = self.looking._replace(text=text)
            self.reorder()

    async def action_unfilter(self) -> None:
        """Esc drops the filter, then the view, then goes back."""
        if self.looking.text or self.looking.only_failing:
            self.looking = self.looking._replace(text="", only_failing=False)
        elif self.looking.group != "none" or self.mode != "gates":
            self._look_as("gates", self.looking._replace(group="none", of=""))
            return
        else:
            await self.shell.action_back()
            return
        self._news = ()
        self.reorder()

    # groups and sides --------------------------------------------------------------------------

    def action_group(self) -> None:
        """By tag, by category, and not in groups again."""
        after = GROUPS[(GROUPS.index(self.looking.group) + 1) % len(GROUPS)]
        self._look_as(self.mode, self.looking._replace(group=after))

    def action_side_by_side(self) -> None:
        """Candidates as columns, and gates again."""
        if self.mode == "candidates":
            self._look_as("gates", self.looking._replace(of=""))
        elif len(self.candidates) < 2:
            self.say(worded("one candidate only: {run} runs another, {import} imports one"))
        else:
            self._look_as("candidates", self.looking)

    def _look_as(self, mode: Any, how: Looking) -> None:
        if how.group != self.looking.group:
            self.folded = frozenset()
        changed = mode != self.mode
        self.mode, self.looking = mode, how
        self._news = ()
        if changed:
            self.rows = self.rows._replace(keys=[], groups=())
            self.grid.set_keys([])  # rows of another kind do not fit the new columns
            self.grid.column = self.columns_of_cells[0]
        self.reorder()

    def fold_group(self, group: Group) -> None:
        """Fold or unfold the rows of a group; the cursor stays on its head."""
        self.folded ^= {group.label}
        self.rows = self.rows._replace(keys=laid_out(self.rows.groups, self.folded))
        number = next(n for n, each in enumerate(self.rows.groups, 1) if each.label == group.label)
        self.grid.set_keys(self.rows.keys, self.rows.keys.index(-number))
        self.draw_cell()

    # saved views -------------------------------------------------------------------------------

    def action_views(self) -> None:
        """Choose a view, save what is on screen, or remove a saved one."""
        from reviewer.tui.screens.scorecard.views import ViewsScreen

        def offer(saved: list[SavedView]) -> None:
            self._saved = saved
            self.app.push_screen(ViewsScreen(saved), self._view_chosen)

        self.ask("saved views", self.shell.desk.scorecards.saved_views, offer)

    def _view_chosen(self, chosen: tuple[str, SavedView] | None) -> None:
        if chosen is None:
            return
        act, view = chosen
        if act == "take":
            self.take_view(view)
        elif act == "go":
            self.action_releases(view.name.removeprefix("by "))
        elif act == "drop":
            words = f"removed the view {visible_line(view.name)}"
            self._keep(partial(self.shell.desk.scorecards.drop_view, view.name), words)
        else:
            from reviewer.tui.screens.dialogs.prompt import PromptScreen

            self.app.push_screen(PromptScreen("name of the view", "", "red refunds"), self._named)

    def action_releases(self, by: Any) -> None:
        """Every candidate of every suite, by suite or by candidate."""
        self.shell.visit(ToReleases(by, self.suite_id, self.candidate_id))

    def take_view(self, view: SavedView) -> None:
        """Look as a view says."""
        if view.mode == "candidates" and len(self.candidates) < 2:
            self.say("one candidate only: nothing stands beside it")
            return
        how = Looking(view.by, view.descending, view.only_failing, view.filter, view.group)
        self._look_as(view.mode, how)

    def _named(self, name: str | None) -> None:
        if not name:
            return
        how = self.looking
        view = SavedView(
            name=name,
            filter=how.text,
            by=how.by,
            descending=how.descending,
            only_failing=how.only_failing,
            group=how.group,
            mode=self.mode,
        )
        said = f"saved the view {visible_line(name)}: {key_of('view')} and the palette offer it"
        self._keep(partial(self.shell.desk.scorecards.save_view, view), said)

    def _keep(self, work: Any, words: str) -> None:
        def kept(saved: list[SavedView]) -> None:
            self._saved = saved
            self.say(words, "pass")

        self.ask("saved views", work, kept)

    def palette_acts(self) -> Iterator[tuple[str, str, Any]]:
        """Saved views as commands, beside the keys."""
        from reviewer.tui.screens.scorecard.views import described

        for by in ("suite", "candidate"):
            told = f"every candidate of every suite, by {by}"
            yield f"group by {by}", told, partial(self.action_releases, by)
        for view in self._saved:
            words = f"view {visible_line(view.name)}"
            yield words, described(view), partial(self.take_view, view)
