"""What the desk asks of people and answers about their labels: plain, immutable values.

What a labeler sees (`LabelItem`) is blind: it holds nothing of candidates, gates, costs, judges,
reasons, traces, attempts or chances. Texts are raw: a door makes them safe where it draws them.
"""

from typing import Literal

from reviewer.desk.views import View

LabelKind = Literal["pair", "message"]
LabelRole = Literal["rater", "adjudicator"]
Answer = Literal["left", "right", "tie", "both_bad"]
Side = Literal["left", "right"]
Priority = Literal["high", "normal", "low"]

OPEN_FLAG = "open_flag"
"""Asked for in place of a reason: items whose label closes a high flag that is still open."""


class Session(View, frozen=True):
    """What one person sits down to label; its order follows from the suite's digest."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None
    kind: LabelKind
    reviewer: str
    role: LabelRole


class CriterionView(View, frozen=True):
    """One criterion of the rubric, with its number from 1. `levels` are (value, anchor); a level of
    a scale of five may have no anchor, and then "" or no entry."""

    number: int
    criterion_id: str
    title: str
    asks: str
    levels: tuple[tuple[int, str], ...]
    weak: str
    strong: str
    required: bool


class LabelItem(View, frozen=True):
    """One showing of one item. A pair has `left` and `right`, a message `message`; None where the
    trace ends without one. `place` counts from 1; `mean_seconds` is None before the first label."""

    item: str
    showing: int
    kind: LabelKind
    episode_id: str
    user_request: str
    left: str | None
    right: str | None
    message: str | None
    criteria: tuple[CriterionView, ...]
    rubric: str
    place: int
    total: int
    done: int
    skipped: int
    mean_seconds: float | None


class Drafted(View, frozen=True):
    """What the person chose for a showing. `marks` are criterion id → level, `decided` criterion id
    → side, `skipped` the reason not to answer."""

    item: str
    showing: int
    answer: Answer | None
    marks: dict[str, int]
    decided: dict[str, Side]
    flag: bool
    note: str
    skipped: str | None
    duration_ms: int


class SavedLabel(View, frozen=True):
    """A label that is durable; only now may the item's `reasons` be told. `at` is RFC 3339, UTC."""

    uid: str
    at: str
    item: str
    place: int
    reasons: tuple[str, ...]
    done: int
    total: int


class ReasonLine(View, frozen=True):
    """What one person is asked under one reason, in showings: `left` to come, `done`. `open` counts
    high flags of the candidate's traces that nobody's label has closed; `note` says what the reason
    means for a release."""

    reason: str
    priority: Priority
    left: int
    done: int
    open: int
    note: str


class EstimateView(View, frozen=True):
    """One figure with its limits. `hits` of `n` where it is a share; `why` says why a value or an
    interval is not measured, or which policy it is held to."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    hits: int | None
    n: int
    why: str


class QuestionView(View, frozen=True):
    """How far raters agree on one question. `about` is the criterion's title, "" for which message
    is better; `items` were answered by two raters or more. `prevalence` is the share of the
    commonest answer, None without answers; `lead` names the coefficient to believe at it."""

    about: str
    items: int
    reviewers: tuple[str, ...]
    prevalence: float | None
    lead: Literal["alpha", "ac1"]
    raw: EstimateView
    alpha: EstimateView
    ac1: EstimateView
    kappa: EstimateView


class DisagreementView(View, frozen=True):
    """An item for a third person to label. `text` says what is open; to somebody who has not
    labeled it, only that it is. `mine`: the person who looks is among those who part on it, and
    cannot settle it."""

    item: str
    episode_id: str
    text: str
    reviewers: tuple[str, ...]
    mine: bool


class QueueView(View, frozen=True):
    """The queue of one kind of items as one person is asked it, and how far all reviewers agree.

    Of this person alone: `items` showings, `done` of them, the counts of `reasons`, `open_left`
    showings to come that would close a high flag, and `saved`, lines of saved items (reason,
    chance, answer). Of everybody: `labeled` items, `begun` pairs that nobody has answered in both
    orders, `high` flags of the candidate's traces, of which no label has closed `open_high`, the
    agreement and the disagreements.
    """

    suite_id: str
    candidate_id: str
    baseline_id: str | None
    kind: LabelKind
    reviewers: tuple[str, ...]
    items: int
    done: int
    labeled: int
    begun: int
    identical: int
    unpaired: int
    reasons: tuple[ReasonLine, ...]
    high: int
    open_high: int
    open_left: int
    agreement: tuple[QuestionView, ...]
    consistency: tuple[EstimateView, ...]
    needed: str
    disagreements: tuple[DisagreementView, ...]
    saved: tuple[tuple[str, ...], ...]


REASONS = {
    "safety": "safety: a critical finding",
    "gate_disagreement": "gates and harness disagree",
    "iteration_limit": "iteration limit",
    "blocked_output": "blocked output",
    "thumbs_down": "thumbs down",
    "judge_flips": "judge flips",
    "lost_episode": "lost episode",
    "low_efficiency": "efficiency < 0.3",
    "uncertain": "uncertain, near a limit",
    "random": "random",
    "quota": "to make up the number",
}
