"""Places to which a screen can send the reader. A place names its screen and holds the arguments to
open it, so that no screen has to import another."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from reviewer.desk.compare.views import AttemptComparison, Comparison
    from reviewer.desk.desk import Desk
    from reviewer.desk.labels.api import LabelRole
    from reviewer.desk.traces.kinds import Kind
    from reviewer.desk.traces.views import NoteView
    from reviewer.desk.views import EventRow, TraceView


By = Literal["suite", "candidate"]


class Offer(NamedTuple):
    """A line of the finder: an act, or a place by its name. `aside` is the key of an act, or else
    the signature; `mark` is the state whose glyph `verdict` has."""

    kind: Literal["act", "candidate", "suite", "episode", "trace", "event"]
    name: str
    run: Callable[[], Any]
    where: str = ""
    mark: str = ""
    verdict: str = ""
    aside: str = ""
    tip: str = ""
    suite_id: str = ""
    candidate_id: str = ""


class Source(Protocol):
    """The offers of the finder."""

    def acts(self) -> list[Offer]:
        """Return the acts of the screen below."""

    def numbered(self, text: str) -> list[Offer]:
        """Return the items with a number on the screen below."""

    def other_acts(self) -> list[Offer]:
        """Return the acts of every other screen."""

    def recent(self) -> list[Offer]:
        """Return candidates, the newest first, then suites. Raises DeskError."""

    def named(self, text: str) -> list[Offer]:
        """Return episodes and traces whose names contain the words of a text. Raises DeskError."""


class Around(NamedTuple):
    """The position of an episode in the order of the scorecard it was opened from."""

    keys: Sequence[int]
    at: int


class ToScorecard(NamedTuple):
    """The scorecard of a candidate."""

    suite_id: str
    candidate_id: str


class ToReleases(NamedTuple):
    """Every candidate of every suite in groups by suite or by candidate."""

    by: By
    suite_id: str
    candidate_id: str


class ToTrace(NamedTuple):
    """One trace, at an event and for a gate. `wanted` is searched for in it; `ready` is the trace
    if it was read before."""

    trace_id: str
    seq: int | None = None
    gate: str = ""
    wanted: str = ""
    ready: "Ready | None" = None


class ToCompare(NamedTuple):
    """A candidate against another of its suite, which the desk chooses if none is named, with the
    cursor on an episode."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None = None
    episode_id: str = ""


class ToAttempts(NamedTuple):
    """Two attempts side by side, at a step; `episodes` can be stepped through in the comparison,
    `at` is the one shown."""

    comparison: "Comparison | None"
    episodes: Sequence[str]
    at: int
    pair: "AttemptComparison"
    step: int | None = None


class ToLabel(NamedTuple):
    """Labeling of the kind of items that was labeled last. `reason` limits it to one line of the
    queue while that has items left; `item` comes first."""

    role: "LabelRole" = "rater"
    reason: str = ""
    item: str = ""


Place = ToScorecard | ToReleases | ToTrace | ToCompare | ToAttempts | ToLabel


BLOCK = 32
"""Lines that are read together."""


SHORT_LIST = 2 * BLOCK
"""The most events of a trace whose list is read together with it."""


class Ready(NamedTuple):
    """A trace, people's notes on it, its clauses with equal findings merged, and the list of its
    events if it is short."""

    trace: "TraceView"
    notes: "list[NoteView]"
    kinds: "tuple[Kind, ...]"
    blocks: "tuple[list[EventRow], ...]" = ()


def read_whole(desk: "Desk", trace_id: str) -> Ready:
    """Read all that the first frame of a trace shows. Raises DeskError."""
    from reviewer.desk.traces.kinds import kinds_of

    trace, notes = desk.traces.view(trace_id), desk.traces.notes(trace_id)
    kinds = kinds_of(trace)
    if trace.listed > SHORT_LIST:
        return Ready(trace, notes, kinds)
    firsts = range(0, trace.listed, BLOCK)
    counts = [min(BLOCK, trace.listed - first) for first in firsts]
    blocks = map(desk.traces.events, [trace_id] * len(counts), firsts, counts)
    return Ready(trace, notes, kinds, tuple(map(list, blocks)))
