# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""Plain figures that reviews and reports share: shares and estimates with their 95 % limits.

A figure that cannot be measured is None, with the reason in words.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from reviewer.suite.value import Value

Question = Literal["passes", "mark", "preferred"]


class Share(Value, frozen=True):
    """hits of n with its exact (Clopper-Pearson) 95 % interval; None when n is 0.

    `hits` may be fractional: an item on which two of three pairs of reviewers agree is 2/3.
    """

    hits: float = 0.0
    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Estimate(Value, frozen=True):
    """A coefficient with its 95 % limits. `why` says in words why a value is None; `low` and `high`
    may be None beside a value."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None


class RandomRate(Value, frozen=True):
    """A weighted share over the random part of the queue, with its 95 % limits; None with `why`
    when nothing is settled.

    `question` is `passes` (different messages with every mark on the good side of its scale),
    `mark` (one criterion's above it) or `preferred` (different pairs in which the candidate's
    message is the better one; no winner is half a win). `n` items of `episodes` episodes are
    settled, worth `n_eff` items drawn with equal chances; `open` are not settled. `flagged` of the
    `n` carry a flag: flagged items are labeled first, so they are overrepresented until the whole
    random part is labeled.
    """

    question: Question
    criterion_id: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    n_eff: float | None = None
    episodes: int = 0
    open: int = 0
    flagged: int = 0
    why: str | None = None


class SignTest(Value, frozen=True):
    """`wins` of the pairs that have a winner, with exact limits, and the exact two-sided p against
    even odds; `ties` are not counted. `why` says why p is not given."""

    wins: Share = Share()
    ties: int = 0
    p: float | None = None
    why: str | None = None


class Wins(Value, frozen=True):
    """A candidate's messages compared with those of `against`. In `both_bad` of the settled `pairs`
    both messages were bad, which counts as a tie; `open` pairs are not settled. `by_episode` counts
    each episode once, for the side that won more of its pairs."""

    against: tuple[str, ...]
    pairs: SignTest
    both_bad: int
    open: int
    by_episode: SignTest


class LabelShare(Value, frozen=True):
    """`hits` of `n` settled answers, and `open` answers that people have not settled. `episodes`
    are (n, hits) of every episode with a settled answer: bounds are computed from them."""

    hits: int = 0
    n: int = 0
    open: int = 0
    episodes: tuple[tuple[int, int], ...] = ()


class JudgedPairs(Value, frozen=True):
    """The pairs that nobody labeled and that a judge answered in both orders, if the judge's role
    allows it to stand in for people; otherwise `why` gives the reason and nothing is counted. In
    `flips` of them its two answers differ or one is unusable: those are neither won nor tied."""

    pairs: int = 0
    flips: int = 0
    wins_or_ties: LabelShare = LabelShare()
    why: str | None = None


class LabelFigures(Value, frozen=True):
    """The figures that a policy's limits on labels are compared with. `against` is the baseline of
    the pairs, None where there is none; shares are by criterion, by reviewer and by question
    (`winner`, or a criterion). `unsigned` labels are left out, because the policy counts only
    signed ones, and `changed` labels were changed by their rater without a signature."""

    against: str | None = None
    wins_or_ties: LabelShare = LabelShare()
    both_bad: LabelShare = LabelShare()
    criteria: dict[str, LabelShare] = {}
    self_consistency: dict[str, LabelShare] = {}
    agreement: dict[str, LabelShare] = {}
    judge: JudgedPairs | None = None
    unsigned: int = 0
    changed: int | UnsetType = UNSET


class OtherSpent(Value, frozen=True):
    """Tokens and cost of graders, or of simulated users, in `attempts`: `tokens` of `counted`
    attempts, a lower limit where `partial`; `known_usd` of `priced` attempts."""

    who: str
    attempts: int
    model_calls: int
    tokens: int
    counted: int
    partial: bool
    known_usd: float
    priced: int


class UserTalks(Value, frozen=True):
    """Attempts that were conversations with a simulated user: those that the user `spoiled`, those
    in which the user made an error that matters (`faulty`), and in how many each code was found."""

    attempts: int
    spoiled: int
    faulty: int
    codes: tuple[tuple[str, int], ...] = ()


class UserMiss(Value, frozen=True):
    """An attempt about whose user people and rules disagree: the questions that people answered
    with no, or the codes that rules found."""

    trace_id: str
    said: tuple[str, ...]


class UserLabels(Value, frozen=True):
    """What people said of the users of a candidate's conversations.

    The rate is that of `found` errors in `labeled` attempts that the review set drew by lot, of
    `drawn`; None with the reason in `why`. `both`, `rules_only`, `labels_only` and `neither` count
    attempts of any set that have an answer and were checked by the rules; `unruled` have only an
    answer.
    """

    review_set: str
    drawn: int
    labeled: int
    found: int
    value: float | None
    low: float | None
    high: float | None
    why: str
    both: int = 0
    rules_only: tuple[UserMiss, ...] = ()
    labels_only: tuple[UserMiss, ...] = ()
    neither: int = 0
    unruled: int = 0
