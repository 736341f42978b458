"""What a report says of people: what they labeled, how far they agree, and what they must still
look at. No gate reads any of it; open high flags and missing labels hold a promotion back."""

from typing import Any

from msgspec import Struct, to_builtins

from reviewer.suite.model import LabelPolicy

NO_LABELS = "no labels yet"
SHOWN_FLAGS = 20


class Share(Struct, frozen=True, kw_only=True):
    """hits of n with its exact 95 % limits, None when n is 0. `hits` may be fractional: two of
    three pairs of reviewers agreeing on an item are 2/3."""

    hits: float = 0.0
    n: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Coefficient(Struct, frozen=True, kw_only=True):
    """A coefficient with its 95 % limits; `why` says in words what is None."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None


class AgreementFigures(Struct, frozen=True, kw_only=True):
    """Agreement between reviewers on one question: the `winner` of pairs, or a criterion. `lead` is
    the coefficient to read first: AC1 where one answer prevails."""

    question: str
    criterion_id: str | None
    items: int
    raw: Share
    alpha: Coefficient
    ac1: Coefficient
    kappa: Coefficient
    prevalence: float | None
    lead: str
    why: str | None


class SelfFigures(Struct, frozen=True, kw_only=True):
    """One reviewer: pairs judged alike in both orders, and the left slot among sides chosen."""

    reviewer: str
    same: Share
    left: Share


class WordingFigures(Struct, frozen=True, kw_only=True):
    """Messages that keep, break, or leave open one rule of the rubric's wording; `first` are traces
    that break it."""

    wording_id: str
    holds: int
    breaks: int
    unknown: int
    first: tuple[str, ...] = ()


class RandomFigures(Struct, frozen=True, kw_only=True):
    """A weighted share over the random part of the queue, with its 95 % limits: of messages that
    `passes`, of a criterion's `mark` above the middle of its scale, of pairs in which this
    candidate's message is `preferred`. `n` items are settled, worth `n_eff` drawn alike, and
    `flagged` of them carry a flag; `open` ones are not settled."""

    question: str
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


class SignFigures(Struct, frozen=True, kw_only=True):
    """Wins of those that have a winner, ties apart, and the exact two-sided p against even."""

    wins: Share = Share()
    ties: int = 0
    p: float | None = None
    why: str | None = None


class WinFigures(Struct, frozen=True, kw_only=True):
    """This candidate's messages beside those of `against`, for people: settled pairs, and each
    episode once, for whoever won more of its pairs. `both_bad` is among the ties."""

    against: tuple[str, ...]
    pairs: SignFigures
    both_bad: int
    open: int
    by_episode: SignFigures


class OpenFlag(Struct, frozen=True, kw_only=True):
    """A trace that a person must look at before a promotion, and why."""

    trace_id: str
    reasons: tuple[str, ...]


class ReviewEvidence(Struct, frozen=True, kw_only=True):
    """Labels of this candidate's messages, alone or in pairs, whoever made them.

    `pairs` are labeled in both orders, `begun` in one; `messages` alone, `seen` are the candidate's
    different messages that stood before a reviewer. `high` traces carry a high flag, and no label
    has closed that of `open_high` (`open_flags` are the first of those). `disagreements` wait for a
    third person. `random` of the `labeled` items came from the random part, and `rates` are made of
    those; the lot falls on `drawn` traces, and no label shows the message of `waiting` ones (None:
    not worked out). Wording was checked in `checked` of the candidate's `final_messages`.
    """

    labels: int = 0
    reviewers: tuple[str, ...] = ()
    pairs: int = 0
    begun: int = 0
    messages: int = 0
    seen: int = 0
    messages_wanted: int = 0
    labeled: int = 0
    random: int = 0
    drawn: int | None = None
    waiting: int | None = None
    rates: tuple[RandomFigures, ...] = ()
    wins: tuple[WinFigures, ...] = ()
    agreement: tuple[AgreementFigures, ...] = ()
    consistency: tuple[SelfFigures, ...] = ()
    disagreements: int = 0
    high: int = 0
    open_high: int = 0
    open_flags: tuple[OpenFlag, ...] = ()
    wording: tuple[WordingFigures, ...] = ()
    checked: int = 0
    final_messages: int = 0


def review_section(
    review: ReviewEvidence | None, criteria: tuple[str, ...], policy: LabelPolicy
) -> dict[str, Any]:
    """The report's `review`. `agreement` and `self_consistency` are null without labels."""
    said = review or ReviewEvidence()
    return {
        "rubric": list(criteria),
        "sample": said.seen,
        "sample_rate": policy.sample_rate,
        "pairs_required": policy.min_pairs,
        "pairs_labelled": said.pairs,
        "pairs_begun": said.begun,
        "messages_required": said.messages_wanted,
        "messages_labelled": said.messages,
        "labels": said.labels,
        "reviewers": list(said.reviewers),
        "random_part": {
            "items": said.random,
            "of": said.labeled,
            "drawn_traces": said.drawn,
            "waiting_traces": said.waiting,
            "rates": [to_builtins(one) for one in said.rates],
        },
        "wins": [{**to_builtins(one), "against": list(one.against)} for one in said.wins],
        "agreement": [to_builtins(one) for one in said.agreement] if said.labels else None,
        "self_consistency": [to_builtins(one) for one in said.consistency] if said.labels else None,
        "disagreements_open": said.disagreements,
        "high_flags": {
            "traces": said.high,
            "open": said.open_high,
            "first_open": [
                {"trace_id": one.trace_id, "reasons": list(one.reasons)} for one in said.open_flags
            ],
        },
        "wording": {
            "checked": said.checked,
            "of": said.final_messages,
            "rules": [{**to_builtins(one), "first": list(one.first)} for one in said.wording],
        },
        "why": None if said.labels else NO_LABELS,
    }


def review_caveat(review: ReviewEvidence) -> str:
    """Whose eyes stand behind the report, and how far that reaches."""
    people = f"{len(review.reviewers)} {'person' if len(review.reviewers) == 1 else 'people'}"
    return (
        f"{review.labels} labels by {people} are of {review.seen} of this candidate's messages; no "
        "label changes what a hard gate found."
    )
