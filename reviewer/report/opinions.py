"""Opinions of people, a judge and text scores on a candidate's messages: evidence that no gate
reads. Judge and review are sections of the report in the form in which the desk gathers them.

Open high flags and missing labels hold a promotion, and a policy may set limits on labels
(`label_limits`). A judge and text scores decide nothing, with one exception that a policy must
state: a judge that may score stands in for people on pairs that nobody labeled.
"""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from reviewer.stats.figures import Estimate, LabelFigures, RandomRate, Share, Wins

ADVISORY = "advisory only"
NO_JUDGE = "no judge and no labels yet"
NO_ANSWER = "no judge has answered yet"
MOST_CLAIMS = 50
"""Claims listed for each preset; those without evidence come first."""


class JudgeShare(Struct, frozen=True):
    """hits of n labeled pairs, with the one-sided 95 % bound of their mean over episodes on the
    unfavorable side."""

    hits: int = 0
    n: int = 0
    value: float | None = None
    bound: float | None = None


class JudgeSection(Struct, frozen=True, kw_only=True):
    """A judge that was never asked. The policy's `min_accuracy` and `max_flip_rate` are filled in
    when the report is built."""

    role: str
    forward_accuracy: float | None = None
    flip_rate: float | None = None
    min_accuracy: float = 0.0
    max_flip_rate: float = 0.0
    why: str


class JudgeEstimates(Struct, frozen=True, kw_only=True):
    """Shares of the labeled pairs that the judge answered in both orders."""

    forward_accuracy: JudgeShare = JudgeShare()
    swapped_accuracy: JudgeShare = JudgeShare()
    both_orders_right: JudgeShare = JudgeShare()
    flip_rate: JudgeShare = JudgeShare()


class JudgeAccepted(Struct, frozen=True, kw_only=True):
    """Whether the estimates, and whether their bounds, are within the policy; `refuted` when the
    favorable bounds miss it."""

    point: bool | None = None
    strict: bool | None = None
    refuted: bool | None = None


class JudgeSlots(Struct, frozen=True, kw_only=True):
    """Flips toward either slot; `p` tests one against the other."""

    first: int = 0
    last: int = 0
    p: float | None = None


class JudgeRepeats(Struct, frozen=True, kw_only=True):
    """The mean share of the most common answer to questions asked more than once."""

    questions: int = 0
    same_answer: float | None = None


class Cell(Struct, frozen=True, kw_only=True):
    """Labeled pairs by the answers of people and of the judge in forward order."""

    people: str
    judge: str
    pairs: int


class Hits(Struct, frozen=True, kw_only=True):
    hits: int
    n: int
    value: float | None


class Claim(Struct, frozen=True, kw_only=True):
    """A claim in a message; `seq` is the event that supports it."""

    trace_id: str
    episode_id: str
    claim: str
    seq: int | None


class JudgedMessages(Struct, frozen=True, kw_only=True):
    """Single messages under one preset, as the judge rates them."""

    preset: str
    messages: int
    errors: int
    means: dict[str, float | None]
    complete: Hits | None = None
    grounded: Hits | None = None
    claims: tuple[Claim, ...] = ()
    claims_left_out: int = 0


class AskedJudgeSection(JudgeSection, frozen=True, kw_only=True):
    """A judge that was asked, compared with the labels of people.

    The policy's limits, `forward_accuracy`, `flip_rate` and `pairs` are filled in when the report
    is built. `errors` of `calls` gave no usable answer. `confusion` is also given by episode, and
    by criterion for the pairs in which the criterion decided; `not_counted` counts the other pairs,
    by reason.
    """

    needs: str | None
    expired: str | None = None
    pairs: int = 0
    more_pairs: int | None
    more_pairs_strict: int | None
    judge_id: str
    version: str
    model: str | None
    prompt_digest: str | None
    rubric_digest: str | None
    candidate_family: str
    estimates: JudgeEstimates = JudgeEstimates()
    accepted: JudgeAccepted = JudgeAccepted()
    slots: JudgeSlots = JudgeSlots()
    repeats: JudgeRepeats = JudgeRepeats()
    errors: int = 0
    calls: int = 0
    confusion: tuple[Cell, ...] = ()
    confusion_by_episode: dict[str, tuple[Cell, ...]] = {}
    confusion_by_criterion: dict[str, tuple[Cell, ...]] = {}
    not_counted: dict[str, int] = {}
    label_set_sha256: str | None = None
    win_rate: dict[str, Any] | None = None
    messages: tuple[JudgedMessages, ...] = ()


class JudgeEvidence(Struct, frozen=True, kw_only=True):
    """A judge that was asked, and the cost of all calls about this candidate's messages: None when
    the cost of one is unknown. `unpriced` counts such calls, and `known_usd` is the sum of the
    others."""

    section: AskedJudgeSection
    cost_usd: float | None = None
    known_usd: float | None = None
    unpriced: int = 0


def hits(count: int, n: int) -> Hits:
    """Return the share of `count` among `n`; without a value where n is 0."""
    return Hits(hits=count, n=n, value=count / n if n else None)


def without_judge(labeled: bool) -> str:
    """Return why nothing is known of a judge that was never asked."""
    return NO_ANSWER if labeled else NO_JUDGE


def completion_judged(judge: JudgeEvidence | None) -> float | None:
    """Return the share of messages that the judge calls complete; None when it was not asked."""
    rated = [one.complete for one in judge.section.messages if one.complete] if judge else []
    return next((one.value for one in rated if one.n), None)


def judge_caveat(judge: AskedJudgeSection) -> str:
    """Return the sentence that limits what a reader may conclude from the judge."""
    if judge.role == ADVISORY:
        return f"The judge is advisory only ({judge.why}): no figure here depends on its answers."
    return (
        f"The judge may score: {judge.estimates.forward_accuracy.n} labeled pairs stand behind it, "
        "and no hard gate reads what it says."
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
    of messages that break it."""

    wording_id: str
    holds: int
    breaks: int
    unknown: int
    first: tuple[str, ...] = ()


class OpenFlag(Struct, frozen=True, kw_only=True):
    """A trace that a person must look at before a promotion, and why."""

    trace_id: str
    reasons: tuple[str, ...]


class RandomPart(Struct, frozen=True, kw_only=True):
    """Labeled items that were drawn by lot. The lot selects `drawn_traces`, and no label shows the
    message of `waiting_traces` of them (None: not computed)."""

    items: int = 0
    of: int = 0
    drawn_traces: int | None = None
    waiting_traces: int | None = None
    rates: tuple[RandomRate, ...] = ()


class HighFlags(Struct, frozen=True, kw_only=True):
    """Traces that carry a high flag; in `open` of them no label has closed it."""

    traces: int = 0
    open: int = 0
    first_open: tuple[OpenFlag, ...] = ()


class Wording(Struct, frozen=True, kw_only=True):
    """Checks of `checked` messages, `of` all final messages of the candidate."""

    checked: int = 0
    of: int = 0
    rules: tuple[WordingFigures, ...] = ()


class JudgeBeside(Struct, frozen=True, kw_only=True):
    """The judge's `completion` of final messages compared with the marks of people in other tools,
    over `n` attempts that both have judged; an unusable answer agrees with nothing."""

    n: int
    alike: int
    complete_and_weak: int
    incomplete_and_good: int
    unusable: int


class AttemptFigures(Struct, frozen=True, kw_only=True):
    """Marks of people in other tools on one criterion: attempts found `good` and `weak`, and those
    on which people differ (`open`). `passed_and_weak` passed every hard gate, `first` are some of
    them; `failed_and_good` did not pass."""

    criterion_id: str
    attempts: int
    good: int
    weak: int
    open: int
    passed_and_weak: int
    first: tuple[str, ...]
    failed_and_good: int
    agreement: AgreementFigures
    judge: JudgeBeside | None


class LabelsElsewhere(Struct, frozen=True, kw_only=True):
    """Labels of this candidate's attempts that people gave in other tools: not blind, and selected
    in an unknown way. No other part of a report reads them."""

    labels: int
    attempts: int
    tools: tuple[str, ...]
    annotators: tuple[str, ...]
    criteria: tuple[AttemptFigures, ...]


class ReviewSection(Struct, frozen=True, kw_only=True):
    """Labels of this candidate's messages, alone or in pairs, by all reviewers.

    `sample` counts the candidate's different messages that a reviewer has seen. Pairs are labeled
    in both orders, or begun in one. The rubric, the policy's `sample_rate` and `pairs_required`,
    and `why` are filled in when the report is built, which has no `agreement` and
    `self_consistency` without labels. `limits` are the figures for the policy's limits on labels;
    absent if it sets none. `elsewhere` is absent without labels that were given in other tools.
    """

    rubric: tuple[str, ...] = ()
    sample: int = 0
    sample_rate: float = 0.0
    pairs_required: int = 0
    pairs_labelled: int = 0
    pairs_begun: int = 0
    messages_required: int = 0
    messages_labelled: int = 0
    labels: int = 0
    reviewers: tuple[str, ...] = ()
    random_part: RandomPart = RandomPart()
    wins: tuple[Wins, ...] = ()
    agreement: tuple[AgreementFigures, ...] | None = None
    self_consistency: tuple[SelfFigures, ...] | None = None
    disagreements_open: int = 0
    high_flags: HighFlags = HighFlags()
    wording: Wording = Wording()
    why: str | None = None
    limits: LabelFigures | UnsetType = UNSET
    elsewhere: LabelsElsewhere | UnsetType = UNSET
    by_authors: tuple[str, ...] | UnsetType = UNSET
    """Authors of the candidate who labeled it: none of their labels count."""


def review_caveat(review: ReviewSection) -> str:
    """Return the sentence that says how many people labeled how many messages."""
    people = f"{len(review.reviewers)} {'person' if len(review.reviewers) == 1 else 'people'}"
    return (
        f"{review.labels} labels by {people} are of {review.sample} of this candidate's messages; "
        "no label changes what a hard gate found."
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
    """Final messages compared with the references and phrases of their episodes: of every attempt
    made, of which `checked` were compared, and others left out when `partly`. `model` names the
    embedding model and `model_sha256` its files."""

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
    """Return (field, why) of the text scores that are not measured."""
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
