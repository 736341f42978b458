"""Views of failure patterns: what they are made from, and their counts by candidate."""

from typing import Literal

from msgspec import UNSET, UnsetType

from reviewer.desk.views import SuiteInfo, View

Place = Literal[
    "message", "tool_call", "tool_result", "approval", "state_snapshot", "error", "end", "not_kept"
]
Turn = Literal["", "first", "repeated"]


class Shape(View, frozen=True):
    """The facts that make a pattern; `pattern_id` digests exactly these.

    `gate`, `code` (before its colon) and `clause` (after the colon, where it comes from the
    contract) are those of the deciding finding, "" where the verdict has none. `place` is the kind
    of the event that shows it, `end` where no event does, `not_kept` where the record is not
    stored. `tool` is the tool of that event and `turn` whether it was called before; `after` and
    `before` are the last required tool that was reached by then and the first that was not, in the
    contract's order.
    """

    gate: str
    code: str
    clause: str
    critical: bool
    place: Place
    tool: str
    turn: Turn
    after: str
    before: str


class PatternCount(View, frozen=True):
    """One pattern in one candidate's attempts.

    `attempts` of `episodes` episodes are all that fail with it; `counted` are those of the first
    complete set, from which the rate is computed: `counted` of `measured`, with its 95% interval.
    The rate is None where nothing is measured. `trace_id` and `seq` are of the first attempt, ""
    and None when there is none.
    """

    candidate_id: str
    attempts: int
    episodes: int
    counted: int
    measured: int
    rate: float | None
    low: float | None
    high: float | None
    trace_id: str
    seq: int | None


class GivenName(View, frozen=True):
    """A name that one person gave to a pattern; an empty `name` removes the names that it replaces.
    It is in force until another line names its `uid` in `replaces`."""

    pattern_id: str
    name: str
    note: str
    reviewer: str
    at: str
    uid: str
    replaces: tuple[str, ...]
    stands: bool


class NameMade(View, frozen=True):
    """A name as the store has it; `added` is false for a name that was already in force."""

    suite_id: str
    given: GivenName
    added: bool


class Pattern(View, frozen=True):
    """One pattern; `counts` are aligned with the candidates, also where a count is 0. `names` are
    the names in force: several where people named it without knowing of one another; `names_differ`
    says that these disagree."""

    pattern_id: str
    shape: Shape
    text: str
    attempts: int
    counts: tuple[PatternCount, ...]
    names: tuple[GivenName, ...]
    names_differ: bool


class NearCount(View, frozen=True):
    """A group by similarity in one candidate's attempts: all of them, and those of the first
    complete set, of `measured`."""

    candidate_id: str
    attempts: int
    counted: int
    measured: int


class NearExample(View, frozen=True):
    """One attempt of a group by similarity. `near_id` is made from its evidence; `cosine` says how
    near it is to the middle of the group, `text` what was compared."""

    near_id: str
    trace_id: str
    seq: int | None
    pattern_id: str
    cosine: float
    text: str


class NearGroup(View, frozen=True):
    """Attempts with similar words, none of which shares a pattern with another. `near_id` is that
    of the first example, the nearest to the middle; `members` are those of all, the nearest first.
    `names` are those of any member."""

    near_id: str
    attempts: int
    counts: tuple[NearCount, ...]
    examples: tuple[NearExample, ...]
    members: tuple[str, ...]
    names: tuple[GivenName, ...]
    names_differ: bool


class NearPatterns(View, frozen=True):
    """The groups by similarity, the largest first. Of the attempts `alone` in their pattern,
    `grouped` are in a group, `near_none` are near no other, `wordless` contain no word that the
    model knows, and `not_compared` exceed the maximum."""

    model: str
    model_sha256: str
    threshold: float
    alone: int
    grouped: int
    near_none: int
    wordless: int
    not_compared: int
    groups: tuple[NearGroup, ...]


class PatternCandidate(View, frozen=True):
    """The attempts of one candidate: `failing` are all whose verdict is fail, `counted` those of
    the first complete set, of `measured`. `not_measured` (of that set) have no verdict, and
    `infrastructure` (of all) were ended by the harness: neither is a failure."""

    candidate_id: str
    failing: int
    counted: int
    measured: int
    not_measured: int
    infrastructure: int


class Patterns(View, frozen=True):
    """The patterns of a suite, the most frequent first, of equals the critical first, then by id.

    `names_elsewhere` are those of patterns that no attempt of these candidates has. `near` is
    present when it was asked for.
    """

    suite: SuiteInfo
    candidates: tuple[PatternCandidate, ...]
    patterns: tuple[Pattern, ...]
    names_elsewhere: tuple[GivenName, ...]
    near: NearPatterns | UnsetType = UNSET
