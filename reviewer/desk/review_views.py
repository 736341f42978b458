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
    """Showings in the queue under one reason. `note` says what it means for a release."""

    reason: str
    priority: Priority
    left: int
    done: int
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


class DisagreementView(View, frozen=True):
    """An item for a third person to label. `text` says what is open."""

    item: str
    episode_id: str
    text: str
    reviewers: tuple[str, ...]


class QueueView(View, frozen=True):
    """The queue of one kind of items, and how far its reviewers agree. `open_high` counts high
    flags that no label has closed; `saved` are lines of saved items: reason, chance, answer."""

    suite_id: str
    candidate_id: str
    baseline_id: str | None
    kind: LabelKind
    reviewers: tuple[str, ...]
    items: int
    done: int
    identical: int
    unpaired: int
    reasons: tuple[ReasonLine, ...]
    open_high: int
    agreement: tuple[EstimateView, ...]
    consistency: tuple[EstimateView, ...]
    needed: str
    disagreements: tuple[DisagreementView, ...]
    saved: tuple[tuple[str, ...], ...]
