"""The patterns of a suite's failing attempts, their names, and where they occur."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.desk.patterns.views import GivenName, NameMade, Pattern, PatternCount, Patterns
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.screens.base import DeskScreen, Hint
from reviewer.tui.settings.keys import bind
from reviewer.tui.settings.theme import STATES, cell_style
from reviewer.tui.shell.places import ToTrace
from reviewer.tui.widgets.chrome import LineBox, Menu
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, rule, width_of
from reviewer.tui.widgets.words import UNKNOWN, plural, suite_word

BELOW = 7
"""Lines of the region about the pattern under the cursor, including its rule."""


def pattern_line(one: Pattern, width: int) -> Line:
    """Return one pattern: its mark, its attempts, the candidates that have it, the names that
    people gave it, and how it fails."""
    state = "critical" if one.shape.critical else "fail"
    seen = sum(1 for count in one.counts if count.attempts)
    line = [
        Span(f" {STATES[state].glyph}", cell_style(state)),
        Span(pad(f"{one.attempts:,}", 6, right=True)),
        Span(pad(f" in {seen:,} of {len(one.counts):,}", 12), "dim"),
    ]
    if one.names:
        words = " ≠ ".join(visible_line(each.name) or "(taken back)" for each in one.names)
        most = 26 if width < 120 else 50
        line.append(Span(cut(words, most) + "  ", "quarantined" if one.names_differ else "strong"))
    room = max(8, width - width_of(line) - 2)
    return [*line, Span(cut(visible_line(one.text), room))]


def named_line(one: GivenName) -> str:
    """Return who gave a pattern which name, and when."""
    if not one.name:
        return f"name taken back by {one.reviewer} {one.at[:10]}"
    note = f" ({one.note})" if one.note else ""
    return f"named by {one.reviewer} {one.at[:10]}: {one.name}{note}"


def count_line(one: PatternCount, width: int) -> Line:
    """Return how often one candidate fails like this, as a rate of the attempts that the scorecard
    counts."""
    name = 22 if width < 120 else 40
    rate = UNKNOWN if one.rate is None else f"{one.rate:.3f}"
    limits = ""
    if one.low is not None and one.high is not None:
        limits = f" [{one.low:.3f}, {one.high:.3f}]"
    head = f"  {pad(middle(visible_line(one.candidate_id), name), name)} "
    said = f"{rate}{limits}, {one.counted:,} of {one.measured:,} measured"
    where = f"; {plural(one.attempts, 'attempt')}" if one.attempts else ""
    episodes = f" of {plural(one.episodes, 'episode')}" if one.attempts else ""
    for more in (where + episodes, where, ""):
        if len(head) + len(said) + len(more) <= width:
            said += more
            break
    return [Span(head), Span(said, "text" if one.attempts else "dim")]


class PatternsScreen(DeskScreen):
    """The patterns of a suite, the most frequent first."""

    NAME = "patterns"
    SIZED = ("about",)
    UNDER = "scorecard"
    ABOUT = (
        "You are asked: what fails in the same way, and what to repair first?",
        "A pattern is the finding that decided and the step at which an attempt broke.",
        "Its name is your word for it: it changes no verdict, no rate and no report.",
    )
    ENTER = "the first attempt that fails so, at its event"
    HINTS: ClassVar[tuple[Hint, ...]] = (
        ("Enter", "first attempt", "screen.open"),
        ("w", "name it", "screen.name"),
        ("y", "copy its id", "screen.copy_id"),
        ("?", "help", "app.explain"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("w", "name", "name this pattern", "Name this pattern; empty: no name."),
        bind("y", "copy_id", "copy the id of the pattern"),
    ]
    CSS = f"""
    PatternsScreen #patterns {{ height: 1fr; }}
    PatternsScreen #about {{ height: {BELOW}; }}
    """

    def __init__(self, suite_id: str, candidate_id: str) -> None:
        super().__init__()
        self.suite_id, self.candidate_id = suite_id, candidate_id
        self.found: Patterns | None = None

    def regions(self) -> Iterable[Widget]:
        yield Menu(id="patterns", ruled=True)
        yield LineBox(id="about")

    @property
    def menu(self) -> Menu:
        """The patterns."""
        return self.query_one("#patterns", Menu)

    def on_mount(self) -> None:
        self.head([[Span(" reading the failing attempts…", "dim")], []])
        self.foot()
        self.menu.focus()
        self._read()

    # reading -----------------------------------------------------------------------------------

    def _read(self) -> None:
        desk, suite = self.shell.desk, self.suite_id
        self.consult("patterns", lambda: desk.patterns.found(suite), self._take, self._unreadable)

    def store_changed(self) -> None:
        super().store_changed()
        self._read()

    def _unreadable(self, error: DeskError) -> None:
        self.refused(error)
        if self.found is None:
            lines: list[Line] = [[Span(f" ○ {visible(error.text)}", "not_measured")]]
            lines += [[Span(f"   {visible(way)}")] for way in error.ways_out]
            self.query_one("#about", LineBox).show(lines)

    def _take(self, found: Patterns) -> None:
        here = self._pattern
        self.found = found
        ids = [one.pattern_id for one in found.patterns]
        at = ids.index(here.pattern_id) if here is not None and here.pattern_id in ids else None
        self._draw(at)

    # drawing -----------------------------------------------------------------------------------

    def redraw(self) -> None:
        if self.found is not None:
            self._draw(None)

    def _draw(self, at: int | None) -> None:
        found = self.found
        assert found is not None  # the lines exist only after an answer
        failing = sum(one.failing for one in found.candidates)
        probe = Span("○ PROBE, certifies nothing", "not_measured")
        first = [
            Span("suite ", "dim"),
            Span(middle(visible_line(found.suite.suite_id), 30), "strong"),
            Span(" "),
            probe if found.suite.probe else suite_word(found.suite.state),
            Span(f"   {plural(len(found.candidates), 'candidate')}", "dim"),
        ]
        unknown = sum(one.not_measured for one in found.candidates)
        lost = sum(one.infrastructure for one in found.candidates)
        counts = f" {plural(failing, 'failing attempt')}, {unknown:,} not measured, {lost:,} infra"
        self.head([first, [Span(counts, "dim")]])
        menu = self.menu
        menu.caption([Span(plural(len(found.patterns), "pattern"), "strong")],
                     [Span("attempts, candidates", "dim")])  # fmt: skip
        menu.offer([pattern_line(one, self.columns - 1) for one in found.patterns], at)
        self._about()
        self.foot()

    @property
    def _pattern(self) -> Pattern | None:
        patterns = self.found.patterns if self.found is not None else ()
        at = self.menu.cursor
        return patterns[at] if at < len(patterns) else None

    def _about(self) -> None:
        """Draw the pattern under the cursor: how it fails, its names, its counts by candidate."""
        one, width = self._pattern, self.columns
        box = self.query_one("#about", LineBox)
        if one is None:
            box.show([rule(width), [Span(" no attempt fails", "dim")]])
            return
        below = self.lines_of("about") or BELOW
        names = [[Span(" " + cut(visible_line(named_line(each)), width - 2),
                       "quarantined" if one.names_differ else "strong")]
                 for each in one.names]  # fmt: skip
        mine = [each for each in one.counts if each.attempts] or list(one.counts)
        what, _, where = visible_line(one.text).partition(", ")
        lines: list[Line] = [
            rule(width, [Span(one.pattern_id, "strong")]),
            [Span(" " + cut(what, width - 2), "strong")],
            [Span(" " + cut(where, width - 2))],
            *names[: below - 4],
        ]
        room = below - len(lines)
        lines += [
            count_line(each, width) for each in mine[: room if len(mine) <= room else room - 1]
        ]
        if len(mine) > room:
            lines.append([Span(f"  and {plural(len(mine) - room + 1, 'candidate')} more", "dim")])
        box.show(lines[:below])

    # acts --------------------------------------------------------------------------------------

    def on_menu_moved(self, message: Menu.Moved) -> None:
        self._about()

    def on_menu_chosen(self, message: Menu.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Open the first attempt with this pattern, one of this candidate if there is any, at its
        event."""
        one = self._pattern
        if one is None:
            self.say("no attempt fails: there is none to go to")
            return
        having = [count for count in one.counts if count.trace_id]
        mine = [count for count in having if count.candidate_id == self.candidate_id]
        count = (mine or having)[0]
        self.shell.around = None
        self.shell.visit(ToTrace(count.trace_id, count.seq, one.shape.gate))

    def action_name(self) -> None:
        """Ask for the name of this pattern; an empty name takes it back."""
        from reviewer.tui.screens.dialogs.ask import PromptScreen

        one = self._pattern
        if one is None:
            self.say("no attempt fails: there is nothing to name")
            return
        stands = next((each.name for each in one.names if each.name), "")
        desk, suite, key = self.shell.desk, self.suite_id, one.pattern_id

        def write(text: str | None) -> None:
            if text:
                self.ask("name", lambda: desk.patterns.name(suite, key, text), self._named)
            elif text is not None and stands:
                self.ask("name", lambda: desk.patterns.unname(suite, key), self._named)

        hint = "your word for it; identifiers are masked"
        self.app.push_screen(PromptScreen(f"name of {key}", stands, hint), write)

    def _named(self, made: NameMade) -> None:
        told = f"{made.given.pattern_id} is called {made.given.name}"
        if not made.given.name:
            told = f"{made.given.pattern_id} has no name now"
        self.say(visible_line(told), "pass")
        self._read()

    def action_copy_id(self) -> None:
        """Copy the id of the pattern."""
        if self._pattern is not None:
            self.copy(self._pattern.pattern_id, "pattern id")
