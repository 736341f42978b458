"""How far people agree with each other, question by question.

What cannot be measured is None, with the reason in words: "not measured: one reviewer".
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reviewer.review.model import Label
from reviewer.review.ratings import Level, Rating, Ratings, Subject, ratings
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
from reviewer.suite.model import Value
from reviewer.suite.rubric import Rubric

HIGH_PREVALENCE = 0.8
"""Above this share of one answer, chance-corrected agreement collapses and AC1 leads."""

ONE_ANSWER = "only one answer occurs"


class Agreement(Value, frozen=True):
    """Agreement between reviewers on one question.

    `items` were rated by two or more, `unanimous` of them alike; `raw` is the mean share of pairs
    of reviewers that agree. `prevalence` is the share of the commonest answer; `lead` is what to
    show first. `why` is set when nothing is measured.
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
    """Agreement of raters on pair winners, then per criterion of pairs, then of messages.

    Adjudicators are no raters. `first` (item → digest) says which message of a pair is the first
    one: give the baseline's where there is one, for the coefficients depend on how often an answer
    occurs. `seed` makes alpha's bootstrap interval repeatable. Without a label there is one entry,
    on winners, that says so. ValueError for labels of several rubrics.
    """
    found = ratings(labels, rubric, first)
    if not found:
        return (
            _measured(Ratings(subject=Subject(question="winner"), level="nominal", items={}), seed),
        )
    return tuple(_measured(table, seed) for table in found)


def share(hits: float, n: int) -> Share:
    """A share with its exact interval, unknown when n is 0."""
    if not n:
        return Share(hits=hits, n=0)
    limits = clopper_pearson(hits, n)
    return Share(hits=hits, n=n, value=hits / n, low=limits.low, high=limits.high)


def _measured(table: Ratings, seed: str) -> Agreement:
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
    if limits is None:
        few = "too few items" if alpha < 1 else "no disagreement to resample"
        return Estimate(value=alpha, why=f"no interval: {few}")
    return Estimate(value=alpha, low=limits.low, high=limits.high)


def _ac1(rows: Sequence[Sequence[Rating | None]]) -> Estimate:
    value = gwet_ac1(rows)
    return Estimate(why=ONE_ANSWER) if value is None else Estimate(value=value)


def _kappa(rows: Sequence[Sequence[Rating | None]], level: Level) -> Estimate:
    """Cohen's kappa; of ordered answers the quadratically weighted one, which has no interval."""
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
    return Estimate(value=kappa["kappa"], low=low, high=high)
