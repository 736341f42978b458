"""Whether the judge may score or only advise: its calibration on labels of people, pair by pair."""

from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.events import Resize
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.judge.api import JudgeDetail, JudgePairRow, JudgeView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind, key_of, worded
from reviewer.tui.views import judge as view
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.grid import Grid
from reviewer.tui.widgets.lines import (
    Block,
    Line,
    Sheet,
    Span,
    cut,
    heading,
    in_order,
    middle,
    rule,
)
from reviewer.tui.widgets.textview import TextView

OUTCOMES = {
    "agrees": ("✓ agrees", "pass"),
    "flips": ("✗ flips", "fail-cell"),
    "differs": ("✗ differs", "fail-cell"),
    "error": ("○ not parsed", "not_measured"),
}
NEEDS_YOU = frozenset({"flips", "differs", "error"})
"""Outcomes that a person should look at."""


class Sort(NamedTuple):
    """An order of the pairs, in words, and its sort key."""

    words: str
    key: Callable[[JudgePairRow], tuple[object, ...]]


SORTS = (
    Sort("disagreements first", lambda row: (row.outcome not in NEEDS_YOU, row.pair)),
    Sort("by number", lambda row: (row.pair,)),
    Sort("by people's answer", lambda row: (row.people, row.pair)),
)


def unseen(found: JudgeView) -> str:
    """Return which pairs are not listed, and what would list them: the judge's answer on a pair is
    shown only to people who have labeled it."""
    if not found.labeled_pairs and not found.hidden:
        return worded("no judge answers: {run} shows what they would cost")
    if not found.labeled_pairs:
        return worded("no human labels: {screen.label} starts. Without them nothing is calibrated")
    words = []
    if found.others:
        them = "it to see it" if found.others == 1 else "them to see them"
        verb = "is" if found.others == 1 else "are"
        words.append(f"{found.others:,} more {verb} labeled by others: label {them}")
    if found.begun:
        verb = "waits" if found.begun == 1 else "wait"
        words.append(f"{found.begun:,} of yours {verb} for the other order")
    if found.hidden:
        words.append(f"{found.hidden:,} labeled by nobody")
    return "; ".join(words) or "every judged pair is labeled by you; hard gates never read a judge"


class JudgeSheet(Sheet):
    """One pair per line: the answer of people, and the judge's answer in either order."""

    def __init__(self, width: int) -> None:
        episode = 16 if width < 120 else 40
        sizes = [("pair", 4), ("episode", episode), ("people", 8), ("forward", 8), ("swapped", 8)]
        sizes += [("judge", 12), ("slot", max(4, width - episode - 48))]
        self.columns = in_order(sizes)
        self.header = heading(self.columns[:-1])

    def cells(self, row: JudgePairRow) -> list[Line]:
        words, style = OUTCOMES[row.outcome]
        answers = (row.people, row.forward, row.swapped)
        return [
            [Span(f"{row.pair:,}")],
            [Span(middle(visible_line(row.episode_id), self.columns[1].width))],
            *([Span(cut(visible_line(each), 8))] for each in answers),
            [Span(words, style)],
            [Span(cut(visible_line(row.slot), self.columns[-1].width), "dim")],
        ]


def names(found: JudgeView) -> list[Span]:
    """Return the names of candidates A and B."""
    return [
        Span("A ", "strong"),
        Span(middle(visible_line(found.a_name), 20)),
        Span("  B ", "strong"),
        Span(middle(visible_line(found.b_name), 20)),
    ]


class JudgeScreen(DeskScreen):
    """The role at the top, the figures, the pairs, and the judge's words on the pair with the
    cursor."""

    NAME = "judge"
    SIZED = ("said",)
    DEFAULT_CSS = """
    JudgeScreen #pairs { height: 1fr; }
    JudgeScreen #confusion { height: 1fr; display: none; }
    JudgeScreen #said { height: 3; }
    JudgeScreen.-tall #said { height: 7; }
    JudgeScreen.-confusion #pairs { display: none; }
    JudgeScreen.-confusion #confusion { display: block; }
    """

    ABOUT = (
        "You are asked: may this judge help to decide, or only advise?",
        "Hard gates never read a judge. It scores only when both bounds hold.",
        "Figures count all labeled pairs; its answers show only on pairs you labeled.",
    )
    ENTER = "the pair whole, with both messages"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("n", "flip", "screen.differing(1)"),
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
        bind("n", "differing(1)", "next flip or disagreement"),
        bind("N", "differing(-1)", "the one before"),
        bind("s", "sort", "sort: disagreement, pair, people", "Another order of the pairs."),
        bind("f", "failing", "only flips, disagreements"),
        bind("v", "view", "pairs, confusion matrix"),
        bind("r", "run", "run the judge", "Calls and price first; then ask the judge."),
        bind("full_stop", "stop", "stop the judge", "No new calls; answers are kept."),
        bind("x", "export", "export the answers", "Write all answers of the judge to a file."),
        bind("y", "copy_id", "copy the pair's id"),
    ]

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: JudgeView | None = None
        self.rows: list[JudgePairRow] = []
        self.only = False
        self.sort = 0
        self.detail: tuple[str, JudgeDetail] | None = None

    def regions(self) -> Iterable[Widget]:
        yield LineBox(id="calibration")
        yield Grid(JudgeSheet, lambda keys: self.rows[keys[0] : keys[-1] + 1], id="pairs")
        yield TextView(id="confusion")
        yield LineBox(id="said")

    @property
    def grid(self) -> Grid:
        """The pairs."""
        return self.query_one("#pairs", Grid)

    @property
    def row(self) -> JudgePairRow | None:
        """The pair with the cursor."""
        row = self.grid.current
        return row if isinstance(row, JudgePairRow) else None

    def on_mount(self) -> None:
        self.head([[Span(" reading the calibration…", "dim")]])
        self.foot()
        self.grid.focus()
        self._read()

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height >= 36, "-tall")
        self.redraw()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk, place = self.shell.desk, (self.suite_id, self.candidate_id)
        self.consult("judge", lambda: desk.judge.view(*place), self._take, self._unreadable)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def judge_changed(self) -> None:
        """Draw calls and cost; the rows are read at the store's next change."""
        if self.found is not None:
            self.redraw()

    def _unreadable(self, error: DeskError) -> None:
        if self.found is not None:
            self.refused(error)
        else:
            self.nothing_here(error)
            blocks = [Block(f"○ {error.text}"), *(Block(way) for way in error.ways_out)]
            self.add_class("-confusion")
            self.query_one("#confusion", TextView).show(blocks)

    def _take(self, found: JudgeView) -> None:
        fresh = self.found is None
        self.found = found
        self._seen = self.shell.version
        if fresh:
            self.remove_class("-confusion")
        self.order(first=fresh)
        self.redraw()
        self.look()

    def order(self, *, first: bool, again: bool = False) -> None:
        """Show the rows. Listed rows keep their place and new ones follow, unless they are sorted
        `again`; the cursor stays on its pair."""
        listed = [
            row
            for row in (self.found.rows if self.found else ())
            if not self.only or row.outcome in NEEDS_YOU
        ]
        listed.sort(key=SORTS[self.sort].key)
        here = self.row.item if self.row else ""
        if not (first or again):
            place = {row.item: n for n, row in enumerate(self.rows)}
            listed.sort(key=lambda row: place.get(row.item, len(place)))
        self.rows = listed
        names = [row.item for row in self.rows]
        differing = [n for n, row in enumerate(self.rows) if row.outcome in NEEDS_YOU]
        start = differing[0] if first and differing else 0
        self.grid.set_keys(
            range(len(names)), names.index(here) if not first and here in names else start
        )

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        found = self.found
        if found is None:
            super().redraw()
            return
        self.head(view.top(found, self.shell.judging.view, self.columns))
        self.query_one("#calibration", LineBox).show(view.calibration(found, self.columns))
        title = f"your pairs {len(self.rows):,}"
        if self.only:
            title += f" of {len(found.rows):,}, only flips and disagreements"
        order = [Span(f", {SORTS[self.sort].words}", "dim")]
        self.grid.caption([Span(title, "strong"), *order], names(found))
        self._draw_confusion()
        self.draw_said()
        self.foot()

    def legend(self) -> Line:
        return [Span(f" {unseen(self.found)}", "dim")] if self.found else ()

    def _draw_confusion(self) -> None:
        if self.found is not None:
            text = self.query_one("#confusion", TextView)
            blocks = view.confusion(self.found, self.columns - 2)
            text.update(blocks, [Span("confusion", "strong")], names(self.found))

    def draw_said(self) -> None:
        row, box = self.row, self.query_one("#said", LineBox)
        if row is None:
            label = key_of("screen.label")
            told = f" on a pair that you have labeled in both orders; {label} labels"
            title = [Span("what the judge said", "strong")]
            box.show([rule(self.columns, title), [Span(told, "dim")]])
            return
        known = self.detail[1] if self.detail and self.detail[0] == row.item else None
        title = [Span(f"pair {row.pair:,} · what the judge said", "strong")]
        rows = 3 if self.has_class("-tall") else 1
        words = view.said_lines(known, self.columns, rows) if known else [[Span(" …", "dim")]]
        box.show([rule(self.columns, title), *words])

    def look(self) -> None:
        """Ask for the judge's words on the pair with the cursor."""
        row = self.row
        if row is None or (self.detail is not None and self.detail[0] == row.item):
            return
        desk, item = self.shell.desk, row.item
        place = (self.suite_id, self.candidate_id)

        def take(detail: JudgeDetail) -> None:
            self.detail = item, detail
            self.draw_said()

        self.ask("pair", lambda: desk.judge.pair(*place, item), take)

    # acting ------------------------------------------------------------------------------------

    def on_grid_moved(self, message: Grid.Moved) -> None:
        self.draw_said()
        self.look()

    def on_grid_chosen(self, message: Grid.Chosen) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        """Open the pair in full: both messages, and the judge's words."""
        from reviewer.tui.screens.judge.dialogs import JudgePairScreen

        row = self.row
        if row is None:
            self.say(worded("no pair here yet: {run} runs the judge, {screen.label} labels"))
        elif self.detail is not None and self.detail[0] == row.item and self.found is not None:
            self.app.push_screen(JudgePairScreen(row, self.detail[1], self.found))
        else:
            self.say("still reading: a moment")

    def action_differing(self, step: int) -> None:
        """Go to the next pair on which the judge flips or differs."""
        here = self.grid.row
        ahead = [
            n
            for n, row in enumerate(self.rows)
            if row.outcome in NEEDS_YOU and (n - here) * step > 0
        ]
        if ahead:
            self.grid.go(ahead[0] if step > 0 else ahead[-1])
        else:
            self.say("no more flips or disagreements that way")

    def action_failing(self) -> None:
        """Show only pairs on which the judge flips, differs or fails, or all again."""
        self.only = not self.only
        self.order(first=False, again=True)
        self.redraw()
        self.look()

    def action_sort(self) -> None:
        """Sort the pairs: flips and differences first, by number, or by the answer of people."""
        self.sort = (self.sort + 1) % len(SORTS)
        self.order(first=False, again=True)
        self.redraw()

    def action_view(self) -> None:
        """Show the pairs, or people against the judge."""
        if self.found is not None:
            self.toggle_class("-confusion")
            shown = self.has_class("-confusion")
            self.query_one("#confusion" if shown else "#pairs").focus()

    def action_copy_id(self) -> None:
        """Copy the id of the pair with the cursor."""
        if self.row is not None:
            self.copy(self.row.item, "pair")

    def action_export(self) -> None:
        """Ask for a file and write the judge's answers to it, including answers on pairs not
        listed."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen
        from reviewer.tui.views.labels import export_judgments, file_name

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
        """Ask which judge to run, show calls and price, then begin."""
        from reviewer.tui.screens.judge.dialogs import JudgeOrderScreen

        if self.shell.judging.at_work is not None:
            self.say("a judge is running: . stops it")
            return
        model = self.found.model if self.found else ""
        dialog = JudgeOrderScreen(self.suite_id, self.candidate_id, model)
        self.app.push_screen(dialog, self._begun)

    def _begun(self, begun: bool | None) -> None:
        if begun:
            self.say("the judge is running: . stops it; answers come in as they are given")
            self.redraw()

    def action_stop(self) -> None:
        """Stop the judge: no new calls; those under way are answered and kept."""
        if self.shell.judging.at_work is None:
            self.say(worded("no judge is running here: {run} runs it"))
        else:
            self.shell.judging.stop()
            self.say("stopping: the calls under way are answered and kept")
