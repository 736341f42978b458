"""Gathering what a report is made of: the store's counts in the report's own words."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import msgspec

from reviewer.db import contracts, registry, revisions
from reviewer.db.connection import Connection
from reviewer.db.queries import attempts, releases
from reviewer.db.queries.candidates import candidates_on, earlier_decisions, last_promoted
from reviewer.db.queries.episodes import roll_sums
from reviewer.db.queries.quarantine import quarantined, reasons_of_candidate, unnamed_refusals
from reviewer.db.queries.report_figures import (
    Unmeasured,
    diagnostic_means,
    latencies,
    latencies_within,
    others_spent,
    source_verdict_counts,
    unmeasured,
    unmeasured_traces,
)
from reviewer.db.queries.traces import slot_of
from reviewer.db.sources import source_files_of, tool_maps_of_candidate
from reviewer.desk.errors import DeskError
from reviewer.desk.reports.facts import broken_glass, counted, failures, journal_losses, ledger
from reviewer.desk.reports.lineage import met_suites
from reviewer.gates.revised import SHARED
from reviewer.report.evidence import (
    Cause,
    DiagnosticMeans,
    EarlierDecision,
    EpisodeCounts,
    Evidence,
    ImportMap,
    Peeking,
    Promoted,
    Record,
    SaidElsewhere,
)
from reviewer.report.headline import BY_EPISODE
from reviewer.stats.latency import latency_quantile
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, Policy, Suite


class Against(NamedTuple):
    """The baseline's id and key; None when there is none here."""

    baseline_id: str | None
    key: int | None
    promoted: Promoted | None


def promoted_of(
    connection: Connection, suite: registry.SuiteRow, candidate: int
) -> Promoted | None:
    """The last promoted other candidate of the same agent, and whether it has attempts on this
    suite; None for a probe, which is no release."""
    found = None if suite.probe else last_promoted(connection, candidate)
    if found is None:
        return None
    return Promoted(
        candidate_id=found.candidate_id,
        number=found.number,
        suite_id=found.suite_id,
        suite_digest=found.suite_digest,
        here=registry.candidate_row(connection, suite.id, found.candidate_id) is not None,
    )


def against(
    connection: Connection,
    suite: registry.SuiteRow,
    candidate: int,
    baseline_id: str | None,
) -> Against:
    """Raises DeskError for a baseline that has no trace on this suite: under another suite's digest
    nothing is comparable."""
    promoted = promoted_of(connection, suite, candidate)
    named = baseline_id
    if named is None and promoted is not None and promoted.here:
        named = promoted.candidate_id
    if named is None:
        return Against(None, None, promoted)
    base = registry.candidate_row(connection, suite.id, named)
    if base is None:
        raise DeskError(
            f"the baseline {named} has no trace on {suite.suite_id}{_elsewhere(connection, named)}",
            f"reviewer import FILE --suite {suite.suite_id} --candidate {named}",
        )
    return Against(named, base.id, promoted)


def _elsewhere(connection: Connection, candidate_id: str) -> str:
    found = releases.private_suites_of(connection, candidate_id)
    if not found:
        return ""
    names = ", ".join(f"{one.suite_id} ({one.digest[:8]}…)" for one in found)
    return f": it has some on {names}, and under another suite's digest nothing is comparable"


def evidence(
    connection: Connection,
    suite: Suite,
    candidate_id: str,
    candidate: Candidate | None,
    manifest: dict[str, Any] | None,
    baseline_id: str | None = None,
    criteria: tuple[str, ...] = (),
    whole: bool = True,
) -> Evidence:
    """Everything one report may speak of; not `whole`: less what no recommendation stands on and
    every trace is read for. Raises DeskError when the candidate has no trace.

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
    placed, unplaced = quarantined(connection, suite.suite_id, candidate_id)
    made = counted(connection, row.id, stored.id, placed)
    if suite.probe:
        suite = probe_suite(suite, made.episodes, contracts.outlines(connection, row.id))
    known, latency_unknown = latencies(connection, stored.id)
    codes = unmeasured(connection, stored.id)
    than = against(connection, row, stored.id, baseline_id)
    sources = tuple(source_files_of(connection, stored.id))
    same = candidate is not None and candidate.digest == stored.digest
    return Evidence(
        suite=suite,
        frozen_at=row.frozen_at,
        frozen_seq=row.seq,
        first_run_seq=stored.seq,
        candidate_id=candidate_id,
        candidate=candidate if same else None,
        manifest=manifest if same else None,
        episodes=made.episodes,
        failures=failures(connection, f"{suite.suite_id}/{candidate_id}", stored.id, made),
        latencies_ms=tuple(known),
        latency_unknown=latency_unknown,
        unknown_codes=tuple((one.code, one.traces) for one in codes),
        records=_records(
            connection, f"{suite.suite_id}/{candidate_id}", stored.id, {one.code for one in codes}
        ),
        unmeasured=_causes(connection, f"{suite.suite_id}/{candidate_id}", stored.id, codes),
        diagnostics=diagnostics(connection, stored.id) if whole else DiagnosticMeans(),
        duplicates_refused=_duplicates(connection, suite.suite_id, candidate_id),
        quarantined_unplaced=unplaced + unnamed_refusals(connection, frozenset(sources)),
        lineage=met_suites(connection, row, stored.id),
        break_glass=broken_glass(connection, candidate_id, manifest),
        journal_losses=journal_losses(connection),
        import_maps=tuple(
            ImportMap(sha256=one.digest, tools=one.names)
            for one in (tool_maps_of_candidate(connection, stored.id) if whole else ())
        ),
        source_files=sources,
        rubric_criteria=criteria,
        baseline_id=than.baseline_id,
        baseline=counted(connection, row.id, than.key, {}).episodes if than.key is not None else (),
        promoted=than.promoted,
        peeking=_peeking(connection, row.id, stored.id, len(sources)),
        latency_within=_within(connection, stored.id, suite.policy, known),
        ledger=ledger(connection, suite.suite_id, candidate_id),
        probes=probes(connection, suite, candidate_id),
        planned=stored.planned,
        said=tuple(
            SaidElsewhere(
                reader=one.reader.partition("/")[0],  # its version stands behind the slash
                passed=None if one.passed is None else bool(one.passed),
                reward=one.reward,
                lost=bool(one.lost),
                attempts=one.attempts,
                epochs=one.epochs,
            )
            for one in source_verdict_counts(connection, stored.id, BY_EPISODE)
        ),
        others=tuple(others_spent(connection, stored.id)),
    )


def _causes(
    connection: Connection,
    prefix: str,
    candidate: int,
    codes: list[Unmeasured],
) -> tuple[Cause, ...]:
    """What is not measured, kind by kind. `prefix` is a trace id up to its episode."""
    kinds: dict[str, list[Unmeasured]] = {}
    for code in codes:
        kinds.setdefault(code.code.partition(":")[0], []).append(code)
    found = []
    for kind, several in kinds.items():
        count, open_, key = several[0].traces, several[0].open, several[0].first
        if len(several) > 1:  # a trace may have several of them
            count, open_ = unmeasured_traces(connection, candidate, kind)
        episode_id, attempt = slot_of(connection, key)
        found.append(
            Cause(
                kind=kind,
                attempts=count,
                without_verdict=open_,
                codes=tuple((each.code, each.traces) for each in several),
                trace_id=f"{prefix}/{episode_id}/{attempt}",
                episode_id=episode_id,
                attempt=attempt,
                gate=several[0].gate,
                code=several[0].code,
                seq=several[0].seq,
            )
        )
    return tuple(found)


def _peeking(connection: Connection, suite: int, candidate: int, arrivals: int) -> Peeking:
    return Peeking(
        arrivals=arrivals,
        earlier=tuple(
            EarlierDecision(number=one.number, decision=one.decision, attempts=one.attempts)
            for one in earlier_decisions(connection, candidate)
        ),
        candidates=candidates_on(connection, suite),
    )


def _within(
    connection: Connection, candidate: int, policy: Policy, known: list[float]
) -> tuple[tuple[int, int], ...]:
    """Only where a limit on the p95 stands on it."""
    p95 = latency_quantile(known, 0.95) if policy.latency_p95_ms is not None else None
    return () if p95 is None else tuple(latencies_within(connection, candidate, p95))


def diagnostics(connection: Connection, candidate: int) -> DiagnosticMeans:
    """Shown and never gating."""
    means = diagnostic_means(connection, candidate)
    return DiagnosticMeans(
        values={name: mean for name, (mean, _) in means.items()},
        counts={name: count for name, (_, count) in means.items()},
    )


def probe_suite(
    suite: Suite, counts: Iterable[EpisodeCounts], episodes: Iterable[Episode]
) -> Suite:
    """A probe as its files made it: its episodes, and as many attempts as were made at most."""
    most = max((each.attempts + each.infrastructure for each in counts), default=1)
    return msgspec.structs.replace(
        suite,
        episodes=tuple(Episode(episode_id=each.episode_id, title=each.title) for each in episodes),
        policy=Policy(attempts=max(most, 1)),
    )


def _records(
    connection: Connection,
    prefix: str,
    candidate: int,
    unknown: Collection[str],
) -> tuple[Record, ...]:
    """Every record of an attempt that is not the one judged, then what is another candidate's."""
    found = [
        (episode, attempt, "contained" if stands == "contained" else "kept beside", why)
        for episode, attempt, stands, why in revisions.other_records(connection, candidate)
    ]
    if SHARED in unknown:
        found += attempts.findings_of_code(connection, candidate, SHARED)
    return tuple(
        Record(trace_id=f"{prefix}/{episode}/{attempt}", what=what, why=why)
        for episode, attempt, what, why in found
    )


def _duplicates(connection: Connection, suite_id: str, candidate_id: str) -> int:
    return sum(
        any(reason.startswith("duplicate_evidence") for reason in reasons)
        for reasons in reasons_of_candidate(connection, suite_id, candidate_id)
    )


def probes(connection: Connection, suite: Suite, candidate_id: str) -> tuple[dict[str, Any], ...]:
    """What public benchmarks say of the same candidate: apart, and never certifying."""
    found: list[dict[str, Any]] = []
    for row in registry.suites(connection):
        if not row.probe or row.suite_id == suite.suite_id:
            continue
        stored = registry.candidate_row(connection, row.id, candidate_id)
        if stored is None:
            continue
        episodes, made, passes = roll_sums(connection, stored.id)
        found.append(
            {
                "suite_id": row.suite_id,
                "episodes": episodes,
                "attempts": made,
                "passes": passes,
            }
        )
    return tuple(found)
