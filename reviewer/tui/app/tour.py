"""The tour: a few steps, each pointing at something on the screen. It takes over no key: every key
does what it always does, and a step is over when the reader has done what it names."""

from collections.abc import Callable
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import cell_len

from reviewer.tui.screens.base import SCREENS
from reviewer.tui.settings.keys import key_of, worded
from reviewer.tui.widgets.chrome import LineBox
from reviewer.tui.widgets.lines import Line, Span

if TYPE_CHECKING:
    from reviewer.tui.app.app import ReviewerApp
    from reviewer.tui.screens.base import DeskScreen

WIDTH = 64


class Step(NamedTuple):
    """One step. `screen` is the screen it belongs to, `target` the widget it points at; the box is
    below that widget, after its content, inside at its lower edge, or above. `words` is its text,
    with `{verb}` for a key. `does` is the action that the next-step key does; `acts` names acts of
    the person that end the step. A step that leads to another screen ends there."""

    screen: str
    target: str
    side: Literal["below", "after", "inside", "above"]
    words: str
    does: str = ""
    acts: tuple[str, ...] = ()


STEPS = (
    Step(
        "scorecard",
        "#grid",
        "after",
        "A line is an episode, a column a hard gate, a cell what the attempts did. Cells fill "
        "while attempts land, here or elsewhere. The arrows move, {move.left} {move.down} "
        "{move.up} {move.right} too.",
        acts=("move", "side"),
    ),
    Step(
        "scorecard",
        "#top",
        "below",
        "May this candidate be promoted? Line 3 answers: a glyph, a word, and its reasons by "
        "number. Press 1: the cursor goes to the evidence of reason 1.",
        "screen.numbered(1)",
        ("numbered", "red"),
    ),
    Step(
        "scorecard",
        "#grid",
        "after",
        "✗FAIL and ▲CRIT hold a release, whatever else is good; ○n/m was not measured, which is "
        "never good. Press Enter: the event behind the cell.",
        "screen.enter",
    ),
    Step(
        "trajectory",
        "#events",
        "inside",
        "What the agent did, event by event, and next to it the whole event. Below are the "
        "clauses of its contract. Press {next}: the next finding.",
        "screen.finding(1)",
        ("finding",),
    ),
    Step(
        "trajectory",
        "#top",
        "below",
        "Esc goes back where you came from, with the cursor as it was. The capitals of line 1 lead "
        "anywhere. Press {screen.compare}: this candidate next to another.",
        "app.go('compare')",
    ),
    Step(
        "compare",
        "#episodes",
        "inside",
        "Episodes lost, gained, unchanged, and which evidence changed. Press {screen.label}: what "
        "people say of final messages.",
        "app.go('label')",
    ),
    Step(
        "label",
        "#foot",
        "above",
        "Blind: nothing here says whose message it is. A side and Enter are enough; leaving saves "
        "nothing. Press {screen.decision}: the report and the decision.",
        "app.go('decision')",
    ),
    Step(
        "decision",
        "#choices",
        "above",
        "The report as it will be signed, and three choices; PROMOTE cannot be signed while there "
        "is a reason. Enter would sign, with your SSH key. Press {screen.scorecard}: home again.",
        "app.go('scorecard')",
    ),
    Step(
        "scorecard",
        "#foot",
        "above",
        "The last line names the keys that act here; each is a button too. {help} explains the "
        "screen you are on, ctrl+p finds every act by its name. That was the tour.",
        acts=("explain", "palette"),
    ),
)


class TourBox(LineBox):
    """The words of a step, over the screen. It is never in focus."""

    DEFAULT_CSS = """
    TourBox { layer: tour; position: absolute; width: 64; height: auto; }
    """

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__()
        self._moved = moved

    def on_mount(self) -> None:
        """Follow the target, which may move at any time: when an answer fills it or a region
        folds."""
        self.screen.screen_layout_refresh_signal.subscribe(self, lambda _: self._moved())


class Tour:
    """The tour in progress. `at` is the number of its step, None while there is no tour."""

    def __init__(self, app: "ReviewerApp") -> None:
        self._app = app
        self.at: int | None = None
        self._box: TourBox | None = None

    @property
    def step(self) -> Step | None:
        return None if self.at is None else STEPS[self.at]

    def first_time(self) -> None:
        """Start the tour for a reader who has not seen it and has not declined it."""
        from reviewer.tui.settings.settings import note_tour_seen, tour_seen

        if self._app.settings.tour and not tour_seen():
            note_tour_seen()
            self.begin()

    def begin(self) -> None:
        """Start at the first step."""
        self.at = 0
        self.arrived()

    def leave(self) -> None:
        """End the tour."""
        self.at = None
        self._close()

    def go_on(self) -> None:
        """Go to the next step; if it belongs to another screen, open that screen."""
        step = self.step
        if step is None:
            return
        if self._elsewhere(step):
            self._app.action_go(step.screen)
        elif step.does:
            self._app.call_next(self._app.run_action, step.does)
        else:
            self._forward()

    def did(self, action: str) -> None:
        """Note an act of the person, which may end the step."""
        step = self.step
        if step is not None and not self._elsewhere(step) and action in step.acts:
            self._forward()

    def arrived(self) -> None:
        """Go on to a later step that belongs to the screen the reader is on now."""
        step, here = self.step, self._app.here
        if step is None or here is None or self.at is None:
            return
        if self._elsewhere(step):
            seen = {each.screen for each in STEPS[: self.at + 1]}
            later = [n for n in range(self.at + 1, len(STEPS)) if STEPS[n].screen == here.NAME]
            if later and (later[0] == self.at + 1 or here.NAME not in seen):
                self.at = later[0]
        self._show()

    def _forward(self) -> None:
        assert self.at is not None
        if self.at + 1 == len(STEPS):
            self.leave()
        else:
            self.at += 1
            self._show()

    def _elsewhere(self, step: Step) -> bool:
        here = self._app.here
        return here is None or step.screen != here.NAME

    # drawing -----------------------------------------------------------------------------------

    def _show(self) -> None:
        here = self._app.here
        if here is None:
            return
        if self._box is None or self._box.screen is not here:
            self._close()
            self._box = TourBox(self.place)
            here.mount(self._box)
        here.call_after_refresh(self.place)

    def _close(self) -> None:
        if self._box is not None:
            self._box.remove()
            self._box = None

    def place(self) -> None:
        """Put the box next to its target, and draw it."""
        here, box, step = self._app.here, self._box, self.step
        if here is None or box is None or step is None or not box.is_attached:
            return
        width = min(WIDTH, here.size.width)
        elsewhere = self._elsewhere(step)
        if elsewhere:
            screen = dict(SCREENS)[step.screen]
            step = Step("", "#foot", "above", f"It continues at {screen}: {{tour}} goes there.")
        text = wrap(worded(step.words), max(8, width - 4))
        box.styles.width = width
        box.styles.offset = self._spot(here, step, len(text) + 3)
        box.show(self._lines(text, width, "↓" if step.side == "above" else "↑"))

    def _spot(self, here: "DeskScreen", step: Step, height: int) -> tuple[int, int]:
        """Return the place of the box, on the screen and not on its last line."""
        found = [each for each in here.query(step.target) if each.region.height]
        target = found[0] if found else here.query_one("#foot")
        region = target.region
        x = max(0, min(region.x + 8, here.size.width - WIDTH))
        y = {
            "below": region.bottom,
            "after": min(region.bottom, region.y + target.virtual_size.height),
            "above": region.y - height,
            "inside": min(region.bottom - height, region.y + target.virtual_size.height),
        }[step.side]
        return x, max(0, min(y, here.size.height - 2 - height))

    def _lines(self, text: list[str], width: int, arrow: str) -> list[Line]:
        assert self.at is not None
        title = f" tour {self.at + 1} of {len(STEPS)} "
        last = self.at + 1 == len(STEPS)
        keys: list[Span] = [
            Span(key_of("tour"), "key", "app.tour_on"),
            Span(" end it" if last else " next", "dim", "app.tour_on"),
            Span("   "),
            Span("Esc", "key", "app.tour_off"),
            Span(" leave the tour", "dim", "app.tour_off"),
        ]
        fill = "━" * (width - cell_len(title) - 6)
        head, foot = f"┏━━{title}{fill}", f"┗{'━' * (width - 2)}┛"
        top = f"{head}{'↑' if arrow == '↑' else '━'}━┓"
        if arrow == "↓":
            foot = f"┗{'━' * (width - 4)}↓━┛"
        room = width - 4
        body = [[Span(f"┃ {line.ljust(room)} ┃", "strong")] for line in text]
        used = sum(cell_len(span.text) for span in keys)
        ending = [Span("┃ ", "strong"), *keys, Span(" " * (room - used)), Span(" ┃", "strong")]
        return [[Span(top, "strong")], *body, ending, [Span(foot, "strong")]]
