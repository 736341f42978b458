"""What people, a judge and text scores say of a candidate's messages: evidence that no gate reads.

Open high flags and missing labels hold a promotion back. A judge and text scores decide nothing: no
figure, limit or recommendation is made from them.
"""

from typing import Any

from msgspec import Struct

from reviewer.stats.figures import Estimate, RandomRate, Share, Wins

ADVISORY = "advisory only"
NO_JUDGE = "no judge and no labels yet"
NO_ANSWER = "no judge has answered yet"
MOST_CLAIMS = 50
"""Claims written out for each preset; those that nothing grounds come first."""


Cells = tuple[tuple[str, str, int], ...]
"""(people, judge in forward order, pairs)."""


class JudgeShare(Struct, frozen=True):
    """hits of n labeled pairs, with the one-sided 95 % bound on the side that counts."""

    hits: int = 0
    n: int = 0
    value: float | None = None
    bound: float | None = None


class JudgeMessages(Struct, frozen=True, kw_only=True):
    """What the judge says of single messages under one preset. `complete` and `grounded` are
    (hits, n); `claims` are (trace, episode, claim, seq of the event that grounds it or None)."""

    preset: str
    messages: int
    errors: int
    means: dict[str, float | None]
    complete: tuple[int, int] | None = None
    grounded: tuple[int, int] | None = None
    claims: tuple[tuple[str, str, str, int | None], ...] = ()


class JudgeEvidence(Struct, frozen=True, kw_only=True):
    """One judge beside the labels of people, as it was measured elsewhere.

    Shares are over labeled pairs that the judge answered in both orders. `first` and `last` count
    flips toward a slot, `position_p` tests them against each other; `same_answer` is the mean share
    of the commonest answer over `repeated` questions. `errors` of `calls` brought nothing usable.
    `confusion` holds (people, judge in forward order, count), also by episode, and by criterion for
    the pairs in which it spoke; `not_counted` says why other pairs are none of these. `cost_usd` is
    of all calls about this candidate's messages, None when that of one is unknown: `unpriced`
    counts those, and `known_usd` is the sum of the others.
    """

    role: str
    why: str
    needs: str
    more_pairs: int | None
    more_pairs_strict: int | None
    judge_id: str
    version: str
    model: str | None
    prompt_digest: str | None
    rubric_digest: str | None
    family: str
    forward: JudgeShare = JudgeShare()
    swapped: JudgeShare = JudgeShare()
    both: JudgeShare = JudgeShare()
    flips: JudgeShare = JudgeShare()
    accepted_point: bool | None = None
    accepted_strict: bool | None = None
    first: int = 0
    last: int = 0
    position_p: float | None = None
    same_answer: float | None = None
    repeated: int = 0
    errors: int = 0
    calls: int = 0
    confusion: Cells = ()
    by_episode: dict[str, Cells] = {}
    by_criterion: dict[str, Cells] = {}
    not_counted: dict[str, int] = {}
    expired: str = ""
    label_set_sha256: str | None = None
    win_rate: dict[str, Any] | None = None
    messages: tuple[JudgeMessages, ...] = ()
    cost_usd: float | None = None
    known_usd: float | None = None
    unpriced: int = 0


def without_judge(labeled: bool) -> str:
    """Why nothing is known of a judge that was never asked."""
    return NO_ANSWER if labeled else NO_JUDGE


def completion_judged(judge: JudgeEvidence | None) -> float | None:
    """The share of messages that the judge calls complete; None when it was not asked."""
    for one in judge.messages if judge else ():
        if one.complete is not None and one.complete[1]:
            return one.complete[0] / one.complete[1]
    return None


def judge_caveat(judge: JudgeEvidence) -> str:
    """What a reader must not take the judge for."""
    if judge.role == ADVISORY:
        return f"The judge is advisory only ({judge.why}): nothing here rests on what it says."
    return (
        f"The judge may score: {judge.forward.n} labeled pairs stand behind it, and no hard gate "
        "reads what it says."
    )


NO_LABELS = "no labels yet"
SHOWN_FLAGS = 20


class AgreementFigures(Struct, frozen=True, kw_only=True):
    """Agreement between reviewers on one question: the `winner` of pairs, or a criterion. `lead` is
    the coefficient to read first: AC1 where one answer prevails."""

    question: str
    criterion_id: str | None
    items: int
    raw: Share
    alpha: Estimate
    ac1: Estimate
    kappa: Estimate
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
    rates: tuple[RandomRate, ...] = ()
    wins: tuple[Wins, ...] = ()
    agreement: tuple[AgreementFigures, ...] = ()
    consistency: tuple[SelfFigures, ...] = ()
    disagreements: int = 0
    high: int = 0
    open_high: int = 0
    open_flags: tuple[OpenFlag, ...] = ()
    wording: tuple[WordingFigures, ...] = ()
    checked: int = 0
    final_messages: int = 0


def review_caveat(review: ReviewEvidence) -> str:
    """Whose eyes stand behind the report, and how far that reaches."""
    people = f"{len(review.reviewers)} {'person' if len(review.reviewers) == 1 else 'people'}"
    return (
        f"{review.labels} labels by {people} are of {review.seen} of this candidate's messages; no "
        "label changes what a hard gate found."
    )


ROLE = "diagnostic only"
NOTHING = "no episode names a reference message or a wanted phrase"
SHOWN_PHRASES = 10


class TextScore(Struct, frozen=True, kw_only=True):
    """A mean from 0 to 1 over `n` messages; `why` when there is none."""

    mean: float | None = None
    n: int = 0
    why: str | None = None


class PhraseCount(Struct, frozen=True, kw_only=True):
    """Messages of one episode that say a phrase, deny it, leave it out, or are not known."""

    episode_id: str
    phrase: str
    found: int = 0
    negated: int = 0
    absent: int = 0
    unknown: int = 0


class TextEvidence(Struct, frozen=True, kw_only=True):
    """Final messages beside the references and phrases of their episodes: of every attempt made,
    `checked` of them looked at and more left out when `partly`. `model` names the embedding model
    and `model_sha256` its files."""

    exact: TextScore
    indel: TextScore
    token_f1: TextScore
    embedding: TextScore
    phrases: tuple[PhraseCount, ...] = ()
    checked: int = 0
    partly: bool = False
    model: str | None = None
    model_sha256: str | None = None


def text_unknown(text: TextEvidence | None) -> list[tuple[str, str]]:
    """(field, why) of the text scores that are not measured."""
    if text is None:
        return [("diagnostics.text", NOTHING)]
    scores = {
        "exact": text.exact,
        "indel": text.indel,
        "token_f1": text.token_f1,
        "embedding": text.embedding,
    }
    found = [(f"diagnostics.text_{name}", one.why) for name, one in scores.items() if one.why]
    unknown = sum(one.unknown for one in text.phrases)
    if unknown:
        found.append(("diagnostics.text_phrases", f"not known in {unknown} messages"))
    if text.partly:
        found.append(("diagnostics.text", f"looked at the first {text.checked:,} messages"))
    return found
