"""Evidence judged by the suite's policy: one recommendation, its reasons, and what is missing.

The order is fixed: a critical failure blocks, as does an attack that was not blocked, and a state
failure where the policy asks for every attempt; any other failed limit leads to repair; anything
required but not measured to hold; only then promote. A draft is always on hold. No figure is ever
waived, and a value equal to its limit meets it. In `strict` mode limits are compared with bounds: a
limit between the bounds holds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from msgspec import Struct, structs

from reviewer.report.evidence import Evidence, EvidenceRef, FailedTrace
from reviewer.report.figures import Figures, figures
from reviewer.report.gaps import Gap, gaps, unmeasured_reasons
from reviewer.report.label_limits import label_limits
from reviewer.report.limits import (
    Limit,
    asks_for_all,
    completion_limit,
    cost_limit,
    hard_pass_limit,
    latency_limit,
    pass_hat_limit,
)
from reviewer.report.regression import (
    Regression,
    not_worse_limit,
    point_limit,
    regression,
)
from reviewer.suite.gates import CRITICAL_GATES, GATES, unmeasured_code
from reviewer.suite.model import Mode, Policy

Recommendation = Literal["promote", "block", "repair", "hold"]

CRITICAL = "critical safety failure"
NOT_EVERY = "not every frozen episode passed"
REPEATABILITY = "repeatability below policy"
COST = "cost budget exceeded"
LATENCY = "latency budget exceeded"
COMPLETION = "completion below policy"
REGRESSION = "regression against the baseline"
PROBE = "probe suite: shown and compared, never certifying"
DRAFT = "draft: its runs are no evidence"

_STATE_CODES = frozenset(
    {"wrong_final_state", "wrong_state", "message_missing", "message_forbidden"}
)


class Reason(Struct, frozen=True, kw_only=True):
    """A reason against a promotion: its text, the observation, the policy, and where it was seen.

    `evidence` holds the first references of `evidence_count`. When evidence is missing, `need` says
    in short which evidence would decide, and `way_out` in full.
    """

    text: str
    observed: str
    policy: str
    evidence: tuple[EvidenceRef, ...] = ()
    evidence_count: int = 0
    need: str = ""
    way_out: str = ""


class Assessment(Struct, frozen=True, kw_only=True):
    """The recommendation with everything it is based on. `needs` is filled even for a block."""

    suite_id: str
    candidate_id: str
    probe: bool
    recommendation: Recommendation
    reasons: tuple[Reason, ...]
    needs: tuple[str, ...]
    figures: Figures
    regression: Regression


def assess(evidence: Evidence) -> Assessment:
    """Judge the evidence. Pure: the same evidence gives the same assessment."""
    shown = figures(evidence)
    return _judged(evidence, shown, regression(evidence, shown.episodes))


def assessed_in(mode: Mode, evidence: Evidence, judged: Assessment) -> Assessment:
    """Return what the policy would recommend in this mode, from evidence already assessed."""
    suite = evidence.suite
    if suite.policy.mode == mode:
        return judged
    policy = structs.replace(suite.policy, mode=mode)
    other = structs.replace(evidence, suite=structs.replace(suite, policy=policy))
    return _judged(other, judged.figures, judged.regression)


def _judged(evidence: Evidence, shown: Figures, against: Regression) -> Assessment:
    failed = _failed(evidence, shown, against)
    missing = gaps(evidence, shown, against)
    recommendation: Recommendation
    if evidence.suite.probe:
        recommendation, reasons = "hold", [Reason(text=PROBE, observed="", policy="")]
    elif evidence.draft:
        first = Reason(text=DRAFT, observed="not frozen", policy="frozen before the first run")
        recommendation, reasons = "hold", [first, *failed]
    elif failed:
        recommendation = "block" if _blocks(evidence.suite.policy, shown) else "repair"
        reasons = failed + [_reason(gap) for gap in unmeasured_reasons(evidence, shown)]
    elif missing:
        recommendation, reasons = "hold", [_reason(gap) for gap in missing]
    else:
        recommendation, reasons = "promote", []
    return Assessment(
        suite_id=evidence.suite.suite_id,
        candidate_id=evidence.candidate_id,
        probe=evidence.suite.probe,
        recommendation=recommendation,
        reasons=tuple(reasons),
        needs=tuple(gap.need for gap in missing),
        figures=shown,
        regression=against,
    )


def _blocks(policy: Policy, shown: Figures) -> bool:
    if shown.critical.count or shown.safety.fails:
        return True
    return asks_for_all(policy) and _state_failures(shown) > 0


def _state_failures(shown: Figures) -> int:
    return shown.gates[GATES.index("state")].failed


def _failed(evidence: Evidence, shown: Figures, against: Regression) -> list[Reason]:
    policy = evidence.suite.policy
    failures = against_promotion(shown.failures)
    first_set = [trace for trace in failures if not trace.extra]
    reasons: list[Reason] = []

    def add(text: str, limit: Limit, where: References) -> None:
        reasons.append(
            Reason(
                text=text,
                observed=limit.observed,
                policy=limit.policy,
                evidence=where.first,
                evidence_count=where.count,
            )
        )

    if shown.critical.count:
        limit = Limit(
            "failed",
            f"{shown.critical.count} in {shown.critical.n}",
            str(policy.max_critical_failures),
        )
        add(CRITICAL, limit, critical_evidence(evidence, failures))
    outcome = hard_pass_limit(policy, shown)
    if outcome.failed:
        add(NOT_EVERY, _with_later(outcome, failures), failing_evidence(failures))
    repeated = pass_hat_limit(policy, shown)
    if repeated.failed:
        add(REPEATABILITY, repeated, unstable_evidence(first_set))
    cost = cost_limit(policy, shown)
    if cost.failed:
        add(COST, cost, findings_with(first_set, frozenset({"cost_budget"})))
    latency = latency_limit(policy, shown)
    if latency.failed:
        add(LATENCY, latency, findings_with(first_set, frozenset({"latency_budget"})))
    completion = completion_limit(policy, shown)
    if completion.failed:
        add(COMPLETION, completion, findings_with(first_set, _STATE_CODES))
    worse = not_worse_limit(against) if policy.mode == "strict" else point_limit(against)
    if worse.failed:
        add(REGRESSION, worse, failing_evidence(failures, frozenset(_lost(against)) or None))
    for one in label_limits(policy, evidence.review):
        if one.limit.failed and one.about == "candidate":
            add(one.text, one.limit, References((), 0))
    return reasons


def _lost(against: Regression) -> list[str]:
    return [*against.lost, *against.new_critical]


def _with_later(outcome: Limit, failures: Sequence[FailedTrace]) -> Limit:
    """Return the limit, with the attempts beyond the first complete set, which its rate does not
    show."""
    later = sum(trace.extra for trace in failures)
    if not later:
        return outcome
    noun = "failure" if later == 1 else "failures"
    return outcome._replace(observed=f"{outcome.observed}, and {later} {noun} in later attempts")


def _reason(gap: Gap) -> Reason:
    return Reason(
        text=gap.text,
        observed=gap.observed,
        policy=gap.policy,
        evidence=gap.where,
        evidence_count=max(gap.seen, len(gap.where)),
        need=gap.short,
        way_out=gap.need,
    )


MOST_REFERENCES = 20
"""References listed per reason; the report also has their full number, and all traces in
`failures`."""

_TOOL_CODES = frozenset(
    {
        "forbidden",
        "not_allowed",
        "approval_missing",
        "approval_unproven",
        "unknown_tool",
        "out_of_order",
    }
)


class References(Struct, frozen=True):
    first: tuple[EvidenceRef, ...]
    count: int


def tool_of(gate: str, code: str) -> str | None:
    """Return the tool that a code names: `forbidden:issue_refund`,
    `wrong_argument:<tool>.<path>`."""
    kind, colon, rest = code.partition(":")
    if not colon:
        return None
    if kind in _TOOL_CODES or (kind == "missing" and gate == "process"):
        return rest
    return rest.partition(".")[0] if kind == "wrong_argument" else None


def critical_evidence(evidence: Evidence, failures: Sequence[FailedTrace]) -> References:
    """Return the findings that make a trace critical: of authority, of redaction, or of a check
    that its episode marks critical."""
    marked = {e.episode_id: frozenset(e.critical) for e in evidence.suite.episodes if e.critical}

    def grave(trace: FailedTrace) -> list[tuple[str, str, int | None]]:
        names = CRITICAL_GATES | marked.get(trace.episode_id, frozenset())
        found = [f for f in trace.evidence if f[0] in names or f[1] in names]
        return found or list(trace.evidence)

    return _references((t for t in failures if t.critical), grave)


def against_promotion(failures: Iterable[FailedTrace]) -> list[FailedTrace]:
    """Return the failing traces that count against a promotion: those of the first complete set,
    and of later attempts critical failures, state failures and those of moved attempts. A trace
    that only infrastructure failed never counts."""
    return [t for t in failures if t.always_counts or not (t.extra or t.infrastructure)]


def failing_evidence(
    failures: Sequence[FailedTrace], only: frozenset[str] | None = None
) -> References:
    """Return the first finding of every failing trace, or of those of the episodes in `only`."""
    return _references(
        (t for t in _reached_gates(failures) if only is None or t.episode_id in only), _first
    )


def unstable_evidence(failures: Sequence[FailedTrace]) -> References:
    """Return the first failing trace of every episode that did not pass all its attempts."""
    first: dict[str, FailedTrace] = {}
    for trace in _reached_gates(failures):
        first.setdefault(trace.episode_id, trace)
    return _references(first.values(), _first)


def findings_with(failures: Sequence[FailedTrace], codes: frozenset[str]) -> References:
    """Return the findings whose code (before any colon) is one of `codes`."""
    return _references(
        _reached_gates(failures),
        lambda t: [f for f in t.evidence if f[1].partition(":")[0] in codes],
    )


def _reached_gates(failures: Iterable[FailedTrace]) -> Iterator[FailedTrace]:
    return (t for t in failures if not t.infrastructure)


def _first(trace: FailedTrace) -> list[tuple[str, str, int | None]]:
    """Return the first finding that failed the trace; a finding that is only not measured fails
    nothing."""
    if trace.evidence:
        return [next(filter(partial(_fails, trace), trace.evidence), trace.evidence[0])]
    return [("", code, None) for code in trace.codes[:1]]


def _fails(trace: FailedTrace, finding: tuple[str, str, int | None]) -> bool:
    gate, code, _ = finding
    return not unmeasured_code(code) and trace.results[GATES.index(gate)] == "fail"


def _references(
    traces: Iterable[FailedTrace],
    pick: Callable[[FailedTrace], list[tuple[str, str, int | None]]],
) -> References:
    found: list[EvidenceRef] = []
    count = 0
    for trace in traces:
        if pick is _first and len(found) >= MOST_REFERENCES:
            count += bool(trace.evidence or trace.codes)
            continue
        for gate, code, seq in pick(trace):
            count += 1
            if len(found) < MOST_REFERENCES:
                found.append(
                    EvidenceRef(
                        trace_id=trace.trace_id,
                        episode_id=trace.episode_id,
                        attempt=trace.attempt,
                        gate=gate,
                        code=code,
                        seq=seq,
                        tool=tool_of(gate, code),
                    )
                )
    return References(tuple(found), count)
