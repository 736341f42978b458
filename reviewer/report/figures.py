"""The figures of one report: every rate with its denominator and limits, or why it has none."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from reviewer.report.evidence import EpisodeCounts, Evidence
from reviewer.report.rates import (
    CriticalFigures,
    PassHatFigures,
    Rate,
    completion,
    critical,
    hard_pass,
    pass_hat,
)
from reviewer.report.safety import safety_block
from reviewer.report.slots import SlotFigures, slots
from reviewer.report.spend import CostFigures, LatencyFigures, cost, latency
from reviewer.suite.gates import CRITICAL_GATES, GATES, in_force

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
