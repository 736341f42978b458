"""How often people find a candidate's message the better one, against whom, and whether that could
be chance. Shown beside the gates; it decides nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from reviewer.review.adjudication import Settled, settled
from reviewer.review.agreement import share
from reviewer.review.labels import counting
from reviewer.review.model import BOTH_BAD, TIE, Label
from reviewer.stats.figures import SignTest, Wins
from reviewer.stats.paired import MIN_CHANGED_EPISODES, mcnemar_exact

Shown = tuple[str, str]
"""(episode, digest) of a message."""


def wins(
    labels: Sequence[Label], mine: Collection[Shown], others: Mapping[str, Iterable[str]]
) -> tuple[Wins, ...]:
    """The candidate with the messages `mine` against each of those behind the other side, by name;
    `others` names them by item. A pair of its own messages has no other side."""
    found = {one.item: one for one in settled(labels)}
    by_name: dict[tuple[str, ...], list[tuple[Settled, str]]] = {}
    for item, own in own_side(labels, mine).items():
        names = tuple(sorted(others.get(item, ())))
        by_name.setdefault(names, []).append((found[item], own))
    return tuple(_wins(names, rows) for names, rows in sorted(by_name.items()))


def own_side(labels: Iterable[Label], mine: Collection[Shown]) -> dict[str, str]:
    """item → the candidate's message, of the labeled pairs with one of its messages and one of
    somebody else."""
    found = {}
    for label in counting(labels):
        sides = [side for side in (label.left, label.right) if side is not None]
        own = [digest for digest in sides if (label.episode_id, digest) in mine]
        if len(sides) == 2 and len(own) == 1:
            found[label.item] = own[0]
    return found


def sign_test(won: int, lost: int, ties: int) -> SignTest:
    """Exact binomial test of wins against losses. Under six of them no test reaches 0.05."""
    decided = won + lost
    if decided < MIN_CHANGED_EPISODES:
        why = f"{decided} decided, and under {MIN_CHANGED_EPISODES} no test can reach 0.05"
        return SignTest(wins=share(won, decided), ties=ties, why=why)
    return SignTest(wins=share(won, decided), ties=ties, p=mcnemar_exact(0, won, lost, 0))


def _wins(against: tuple[str, ...], rows: Sequence[tuple[Settled, str]]) -> Wins:
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
