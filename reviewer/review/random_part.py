"""How good a candidate's messages are, estimated from the random part of the queue: each item
weighted by one over its chance of coming into it. Shown beside the gates; it decides nothing."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from reviewer.review.adjudication import Settled, settled
from reviewer.review.label_rules import levels_of
from reviewer.review.labels import counting
from reviewer.review.model import BOTH_BAD, TIE, Label
from reviewer.review.wins import Shown, own_side
from reviewer.stats.figures import Question, RandomRate
from reviewer.stats.rates import weighted_rate
from reviewer.suite.rubric import Criterion, Rubric


class _Drawn(NamedTuple):
    """One labeled item of the random part."""

    found: Settled
    pi: float
    flagged: bool


def random_rates(
    labels: Sequence[Label], rubric: Rubric, mine: Collection[Shown]
) -> tuple[RandomRate, ...]:
    """Of the candidate with the messages `mine`: its messages, each criterion, its pairs; those of
    which nothing was drawn are absent."""
    drawn, own = _drawn(labels), own_side(labels, mine)
    messages = [one for one in drawn if one.found.kind == "message"]
    pairs = [(one, own[one.found.item]) for one in drawn if one.found.item in own]
    rates = []
    if messages:
        rates.append(_rate("passes", [(one, _passes(one.found, rubric)) for one in messages]))
        rates += [
            _rate("mark", [(one, _good(one.found, c)) for one in messages], c.criterion_id)
            for c in rubric.criteria
        ]
    if pairs:
        rates.append(_rate("preferred", [(one, _mark(one.found, mine)) for one, mine in pairs]))
    return tuple(rates)


def _drawn(labels: Sequence[Label]) -> list[_Drawn]:
    """Items of the random part, with the chance that the last label with one has."""
    chances = {one.item: (one.pi, one.stratum) for one in counting(labels) if one.pi is not None}
    return [
        _Drawn(one, pi, stratum != "low")
        for one in settled(labels)
        for pi, stratum in (chances.get(one.item, (None, None)),)
        if pi is not None
    ]


def _good(found: Settled, criterion: Criterion) -> float | None:
    """Whether the mark is above the middle of its scale; None when it is not settled."""
    level, levels = found.marks.get(criterion.criterion_id), levels_of(criterion)
    return None if level is None else float(2 * level > levels[0] + levels[-1])


def _passes(found: Settled, rubric: Rubric) -> float | None:
    marks = [_good(found, criterion) for criterion in rubric.criteria]
    if 0.0 in marks:
        return 0.0
    return None if None in marks else 1.0


def _mark(found: Settled, mine: str) -> float | None:
    if found.winner is None:
        return None
    return 0.5 if found.winner in (TIE, BOTH_BAD) else float(found.winner == mine)


def _rate(
    question: Question,
    marked: Sequence[tuple[_Drawn, float | None]],
    criterion_id: str | None = None,
) -> RandomRate:
    known = [(one, mark) for one, mark in marked if mark is not None]
    rate = weighted_rate(
        [mark for _, mark in known],
        [1.0 / one.pi for one, _ in known],
        [one.found.episode_id for one, _ in known],
    )
    if rate is None:
        why = "no item of the random part is settled"
        return RandomRate(question=question, criterion_id=criterion_id, open=len(marked), why=why)
    return RandomRate(
        question=question,
        criterion_id=criterion_id,
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=len(known),
        n_eff=rate.n_eff,
        episodes=len({one.found.episode_id for one, _ in known}),
        open=len(marked) - len(known),
        flagged=sum(one.flagged for one, _ in known),
    )
