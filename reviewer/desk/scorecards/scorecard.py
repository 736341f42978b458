"""The scorecard as it is shown: an assessment and a page of rows, in the desk's terms."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from msgspec import UNSET, UnsetType, convert

from reviewer.db.codec import CRITICAL, FAIL, UNKNOWN, gate_codes
from reviewer.db.connection import Connection
from reviewer.db.queries.episode_order import GroupRow
from reviewer.db.queries.episodes import RollRow, SideRow
from reviewer.db.queries.filters import newest_codes, newest_tools, tags_of_suite
from reviewer.db.queries.traces import TraceRow, findings_of, flagging
from reviewer.db.search import unindexed_traces
from reviewer.desk.marks import attempt_marks
from reviewer.desk.outcome_views import OutcomeCell, cell_of
from reviewer.desk.scorecards.views import FilterValues, Group, SideCell
from reviewer.desk.views import (
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
from reviewer.report.assess import Assessment
from reviewer.report.evidence import Evidence as Gathered
from reviewer.report.figures import Figures, other_cost, others_spent
from reviewer.report.formatting import counted
from reviewer.report.lost import lost_attempts, lost_texts
from reviewer.report.rates import Rate as LabelCounts
from reviewer.report.source_headline import headline_text, headlines
from reviewer.report.talks import person_episodes, person_texts, talk_section, talk_texts
from reviewer.review import queue
from reviewer.stats.cost_latency import latency_quantile
from reviewer.stats.rates import pass_hat_k
from reviewer.suite.gates import ALWAYS, CRITICAL_GATES, GATES


def reasons_of(assessment: Assessment) -> tuple[Reason, ...]:
    """Return the recommendation's reasons with their evidence, numbered from 1."""
    return tuple(
        Reason(
            number=number,
            text=reason.text,
            observed=reason.observed,
            policy=reason.policy,
            evidence=convert(reason.evidence, tuple[Evidence, ...], from_attributes=True),
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
    outcome: OutcomeCell | UnsetType = UNSET,
) -> Scorecard:
    """Return the part of a scorecard above the rows."""
    shown = assessment.figures
    policy = gathered.suite.policy
    critical_by_gate = _critical_by_gate(gathered)
    return Scorecard(
        suite=suite,
        candidate_id=gathered.candidate_id,
        recommendation=assessment.recommendation,
        reasons=reasons_of(assessment),
        needs=assessment.needs,
        slots=convert(shown.slots, Slots, from_attributes=True),
        hard_pass=rate_view(shown.hard_pass, policy.hard_pass_rate),
        pass_hat_k=shown.pass_hat.k,
        pass_hat=_repeated(shown, policy.pass_hat.min),
        critical=shown.critical.count,
        critical_n=shown.critical.n,
        critical_unknown=shown.critical.unknown,
        critical_upper=shown.critical.upper,
        critical_upper_episodes=shown.critical.upper_episodes,
        total_cost_usd=shown.cost.total_usd,
        cpst_usd=shown.cost.cpst_usd,
        cpst_possible=shown.cost.possible,
        cpst_budget_usd=policy.max_cpst_usd,
        latency_p50_ms=shown.latency.p50,
        latency_p95_ms=shown.latency.p95,
        latency_unknown=shown.latency.unknown,
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
        mean_cost_usd=_mean_cost(shown),
        source_headlines=tuple(map(headline_text, headlines(gathered, shown.hard_pass))),
        users=(
            *talk_texts(talk_section(gathered)),
            *person_texts(person_episodes(gathered, shown), shown.pass_hat.k),
        ),
        lost=tuple(lost_texts(lost_attempts(gathered, shown.slots.infrastructure))),
        outcome=outcome,
        others_spent=tuple(others_spent({one.who: other_cost(one) for one in gathered.others})),
    )


def rate_view(rate: LabelCounts, policy: float | None) -> Rate:
    """Return a rate of the report as a view."""
    known = rate.known
    return Rate(
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        passes=rate.passes,
        policy=policy,
        why=rate.why or "",
        unknown=known.unknown,
        known=known.value,
        low_possible=known.low_possible,
        high_possible=known.high_possible,
    )


def _repeated(shown: Figures, policy: float) -> Rate:
    """Return pass^k for the policy's k, over episodes."""
    hat = shown.pass_hat
    possible = hat.known.get(str(hat.k))
    return Rate(
        value=hat.value,
        low=hat.low,
        high=hat.high,
        n=len(shown.episodes),
        passes=shown.hard_pass.passes,
        policy=policy,
        why=hat.why,
        unknown=shown.hard_pass.not_measured,
        known=possible.value if possible else None,
        low_possible=possible.low_possible if possible else None,
        high_possible=possible.high_possible if possible else None,
    )


def _mean_cost(shown: Figures) -> float | None:
    """Return the mean over the attempts whose cost is in the total, including those lost to
    infrastructure."""
    made = shown.counted.total(lambda e: e.attempts + e.infrastructure)
    total = shown.cost.total_usd
    return None if total is None or not made else total / made


def _critical_by_gate(gathered: Gathered) -> dict[str, int]:
    counts: dict[str, int] = {}
    for trace in gathered.failures:
        if trace.critical:
            for gate in {gate for gate, _, _ in trace.evidence}:
                counts[gate] = counts.get(gate, 0) + (gate in CRITICAL_GATES)
    return counts


_WORST = {CRITICAL: 3, FAIL: 2, UNKNOWN: 1, 0: 0}
_WORD: dict[int, Mark] = {CRITICAL: "critical", FAIL: "fail", UNKNOWN: "not_measured", 0: "pass"}


def row_of(
    roll: RollRow,
    traces: list[TraceRow],
    k: int,
    planned: int,
    quarantined: int,
    flags: tuple[str, ...] = (),
    in_force: tuple[str, ...] = ALWAYS,
    by_person: bool = False,
    outcome: OutcomeCell | UnsetType = UNSET,
) -> EpisodeRow:
    """Return one row of the grid: the worst result of each gate over all attempts, and one mark per
    attempt. `planned` is 0 for a probe, which has no plan. Attempts whose user is played
    `by_person` count as no repetition."""
    latencies = [t.latency_ms for t in traces if t.latency_ms is not None]
    made = roll.attempts + roll.infra
    first = roll.first or roll
    defined = not by_person and first.measured >= k and first.measured == first.attempts
    return EpisodeRow(
        key=roll.key,
        episode_id=roll.episode_id,
        title=roll.title,
        cells=_cells(tuple(sorted(trace.gates for trace in traces)), in_force),
        attempts=attempt_marks(traces, planned, quarantined),
        passes=roll.passes,
        pass_hat=float(pass_hat_k(first.measured, first.passes, k)) if defined else None,
        mean_cost_usd=roll.cost_nano / 1e9 / made if made and not roll.cost_unknown else None,
        latency_p50_ms=latency_quantile(latencies, 0.5) if latencies else None,
        tags=roll.tags,
        flags=flags,
        by_person=by_person,
        outcome=outcome,
    )


def outcome_cell(
    traces: Sequence[TraceRow], said: Mapping[int, tuple[int | None, float | None]]
) -> OutcomeCell:
    """Return the sources' verdicts on some attempts, in order of attempt."""
    ordered = sorted(traces, key=lambda trace: trace.attempt)
    return cell_of([said.get(trace.id, (None, None)) for trace in ordered])


@lru_cache(4096)
def _cells(masks: tuple[int, ...], in_force: tuple[str, ...]) -> tuple[Cell, ...]:
    """Return the worst result of each gate over some attempts. Cached, since most episodes have the
    same masks."""
    cells = []
    made = [gate_codes(mask) for mask in masks]
    for gate in in_force:
        codes = [each[GATES.index(gate)] for each in made]
        worst = max(codes, key=_WORST.__getitem__) if codes else UNKNOWN
        failed = sum(code in (FAIL, CRITICAL) for code in codes)
        cells.append(Cell(mark=_WORD[worst], failed=failed, attempts=len(codes)))
    return tuple(cells)


def flags_of(connection: Connection, traces: Sequence[TraceRow]) -> dict[int, tuple[str, ...]]:
    """Return episode key → high flags of its attempts, the most pressing first. Attempts lost to
    infrastructure have none."""
    said, codes = flagging(connection, [trace.id for trace in traces])
    known: dict[tuple[object, ...], tuple[str, ...]] = {}
    found: dict[int, set[str]] = {}
    for trace in traces:
        if trace.infra and trace.passed is None:
            continue
        alike = (
            trace.critical, trace.termination, trace.passed,
            said.get(trace.id), codes.get(trace.id),
        )  # fmt: skip
        if alike not in known:
            known[alike] = _high(trace, said.get(trace.id), codes.get(trace.id, frozenset()))
        if known[alike]:
            found.setdefault(trace.episode, set()).update(known[alike])
    return {
        key: tuple(reason for reason in queue.STRATA["high"] if reason in reasons)
        for key, reasons in found.items()
    }


def _high(trace: TraceRow, said: int | None, codes: frozenset[str]) -> tuple[str, ...]:
    found = queue.trace_signals(
        critical=bool(trace.critical),
        codes=codes,
        termination=trace.termination,
        passed=None if trace.passed is None else bool(trace.passed),
        said_elsewhere=None if said is None else bool(said),
    )
    reasons = queue.reasons_of(found)
    return tuple(reason for reason in reasons if queue.STRATUM_OF[reason] == "high")


def _may_be_critical(row: GroupRow) -> int:
    """Return the most attempts that may be critical beside those that are."""
    lacking = sum(
        many for gate, many in zip(GATES, row.unknown, strict=True) if gate in CRITICAL_GATES
    )
    return min(lacking, row.all_attempts - row.critical)


def group_of(
    label: str,
    made: Sequence[GroupRow],
    keys: Sequence[int],
    k: int,
    in_force: tuple[str, ...],
) -> Group:
    """Return a group's head, from sums over episodes with equal counts."""
    repeated = [row for row in made if not row.by_person]
    episodes = sum(row.episodes for row in made)
    hat = None
    if repeated and all(row.measured >= k and row.measured == row.attempts for row in repeated):
        shares = (pass_hat_k(row.measured, row.passes, k) * row.episodes for row in repeated)
        hat = float(sum(shares, Fraction(0)) / sum(row.episodes for row in repeated))
    all_attempts = sum(row.all_attempts for row in made)
    infra = sum(row.infra for row in made)
    unpriced = sum(row.cost_unknown for row in made)
    cost = sum(row.cost_nano for row in made)
    spent = all_attempts + infra
    return Group(
        label=label,
        episodes=episodes,
        attempts=all_attempts,
        passes=sum(row.all_passes for row in made),
        counted=sum(row.attempts * row.episodes for row in made),
        counted_passes=sum(row.passes * row.episodes for row in made),
        counted_unknown=sum((row.attempts - row.measured) * row.episodes for row in made),
        critical=sum(row.critical for row in made),
        critical_unknown=sum(_may_be_critical(row) for row in made),
        infra=infra,
        failed=tuple(sum(row.fail[GATES.index(gate)] for row in made) for gate in in_force),
        pass_hat=hat,
        mean_cost_usd=cost / 1e9 / spent if spent and not unpriced else None,
        keys=tuple(keys),
    )


def side_cell(row: SideRow | None) -> SideCell:
    """Return one candidate's mark on an episode; missing where it has made no attempt."""
    if row is None or not row.attempts + row.infra:
        return SideCell(mark="missing", passes=0, attempts=0, gate="")
    mark: Mark = "pass"
    if row.critical:
        mark = "critical"
    elif row.measured > row.passes:
        mark = "fail"
    elif row.measured < row.attempts:
        mark = "not_measured"
    elif not row.attempts:
        mark = "infra"
    counts = row.fail
    if mark == "critical":  # name the gate that made it critical, not one that fails more often
        grave = tuple(
            count if gate in CRITICAL_GATES else 0
            for gate, count in zip(GATES, counts, strict=True)
        )
        counts = grave if any(grave) else counts
    most = max(counts)
    gate = GATES[counts.index(most)] if most else ""
    return SideCell(mark=mark, passes=row.passes, attempts=row.attempts, gate=gate)


MOST_OFFERED = 200


def filter_values(connection: Connection, suite: int, candidate: int) -> FilterValues:
    """Return the tags of the suite, and the tools and codes of the newest rows."""
    return FilterValues(
        tag=tuple(sorted(tags_of_suite(connection, suite))[:MOST_OFFERED]),
        tool=tuple(sorted(newest_tools(connection))[:MOST_OFFERED]),
        code=tuple(sorted(newest_codes(connection))[:MOST_OFFERED]),
        unread=unindexed_traces(connection, candidate),
    )


def cell_lines(
    connection: Connection,
    prefix: str,
    gate: str,
    traces: list[TraceRow],
) -> list[CellLine]:
    """Return the lines of the drawer: each attempt on one gate, worst first, then in attempt order.

    `prefix` is the trace id up to its attempt.
    """
    position = GATES.index(gate)
    found = findings_of(connection, [trace.id for trace in traces])
    lines: list[CellLine] = []
    for trace in traces:
        mark = _WORD[gate_codes(trace.gates)[position]]
        mine = [f for f in found if f.trace == trace.id and f.gate == gate]
        if not mine:
            detail = {
                "pass": f"{counted(trace.events, 'event')}: nothing against this gate",
                "not_measured": "not measured",
            }.get(mark, "")
            lines.append(_line(prefix, trace, mark, None, "", detail))
        for finding in mine:
            word = mark if finding.severity != "note" else "pass"
            lines.append(_line(prefix, trace, word, finding.seq, finding.code, finding.detail))
    rank = {"critical": 0, "fail": 1, "not_measured": 2}
    return sorted(lines, key=lambda line: (rank.get(line.mark, 3), line.attempt))


def _line(
    prefix: str, trace: TraceRow, mark: Mark, seq: int | None, code: str, detail: str
) -> CellLine:
    return CellLine(
        trace_id=f"{prefix}/{trace.attempt}",
        attempt=trace.attempt,
        mark=mark,
        seq=seq,
        code=code,
        detail=detail,
    )
