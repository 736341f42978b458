"""Views of trends: each figure of a suite's report, candidate by candidate."""

from typing import Literal

from reviewer.desk.views import Recommendation, SuiteInfo, View

Measure = Literal[
    "completion", "efficiency", "human_pass", "safety_block", "steps", "cpst", "pass_hat"
]
Unit = Literal["share", "count", "usd"]
Better = Literal["higher", "lower"]
Source = Literal["policy", "articles"]
TargetState = Literal["met", "failed", "open", "none"]


class Target(View, frozen=True):
    """The target of a figure. `value` is the place of its line, None where there is no single
    value; `source` says whose it is: the suite's policy, or the articles', which bind nothing.

    With `compares` false the target is about another figure of the same name: shown, and never
    compared.
    """

    text: str
    value: float | None
    source: Source
    compares: bool = True
    why: str = ""


class TrendPoint(View, frozen=True):
    """One figure of one candidate. `value` None is not measured, and `why` says why; a figure may
    have no limits. `about` describes its evidence in words; `held` is its state against the target:
    `open` where the evidence does not decide, `none` where there is nothing to decide."""

    value: float | None
    low: float | None = None
    high: float | None = None
    about: str = ""
    why: str = ""
    held: TargetState = "none"


class TrendFigure(View, frozen=True):
    """One figure; `points` are aligned with the candidates. Shares are in [0, 1], counts are per
    attempt, usd per success. `limits` says in words what `low` and `high` are."""

    measure: Measure
    name: str
    unit: Unit
    better: Better
    limits: str
    target: Target | None
    points: tuple[TrendPoint, ...]


class TrendCandidate(View, frozen=True):
    """One candidate. `at` is when this store's journal first names it (UTC, RFC 3339), "" when the
    journal does not say; `attempts` are those made. For an archive there is no recommendation."""

    candidate_id: str
    at: str
    attempts: int
    recommendation: Recommendation | None


class Trends(View, frozen=True):
    """The figures of one suite over its newest candidates, in order of registration; `earlier` is
    the number of older candidates that are not shown. `clock` names the order."""

    suite: SuiteInfo
    candidates: tuple[TrendCandidate, ...]
    earlier: int
    figures: tuple[TrendFigure, ...]
    clock: str
