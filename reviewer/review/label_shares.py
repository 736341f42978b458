"""The shares that a policy may limit, counted from labels by episode: of pairs with the baseline,
of marks by criterion, of a reviewer's own repeats, of two reviewers' answers to one item.

A pair counts once a person has answered it in both orders (if the rubric requires both), and its
answer is settled; until then it is open. Nothing here is averaged: every share is a count.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from reviewer.review.agreement import ratings, settled
from reviewer.review.items import BOTH_BAD, TIE
from reviewer.review.judged import AnswerPair
from reviewer.review.labels import Label, counting
from reviewer.review.queue import whole_pairs
from reviewer.review.wins import Shown, own_side
from reviewer.stats.figures import LabelShare
from reviewer.suite.rubric import Rubric


def share_of(rows: Iterable[tuple[str, bool | None]]) -> LabelShare:
    """Return the share of (episode, answer); None is an answer that is not settled."""
    return _summed((episode, (None if hit is None else int(hit), 1)) for episode, hit in rows)


def _summed(rows: Iterable[tuple[str, tuple[int | None, int]]]) -> LabelShare:
    """Return the share of (episode, (hits, n)); hits are None where n answers are not settled."""
    made: dict[str, tuple[int, int]] = {}
    still_open = 0
    for episode, (hits, n) in rows:
        if hits is None:
            still_open += n
        else:
            before = made.get(episode, (0, 0))
            made[episode] = before[0] + n, before[1] + hits
    episodes = tuple(made[name] for name in sorted(made))
    return LabelShare(
        hits=sum(hits for _, hits in episodes),
        n=sum(n for n, _ in episodes),
        open=still_open,
        episodes=episodes,
    )


def pairs_with(
    labels: Sequence[Label],
    rubric: Rubric,
    mine: Collection[Shown],
    others: Mapping[str, Collection[str]],
    baseline: str,
) -> list[tuple[str, str | None, str]]:
    """Return (episode, winner, this candidate's message) of each labeled pair with a message of the
    baseline; the winner is None while the pair is open."""
    found = {one.item: one for one in settled(labels)}
    whole = whole_pairs(labels, rubric)
    return [
        (found[item].episode_id, found[item].winner if item in whole else None, own)
        for item, own in sorted(own_side(labels, mine).items())
        if baseline in others.get(item, ())
    ]


def wins_or_ties(pairs: Iterable[tuple[str, str | None, str]]) -> LabelShare:
    """Return the share of pairs that the candidate wins or ties; a pair with two bad messages is
    neither."""
    return share_of(
        (episode, None if winner is None else winner in (TIE, own))
        for episode, winner, own in pairs
    )


def both_bad(pairs: Iterable[tuple[str, str | None, str]]) -> LabelShare:
    """Return the share of pairs in which both messages are bad."""
    return share_of(
        (episode, None if winner is None else winner == BOTH_BAD) for episode, winner, _ in pairs
    )


def judged_wins(
    answers: Mapping[str, AnswerPair], own: Mapping[str, str]
) -> list[tuple[str, str | None, str]]:
    """Return the judge's answer to each pair of `own` (item → this candidate's message), in the
    form of `pairs_with`: None where an answer is unusable or differs between the orders."""
    found = []
    for item, mine in sorted(own.items()):
        forward, swapped = answers[item]
        same = forward.winner == swapped.winner
        found.append((forward.episode_id, forward.winner if same else None, mine))
    return found


def by_criterion(
    labels: Sequence[Label], passes: Mapping[str, Collection[int]], mine: Collection[Shown]
) -> dict[str, LabelShare]:
    """Return, by criterion, the share of this candidate's labeled messages with a mark that
    `passes` names."""
    own = {
        label.item
        for label in counting(labels)
        if label.kind == "message" and (label.episode_id, label.message or "") in mine
    }
    messages = [one for one in settled(labels) if one.item in own]
    return {
        name: share_of(
            (one.episode_id, None if (mark := one.marks.get(name)) is None else mark in levels)
            for one in messages
        )
        for name, levels in passes.items()
    }


def self_consistency_shares(labels: Iterable[Label], rubric: Rubric) -> dict[str, LabelShare]:
    """Return, by reviewer, the share of pairs answered alike in both orders; a pair answered in one
    order is open, unless the rubric requires only one."""
    winners: dict[str, dict[str, list[str]]] = {}
    episodes: dict[str, str] = {}
    for label in counting(labels):
        if label.role == "rater" and label.winner is not None:
            winners.setdefault(label.reviewer, {}).setdefault(label.item, []).append(label.winner)
            episodes[label.item] = label.episode_id
    return {
        reviewer: share_of(
            (episodes[item], given[0] == given[1] if len(given) == 2 else None)
            for item, given in sorted(by_item.items())
            if len(given) == 2 or rubric.both_orders
        )
        for reviewer, by_item in sorted(winners.items())
    }


def agreement_shares(labels: Sequence[Label], rubric: Rubric) -> dict[str, LabelShare]:
    """Return, by question (`winner` of pairs, or the criterion of a message's mark), the share of
    answers of two raters to one item that agree: of three raters on an item three pairs count."""
    episodes = {label.item: label.episode_id for label in labels}
    found = {}
    for table in ratings(labels, rubric):
        if table.subject.question == "decided":
            continue
        rows = []
        for item, given in sorted(table.items.items()):
            counts = Counter(given.values())
            both = len(given) * (len(given) - 1) // 2
            alike = sum(count * (count - 1) // 2 for count in counts.values())
            if both:
                rows.append((episodes[item], (alike, both)))
        found[table.subject.criterion_id or table.subject.question] = _summed(rows)
    return found
