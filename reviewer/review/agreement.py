"""Agreement between people, the items they settled, and items that a third person must decide.

Agreement is measured question by question. A figure that cannot be measured is None, with the
reason in words: "not measured: one reviewer".

Raters settle an item by giving the same answer; where they differ, or one contradicts themselves
when the sides are exchanged, the label of an adjudicator settles it: a third person, who is not one
of the raters. An adjudicator overrules nothing that raters agree on.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from reviewer.review.items import TIE, LabelKind
from reviewer.review.labels import Label, Role, counting
from reviewer.stats.agreement import (
    cohen_kappa,
    cohen_kappa_table,
    gwet_ac1,
    krippendorff_alpha,
    krippendorff_interval,
)
from reviewer.stats.checks import clip
from reviewer.stats.figures import Estimate, Share
from reviewer.stats.rates import clopper_pearson
from reviewer.suite.errors import shown
from reviewer.suite.rubric import Rubric
from reviewer.suite.value import Value

# Labels as ratings: per question, each reviewer's answer to each item.
#
# A pair is rated once per reviewer, by both showings together: a winner counts only when both name
# it, else the reviewer has no preference that survives the order, which is a tie.


Question = Literal["winner", "decided", "mark", "attempt"]
Level = Literal["nominal", "ordinal"]
Rating = str | int


class Subject(Value, frozen=True):
    """The subject of a question: the `winner` of pairs, the side for which a criterion `decided` in
    pairs, or the `mark` of a criterion on a message, or on an `attempt` in another tool."""

    question: Question
    criterion_id: str | None = None


class Ratings(Value, frozen=True):
    """Item → reviewer → rating, with the level of measurement."""

    subject: Subject
    level: Level
    items: dict[str, dict[str, Rating]]

    @property
    def reviewers(self) -> tuple[str, ...]:
        return tuple(sorted({name for given in self.items.values() for name in given}))


def ratings(
    labels: Iterable[Label],
    rubric: Rubric | None = None,
    first: Mapping[str, str] | None = None,
    role: Role = "rater",
) -> tuple[Ratings, ...]:
    """Return the labels that count, as ratings: winners, then criteria of pairs, then of messages.

    The messages of a pair are rated as `first` and `second`. `first` gives, by item, the digest of
    the first message (the baseline's); for other items the first is the lower digest, which is
    independent of candidates. Marks are ordinal unless the rubric calls their criterion binary.
    ValueError when the labels were made under different rubrics: they answer different questions.
    """
    named = first or {}
    answers: dict[Subject, dict[str, dict[str, list[Rating]]]] = {}
    rubrics: set[str] = set()
    for label in counting(labels):
        if label.role != role or label.kind == "attempt":
            continue
        rubrics.add(label.rubric_digest)
        for subject, rating in _answers(label, named.get(label.item)):
            given = answers.setdefault(subject, {}).setdefault(label.item, {})
            given.setdefault(label.reviewer, []).append(rating)
    if len(rubrics) > 1:
        which = ", ".join(shown(digest)[:12] for digest in sorted(rubrics))
        raise ValueError(f"labels of {len(rubrics)} rubrics ({which}); give those of one")
    criteria = {c.criterion_id: c.scale for c in rubric.criteria} if rubric else {}
    return tuple(
        Ratings(
            subject=subject,
            level=_level(subject, criteria),
            items={
                item: {
                    reviewer: consistent_rating(given) for reviewer, given in by_reviewer.items()
                }
                for item, by_reviewer in answers[subject].items()
            },
        )
        for subject in sorted(answers, key=_place)
    )


def consistent_rating(given: Iterable[Rating]) -> Rating:
    """Return one reviewer's rating from the showings of an item: the common answer, else a tie."""
    distinct = set(given)
    return distinct.pop() if len(distinct) == 1 else TIE


def _answers(label: Label, first: str | None) -> Iterator[tuple[Subject, Rating]]:
    if label.kind == "message":
        for criterion_id, level in label.marks.items():
            yield Subject(question="mark", criterion_id=criterion_id), level
        return
    if label.winner is not None:
        yield Subject(question="winner"), _named(label, label.winner, first)
    for criterion_id, side in label.decided.items():
        digest = label.side(side)
        assert digest is not None
        yield Subject(question="decided", criterion_id=criterion_id), _named(label, digest, first)


def _named(label: Label, winner: str, first: str | None) -> str:
    sides = [side for side in (label.left, label.right) if side is not None]
    if winner not in sides:
        return winner
    return "first" if winner == (first if first in sides else min(sides)) else "second"


def _level(subject: Subject, scales: Mapping[str, str]) -> Level:
    if subject.question == "mark" and scales.get(subject.criterion_id or "") != "binary":
        return "ordinal"
    return "nominal"


def _place(subject: Subject) -> tuple[int, str]:
    return ("winner", "decided", "mark").index(subject.question), subject.criterion_id or ""


HIGH_PREVALENCE = 0.8
"""Above this share of one answer, chance-corrected agreement collapses and AC1 leads."""

ONE_ANSWER = "only one answer occurs"


class Agreement(Value, frozen=True):
    """Agreement between reviewers on one question.

    `items` were rated by two or more reviewers, `unanimous` of them alike; `raw` is the mean share
    of pairs of reviewers that agree. `prevalence` is the share of the commonest answer; `lead` is
    the coefficient to show first. `why` is set when nothing is measured.
    """

    subject: Subject
    level: Level
    reviewers: tuple[str, ...]
    items: int
    ratings: int
    unanimous: int
    raw: Share
    alpha: Estimate
    ac1: Estimate
    kappa: Estimate
    prevalence: float | None = None
    lead: str = "alpha"
    why: str | None = None


def agreement(
    labels: Iterable[Label],
    rubric: Rubric | None = None,
    first: Mapping[str, str] | None = None,
    seed: str = "agreement",
) -> tuple[Agreement, ...]:
    """Return the agreement of raters on pair winners, then per criterion of pairs, then of
    messages.

    Adjudicators are not raters. `first` (item → digest) says which message of a pair is the first:
    give the baseline's where there is one, because the coefficients depend on how often an answer
    occurs. `seed` makes alpha's bootstrap interval repeatable. Without a label there is one entry,
    on winners, with the reason. ValueError for labels of several rubrics.
    """
    found = ratings(labels, rubric, first)
    if not found:
        return (
            measured(Ratings(subject=Subject(question="winner"), level="nominal", items={}), seed),
        )
    return tuple(measured(table, seed) for table in found)


def share(hits: float, n: int) -> Share:
    """Return a share with its exact interval, unknown when n is 0."""
    if not n:
        return Share(hits=hits, n=0)
    limits = clopper_pearson(hits, n)
    return Share(hits=hits, n=n, value=hits / n, low=limits.low, high=limits.high)


def measured(table: Ratings, seed: str) -> Agreement:
    """Return the agreement on one question; `seed` makes alpha's interval repeatable."""
    names = table.reviewers
    given_by_item = [given for _, given in sorted(table.items.items())]
    twice = [given for given in given_by_item if len(given) > 1]
    why = _why(names, twice)
    nothing = Estimate(why=why)
    rows = [[given.get(name) for given in given_by_item] for name in names]
    counts: Counter[Rating] = Counter(value for given in twice for value in given.values())
    prevalence = counts.most_common(1)[0][1] / counts.total() if counts else None
    return Agreement(
        subject=table.subject,
        level=table.level,
        reviewers=names,
        items=len(twice),
        ratings=counts.total(),
        unanimous=sum(len(set(given.values())) == 1 for given in twice),
        raw=share(sum(_pairs_agreeing(list(given.values())) for given in twice), len(twice)),
        alpha=nothing if why else _alpha(rows, table.level, seed),
        ac1=nothing if why else _ac1(rows),
        kappa=nothing if why else _kappa(rows, table.level),
        prevalence=prevalence,
        lead="ac1" if prevalence is not None and prevalence > HIGH_PREVALENCE else "alpha",
        why=why,
    )


def _why(names: Sequence[str], twice: Sequence[object]) -> str | None:
    if not names:
        return "no labels"
    if len(names) == 1:
        return "one reviewer"
    return None if twice else "no item labeled by two reviewers"


def _pairs_agreeing(values: Sequence[Rating]) -> float:
    n = len(values)
    return sum(count * (count - 1) for count in Counter(values).values()) / (n * (n - 1))


def _alpha(rows: Sequence[Sequence[Rating | None]], level: Level, seed: str) -> Estimate:
    alpha = krippendorff_alpha(rows, level)
    if alpha is None:
        return Estimate(why=ONE_ANSWER)
    limits = krippendorff_interval(rows, level, seed=seed)
    if limits is None or limits.low >= limits.high:
        few = "not enough items" if alpha < 1 else _too_even(alpha)
        return Estimate(value=alpha, why=f"no interval: {few}")
    return Estimate(value=alpha, low=limits.low, high=limits.high)


def _ac1(rows: Sequence[Sequence[Rating | None]]) -> Estimate:
    value = gwet_ac1(rows)
    return Estimate(why=ONE_ANSWER) if value is None else Estimate(value=value)


def _kappa(rows: Sequence[Sequence[Rating | None]], level: Level) -> Estimate:
    """Return Cohen's kappa; for ordered answers the quadratically weighted one, which has no
    interval."""
    if len(rows) != 2:
        return Estimate(why=f"kappa is for two reviewers, here are {len(rows)}")
    both = [(x, y) for x, y in zip(*rows, strict=True) if x is not None and y is not None]
    if level == "ordinal":
        weighted = cohen_kappa([x for x, _ in both], [y for _, y in both], "quadratic")
        return Estimate(why=ONE_ANSWER) if weighted is None else Estimate(value=weighted)
    answers = sorted({answer for pair in both for answer in pair}, key=repr)
    cells = Counter(both)
    kappa = cohen_kappa_table([[cells[x, y] for y in answers] for x in answers])
    if kappa is None:
        return Estimate(why=ONE_ANSWER)
    low, high = clip(kappa["low"], -1.0, 1.0), clip(kappa["high"], -1.0, 1.0)
    if low >= high:  # a standard error of 0 is not certainty: nothing varies
        return Estimate(value=kappa["kappa"], why=f"no interval: {_too_even(kappa['kappa'])}")
    return Estimate(value=kappa["kappa"], low=low, high=high)


def _too_even(value: float) -> str:
    """Return why a coefficient without variance has no interval."""
    if value >= 1.0:
        return "not enough pairs: none disagrees; raw agreement has the exact bound"
    return "not enough pairs: all of them disagree alike"


# Self-consistency: whether a reviewer answers the same when the sides are exchanged, and which slot
# they favor.
#
# It is a ceiling: a judge cannot be asked to agree with a person more often than the person agrees
# with themselves.


ENOUGH = 20
"""Repeats below which self-consistency is rough."""


class SelfConsistency(Value, frozen=True):
    """One reviewer. `same` counts pairs answered alike in both orders, `left` the left slot among
    answers that chose a side. `needed` is how many more repeats make the figure readable; `flips`
    names the items answered differently the second time."""

    reviewer: str
    same: Share
    left: Share
    needed: int
    flips: tuple[str, ...]


def self_consistency(labels: Iterable[Label]) -> tuple[SelfConsistency, ...]:
    """Return every rater who answered a pair, by name."""
    winners: dict[str, dict[str, list[str]]] = {}
    slots: dict[str, list[bool]] = {}
    for label in counting(labels):
        if label.role != "rater" or label.winner is None:
            continue
        winners.setdefault(label.reviewer, {}).setdefault(label.item, []).append(label.winner)
        chosen = slots.setdefault(label.reviewer, [])
        if label.answer in ("left", "right"):
            chosen.append(label.answer == "left")
    return tuple(
        _consistency(reviewer, winners[reviewer], slots[reviewer]) for reviewer in sorted(winners)
    )


def _consistency(
    reviewer: str, winners: dict[str, list[str]], slots: list[bool]
) -> SelfConsistency:
    repeated = {item: given for item, given in winners.items() if len(given) == 2}
    flips = tuple(sorted(item for item, (one, other) in repeated.items() if one != other))
    return SelfConsistency(
        reviewer=reviewer,
        same=share(len(repeated) - len(flips), len(repeated)),
        left=share(sum(slots), len(slots)),
        needed=max(0, ENOUGH - len(repeated)),
        flips=flips,
    )


Answer = TypeVar("Answer", int, str)


class SettledItem(Value, frozen=True):
    """The settled answer to an item. `winner` is a digest, `tie` or `both_bad`; `marks` hold the
    settled criteria, in pairs `decided` the digest of the message that each criterion favored. `by`
    names the role that settled the winner, or all of the marks; None while one is open."""

    item: str
    kind: LabelKind
    episode_id: str
    winner: str | None
    marks: dict[str, int]
    decided: dict[str, str]
    by: Literal["raters", "adjudicator"] | None


class Disagreement(Value, frozen=True):
    """An item for a third person to label, blind. `winner` when the winner is open (a pair);
    `criteria` on which raters differ; `contradicts` are raters whose two showings differ."""

    item: str
    kind: LabelKind
    episode_id: str
    winner: bool
    criteria: tuple[str, ...]
    reviewers: tuple[str, ...]
    contradicts: tuple[str, ...]


def settled(labels: Iterable[Label]) -> tuple[SettledItem, ...]:
    """Return every item with a label that counts, by name; the answer of a single rater is
    settled."""
    return tuple(_settled(item, same) for item, same in _by_item(labels))


def to_adjudicate(labels: Iterable[Label]) -> tuple[Disagreement, ...]:
    """Return the items that raters left open and no adjudicator has settled, by name."""
    found = []
    for item, same in _by_item(labels):
        known = _settled(item, same)
        if known.by is not None:
            continue
        raters = [label for label in same if label.role == "rater"]
        found.append(
            Disagreement(
                item=item,
                kind=known.kind,
                episode_id=known.episode_id,
                winner=known.kind == "pair",
                criteria=_open_criteria(raters),
                reviewers=tuple(sorted({label.reviewer for label in raters})),
                contradicts=_contradicting(raters),
            )
        )
    return tuple(found)


def _by_item(labels: Iterable[Label]) -> list[tuple[str, list[Label]]]:
    items: dict[str, list[Label]] = {}
    for label in counting(labels):
        if label.kind != "attempt":  # labeled in another tool, and not settled here
            items.setdefault(label.item, []).append(label)
    return sorted(items.items())


def _settled(item: str, same: Sequence[Label]) -> SettledItem:
    raters = [label for label in same if label.role == "rater"]
    third = _third(same, raters)
    who: Literal["raters", "adjudicator"] = "raters"
    winner: str | None = None
    marks: dict[str, int] = {}
    decided: dict[str, str] = {}
    if same[0].kind == "pair":
        winner = _agreed(label.winner for label in raters)
        if winner is None:
            winner, who = _agreed(label.winner for label in third), "adjudicator"
        decided = _alike(_decided, third) | _alike(_decided, raters)
        is_open = winner is None
    else:
        marks = _alike(_marks, raters)
        own = _alike(_marks, third)
        who = "adjudicator" if own.keys() - marks.keys() else "raters"
        marks = own | marks
        is_open = any(label.marks.keys() - marks.keys() for label in [*raters, *third])
    return SettledItem(
        item=item,
        kind=same[0].kind,
        episode_id=same[0].episode_id,
        winner=winner,
        marks=marks,
        by=None if is_open else who,
        decided=decided,
    )


def _third(labels: Iterable[Label], raters: Iterable[Label]) -> list[Label]:
    """Return the labels of adjudicators who did not rate the item."""
    own = {label.reviewer for label in raters}
    return [x for x in labels if x.role == "adjudicator" and x.reviewer not in own]


def _alike(
    said: Callable[[Label], Mapping[str, Answer]], labels: Iterable[Label]
) -> dict[str, Answer]:
    """Return the answer to each criterion for which all labels agree."""
    given: dict[str, set[Answer]] = {}
    for label in labels:
        for criterion_id, value in said(label).items():
            given.setdefault(criterion_id, set()).add(value)
    return {name: values.pop() for name, values in sorted(given.items()) if len(values) == 1}


def _marks(label: Label) -> dict[str, int]:
    return label.marks


def _decided(label: Label) -> dict[str, str]:
    sides = {name: label.side(side) for name, side in label.decided.items()}
    return {name: digest for name, digest in sides.items() if digest is not None}


def _agreed(winners: Iterable[str | None]) -> str | None:
    distinct = set(winners)
    return distinct.pop() if len(distinct) == 1 else None


def _open_criteria(raters: Sequence[Label]) -> tuple[str, ...]:
    """Return the criteria that raters mark, or in a pair decide, differently."""
    given: dict[str, set[object]] = {}
    for label in raters:
        for criterion_id, level in label.marks.items():
            given.setdefault(criterion_id, set()).add(level)
        for criterion_id, side in label.decided.items():
            given.setdefault(criterion_id, set()).add(label.side(side))
    return tuple(sorted(name for name, values in given.items() if len(values) > 1))


def _contradicting(raters: Sequence[Label]) -> tuple[str, ...]:
    winners: dict[str, set[str | None]] = {}
    for label in raters:
        winners.setdefault(label.reviewer, set()).add(label.winner)
    return tuple(sorted(name for name, given in winners.items() if len(given) > 1))
