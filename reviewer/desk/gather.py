"""Gathering what a report is made of: the store's counts in the report's own words."""

import json
import sqlite3
from typing import Any

import msgspec

from reviewer.contract.model import Candidate, Episode, Policy, Suite
from reviewer.db import facts, registry
from reviewer.db.codec import CRITICAL, FAIL, UNKNOWN, gate_codes, gate_results
from reviewer.desk.errors import DeskError
from reviewer.gates.model import GATES
from reviewer.release.evidence import DiagnosticMeans, EpisodeCounts, Evidence, FailedTrace


def evidence(
    connection: sqlite3.Connection,
    suite: Suite,
    candidate_id: str,
    candidate: Candidate | None,
    manifest: dict[str, Any] | None,
    baseline_id: str | None = None,
    criteria: tuple[str, ...] = (),
) -> Evidence:
    """Everything one report may speak of. Raises DeskError when the candidate has no trace.

    `suite` is the frozen suite; `candidate` and `manifest` come from the suite's folder and must
    be the ones the traces were imported under, else they are left out and the report says so.
    """
    row = registry.suite_row(connection, suite.suite_id)
    stored = registry.candidate_row(connection, row.id, candidate_id) if row else None
    if row is None or stored is None:
        raise DeskError(
            f"no trace of {candidate_id} on {suite.suite_id} is in this store",
            f"reviewer import FILE --suite {suite.suite_id} --candidate {candidate_id}",
        )
    counts = facts.rolls(connection, row.id, stored.id)
    if suite.probe:
        suite = probe_suite(suite, counts)
    placed, unplaced = facts.quarantined(connection, suite.suite_id, candidate_id)
    known, latency_unknown = facts.latencies(connection, stored.id)
    means = facts.diagnostic_means(connection, stored.id)
    baseline: tuple[EpisodeCounts, ...] = ()
    if baseline_id is not None:
        base = registry.candidate_row(connection, row.id, baseline_id)
        if base is None:
            raise DeskError(f"the baseline {baseline_id} has no trace on {suite.suite_id}")
        baseline = tuple(_counts(roll, 0) for roll in facts.rolls(connection, row.id, base.id))
    same = candidate is not None and candidate.digest == stored.digest
    return Evidence(
        suite=suite,
        frozen_at=row.frozen_at,
        frozen_seq=row.seq,
        first_run_seq=stored.seq,
        candidate_id=candidate_id,
        candidate=candidate if same else None,
        manifest=manifest if same else None,
        episodes=tuple(_counts(roll, placed.get(roll.episode_id, 0)) for roll in counts),
        failures=failures(connection, suite.suite_id, candidate_id, stored.id, counts),
        latencies_ms=tuple(known),
        latency_unknown=latency_unknown,
        unknown_codes=tuple(facts.unknown_codes(connection, stored.id)),
        diagnostics=DiagnosticMeans(
            values={name: mean for name, (mean, _) in means.items()},
            counts={name: count for name, (_, count) in means.items()},
        ),
        duplicates_refused=_duplicates(connection, suite.suite_id, candidate_id),
        quarantined_unplaced=unplaced,
        other_suite_digests=(),
        source_files=tuple(facts.sources_of(connection, stored.id)),
        rubric_criteria=criteria,
        baseline_id=baseline_id,
        baseline=baseline,
        probes=probes(connection, suite, candidate_id),
        planned=stored.planned,
    )


def probe_suite(suite: Suite, counts: list[facts.RollRow]) -> Suite:
    """A probe as its files made it: its episodes, and as many attempts as were made at most."""
    most = max((roll.attempts + roll.infra for roll in counts), default=1)
    return msgspec.structs.replace(
        suite,
        episodes=tuple(Episode(episode_id=roll.episode_id, title=roll.title) for roll in counts),
        policy=Policy(attempts=max(most, 1)),
    )


def _counts(roll: facts.RollRow, quarantined: int) -> EpisodeCounts:
    made = _columns(roll.episode_id, roll, quarantined)
    if roll.first is None:
        return made
    first = _columns(roll.episode_id, roll.first, quarantined)
    return msgspec.structs.replace(made, first=first)


def _columns(
    episode_id: str, roll: facts.RollRow | facts.FirstSet, quarantined: int
) -> EpisodeCounts:
    return EpisodeCounts(
        episode_id=episode_id,
        attempts=roll.attempts,
        measured=roll.measured,
        passes=roll.passes,
        critical=roll.critical,
        infrastructure=roll.infra,
        in_plan=roll.in_plan,
        quarantined=quarantined,
        cost_nano=roll.cost_nano,
        cost_unknown=roll.cost_unknown,
        steps=roll.steps,
        gate_pass=tuple(
            roll.attempts - fail - unknown
            for fail, unknown in zip(roll.fail, roll.unknown, strict=True)
        ),
        gate_fail=roll.fail,
        gate_unknown=roll.unknown,
    )


def failures(
    connection: sqlite3.Connection,
    suite_id: str,
    candidate_id: str,
    candidate: int,
    counts: list[facts.RollRow],
) -> tuple[FailedTrace, ...]:
    """Failing traces in suite order, then by attempt."""
    place = {roll.key: (position, roll) for position, roll in enumerate(counts)}
    rows = facts.failed_traces(connection, candidate)
    rows.sort(key=lambda row: (place[row.episode][0], row.attempt))
    by_trace: dict[int, list[facts.FindingRow]] = {}
    for finding in facts.findings(connection, [row.id for row in rows]):
        by_trace.setdefault(finding.trace, []).append(finding)
    return tuple(
        _failed(row, place[row.episode][1], suite_id, candidate_id, by_trace.get(row.id, []))
        for row in rows
    )


def _failed(
    row: facts.TraceRow,
    roll: facts.RollRow,
    suite_id: str,
    candidate_id: str,
    found: list[facts.FindingRow],
) -> FailedTrace:
    shown = [finding for finding in found if finding.severity != "note"]
    return FailedTrace(
        trace_id=f"{suite_id}/{candidate_id}/{roll.episode_id}/{row.attempt}",
        episode_id=roll.episode_id,
        attempt=row.attempt,
        codes=tuple(dict.fromkeys(finding.code for finding in shown)),
        critical=bool(row.critical),
        infrastructure=bool(row.infra),
        results=gate_results(row.gates),
        sha256=row.sha256.hex(),
        evidence=tuple((f.gate, f.code, f.seq) for f in shown),
        extra=roll.first is not None and row.attempt > roll.first.last,
    )


def _duplicates(connection: sqlite3.Connection, suite_id: str, candidate_id: str) -> int:
    rows = connection.execute(
        "SELECT reasons FROM quarantine WHERE suite_id=? AND candidate_id=?",
        (suite_id, candidate_id),
    ).fetchall()
    return sum(
        any(reason.startswith("duplicate_evidence") for reason in json.loads(row[0]))
        for row in rows
    )


def probes(
    connection: sqlite3.Connection, suite: Suite, candidate_id: str
) -> tuple[dict[str, Any], ...]:
    """What public benchmarks say of the same candidate: apart, and never certifying."""
    found: list[dict[str, Any]] = []
    for row in registry.suites(connection):
        if not row.probe or row.suite_id == suite.suite_id:
            continue
        stored = registry.candidate_row(connection, row.id, candidate_id)
        if stored is None:
            continue
        counts = facts.rolls(connection, row.id, stored.id)
        found.append(
            {
                "suite_id": row.suite_id,
                "episodes": sum(roll.attempts > 0 for roll in counts),
                "attempts": sum(roll.attempts for roll in counts),
                "passes": sum(roll.passes for roll in counts),
            }
        )
    return tuple(found)


def mark_of(row: facts.TraceRow) -> str:
    """The one word for a trace: critical, fail, infra, not_measured or pass."""
    if row.critical:
        return "critical"
    if row.passed == 0:
        return "fail"
    if row.infra:
        return "infra"
    return "pass" if row.passed == 1 else "not_measured"


_GATE_MARK = {0: "pass", FAIL: "fail", UNKNOWN: "not_measured", CRITICAL: "critical"}


def gate_marks(mask: int) -> tuple[str, ...]:
    """The word of each gate, aligned with GATES."""
    return tuple(_GATE_MARK[code] for code in gate_codes(mask)[: len(GATES)])
