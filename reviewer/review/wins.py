"""People's preference for a candidate's messages, and the quality of those in the random part."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from reviewer.review.agreement import SettledItem, settled, share
from reviewer.review.items import BOTH_BAD, TIE
from reviewer.review.labels import Label, counting
from reviewer.stats.figures import Question, RandomRate, SignTest, Wins
from reviewer.stats.paired import MIN_CHANGED_EPISODES, mcnemar_exact
from reviewer.stats.rates import weighted_rate
from reviewer.suite.rubric import Criterion, Rubric, good_levels

# How often people prefer a candidate's message, over which candidate, and whether that could be
# chance. Shown next to the gates; it decides nothing.


Shown = tuple[str, str]
"""(episode, digest) of a message."""


def wins(
    labels: Sequence[Label], mine: Collection[Shown], others: Mapping[str, Iterable[str]]
) -> tuple[Wins, ...]:
    """Return the wins of the candidate with the messages `mine` against each candidate on the other
    side, by name; `others` names them by item. A pair of its own messages has no other side."""
    found = {one.item: one for one in settled(labels)}
    by_name: dict[tuple[str, ...], list[tuple[SettledItem, str]]] = {}
    for item, own in own_side(labels, mine).items():
        names = tuple(sorted(others.get(item, ())))
        by_name.setdefault(names, []).append((found[item], own))
    return tuple(_wins(names, rows) for names, rows in sorted(by_name.items()))


def own_side(labels: Iterable[Label], mine: Collection[Shown]) -> dict[str, str]:
    """Return item → the candidate's message, for the labeled pairs of one of its messages and one
    of another candidate."""
    found = {}
    for label in counting(labels):
        sides = [side for side in (label.left, label.right) if side is not None]
        own = [digest for digest in sides if (label.episode_id, digest) in mine]
        if len(sides) == 2 and len(own) == 1:
            found[label.item] = own[0]
    return found


def sign_test(won: int, lost: int, ties: int) -> SignTest:
    """Return the exact binomial test of wins against losses. With fewer than six of them no test
    reaches 0.05."""
    decided = won + lost
    wins = share(float(won), decided)  # report.json has always written them as 2.0
    if decided < MIN_CHANGED_EPISODES:
        why = f"{decided} decided, and under {MIN_CHANGED_EPISODES} no test can reach 0.05"
        return SignTest(wins=wins, ties=ties, why=why)
    return SignTest(wins=wins, ties=ties, p=mcnemar_exact(0, won, lost, 0))


def _wins(against: tuple[str, ...], rows: Sequence[tuple[SettledItem, str]]) -> Wins:
    ahead: dict[str, int] = {}
    marks: list[int] = []
    for one, mine in rows:
        if one.winner is not None:
            even = one.winner in (TIE, BOTH_BAD)
            marks.append(0 if even else 1 if one.winner == mine else -1)
            ahead[one.episode_id] = ahead.get(one.episode_id, 0) + marks[-1]
    return Wins(
        against=against,
        pairs=_counted(marks),
        both_bad=sum(one.winner == BOTH_BAD for one, _ in rows),
        open=len(rows) - len(marks),
        by_episode=_counted(ahead.values()),
    )


def _counted(marks: Collection[int]) -> SignTest:
    won, lost = sum(mark > 0 for mark in marks), sum(mark < 0 for mark in marks)
    return sign_test(won, lost, len(marks) - won - lost)


# The quality of a candidate's messages, estimated from the random part of the queue: each item is
# weighted by one over its probability of being drawn. Shown next to the gates; it decides nothing.


class _DrawnItem(NamedTuple):
    """One labeled item of the random part."""

    found: SettledItem
    pi: float
    flagged: bool


def random_rates(
    labels: Sequence[Label], rubric: Rubric, mine: Collection[Shown]
) -> tuple[RandomRate, ...]:
    """Return the rates of the candidate with the messages `mine`: its messages, each criterion, its
    pairs; rates without a drawn item are absent."""
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


def _drawn(labels: Sequence[Label]) -> list[_DrawnItem]:
    """Return the items of the random part, with the probability in the last label that has one."""
    chances = {one.item: (one.pi, one.stratum) for one in counting(labels) if one.pi is not None}
    return [
        _DrawnItem(one, pi, stratum != "low")
        for one in settled(labels)
        for pi, stratum in (chances.get(one.item, (None, None)),)
        if pi is not None
    ]


def _good(found: SettledItem, criterion: Criterion) -> float | None:
    """Return 1 for a favorable mark, else 0; None when it is not settled."""
    level = found.marks.get(criterion.criterion_id)
    return None if level is None else float(level in good_levels(criterion))


def _passes(found: SettledItem, rubric: Rubric) -> float | None:
    marks = [_good(found, criterion) for criterion in rubric.criteria]
    if 0.0 in marks:
        return 0.0
    return None if None in marks else 1.0


def _mark(found: SettledItem, mine: str) -> float | None:
    if found.winner is None:
        return None
    return 0.5 if found.winner in (TIE, BOTH_BAD) else float(found.winner == mine)


def _rate(
    question: Question,
    marked: Sequence[tuple[_DrawnItem, float | None]],
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
