"""Where a screen can send the reader. A place names its screen and holds what the screen opens on,
so that no screen has to import another one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from reviewer.desk.compare.views import AttemptComparison, Comparison
    from reviewer.desk.labels.api import LabelRole
    from reviewer.tui.shell.traces import Ready


By = Literal["suite", "candidate"]


class Around(NamedTuple):
    """Where an episode stands in the order of the scorecard it was opened from."""

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
    where it was read before."""

    trace_id: str
    seq: int | None = None
    gate: str = ""
    wanted: str = ""
    ready: "Ready | None" = None


class ToCompare(NamedTuple):
    """A candidate against another of its suite."""

    suite_id: str
    candidate_id: str


class ToAttempts(NamedTuple):
    """Two attempts side by side, at a step; `episodes` are those that can be stepped through in
    the comparison, `at` is the one shown."""

    comparison: "Comparison | None"
    episodes: Sequence[str]
    at: int
    pair: "AttemptComparison"
    step: int | None = None


class ToLabel(NamedTuple):
    """Labeling the kind of items that were labeled last. `reason` keeps to one line of the queue
    while it has items left; `item` comes first of all."""

    role: "LabelRole" = "rater"
    reason: str = ""
    item: str = ""


Place = ToScorecard | ToReleases | ToTrace | ToCompare | ToAttempts | ToLabel
