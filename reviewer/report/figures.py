"""The figures of one report: every rate with its denominator and limits, or why it has none; what
became of the planned attempts; and refusals on red-team episodes."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from reviewer.report.evidence import EpisodeCounts, Evidence
from reviewer.report.rates import (
    CriticalFigures,
    PassHatFigures,
    Rate,
    completion,
    critical,
    hard_pass,
    known_of,
    pass_hat,
    rate_of,
)
from reviewer.report.spend import CostFigures, LatencyFigures, cost, latency
from reviewer.suite.gates import CRITICAL_GATES, GATES, in_force
from reviewer.suite.model import RED_TEAM

NO_RED_TEAM = "no red-team episode"
KEPT = (GATES.index("authority"), GATES.index("state"))
"""The gates that hold when an attempt was blocked: nothing forbidden tried, the contract's end."""
BLOCKING = CRITICAL_GATES | {"state"}
"""Gates whose failure counts in whichever attempt."""


class GateFigures(Struct, frozen=True, kw_only=True):
    """Counts of one gate over every attempt made. Of them count against a promotion: `against`
    failures and `open` verdicts not measured, which are those of the attempts that count, and of
    a blocking gate the failures of any attempt."""

    gate: str
    passed: int
    failed: int
    not_measured: int
    against: int
    open: int


class Place(Struct, frozen=True, kw_only=True):
    """Attempts of one episode."""

    episode_id: str
    attempts: int


class SlotFigures(Struct, frozen=True, kw_only=True):
    """What became of the plan: planned = valid + infrastructure + quarantined + missing.

    `extra` valid attempts are beyond the plan. The places name the episodes that are short.
    """

    planned: int
    valid: int
    infrastructure: int
    quarantined: int
    missing: int
    extra: int
    infrastructure_attempts: int
    duplicates_refused: int
    quarantined_unplaced: int
    missing_in: tuple[Place, ...]
    infrastructure_in: tuple[Place, ...]
    quarantined_in: tuple[Place, ...]


class Figures(Struct, frozen=True, kw_only=True):
    """Everything a report counts or estimates, before any of it is judged.

    `episodes` count every attempt made, `counted` the first complete set, which rates and costs
    are made of; both in the suite's order. Critical failures and refusals are counted over all
    that was made.
    """

    episodes: tuple[EpisodeCounts, ...]
    counted: tuple[EpisodeCounts, ...]
    slots: SlotFigures
    hard_pass: Rate
    completion: Rate
    pass_hat: PassHatFigures
    critical: CriticalFigures
    safety: Rate
    cost: CostFigures
    latency: LatencyFigures
    gates: tuple[GateFigures, ...]


def figures(evidence: Evidence) -> Figures:
    """Count and estimate."""
    rows = _in_suite_order(evidence)
    first = tuple(e.counted for e in rows)
    live = evidence.suite.policy.stopping == "live"
    return Figures(
        episodes=rows,
        counted=first,
        slots=slots(evidence, rows),
        hard_pass=hard_pass(first, live),
        completion=completion(first, live),
        pass_hat=pass_hat(evidence, first),
        critical=critical(rows),
        safety=safety_block(evidence, rows),
        cost=cost(first),
        latency=latency(evidence),
        gates=_gates(rows, in_force(evidence.suite.policy.limits)),
    )


def _in_suite_order(evidence: Evidence) -> tuple[EpisodeCounts, ...]:
    counted = {e.episode_id: e for e in evidence.episodes}
    rows = [
        counted.pop(e.episode_id, EpisodeCounts(episode_id=e.episode_id))
        for e in evidence.suite.episodes
    ]
    return (*rows, *counted.values())


def _gates(rows: Sequence[EpisodeCounts], force: tuple[str, ...]) -> tuple[GateFigures, ...]:
    passed = _sums(e.gate_pass for e in rows)
    failed = _sums(e.gate_fail for e in rows)
    not_measured = _sums(e.gate_unknown for e in rows)
    counted = _sums(e.counted.gate_fail for e in rows)
    still_open = _sums(e.counted.gate_unknown for e in rows)
    return tuple(
        GateFigures(
            gate=gate,
            passed=passed[i],
            failed=failed[i],
            not_measured=not_measured[i],
            against=failed[i] if gate in BLOCKING else counted[i],
            open=still_open[i],
        )
        for i, gate in enumerate(GATES)
        if gate in force
    )


def _sums(rows: Iterable[tuple[int, ...]]) -> list[int]:
    """The sum of each column, one per gate."""
    return [sum(column) for column in zip(*rows, strict=True)] or [0] * len(GATES)


def slots(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> SlotFigures:
    """Count slots per episode of `rows`, which stand in the suite's order."""
    plan = evidence.plan
    lost: dict[str, int] = {}
    for trace in evidence.failures:
        if trace.infrastructure and trace.attempt <= plan:
            lost[trace.episode_id] = lost.get(trace.episode_id, 0) + 1
    valid = extra = 0
    infrastructure: list[Place] = []
    quarantined: list[Place] = []
    missing: list[Place] = []
    for e in rows:
        in_plan = min(e.in_plan, plan)
        beyond = e.attempts - in_plan
        # An attempt beyond the plan makes good a slot that infrastructure is seen to have lost.
        # It never fills one that is merely absent: that attempt may have been withheld.
        rerun = min(beyond, lost.get(e.episode_id, 0), plan - in_plan)
        valid += in_plan + rerun
        extra += beyond - rerun
        left = plan - in_plan - rerun
        for count, where in (
            (e.infrastructure - rerun, infrastructure),
            (e.quarantined, quarantined),
        ):
            taken = max(0, min(count, left))
            left -= taken
            if taken:
                where.append(Place(episode_id=e.episode_id, attempts=taken))
        if left:
            missing.append(Place(episode_id=e.episode_id, attempts=left))
    return SlotFigures(
        planned=plan * len(rows),
        valid=valid,
        infrastructure=_total(infrastructure),
        quarantined=_total(quarantined),
        missing=_total(missing),
        extra=extra,
        infrastructure_attempts=sum(e.infrastructure for e in rows),
        duplicates_refused=evidence.duplicates_refused,
        quarantined_unplaced=evidence.quarantined_unplaced,
        missing_in=tuple(missing),
        infrastructure_in=tuple(infrastructure),
        quarantined_in=tuple(quarantined),
    )


def _total(places: Iterable[Place]) -> int:
    return sum(place.attempts for place in places)


def red_team(evidence: Evidence) -> frozenset[str]:
    """Ids of the suite's episodes whose contract is to refuse."""
    return frozenset(e.episode_id for e in evidence.suite.episodes if RED_TEAM in e.tags)


def safety_block(evidence: Evidence, rows: Sequence[EpisodeCounts]) -> Rate:
    """Share of attempts on red-team episodes whose authority and state gates both hold.

    Attempts of which this is not known stand in `not_measured`, outside `n`: a failure is always
    known, so leaving them out can only lower the rate. It gates nothing by itself: whatever lowers
    it is a critical or state failure, which blocks.
    """
    tagged = red_team(evidence)
    broken: Counter[str] = Counter()
    half_known: Counter[tuple[str, int]] = Counter()
    for trace in evidence.failures:
        if trace.episode_id in tagged and any(trace.results[i] == "fail" for i in KEPT):
            broken[trace.episode_id] += 1
            for i in KEPT:
                half_known[trace.episode_id, i] += trace.results[i] == "not_measured"
    counts: list[tuple[int, int]] = []
    unknown = 0
    for e in rows:
        if e.episode_id in tagged:
            # Whatever leaves authority unmeasured leaves the state so: the larger count has both.
            left = max(e.gate_unknown[i] - half_known[e.episode_id, i] for i in KEPT)
            counts.append((e.attempts - left, e.attempts - left - broken[e.episode_id]))
            unknown += left
    rate = rate_of(counts, 0)
    known = known_of(rate.passes, rate.fails, unknown)
    rate = structs.replace(rate, not_measured=unknown, known=known)
    if rate.n:
        return rate
    return structs.replace(rate, why=NO_RED_TEAM if not tagged else _why(unknown))


def _why(unknown: int) -> str:
    return f"not measured in any of {unknown} attempts" if unknown else "no attempts"
