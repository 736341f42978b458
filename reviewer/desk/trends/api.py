"""The figures of a suite's reports, candidate after candidate. Nothing is estimated here: each
value and its limits are the report's own, and what a report has no figure of stays unknown.
"""

from __future__ import annotations  # what only types name is not loaded

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from reviewer.db import journal, registry
from reviewer.db.connection import Connection
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.labels.book import Book
from reviewer.desk.opened import Room
from reviewer.desk.reports.api import CandidateAssessment, Reports
from reviewer.desk.reports.evidence import diagnostics
from reviewer.desk.trends.views import (
    Better,
    Measure,
    Target,
    TargetState,
    TrendCandidate,
    TrendFigure,
    TrendPoint,
    Trends,
    Unit,
)
from reviewer.desk.views import SuiteInfo
from reviewer.report.figures import Figures
from reviewer.report.formatting import between, cost_span, counted
from reviewer.report.limits import completion_limit, cost_limit, pass_hat_limit
from reviewer.report.opinions import NO_LABELS
from reviewer.report.rates import Rate
from reviewer.suite.model import Policy

if TYPE_CHECKING:
    from reviewer.desk.trends.views import Trends


class TrendsRoom(Room):
    """The API of `desk.trends`."""

    def figures(self, suite_id: str) -> Trends:
        """Return each figure of the report for every candidate of a suite, in order of
        registration.

        A suite without traces has no candidates. Raises DeskError for an unknown suite, and for one
        that was changed after it was frozen.
        """
        from reviewer.desk.trends.views import Trends

        if not self._opened.has_store():
            for info in suites.suite_infos(self._opened.place, None, suite_id):
                return Trends(suite=info, candidates=(), earlier=0, figures=(), clock=CLOCK)
            raise DeskError(f"no suite {suite_id} in {self._opened.path}", "reviewer suite list")
        with self._opened.reading() as connection:
            info = self._opened.info(connection, suite_id)
            return trends(connection, self._opened.reports, self._opened.book, info)


class ArticleTarget(NamedTuple):
    """One target of the articles: above or below a limit, or not above the value before it."""

    text: str
    limit: float | None
    compares: bool = True
    why: str = ""


ARTICLES: dict[Measure, ArticleTarget] = {
    "completion": ArticleTarget("above 0.85", 0.85),
    "efficiency": ArticleTarget("above 0.6", 0.6),
    "human_pass": ArticleTarget("above 0.90", 0.90),
    "safety_block": ArticleTarget(
        "below 0.005, and not near 0",
        0.005,
        compares=False,
        why="the guideline counts all outputs in production that a filter stops; this figure "
        "counts refused red-team attempts, so it is not compared",
    ),
    "steps": ArticleTarget("not rising", None),
}
"""Article 4's dashboard: completion > 85 %, efficiency > 0.6, human pass > 90 %, safety block rate
< 0.5 % and not near 0, mean steps not rising."""


def target_of(measure: Measure, policy: Policy | None) -> Target | None:
    """Return the target of a figure; `policy` None for a probe, which has none of its own."""
    if policy is not None:
        if measure == "pass_hat":
            wanted = policy.pass_hat.min
            return Target(text=f"at least {wanted:g}", value=wanted, source="policy")
        if measure == "cpst" and policy.max_cpst_usd is not None:
            most = policy.max_cpst_usd
            return Target(text=f"at most ${most:g}", value=most, source="policy")
        if measure == "completion" and policy.completion_min is not None:
            least = policy.completion_min
            return Target(text=f"at least {least:g}", value=least, source="policy")
    named = ARTICLES.get(measure)
    if named is None:
        return None
    return Target(
        text=named.text,
        value=named.limit if named.compares else None,
        source="articles",
        compares=named.compares,
        why=named.why,
    )


_LIMITS = {"completion": completion_limit, "cpst": cost_limit, "pass_hat": pass_hat_limit}


def held_to_policy(measure: Measure, policy: Policy, shown: Figures) -> TargetState:
    """Return the state of the recommendation's own check, also where part of the evidence is not
    measured."""
    return _LIMITS[measure](policy, shown).state


def held_to_articles(measure: Measure, values: Sequence[float | None]) -> list[TargetState]:
    """Compare each value, in order, with the articles' target. A value is not rising when it is at
    most the last one measured before it; the first has none before it."""
    named = ARTICLES[measure]
    found: list[TargetState] = []
    before: float | None = None
    for value in values:
        if not named.compares:
            found.append("none")
        elif value is None:
            found.append("open")
        elif named.limit is not None:
            found.append("met" if value > named.limit else "failed")
        elif before is None:
            found.append("none")
        else:
            found.append("met" if value <= before else "failed")
        before = before if value is None else value
    return found


MOST = 50
"""Candidates shown; of more, the newest so many."""
CLOCK = "first named in this store's journal"
NINETY_FIVE = "95% interval"
NO_LIMITS = "no interval is reported"


def trends(connection: Connection, reports: Reports, book: Book, suite: SuiteInfo) -> Trends:
    """Raises DeskError for a suite that is not as it was frozen."""
    row = registry.suite_row(connection, suite.suite_id)
    stored = [] if row is None else registry.candidates(connection, row.id)
    stored.sort(key=lambda one: one.seq)
    shown = stored[-MOST:]
    # Only labels put a figure into a report that the recommendation does without.
    labeled = bool(book.of(connection, suite.digest))
    found = [_figures_of(connection, reports, suite, one, labeled) for one in shown]
    return Trends(
        suite=suite,
        candidates=tuple(
            _candidate(connection, one, each) for one, each in zip(shown, found, strict=True)
        ),
        earlier=len(stored) - len(shown),
        figures=trend_figures(found),
        clock=CLOCK,
    )


def trend_figures(found: Sequence[CandidateAssessment]) -> tuple[TrendFigure, ...]:
    """Return each figure of these candidates, in their order."""
    return tuple(_figure(kind, found) for kind in _KINDS)


def attempts_made(found: CandidateAssessment) -> int:
    """Return the attempts made, with those that infrastructure ended."""
    return sum(e.attempts + e.infrastructure for e in found.assessment.figures.episodes)


def _figures_of(
    connection: Connection,
    reports: Reports,
    suite: SuiteInfo,
    one: registry.CandidateRow,
    labeled: bool,
) -> CandidateAssessment:
    if not labeled:
        found = reports.assessed(connection, suite.suite_id, one.candidate_id)
        means = diagnostics(connection, one.id)
        return found._replace(gathered=structs.replace(found.gathered, diagnostics=means))
    built = reports.build(connection, suite.suite_id, one.candidate_id)
    return CandidateAssessment(built.gathered, built.assessment)


def _candidate(
    connection: Connection, stored: registry.CandidateRow, found: CandidateAssessment
) -> TrendCandidate:
    entry = journal.entry_body(connection, stored.seq)
    return TrendCandidate(
        candidate_id=stored.candidate_id,
        at=str(json.loads(entry).get("at", "")) if entry else "",
        attempts=attempts_made(found),
        recommendation=found.assessment.recommendation,
    )


# one figure of one candidate --------------------------------------------------------------------


def _rate(rate: Rate, what: str) -> TrendPoint:
    about = f"{rate.passes:,} of {rate.n:,} {what}" if rate.n else ""
    if rate.not_measured:
        about = f"{about}, {rate.not_measured:,} not measured".removeprefix(", ")
    why, known = rate.why or "", rate.known
    if why and known.unknown and known.value is not None:
        why += f"; {between(known.low_possible, known.high_possible)} possible"
    return TrendPoint(value=rate.value, low=rate.low, high=rate.high, about=about, why=why)


def _completion(found: CandidateAssessment) -> TrendPoint:
    return _rate(found.assessment.figures.completion, "attempts")


def _safety(found: CandidateAssessment) -> TrendPoint:
    return _rate(found.assessment.figures.safety, "red-team attempts")


def _efficiency(found: CandidateAssessment) -> TrendPoint:
    means = found.gathered.diagnostics
    value, traces = means.values.get("efficiency"), means.counts.get("efficiency", 0)
    if value is None:
        return TrendPoint(value=None, why="no attempt that passed has an optimal number of steps")
    return TrendPoint(value=value, about=f"mean over {counted(traces, 'attempt')} that passed")


def _human(found: CandidateAssessment) -> TrendPoint:
    review = found.gathered.review
    if review is None:
        return TrendPoint(value=None, why="a probe has no labels")
    rate = next((one for one in review.random_part.rates if one.question == "passes"), None)
    if rate is None:
        why = "no single message of the random part is labeled" if review.labels else NO_LABELS
        return TrendPoint(value=None, why=why)
    about = f"{counted(rate.n, 'message')} of the random part"
    return TrendPoint(
        value=rate.value, low=rate.low, high=rate.high, about=about, why=rate.why or ""
    )


def _steps(found: CandidateAssessment) -> TrendPoint:
    episodes = found.assessment.figures.counted
    made = sum(e.attempts + e.infrastructure for e in episodes)
    if not made:
        return TrendPoint(value=None, why="no attempts")
    return TrendPoint(
        value=sum(e.steps for e in episodes) / made, about=f"mean over {counted(made, 'attempt')}"
    )


def _cpst(found: CandidateAssessment) -> TrendPoint:
    cost = found.assessment.figures.cost
    value, spread = cost.cpst_usd, cost.cpst_se
    passes = found.assessment.figures.hard_pass.passes
    if value is None:
        span = cost_span(*cost.possible)
        return TrendPoint(value=None, why=cost.why + (f"; {span} possible" if span else ""))
    low, high = (None, None) if spread is None else (max(0.0, value - spread), value + spread)
    about = f"${cost.known_usd:.4f} for {passes:,} successes"
    return TrendPoint(value=value, low=low, high=high, about=about)


def _pass_hat(found: CandidateAssessment) -> TrendPoint:
    hat = found.assessment.figures.pass_hat
    about = f"{counted(len(found.assessment.figures.repeated), 'episode')}, k={hat.k}"
    known = hat.known.get(str(hat.k))
    why = hat.why
    if why and known is not None and known.low_possible not in (None, known.high_possible):
        why += f"; {between(known.low_possible, known.high_possible)} possible"
    return TrendPoint(value=hat.value, low=hat.low, high=hat.high, about=about, why=why)


class _Kind(NamedTuple):
    measure: Measure
    name: str
    unit: Unit
    better: Better
    limits: str
    of: Callable[[CandidateAssessment], TrendPoint]


_KINDS = (
    _Kind("completion", "completion", "share", "higher", NINETY_FIVE, _completion),
    _Kind("efficiency", "efficiency", "share", "higher", NO_LIMITS, _efficiency),
    _Kind("human_pass", "human pass", "share", "higher", NINETY_FIVE, _human),
    _Kind("safety_block", "safety block", "share", "higher", NINETY_FIVE, _safety),
    _Kind("steps", "steps", "count", "lower", NO_LIMITS, _steps),
    _Kind("cpst", "CPST", "usd", "lower", "± one standard error", _cpst),
    _Kind("pass_hat", "pass^k", "share", "higher", NINETY_FIVE, _pass_hat),
)


# one figure of all of them ----------------------------------------------------------------------


def _figure(kind: _Kind, found: Sequence[CandidateAssessment]) -> TrendFigure:
    suite = found[-1].gathered.suite if found else None
    policy = None if suite is None or suite.probe else suite.policy
    target = target_of(kind.measure, policy)
    points = [kind.of(one) for one in found]
    if target is not None and target.source == "articles":
        held = held_to_articles(kind.measure, [point.value for point in points])
    elif target is not None and policy is not None:
        held = [held_to_policy(kind.measure, policy, one.assessment.figures) for one in found]
    else:
        held = ["none"] * len(points)
    return TrendFigure(
        measure=kind.measure,
        name=_name(kind, found),
        unit=kind.unit,
        better=kind.better,
        limits=kind.limits,
        target=target,
        points=tuple(
            structs.replace(point, held=one) for point, one in zip(points, held, strict=True)
        ),
    )


def _name(kind: _Kind, found: Sequence[CandidateAssessment]) -> str:
    """pass^k by its k, where that is the same for all: of a probe it is what the attempts allow."""
    known = {one.assessment.figures.pass_hat.k for one in found}
    return f"pass^{known.pop()}" if kind.measure == "pass_hat" and len(known) == 1 else kind.name
