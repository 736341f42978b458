"""May the judge score, or only advise? Its calibration on what people said, and where they part."""

from typing import ClassVar

from textual.binding import BindingType

from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import Hint
from reviewer.tui.screens.judge import pairs as pairs
from reviewer.tui.screens.judge.reader import JudgeReader
from reviewer.tui.settings.keys import bind, worded
from reviewer.tui.widgets.grid import Grid


class JudgeScreen(JudgeReader):
    """The role above, the figures, the pairs, and the judge's words on the pair with the cursor."""

    ABOUT = (
        "You are asked: may this judge help to decide, or is its word only advice?",
        "Hard gates never read a judge. It scores only when both bounds hold.",
        "Figures are of all labeled pairs; its words only on those you have labeled.",
    )
    ENTER = "the pair whole, with both messages"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("n", "flip", "screen.parting(1)"),
        ("Enter", "pair", "screen.enter"),
        ("s", "sort", "screen.sort"),
        ("f", "flips", "screen.failing"),
        ("v", "matrix", "screen.view"),
        ("r", "run", "screen.run"),
        ("x", "export", "screen.export"),
        ("y", "copy", "screen.copy_id"),
        ("?", "help", "app.explain"),
        ("Q", "queue", "app.go('queue')"),
        ("L", "label", "app.go('label')"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("n", "parting(1)", "next flip or disagreement"),
        bind("N", "parting(-1)", "the one before"),
        bind("s", "sort", "sort: parting, pair, people", "Another order of the pairs."),
        bind("f", "failing", "only flips, disagreements"),
        bind("v", "view", "pairs, confusion matrix"),
        bind("r", "run", "run the judge", "Calls and price first; then ask the judge."),
        bind("full_stop", "stop", "stop the judge", "No new calls; answers are kept."),
        bind("x", "export", "export the answers", "Write all answers of the judge to a file."),
        bind("y", "copy_id", "copy the pair's id"),
    ]

    # acting ------------------------------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.draw_said()
        self.look()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        """The pair whole: both messages, and the judge's words."""
        from reviewer.tui.screens.judge.pair import JudgePairScreen

        row = self.row
        if row is None:
            self.say(worded("no pair here yet: {run} runs the judge, {screen.label} labels"))
        elif self.detail is not None and self.detail[0] == row.item and self.found is not None:
            self.app.push_screen(JudgePairScreen(row, self.detail[1], self.found))
        else:
            self.say("still reading: a moment")

    def action_parting(self, step: int) -> None:
        """The next pair on which the judge flips or differs."""
        here = self.grid.row
        ahead = [
            n
            for n, row in enumerate(self.rows)
            if row.outcome in pairs.NEEDS_YOU and (n - here) * step > 0
        ]
        if ahead:
            self.grid.go(ahead[0] if step > 0 else ahead[-1])
        else:
            self.say("no more flips or disagreements that way")

    def action_failing(self) -> None:
        """Only pairs on which the judge flips, differs or fails, or all again."""
        self.only = not self.only
        self.order(first=False, anew=True)
        self.redraw()
        self.look()

    def action_sort(self) -> None:
        """Pairs that part first, by number, by what people say."""
        self.sort = (self.sort + 1) % len(pairs.SORTS)
        self.order(first=False, anew=True)
        self.redraw()

    def action_view(self) -> None:
        """The pairs, or people against the judge."""
        if self.found is not None:
            self.toggle_class("-confusion")
            shown = self.has_class("-confusion")
            self.query_one("#confusion" if shown else "#pairs").focus()

    def action_copy_id(self) -> None:
        """Copy the id of the pair with the cursor."""
        if self.row is not None:
            self.copy(self.row.item, "pair")

    def action_export(self) -> None:
        """Ask for a file and write the judge's answers there, those to pairs not shown here too."""
        from reviewer.tui.screens.dialogs.prompt import PromptScreen
        from reviewer.tui.views.label_files import export_judgments, file_name

        desk, suite = self.shell.desk, self.suite_id

        def write(name: str | None) -> None:
            if name:
                self.ask("file", lambda: export_judgments(desk, suite, name), self._told)

        offered = file_name("judgments", suite)
        self.app.push_screen(PromptScreen("export all answers of the judge to", offered), write)

    def _told(self, words: str) -> None:
        self.say(visible_line(words), "pass")

    # running -----------------------------------------------------------------------------------

    def action_run(self) -> None:
        """Ask which judge, show calls and price, then begin."""
        from reviewer.tui.screens.judge.order import JudgeOrderScreen

        if self.shell.judging.at_work is not None:
            self.say("a judge is at work: . stops it")
            return
        model = self.found.model if self.found else ""
        dialog = JudgeOrderScreen(self.suite_id, self.candidate_id, model)
        self.app.push_screen(dialog, self._begun)

    def _begun(self, begun: bool | None) -> None:
        if begun:
            self.say("the judge is at work: . stops it; answers come in as they are given")
            self.redraw()

    def action_stop(self) -> None:
        """No new calls; those under way are answered and kept."""
        if self.shell.judging.at_work is None:
            self.say(worded("no judge is at work here: {run} runs it"))
        else:
            self.shell.judging.stop()
            self.say("stopping: the calls under way are answered and kept")
