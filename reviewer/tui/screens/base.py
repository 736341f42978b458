"""The base of every screen: the frame of lines, questions to the desk, the last line's hints."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, wraps
from itertools import count
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.css.query import QueryType
from textual.events import Resize, ScreenResume
from textual.widget import Widget

from reviewer.desk.errors import DeskError
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.settings.keys import key_of, keyboard, worded
from reviewer.tui.shell.background import Answer, Job
from reviewer.tui.shell.places import Offer
from reviewer.tui.shell.timers import FiringTimers
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span, fit, middle, plain, spread, width_of
from reviewer.tui.widgets.opening import OpensOnce, Veiled
from reviewer.tui.widgets.words import plural
from reviewer.tui.widgets.zoom import Zoom

if TYPE_CHECKING:
    from reviewer.desk.runs.api import RunView
    from reviewer.tui.shell.shell import Shell

T = TypeVar("T")
R = TypeVar("R")
_numbers = count(1)

SCREENS = (
    ("scorecard", "Scorecard"),
    ("trajectory", "Trajectory"),
    ("compare", "Compare"),
    ("label", "Label"),
    ("queue", "Queue"),
    ("judge", "Judge"),
    ("decision", "Decision"),
    ("runs", "Runs"),
    ("trends", "trEnds"),
    ("suite", "sUite"),
)
LAST_FROM = 100
"""Columns from which the last of them is in line 1 where there is room for it, also while it is not
on screen."""
Hint = tuple[str, str, str]


def hint_line(hints: Iterable[Hint], width: int) -> list[Span]:
    """Keys and what they do here, each of them a button; what does not fit is in the help."""
    pieces = {
        key: [Span(_now(key), "key", action), Span(f" {words}", "dim", action), Span("  ")]
        for key, words, action in hints
    }
    last = pieces.pop("?", [])
    line: list[Span] = [Span(" ")]
    for piece in pieces.values():
        if width_of([*line, *piece, *last]) - 2 > width:
            break
        line += piece
    line += last
    if line[-1].text.isspace():
        line.pop()
    return fit(line, width)


def pressing(keys: str, words: str, key: str) -> Hint:
    """A hint that is as good as pressing a key, where the key's widget is in focus."""
    return keys, words, f"app.simulate_key('{key}')"


def choosing(enter: str, leave: str, *more: Hint) -> tuple[Hint, ...]:
    """The last line of a dialog that is a menu."""
    moves = pressing("jk", "move", "down")
    return (pressing("Enter", enter, "enter"), moves, *more, pressing("Esc", leave, "escape"))


def _now(keys: str) -> str:
    """Return the keys of a hint as they are now. `{verb}` names a verb whose key has another
    meaning elsewhere."""
    own = worded(keys)
    return own if own != keys else keyboard().said(keys)


def _brief(state: str) -> str:
    """The state of line 1 in five columns at most: its glyph and its number, or its letters."""
    first, *rest = state.split()
    if first[:1].isalpha():
        return "".join(word[0] for word in (first, *rest))[:5] if rest else first[:4]
    return (first + "".join(rest[:1]))[:5]


class Asking(FiringTimers, OpensOnce[R]):
    """A screen that can ask the desk. `ABOUT` is what the reader is here for, in a line or two."""

    NAME: ClassVar[str] = ""
    ABOUT: ClassVar[tuple[str, ...]] = ()
    ENTER: ClassVar[str] = "go in, choose"
    """The words for Enter, where a region in focus takes it."""
    NUMBERS: ClassVar[str] = "the item with that number"
    """The words for a digit."""
    HINTS: ClassVar[tuple[Hint, ...]] = ()
    """The keys of the last line."""
    BLIND: ClassVar[bool] = False
    """True where nothing may name a candidate, a gate, a cost or a judge: words about runs wait
    until the reader is on another screen."""

    @cached_property
    def reader(self) -> int:
        """The number by which the jobs of this screen are known."""
        return next(_numbers)

    @property
    def shell(self) -> "Shell":
        """The app, as screens know it."""
        return cast("Shell", self.app)

    @property
    def there(self) -> bool:
        """Whether this screen still has widgets to draw on. Textual removes the widgets of a screen
        before it stops the screen's timers, also when the program exits."""
        return self.is_attached and self.app.is_running and self.display

    def while_there(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Return a callback that does nothing once the screen is being removed."""

        @wraps(callback)
        def call() -> object:
            return callback() if self.there else None

        return call

    def every(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call back again and again, until the screen is removed."""
        self.set_interval(seconds, self.while_there(callback))

    def after(self, seconds: float, callback: Callable[[], object]) -> None:
        """Call back once, unless the screen is removed before."""
        self.set_timer(seconds, self.while_there(callback))

    def ask(
        self,
        group: str,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[DeskError], None] | None = None,
    ) -> None:
        """Ask the desk off the painting thread; the newest question of a group is answered."""
        self._ask(group, work, done, failed, 0)

    def consult(
        self,
        group: str,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[DeskError], None] | None = None,
    ) -> None:
        """As `ask`, for what only reads: it stops while another screen is in front."""
        self._ask(group, work, done, failed, self.reader)

    def _ask(
        self,
        group: str,
        work: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[DeskError], None] | None,
        reader: int,
    ) -> None:
        def run() -> Callable[[], None]:
            answer = work()
            return lambda: done(answer)

        def post(deliver: Callable[[], None]) -> None:
            self.post_message(Answer(deliver))

        job = Job(run, failed or self.refused, post, reader)
        self.shell.background.ask(f"{group}-{self.reader}", job)

    def on_answer(self, message: Answer) -> None:
        message.stop()
        if self.there:
            message.deliver()

    def refused(self, error: DeskError) -> None:
        """The desk said no."""
        self.notify(visible(error.line), markup=False, severity="error")

    def runs_changed(self) -> None:
        """Draw again: a run has changed."""

    def imports_changed(self) -> None:
        """Draw again: an import has changed."""


class Dialog(Veiled[R], Asking[R]):
    """A box over a screen."""

    DEFAULT_CSS = """
    .dialog { border: heavy $rule; background: $background; padding: 0 1; height: auto; }
    """

    def headed(self, text: str) -> None:
        """Put a text into the frame of the box: as it is, whatever brackets it holds."""
        self.query_one("#box").border_title = Content(visible_line(text))


class DeskScreen(Asking[None]):
    """A screen of the workstation: top lines, regions, a line of news, a line of hints."""

    DEFAULT_CSS = "DeskScreen { layers: default tour; }"
    UNDER: ClassVar[str] = ""
    """The screen in whose place in line 1 this one is, for want of a place of its own."""
    SIZED: ClassVar[tuple[str, ...]] = ()
    """Ids of the regions whose lines a reader may settle; the first gives way where another region
    of the screen grows."""
    LEAST: ClassVar[int] = 3
    """Lines that a region keeps, its rule among them."""
    read_only = False

    def __init__(self) -> None:
        super().__init__()
        self._seen: int | None = None
        self._news: Line = ()
        self._top: list[Line] = []
        self.zoomed = Zoom(self)

    def compose(self) -> ComposeResult:
        yield LineBox(id="top")
        yield from self.regions()
        yield LineBox(id="foot")

    @abstractmethod
    def regions(self) -> Iterable[Widget]:
        """The widgets between the top lines and the last two."""

    def refused(self, error: DeskError) -> None:
        """The desk said no: the words are in line 23 until something else is said."""
        self.gave_up()
        self.say(visible_line(self.refusal(error)), "fail")

    def gave_up(self) -> None:
        """Top lines that say what is being read say that it could not be: they never stay so."""
        if self._top and plain(self._top[:1]).endswith("…"):
            told = Span("  could not be read: the line at the foot says why")
            self.head([[Span(" ✗ ", "fail-cell"), told], *self._top[1:]])

    def nothing_here(self, error: DeskError) -> None:
        """Say above that there is nothing to show; the region below has the whole of it."""
        told = visible_line(error.text).partition(": ")[0].partition("; ")[0]
        self.head([[Span(f" ○ {told}", "not_measured")]])

    def refusal(self, error: DeskError) -> str:
        """A refusal as line 23 has room for it: files of the workspace by their place in it."""
        ways = f"; {error.ways_out[0]}" if error.ways_out else ""
        return f"✗ {error.text}{ways}".replace(f"{self.shell.desk.path}/", "")

    def store_changed(self) -> None:
        """Somebody wrote to the store. Screens that show live things read again."""
        self._seen = self.shell.version

    def seen(self) -> None:
        """Note that the screen is as new as the store."""
        self._seen = self.shell.version

    def runs_changed(self) -> None:
        if self.query("#top"):  # not before it is composed
            self.head(self._top)

    def imports_changed(self) -> None:
        if self.query("#top"):
            self.head(self._top)

    def run_begun(self, view: "RunView", *, asked: bool) -> None:
        """A run has begun; `asked`: the reader has just asked for it here."""
        shows = f"{key_of('screen.runs')} shows it"
        self.tell(visible_line(f"run {view.number} of {view.candidate_id} has begun: {shows}"))

    def run_ended(self, view: "RunView", text: str, style: str) -> None:
        """A run has ended; `text` says how, and is safe."""
        self.tell(text, style)

    def judge_changed(self) -> None:
        """Draw again: a judge has changed."""

    def who_changed(self) -> None:
        """Draw again: somebody came, went, or has another item before them."""
        self.runs_changed()

    def tell(self, text: str, style: str = "dim") -> None:
        """Say what comes from elsewhere; a blind screen passes it on to the next one."""
        if self.BLIND:
            self.shell.hold(lambda here: here.say(text, style))
        else:
            self.say(text, style)

    def on_screen_resume(self, event: ScreenResume) -> None:
        self.shell.tour.arrived()
        self.runs_changed()
        if not self.BLIND:
            self.call_after_refresh(self.shell.release)
        if self._seen is None:
            self._seen = self.shell.version
        elif self._seen != self.shell.version:
            self.store_changed()

    # the lines of a region ---------------------------------------------------------------------

    def sized(self) -> tuple[str, ...]:
        """The regions whose lines a reader may settle as they are arranged now."""
        return self.SIZED

    def lines_of(self, region: str) -> int | None:
        """The lines that the reader gave a region, as far as the screen has them; None where the
        screen settles them."""
        kept = self.shell.panes.lines(f"{self.NAME} {region}")
        return None if kept is None else self._within(kept)

    def _within(self, lines: int) -> int:
        return max(self.LEAST, min(lines, self.app.size.height - 10))

    def settle(self, region: str, lines: int) -> None:
        """Give a region so many lines."""
        styles = self.query_one(f"#{region}").styles
        styles.height = styles.max_height = lines

    def resize_region(self, step: int) -> None:
        """Give the region in focus more lines, or fewer; where it takes what is left, the others
        give or take them."""
        shown = [each for each in self.sized() if self._has_lines(each)]
        if self.zoomed.region is not None or self.focused is None or not shown:
            self.say(f"this region cannot grow: {key_of('zoom')} gives a region the whole screen")
            return
        within = {node.id for node in self.focused.ancestors_with_self}
        own = next((each for each in shown if each in within), None)
        region, more = (own, step) if own is not None else (shown[0], -step)
        now = self.query_one(f"#{region}").size.height
        lines = self._within(now + 2 * more)
        if lines == now:
            self.say("no larger: the other regions keep a few lines")
            return
        self.shell.panes.size(f"{self.NAME} {region}", lines)
        self.settle(region, lines)
        self.say(f"{lines} lines, remembered for this screen")
        self.call_after_refresh(self.while_there(self.redraw))

    def _has_lines(self, region: str) -> bool:
        found = self.query(f"#{region}")
        return bool(found) and found.first().size.height > 0

    def _settle_all(self) -> None:
        """Give regions the lines that the reader gave them before."""
        if self.zoomed.region is None:
            for region in self.sized():
                if (lines := self.lines_of(region)) is not None and self.query(f"#{region}"):
                    self.settle(region, lines)

    # one region over the whole screen ----------------------------------------------------------

    def zoom(self) -> None:
        """Show the region in focus alone, or all of them again."""
        if self.zoomed.region is not None:
            self.zoomed.off()
        elif self.focused is None or not self.zoomed.on(self.focused):
            self.say("nothing to zoom here: tab goes to a region")
        self.rearrange()

    def rearrange(self) -> None:
        """Draw again for the regions that are shown now."""
        self.redraw()
        self.call_after_refresh(self.while_there(self.redraw))

    def set_focus(
        self, widget: Widget | None, scroll_visible: bool = True, from_app_focus: bool = False
    ) -> None:
        """Take the zoom along where a hidden region is given the focus."""
        zoomed = self.zoomed.region
        if zoomed is not None and widget not in (None, zoomed) and self.zoomed.on(widget):
            self.rearrange()
        super().set_focus(widget, scroll_visible, from_app_focus)

    def focus_next(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """Focus the next region; a zoomed one hands its place on."""
        with self._unzoomed():
            return super().focus_next(selector)

    def focus_previous(self, selector: str | type[QueryType] = "*") -> Widget | None:
        """Focus the region before."""
        with self._unzoomed():
            return super().focus_previous(selector)

    @contextmanager
    def _unzoomed(self) -> Iterator[None]:
        """Let every region be seen while the next one is looked for."""
        zoomed = self.zoomed.region
        self.zoomed.off()
        yield
        if zoomed is not None:
            self.zoomed.on(self.focused or zoomed)
            self.rearrange()

    def numbered_offers(self, text: str) -> Iterable[Offer]:
        """Yield what a number, or `attempt` and one, names here."""
        return ()

    # the frame ---------------------------------------------------------------------------------

    @property
    def columns(self) -> int:
        """Width of the screen."""
        return max(20, self.app.size.width)

    def title_line(self) -> list[Span]:
        """Line 1: the screens, the one you are on in brackets, and the state of the store."""
        here, standing = self.UNDER or self.NAME, self._standing()
        whole = self._names(SCREENS)
        room = self.columns - width_of([standing])
        if here != SCREENS[-1][0] and (self.columns < LAST_FROM or width_of(whole) > room):
            whole = self._names(SCREENS[:-1])
        elif width_of(whole) > room:
            standing = standing._replace(text=_brief(standing.text))
        return spread(whole, [standing], self.columns)

    def _names(self, screens: Sequence[tuple[str, str]]) -> list[Span]:
        line: list[Span] = []
        here = self.UNDER or self.NAME
        for number, (name, word) in enumerate(screens):
            if self.columns < 72 and name != here:  # its key is what is left of it
                word = next(filter(str.isupper, word))
            if name == here:
                line.append(Span(f"[{self.NAME.title() if self.UNDER else word}]", "strong"))
            else:
                after = number and screens[number - 1][0] == here
                line.append(Span(word if after else f" {word}", "dim", f"app.go('{name}')"))
        return line

    def _standing(self) -> Span:
        if self.zoomed.region is not None:
            return Span("zoomed", "strong", "app.zoom")
        if self.BLIND:
            return Span("live", "dim")
        asking, running = len(self.shell.live.approvals), len(self.shell.live.at_work)
        if asking:
            words = "● {}: a" if self.columns < 100 else " ● {} to answer "
            return Span(words.format(plural(asking, "call")), "match", "app.approve")
        if turns := len(self.shell.live.turns):
            words = "● {}: a" if self.columns < 100 else " ● {} of a user to play "
            return Span(words.format(plural(turns, "turn")), "match", "app.approve")
        jobs = running + len(self.shell.importing.at_work)
        if jobs:
            word = "run" if jobs == running else "job"
            return Span(f"► {plural(jobs, word)}", "running", "app.go('runs')")
        state = "read only" if self.read_only else "live"
        if (role := self.shell.desk.role) is not None and role != "decide":
            state = f"{role} only"
        style = "dim" if state == "live" else "not_measured"
        if others := self.shell.presence.others:
            more = f" +{len(others) - 1}" if others[1:] else ""
            state += f" · {middle(visible_line(others[0]), 12)}{more}"
        return Span(state, style, "app.who" if others else "")

    def head(self, lines: list[Line]) -> None:
        """Draw line 1 and the screen's own top lines below it."""
        if len(lines) != len(self._top):
            self.call_after_refresh(self.shell.tour.place)
        self._top = lines
        shown = lines if self.zoomed.region is None else lines[:1]
        self.query_one("#top", LineBox).show([self.title_line(), *shown])

    def say(self, text: str, style: str = "dim") -> None:
        """The news line: what just happened. `text` is already safe."""
        self._news = [Span(f" {text}", style)]
        self.foot()

    def forget_news(self) -> None:
        """Forget the news; `foot` draws the line without it."""
        self._news = ()

    @property
    def said(self) -> str:
        """The news as text; empty without."""
        return "".join(span.text for span in self._news).strip()

    def foot(self) -> None:
        """Draw the last two lines."""
        small = self.columns < 80 or self.app.size.height < 24
        news = self._news or self.legend()
        if small:
            news = spread(news, [Span(" 80x24 shows more", "dim")], self.columns)
        hints = self.hints()
        if self.zoomed.region is not None:
            hints = [("Z", "all regions", "app.zoom"), *(h for h in hints if h[0] != "Z")]
        self.query_one("#foot", LineBox).show([news, hint_line(hints, self.columns)])

    def legend(self) -> Line:
        """Return the news line for when there is no news."""
        return ()

    def hints(self) -> Iterable[Hint]:
        """The keys of the last line, as (keys, words, action)."""
        return self.HINTS

    def on_resize(self, event: Resize) -> None:
        self._settle_all()
        self.redraw()
        self.call_after_refresh(self.while_there(self.redraw))  # by the size that a region has then

    def redraw(self) -> None:
        """Draw what depends on the width."""
        self.head(self._top)
        self.foot()

    # acts every screen has ---------------------------------------------------------------------

    def copy(self, text: str, what: str) -> None:
        """Put a text on the clipboard and say so."""
        self.app.copy_to_clipboard(text)
        self.say(visible_line(f"copied {what}: {text}"))
