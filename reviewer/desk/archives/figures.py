"""The figures of a report, from an archive: its counts in SQL, and the report's own code on them.

There is no recommendation for an archive: labels, signed decisions and the other things that a
recommendation is based on are only in the store.
"""

from collections import defaultdict
from typing import Any, NamedTuple, cast

import msgspec

from reviewer.db.archive.asking import Asked
from reviewer.db.archive.tables import GATE_PREFIX
from reviewer.desk.compare.candidates import CandidatePair, comparison
from reviewer.desk.compare.views import Comparison
from reviewer.desk.errors import DeskError, meant
from reviewer.desk.reports.api import CandidateAssessment
from reviewer.desk.reports.evidence import probe_suite
from reviewer.desk.trends.api import CLOCK, MOST
from reviewer.desk.trends.figures import candidate_figures, trend_figures
from reviewer.desk.trends.views import TrendCandidate, TrendFigure, TrendPoint, Trends
from reviewer.desk.views import SuiteInfo
from reviewer.exit_codes import ExitCode
from reviewer.gates.model import Result
from reviewer.report.assess import Assessment
from reviewer.report.episodes import EpisodeCounts, Episodes
from reviewer.report.evidence import DiagnosticMeans, Evidence, FailedTrace
from reviewer.report.figures import figures
from reviewer.report.regression import regression
from reviewer.suite.gates import GATES
from reviewer.suite.model import RED_TEAM, Category, Episode, Policy, Suite

NO_LABELS = "labels are not in an archive; the trends of a store show them"
_COUNTS = (
    "count(*) FILTER (NOT lost) AS attempts,"
    " count(*) FILTER (NOT lost AND passed IS NOT NULL) AS measured,"
    " count(*) FILTER (NOT lost AND passed) AS passes,"
    " count(*) FILTER (NOT lost AND critical) AS critical,"
    " count(*) FILTER (lost) AS infrastructure,"
    " count(*) FILTER (NOT lost AND in_plan) AS in_plan,"
    " coalesce(sum(cost_nano), 0) AS cost_nano,"
    " count(*) FILTER (cost_nano IS NULL) AS cost_unknown,"
    " coalesce(sum(steps), 0) AS steps"
)
_NAMES = (
    *("attempts", "measured", "passes", "critical", "infrastructure", "in_plan"),
    *("cost_nano", "cost_unknown", "steps"),
)
_BY_GATE = ", ".join(
    f"count(*) FILTER (NOT lost AND {GATE_PREFIX}{gate} IN ({words}))"
    for words in ("'fail', 'critical'", "'not_measured'")
    for gate in GATES
)
_OF = "suite_id = ? AND candidate_id = ?"


class _Candidate(NamedTuple):
    candidate_id: str
    at: str
    planned: int | None


class ArchivedSuite:
    """One suite of an archive that is open for questions. Raises DeskError where the archive has
    none of that id."""

    def __init__(self, opened: Asked, suite_id: str = "") -> None:
        self._asked = opened
        self._counted: dict[str, defaultdict[str, dict[str, EpisodeCounts]]] = {}
        known = {row[0]: row for row in opened.rows("SELECT * EXCLUDE origin FROM suites")}
        if not suite_id and len(known) != 1:
            raise DeskError(
                f"--suite is needed, one of: {', '.join(known) or 'none'}",
                "add --suite S, with one of these",
                exit_code=ExitCode.USAGE,
            )
        suite_id = suite_id or next(iter(known))
        if suite_id not in known:
            raise DeskError(
                f"no suite {suite_id} in this archive{meant(suite_id, known)}",
                f"name one of: {', '.join(sorted(known)) or 'none is in it'}",
            )
        _, self._digest, title, probe, _, _, _, policy = known[suite_id]
        rows = opened.rows(
            "SELECT episode_id, title, tags, category, by_person FROM episodes WHERE suite_id = ?"
            " ORDER BY position",
            [suite_id],
        )
        self._by_person = frozenset(row[0] for row in rows if row[4])
        self._suite = Suite(
            suite_id=suite_id,
            title=title,
            digest=self._digest,
            probe=probe,
            policy=msgspec.json.decode(policy, type=Policy),
            episodes=tuple(
                Episode(
                    episode_id=name,
                    title=title,
                    tags=msgspec.json.decode(tags, type=tuple[str, ...]),
                    category=cast(Category, category),
                )
                for name, title, tags, category, _ in rows
            ),
        )
        self._candidates = [
            _Candidate(name, at or "", planned)
            for name, at, planned in opened.rows(
                "SELECT candidate_id, registered_at, planned FROM candidates WHERE suite_id = ?"
                " ORDER BY position",
                [suite_id],
            )
        ]

    @property
    def info(self) -> SuiteInfo:
        return SuiteInfo(
            suite_id=self._suite.suite_id,
            title=self._suite.title,
            digest=self._digest,
            probe=self._suite.probe,
            state="frozen",
            problem="",
            episodes=len(self._suite.episodes),
            attempts=self._suite.policy.attempts,
            candidates=len(self._candidates),
        )

    def trends(self) -> Trends:
        """Return each figure of the suite's reports for every candidate, in order of
        registration."""
        shown = self._candidates[-MOST:]
        found = [
            candidate_figures(self.assessed(one.candidate_id, latencies=False)) for one in shown
        ]
        return Trends(
            suite=self.info,
            candidates=tuple(
                TrendCandidate(
                    candidate_id=one.candidate_id,
                    at=one.at,
                    attempts=each.attempts,
                    recommendation=None,
                )
                for one, each in zip(shown, found, strict=True)
            ),
            earlier=len(self._candidates) - len(shown),
            figures=tuple(_without_labels(one) for one in trend_figures(found)),
            clock=CLOCK,
        )

    def comparison(self, candidate_id: str, baseline_id: str | None) -> Comparison:
        """Return one candidate against another, episode by episode. Without a baseline: the
        candidate registered before; for the first of all, the next one, with the first as the
        baseline."""
        who = self._pair(candidate_id, baseline_id)
        then = self.assessed(who.baseline_id)
        return comparison(self.info, who, self.assessed(who.candidate_id, then), then, {})

    def _pair(self, candidate_id: str, baseline_id: str | None) -> CandidatePair:
        names = tuple(one.candidate_id for one in self._candidates)
        for name in (candidate_id, baseline_id):
            if name is not None and name not in names:
                raise DeskError(
                    f"no candidate {name} in this archive{meant(name, names)}",
                    "name one of: " + (", ".join(sorted(names)) or "none is in it"),
                )
        if baseline_id == candidate_id or len(names) < 2:
            raise DeskError(
                f"{candidate_id} cannot be compared with itself",
                "name another candidate as --baseline",
                exit_code=ExitCode.USAGE,
            )
        if baseline_id is not None:
            return CandidatePair(baseline_id, candidate_id, names)
        place = names.index(candidate_id)
        return CandidatePair(names[max(place - 1, 0)], names[max(place, 1)], names)

    def assessed(
        self,
        candidate_id: str,
        baseline: CandidateAssessment | None = None,
        latencies: bool = True,
    ) -> CandidateAssessment:
        """Return the figures of a candidate, by the report's own code. There is no recommendation:
        the field holds `hold`, and no view shows it."""
        gathered = self._evidence(candidate_id, baseline, latencies)
        shown = figures(gathered)
        judged = Assessment(
            suite_id=self._suite.suite_id,
            candidate_id=candidate_id,
            probe=self._suite.probe,
            recommendation="hold",
            reasons=(),
            needs=(),
            figures=shown,
            regression=regression(gathered, shown.episodes),
        )
        return CandidateAssessment(gathered, judged)

    def _evidence(
        self, candidate_id: str, baseline: CandidateAssessment | None, latencies: bool
    ) -> Evidence:
        of = [self._suite.suite_id, candidate_id]
        episodes = self._episodes(of)
        suite = self._suite
        if suite.probe:
            suite = probe_suite(suite, episodes, suite.episodes)
        counted = f"FROM facts WHERE {_OF} AND counted"
        known = f"{counted} AND NOT lost AND latency_ms IS NOT NULL ORDER BY latency_ms"
        (unknown,) = self._asked.rows(
            f"SELECT count(*) {counted} AND NOT lost AND latency_ms IS NULL", of
        )[0]
        planned = {one.candidate_id: one.planned for one in self._candidates}
        return Evidence(
            suite=suite,
            frozen_at=None,
            frozen_seq=None,
            first_run_seq=None,
            candidate_id=candidate_id,
            candidate=None,
            manifest=None,
            episodes=episodes,
            failures=self._failures(of),
            latencies_ms=tuple(self._asked.values(f"SELECT latency_ms {known}", of))
            if latencies
            else (),
            latency_unknown=unknown,
            unknown_codes=(),
            diagnostics=self._diagnostics(of),
            duplicates_refused=0,
            quarantined_unplaced=0,
            source_files=(),
            by_person=self._by_person,
            planned=planned.get(candidate_id),
            baseline_id=None if baseline is None else baseline.gathered.candidate_id,
            baseline=() if baseline is None else baseline.gathered.episodes,
        )

    def _episodes(self, of: list[str]) -> Episodes:
        """Return the counts of every episode, in the suite's order, then of episodes outside the
        suite by id."""
        made = self._counts("true")[of[1]]
        first = self._counts("counted")[of[1]]
        names = [one.episode_id for one in self._suite.episodes]
        names += sorted(set(made) - set(names))
        return Episodes(
            msgspec.structs.replace(
                made.get(name, EpisodeCounts(episode_id=name)),
                first=None
                if made.get(name) == first.get(name)
                else first.get(name, EpisodeCounts(episode_id=name)),
            )
            for name in names
        )

    def _counts(self, which: str) -> dict[str, dict[str, EpisodeCounts]]:
        """Return the counts by candidate and episode, of all candidates in one query."""
        if which in self._counted:
            return self._counted[which]
        found = self._counted[which] = defaultdict(dict)
        for candidate, name, *row in self._asked.rows(
            f"SELECT candidate_id, episode_id, {_COUNTS}, {_BY_GATE} FROM facts"
            f" WHERE suite_id = ? AND {which} GROUP BY ALL",
            [self._suite.suite_id],
        ):
            counts: dict[str, Any] = dict(zip(_NAMES, map(int, row), strict=False))
            failed, unknown = row[len(_NAMES) :][: len(GATES)], row[len(_NAMES) + len(GATES) :]
            found[candidate][name] = EpisodeCounts(
                episode_id=name,
                gate_fail=tuple(failed),
                gate_unknown=tuple(unknown),
                gate_pass=tuple(
                    counts["attempts"] - f - u for f, u in zip(failed, unknown, strict=True)
                ),
                **counts,
            )
        return found

    def _failures(self, of: list[str]) -> tuple[FailedTrace, ...]:
        """Return the failing traces that a figure needs one by one: those that infrastructure
        ended, and those of red-team episodes."""
        tagged = [one.episode_id for one in self._suite.episodes if RED_TEAM in one.tags]
        gates = ", ".join(GATE_PREFIX + gate for gate in GATES)
        rows = self._asked.rows(
            f"SELECT trace_id, episode_id, attempt, critical, infrastructure, sha256, {gates}"
            f" FROM facts WHERE {_OF} AND (infrastructure OR NOT passed)"
            " AND (infrastructure OR list_contains(?, episode_id)) ORDER BY key",
            [*of, tagged],
        )
        return tuple(
            FailedTrace(
                trace_id=trace_id,
                episode_id=episode_id,
                attempt=attempt,
                codes=(),
                critical=critical,
                infrastructure=infrastructure,
                results=tuple(_RESULTS[word] for word in words),
                sha256=sha256,
                evidence=(),
            )
            for trace_id, episode_id, attempt, critical, infrastructure, sha256, *words in rows
        )

    def _diagnostics(self, of: list[str]) -> DiagnosticMeans:
        """Return the mean efficiency, the only diagnostic in trends: added in the order of the
        store, so that the sum is the same."""
        values = self._asked.values(
            f"SELECT efficiency::DOUBLE FROM facts WHERE {_OF} AND counted"
            " AND efficiency IS NOT NULL ORDER BY key",
            of,
        )
        total, count = 0.0, 0
        for value in values:
            total += value
            count += 1
        mean = total / count if count else None
        return DiagnosticMeans(values={"efficiency": mean}, counts={"efficiency": count})


_RESULTS: dict[str | None, Result] = {
    None: "pass",  # for a gate that is not in force: no figure counts it
    "pass": "pass",
    "fail": "fail",
    "critical": "fail",
    "not_measured": "not_measured",
}


def _without_labels(one: TrendFigure) -> TrendFigure:
    if one.measure != "human_pass":
        return one
    held = [point.held for point in one.points]
    points = tuple(TrendPoint(value=None, why=NO_LABELS, held=each) for each in held)
    return msgspec.structs.replace(one, points=points)
