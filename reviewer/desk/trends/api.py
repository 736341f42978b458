"""The figures of a suite's reports, candidate by candidate. Those of a large suite are cached until
anything they were made from changes."""

from __future__ import annotations  # names used only in annotations are not imported

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from reviewer.db import journal, registry
from reviewer.db.connection import Connection, one_moment
from reviewer.db.queries.episodes import is_large
from reviewer.desk import suites
from reviewer.desk.errors import DeskError
from reviewer.desk.kept import Shelf
from reviewer.desk.opened import Room
from reviewer.desk.reports.api import CandidateAssessment, Reports
from reviewer.desk.reports.evidence import diagnostics
from reviewer.desk.trends.figures import CandidateFigures, candidate_figures, trend_figures
from reviewer.desk.trends.views import TrendCandidate, Trends

if TYPE_CHECKING:
    from reviewer.desk.made_of import MadeOf
    from reviewer.desk.views import SuiteInfo

MOST = 50
"""Most candidates that are shown, the newest ones."""
CLOCK = "first named in this store's journal"
KEPT = Shelf(".trends", Trends, apart=1, most=1 << 20)
"""Trends by suite."""


class _Worked(NamedTuple):
    """Computed trends, and what they were made from: None where that cannot be said."""

    trends: Trends
    made_of: tuple[MadeOf, ...] | None


class TrendsRoom(Room):
    """The API of `desk.trends`."""

    def figures(self, suite_id: str) -> Trends:
        """Return each figure of the report for every candidate of a suite, in order of
        registration.

        A suite without traces has no candidates. Raises DeskError for an unknown suite, and for one
        that was changed after it was frozen.
        """
        place = self._opened.place
        if not self._opened.has_store():
            for info in suites.suite_infos(place, None, suite_id):
                return Trends(suite=info, candidates=(), earlier=0, figures=(), clock=CLOCK)
            raise DeskError(f"no suite {suite_id} in {self._opened.path}", "reviewer suite list")
        if kept := self.kept(suite_id):
            return kept
        worked = self._worked(suite_id)
        with self._opened.reading() as connection:
            large = _large(connection, suite_id)
        if large:
            KEPT.keep(place, [suite_id], worked.trends, worked.made_of)
        return worked.trends

    def kept(self, suite_id: str) -> Trends | None:
        """Return the last computed trends if nothing has changed since; else None."""
        if not KEPT.has(self._opened.place, suite_id):
            return None
        with self._opened.reading() as connection:
            names = [one.candidate_id for one in _stored(connection, suite_id)[-MOST:]]
            return self._opened.reports.kept(connection, KEPT, [suite_id], names)

    def worked_out(self, suite_id: str) -> Trends:
        """Return the same as `figures`, ignoring the cache."""
        return self._worked(suite_id).trends

    def _worked(self, suite_id: str) -> _Worked:
        with self._opened.reading() as connection, one_moment(connection):
            some = _stored(connection, suite_id)
            look = self._opened.judged_info if some else self._opened.info
            info = look(connection, suite_id)
            labeled = bool(self._opened.book.of(connection, info.digest))
            return _trends(connection, self._opened.reports, info, labeled)


def _stored(connection: Connection, suite_id: str) -> list[registry.CandidateRow]:
    """Return the candidates of a suite in order of registration."""
    row = registry.suite_row(connection, suite_id)
    found = [] if row is None else registry.candidates(connection, row.id)
    return sorted(found, key=lambda one: one.seq)


def _large(connection: Connection, suite_id: str) -> bool:
    row = registry.suite_row(connection, suite_id)
    return row is not None and any(
        is_large(connection, row.id, one.id) for one in registry.candidates(connection, row.id)
    )


def _trends(connection: Connection, reports: Reports, suite: SuiteInfo, labeled: bool) -> _Worked:
    """Return the trends, computed. Raises DeskError for a suite that is not as it was frozen."""
    stored = _stored(connection, suite.suite_id)
    shown = stored[-MOST:]
    candidates: list[TrendCandidate] = []
    figures: list[CandidateFigures] = []
    made_of: list[MadeOf] = []
    for one, found in zip(shown, _found(connection, reports, suite, shown, labeled), strict=True):
        figures.append(candidate_figures(found))
        candidates.append(_candidate(connection, one, figures[-1]))
        if found.made_of is not None:
            made_of.append(found.made_of)
    trends = Trends(
        suite=suite,
        candidates=tuple(candidates),
        earlier=len(stored) - len(shown),
        figures=trend_figures(figures),
        clock=CLOCK,
    )
    return _Worked(trends, tuple(made_of) if len(made_of) == len(shown) else None)


def _found(
    connection: Connection,
    reports: Reports,
    suite: SuiteInfo,
    shown: Sequence[registry.CandidateRow],
    labeled: bool,
) -> Iterator[CandidateAssessment]:
    """Yield the assessment behind each candidate's figures. A full report is built only where
    labels exist, since only labels add figures that the recommendation does not need."""
    if labeled:
        for one in shown:
            built = reports.build(connection, suite.suite_id, one.candidate_id)
            yield CandidateAssessment(built.gathered, built.assessment)
        return
    asked = [(one.candidate_id, None) for one in shown]
    each = reports.assessed_each(connection, suite.suite_id, asked) if shown else ()
    for one, found in zip(shown, each, strict=True):
        means = diagnostics(connection, one.id)
        yield found._replace(gathered=structs.replace(found.gathered, diagnostics=means))


def _candidate(
    connection: Connection, stored: registry.CandidateRow, found: CandidateFigures
) -> TrendCandidate:
    entry = journal.entry_body(connection, stored.seq)
    return TrendCandidate(
        candidate_id=stored.candidate_id,
        at=str(json.loads(entry).get("at", "")) if entry else "",
        attempts=found.attempts,
        recommendation=found.recommendation,
    )
