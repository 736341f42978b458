"""The first steps: what stands on the scorecard while no trace is in the store."""

from collections.abc import Sequence

from reviewer.desk.views import SuiteInfo
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets.chrome import Menu
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, spread
from reviewer.tui.widgets.words import plural, suite_word

RUN, IMPORT = "r", "i"
_DIALOGS = {RUN: "screen.run", IMPORT: "screen.import_traces"}


class StartMenu(Menu):
    """Ways to the first trace; choosing one copies its command, or opens the dialog of a run."""

    DEFAULT_CSS = "StartMenu { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="start", ruled=True)
        self.commands: list[str] = []

    def take(self, suites: Sequence[SuiteInfo], workspace: str, width: int) -> list[Line]:
        """Fill the menu for these suites; answers the screen's top lines."""
        suite = suites[0] if suites else None
        steps = [
            ("import traces you already have", IMPORT),
            ("see the worked example", "reviewer demo"),
        ]
        if suite:
            steps.insert(1, ("run one of its candidates", RUN))
        else:
            steps.append(("make an example workspace", "reviewer init --example"))
        self.commands = [command for _, command in steps]
        self.caption([Span("start here", "strong")], [Span("Enter takes it", "dim")])
        self.offer(
            [
                [Span(f" {pad(words, 34)}"), Span(visible_line(command), "key")]
                for words, command in steps
            ]
        )
        return _top(suite, len(suites), workspace, width)

    async def on_menu_chosen(self, message: Menu.Chosen) -> None:
        message.stop()
        if action := _DIALOGS.get(self.commands[self.cursor]):
            await self.screen.run_action(action)
            return
        self.app.copy_to_clipboard(self.commands[self.cursor])
        self.notify(f"copied: {visible_line(self.commands[self.cursor])}", markup=False, timeout=4)


def _top(suite: SuiteInfo | None, suites: int, workspace: str, width: int) -> list[Line]:
    where = [Span("workspace ", "dim"), Span(middle(visible_line(workspace), width // 3))]
    if suite is None:
        return [
            spread([Span("no suite yet")], where, width),
            [Span("○ HOLD", "not_measured"), Span("  1 evidence missing: no suites/ here")],
            [Span(" " * 8 + "reviewer init makes a workspace, ? says what is asked of you", "dim")],
        ]
    missing = suite.episodes * suite.attempts
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(suite.suite_id), 24), "strong"),
        Span(" "),
        suite_word(suite.state),
        Span("   no candidate yet" + (f", 1 of {suites}" if suites > 1 else ""), "dim"),
    ]
    needs = f"needs {missing:,} attempts of one candidate ({plural(suite.episodes, 'episode')} "
    needs += f"× {suite.attempts:,}), or their traces"
    verdict = f"  1 evidence missing: {missing:,} of {missing:,} attempts not run"
    if suite.state != "frozen":
        verdict = f"  {visible_line(suite.problem)}"
    return [
        spread(left, where, width),
        [Span("○ HOLD", "not_measured"), Span(cut(verdict, width - 8))],
        [Span(" " * 8 + needs, "dim")],
    ]
