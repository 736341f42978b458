"""Answers of a judge next to those that people settled: for pairs, and for single messages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from reviewer.review.agreement import SettledItem, settled, share
from reviewer.review.items import BOTH_BAD, TIE
from reviewer.review.judgments import COMPLETE, KIND_OF, SCORES, Judgment, counting
from reviewer.review.labels import Label
from reviewer.stats.figures import Share
from reviewer.stats.judge import (
    MIN_INFORMATIVENESS,
    MIN_LABELS_PER_SIDE,
    correction_is_sound,
    judge_corrected_rate,
    ppi_mean,
)
from reviewer.suite.rubric import Preset
from reviewer.suite.value import Value

# The pairs from which a calibration is computed: people's settled answers and the judge's.


Outcome = Literal["agrees", "flips", "differs", "error"]
Slot = Literal["first", "last", ""]


class JudgeKey(Value, frozen=True):
    """The scope of a calibration. `family` is what the candidates have in common: their agent."""

    judge_id: str
    model: str
    prompt_digest: str
    rubric_digest: str | None
    family: str


class PairRow(Value, frozen=True):
    """One pair, its winners as digests, `tie` or (people only) `both_bad`; None is an unusable
    answer. `forward_left` is the left message in forward order; `decided` maps the criteria that
    people named as decisive to the message they favored; `slot` is the slot that a flip favors."""

    item: str
    episode_id: str
    forward_left: str
    forward_right: str
    people: str
    forward: str | None
    swapped: str | None
    decided: dict[str, str]
    outcome: Outcome
    slot: Slot = ""

    @property
    def wanted(self) -> str:
        """Return the right answer for the judge: a judge has no `both_bad`, so that counts as a
        tie."""
        return TIE if self.people == BOTH_BAD else self.people

    @property
    def winner(self) -> str | None:
        """Return the judge's answer in both orders, `tie` when they differ; None when one is
        missing."""
        if self.forward is None or self.swapped is None:
            return None
        return self.forward if self.forward == self.swapped else TIE


class ExcludedPairs(Value, frozen=True):
    """Pairs that give no row: people differ on them (`unsettled`), the judge has not answered both
    orders (`unjudged`), no one has labeled them (`unlabeled`), or they show other candidates
    (`other_family`)."""

    unsettled: int = 0
    unjudged: int = 0
    unlabeled: int = 0
    other_family: int = 0


def settled_under(labels: Sequence[Label], rubric: str | None) -> dict[str, SettledItem]:
    """Return the items that people settled under the rubric in force."""
    same = [label for label in labels if rubric is None or label.rubric_digest == rubric]
    return {one.item: one for one in settled(same)}


def made_by(judgment: Judgment, key: JudgeKey) -> bool:
    """Return whether the judge of `key` gave this answer, for any candidate."""
    return (judgment.judge_id, judgment.model, judgment.prompt_digest, judgment.rubric_digest) == (
        key.judge_id, key.model, key.prompt_digest, key.rubric_digest,
    )  # fmt: skip


class AnswerPair(NamedTuple):
    """The first answer to a pair in each order."""

    forward: Judgment
    swapped: Judgment


def both_orders(judgments: Iterable[Judgment]) -> dict[str, AnswerPair]:
    """Return the first answer in each order, of the items that have both."""
    first = {(one.item, one.order): one for one in judgments if one.repeat == 1}
    return {
        item: AnswerPair(one, first[item, "swapped"])
        for (item, order), one in first.items()
        if order == "forward" and (item, "swapped") in first
    }


def pair_rows(
    people: Mapping[str, SettledItem],
    answers: Mapping[str, AnswerPair],
    family: str,
    families: Mapping[str, frozenset[str]],
) -> tuple[tuple[PairRow, ...], ExcludedPairs]:
    """Return the rows, by episode and item, and the number of pairs without one. `families` are
    those of the candidates behind each item."""
    rows = []
    unsettled = unjudged = other_family = 0
    for item, one in people.items():
        if family not in families.get(item, frozenset()):
            other_family += 1
        elif one.winner is None:
            unsettled += 1
        elif item not in answers:
            unjudged += 1
        else:
            rows.append(_row(one, one.winner, answers[item]))
    unlabeled = sum(
        item not in people and family in families.get(item, frozenset()) for item in answers
    )
    rows.sort(key=lambda row: (row.episode_id, row.item))
    left = ExcludedPairs(
        unsettled=unsettled, unjudged=unjudged, unlabeled=unlabeled, other_family=other_family
    )
    return tuple(rows), left


def _row(one: SettledItem, winner: str, both: AnswerPair) -> PairRow:
    forward, swapped = both
    assert forward.left is not None  # the forward judgment is of a pair
    assert forward.right is not None
    a, b = forward.winner, swapped.winner
    outcome: Outcome = "agrees"
    slot: Slot = ""
    if a is None or b is None:
        outcome = "error"
    elif a != b:
        outcome = "flips"
        slot = "first" if "left" in (forward.answer, swapped.answer) else "last"
    elif a != (TIE if winner == BOTH_BAD else winner):
        outcome = "differs"
    return PairRow(
        item=one.item,
        episode_id=one.episode_id,
        forward_left=forward.left,
        forward_right=forward.right,
        people=winner,
        forward=a,
        swapped=b,
        decided=one.decided,
        outcome=outcome,
        slot=slot,
    )


# The share of pairs that a candidate wins, corrected for the judge's mistakes, where that is
# possible. A diagnostic: it decides nothing.


LEAST_RANDOM = 20
"""Labeled pairs of the random part from which a corrected share is shown."""


class CorrectedShare(Value, frozen=True):
    """A share with its 95 % limits, or `why` there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


class WinRate(Value, frozen=True):
    """The share of pairs in which a candidate's message is the better one. `judged` is the judge's
    share over the `n` pairs that no person labeled; a win counts only when both orders name it.

    `rogan_gladen` is the share won outright, `ppi` counts a tie as half a win.
    """

    n: int
    judged: float | None
    rogan_gladen: CorrectedShare
    ppi: CorrectedShare


def win_rate(
    rows: Sequence[PairRow],
    unlabeled: Mapping[str, str],
    wins: Mapping[str, str],
    random: Collection[str],
    expired: str = "",
) -> WinRate:
    """Return the share of pairs won. `rows` are labeled and judged. `unlabeled` is the judge's
    winner of pairs that no one labeled: from both orders, `tie` for an unusable answer. `wins` is
    the candidate's message. All are by item; items that are not in `wins` are left out. `random`
    names the items of the random part of the queue."""
    known = [row for row in rows if row.item in wins]
    marks = [
        _mark(winner, wins[item]) for item, winner in sorted(unlabeled.items()) if item in wins
    ]
    return WinRate(
        n=len(marks),
        judged=sum(mark == 1.0 for mark in marks) / len(marks) if marks else None,
        rogan_gladen=_refused(expired, marks) or _rogan_gladen(known, marks, wins),
        ppi=_refused(expired, marks)
        or _ppi([row for row in known if row.item in random], marks, wins),
    )


def _refused(expired: str, marks: Sequence[float]) -> CorrectedShare | None:
    if expired:
        return CorrectedShare(why="the calibration has expired")
    return None if marks else CorrectedShare(why="the judge has answered no pair without a label")


def _rogan_gladen(
    rows: Sequence[PairRow], marks: Sequence[float], wins: Mapping[str, str]
) -> CorrectedShare:
    won = [row for row in rows if row.people == wins[row.item]]
    other = [row for row in rows if row.people != wins[row.item]]
    if min(len(won), len(other)) < MIN_LABELS_PER_SIDE:
        return CorrectedShare(
            why=f"{len(won)} labeled wins and {len(other)} others; {MIN_LABELS_PER_SIDE} of each "
            "are needed"
        )
    sensitivity = sum(row.winner == wins[row.item] for row in won) / len(won)
    specificity = sum(row.winner != wins[row.item] for row in other) / len(other)
    sound = correction_is_sound(specificity, sensitivity, len(other), len(won))
    passed = sum(mark == 1.0 for mark in marks) / len(marks)
    rate = judge_corrected_rate(passed, specificity, sensitivity, len(marks), len(other), len(won))
    if not sound or rate is None:
        told = f"{specificity:.2f} + {sensitivity:.2f}"
        return CorrectedShare(
            why=f"the judge tells too little: specificity + sensitivity {told} is not above "
            f"{MIN_INFORMATIVENESS:g}"
        )
    return CorrectedShare(value=rate["theta"], low=rate["low"], high=rate["high"])


def _ppi(
    rows: Sequence[PairRow], marks: Sequence[float], wins: Mapping[str, str]
) -> CorrectedShare:
    if len(rows) < LEAST_RANDOM:
        return CorrectedShare(
            why=f"{len(rows)} labeled pairs of the random part; {LEAST_RANDOM} are needed"
        )
    human = [_mark(row.people, wins[row.item]) for row in rows]
    judge = [_mark(row.winner or TIE, wins[row.item]) for row in rows]
    rate = ppi_mean(human, judge, marks)
    low, high = max(0.0, rate["low"]), min(1.0, rate["high"])
    return CorrectedShare(value=min(1.0, max(0.0, rate["est"])), low=low, high=high)


def _mark(winner: str, candidate: str) -> float:
    """Return 1 for a win, 0 for a loss, a half when no side wins."""
    if winner == candidate:
        return 1.0
    return 0.5 if winner in (TIE, BOTH_BAD) else 0.0


# The judge's opinion of single messages: means on its scales, and the claims without evidence.
#
# Diagnostics: they are a model's opinion, not compared with people, and decide nothing.


class ClaimLine(Value, frozen=True):
    """One claim of the message that ends `trace`; `seq` is the event that supports it, None when no
    event does."""

    trace: str
    episode_id: str
    claim: str
    seq: int | None


class MessageFigures(Value, frozen=True):
    """One preset over `messages` usable answers; `errors` others were not usable.

    `means` are on the preset's scales. `complete` (completion) counts scores from 7, `grounded`
    (faithfulness) claims with an event behind them; each is None for other presets. `claims` lists
    those without one first.
    """

    preset: Preset
    messages: int
    errors: int
    means: dict[str, float | None]
    complete: Share | None = None
    grounded: Share | None = None
    claims: tuple[ClaimLine, ...] = ()


def message_figures(judgments: Iterable[Judgment]) -> tuple[MessageFigures, ...]:
    """Return the figures of each preset for messages, in the presets' order; repeats do not
    count."""
    asked: dict[Preset, list[Judgment]] = {}
    for one in counting(judgments):
        if one.kind == "message" and one.repeat == 1:
            asked.setdefault(one.preset, []).append(one)
    return tuple(_figures(preset, asked[preset]) for preset in KIND_OF if preset in asked)


def _figures(preset: Preset, given: Sequence[Judgment]) -> MessageFigures:
    usable = [one for one in given if one.error is None]
    scales = SCORES.get(preset, {})
    scores = {name: [one.scores[name] for one in usable] for name in scales}
    claims = _claims(usable)
    complete = [score >= COMPLETE for score in scores.get("score", ())]
    return MessageFigures(
        preset=preset,
        messages=len(usable),
        errors=len(given) - len(usable),
        means={name: sum(all_) / len(all_) if all_ else None for name, all_ in scores.items()},
        complete=share(sum(complete), len(complete)) if preset == "completion" else None,
        grounded=share(sum(line.seq is not None for line in claims), len(claims))
        if preset == "faithfulness"
        else None,
        claims=claims,
    )


def _claims(usable: Iterable[Judgment]) -> tuple[ClaimLine, ...]:
    lines = [
        ClaimLine(
            trace=one.trace or "",
            episode_id=one.episode_id,
            claim=claim.claim,
            seq=claim.seq if claim.grounded else None,
        )
        for one in usable
        for claim in one.claims or ()
    ]
    return tuple(sorted(lines, key=lambda line: (line.seq is not None, line.trace)))
