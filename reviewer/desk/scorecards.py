"""The scorecard as a door shows it: an assessment and a page of rows, in the desk's words."""

import sqlite3
from typing import cast

from reviewer.db import facts
from reviewer.db.codec import CRITICAL, FAIL, UNKNOWN, gate_codes
from reviewer.desk.gather import mark_of
from reviewer.desk.views import (
    AttemptMark,
    Cell,
    CellLine,
    EpisodeRow,
    Evidence,
    GateTotal,
    Mark,
    Rate,
    Reason,
    Scorecard,
    Slots,
    SuiteInfo,
)
from reviewer.gates.model import GATES
from reviewer.measure.latency import latency_quantile
from reviewer.measure.repeat import pass_hat_k
from reviewer.release.assess import Assessment
from reviewer.release.evidence import Evidence as Gathered


def reasons_of(assessment: Assessment) -> tuple[Reason, ...]:
    """The recommendation's reasons with their evidence, numbered from 1."""
    return tuple(
        Reason(
            number=number,
            text=reason.text,
            observed=reason.observed,
            policy=reason.policy,
            evidence=tuple(
                Evidence(
                    trace_id=ref.trace_id,
                    episode_id=ref.episode_id,
                    attempt=ref.attempt,
                    gate=ref.gate,
                    code=ref.code,
                    seq=ref.seq,
                    tool=ref.tool,
                )
                for ref in reason.evidence
            ),
        )
        for number, reason in enumerate(assessment.reasons, 1)
    )


def scorecard_of(
    assessment: Assessment,
    gathered: Gathered,
    suite: SuiteInfo,
    decided: str | None,
    rev: int,
    banner: tuple[str, str],
) -> Scorecard:
    """Everything above the rows."""
    shown = assessment.figures
    policy = gathered.suite.policy
    critical_by_gate = _critical_by_gate(gathered)
    return Scorecard(
        suite=suite,
        candidate_id=gathered.candidate_id,
        recommendation=assessment.recommendation,
        reasons=reasons_of(assessment),
        needs=assessment.needs,
        slots=Slots(
            planned=shown.slots.planned,
            valid=shown.slots.valid,
            infrastructure=shown.slots.infrastructure,
            quarantined=shown.slots.quarantined,
            missing=shown.slots.missing,
            extra=shown.slots.extra,
        ),
        hard_pass=Rate(
            value=shown.hard_pass.value,
            low=shown.hard_pass.low,
            high=shown.hard_pass.high,
            n=shown.hard_pass.n,
            passes=shown.hard_pass.passes,
            policy=policy.hard_pass_rate,
            why=shown.hard_pass.why,
        ),
        pass_hat_k=shown.pass_hat.k,
        pass_hat=Rate(
            value=shown.pass_hat.value,
            low=shown.pass_hat.low,
            high=shown.pass_hat.high,
            n=len(shown.episodes),
            passes=shown.hard_pass.passes,
            policy=policy.pass_hat.min,
            why=shown.pass_hat.why,
        ),
        critical=shown.critical.count,
        critical_upper=shown.critical.upper,
        critical_upper_episodes=shown.critical.upper_episodes,
        total_cost_usd=shown.cost.total_usd,
        cpst_usd=shown.cost.cpst_usd,
        cpst_budget_usd=policy.max_cpst_usd,
        latency_p50_ms=shown.latency.p50,
        latency_p95_ms=shown.latency.p95,
        totals=tuple(
            GateTotal(
                gate=gate.gate,
                passed=gate.passed,
                failed=gate.failed,
                critical=critical_by_gate.get(gate.gate, 0),
                not_measured=gate.not_measured,
            )
            for gate in shown.gates
        ),
        episodes=len(shown.episodes),
        decided=decided,
        rev=rev,
        banner=banner,
        mean_cost_usd=_mean_cost(shown.cost.total_usd, shown.hard_pass.n),
    )


def _mean_cost(total_usd: float | None, attempts: int) -> float | None:
    return None if total_usd is None or not attempts else total_usd / attempts


def _critical_by_gate(gathered: Gathered) -> dict[str, int]:
    counts: dict[str, int] = {}
    for trace in gathered.failures:
        if trace.critical:
            for gate in {gate for gate, _, _ in trace.evidence}:
                counts[gate] = counts.get(gate, 0) + (gate in ("authority", "redaction"))
    return counts


_WORST = {CRITICAL: 3, FAIL: 2, UNKNOWN: 1, 0: 0}
_WORD: dict[int, Mark] = {CRITICAL: "critical", FAIL: "fail", UNKNOWN: "not_measured", 0: "pass"}


def row_of(
    roll: facts.RollRow,
    traces: list[facts.TraceRow],
    k: int,
    planned: int,
    quarantined: int,
    probe: bool,
) -> EpisodeRow:
    """One row of the grid: the worst of each gate over all attempts, and one mark per attempt."""
    masks = [gate_codes(trace.gates) for trace in traces]
    cells = []
    for position in range(len(GATES)):
        codes = [mask[position] for mask in masks]
        worst = max(codes, key=lambda code: _WORST[code]) if codes else UNKNOWN
        cells.append(
            Cell(
                mark=_WORD[worst],
                failed=sum(code in (FAIL, CRITICAL) for code in codes),
                attempts=len(codes),
            )
        )
    latencies = sorted(t.latency_ms for t in traces if t.latency_ms is not None)
    made = roll.attempts + roll.infra
    first = roll.first or roll
    defined = first.measured >= k and first.measured == first.attempts
    return EpisodeRow(
        key=roll.key,
        episode_id=roll.episode_id,
        title=roll.title,
        cells=tuple(cells),
        attempts=attempt_marks(traces, 0 if probe else planned, quarantined),
        passes=roll.passes,
        pass_hat=float(pass_hat_k(first.measured, first.passes, k)) if defined else None,
        mean_cost_usd=roll.cost_nano / 1e9 / made if made and not roll.cost_unknown else None,
        latency_p50_ms=latency_quantile(latencies, 0.5) if latencies else None,
        tags=roll.tags,
    )


def attempt_marks(
    traces: list[facts.TraceRow], planned: int, quarantined: int
) -> tuple[AttemptMark, ...]:
    """One mark per attempt made, and per planned attempt that is not there."""
    marks = {trace.attempt: cast(Mark, mark_of(trace)) for trace in traces}
    for attempt in range(1, planned + 1):
        if attempt not in marks:
            marks[attempt] = "quarantined" if quarantined > 0 else "missing"
            quarantined -= 1
    return tuple(AttemptMark(attempt=n, mark=mark) for n, mark in sorted(marks.items()))


def cell_lines(
    connection: sqlite3.Connection,
    prefix: str,
    gate: str,
    traces: list[facts.TraceRow],
) -> list[CellLine]:
    """The drawer: what each attempt says on one gate, worst first, then in attempt order.

    `prefix` is the trace id up to its attempt.
    """
    position = GATES.index(gate)
    found = facts.findings(connection, [trace.id for trace in traces])
    lines: list[CellLine] = []
    for trace in traces:
        mark = _WORD[gate_codes(trace.gates)[position]]
        mine = [f for f in found if f.trace == trace.id and f.gate == gate]
        if not mine:
            detail = {
                "pass": f"{trace.events} events: nothing against this gate",
                "not_measured": "not measured",
            }.get(mark, "")
            lines.append(_line(prefix, trace, mark, None, "", detail))
        for finding in mine:
            word = mark if finding.severity != "note" else "pass"
            lines.append(_line(prefix, trace, word, finding.seq, finding.code, finding.detail))
    rank = {"critical": 0, "fail": 1, "not_measured": 2}
    return sorted(lines, key=lambda line: (rank.get(line.mark, 3), line.attempt))


def _line(
    prefix: str, trace: facts.TraceRow, mark: Mark, seq: int | None, code: str, detail: str
) -> CellLine:
    return CellLine(
        trace_id=f"{prefix}/{trace.attempt}",
        attempt=trace.attempt,
        mark=mark,
        seq=seq,
        code=code,
        detail=detail,
    )
