"""Failures that a policy tolerates: those for which a rate below 1 leaves room, named one by one.

A critical failure is never among them. Every other failure is, while no limit on rates is missed:
each failure that a promotion tolerates is named.
"""

from fractions import Fraction

from msgspec import Struct

from reviewer.report.assess import against_promotion
from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.formatting import exact, plural
from reviewer.report.limits import completion_limit, hard_pass_limit
from reviewer.suite.gates import CRITICAL_GATES, GATES
from reviewer.suite.model import Policy

MOST_TOLERATED = 20
"""Traces listed; `failures` of the report has all of them."""


class Tolerated(Struct, frozen=True, kw_only=True):
    """Attempts that failed without being critical, `failing` of `attempts` made; the policy's rate
    leaves room for `allowed`. `by_gate` counts them by gate, `traces` holds the ids of the first
    ones."""

    failing: int
    attempts: int
    allowed: int
    hard_pass_rate: float
    completion_min: float | None
    by_gate: dict[str, int]
    traces: tuple[str, ...]


def allowed_failures(least: float, attempts: int) -> int:
    """Return how many of these attempts may fail where the share `least` must pass."""
    return int(Fraction(attempts) * (1 - exact(least)))


def allowed_at(policy: Policy, gate: str, attempts: int) -> int:
    """Return how many of these attempts may fail at a gate: none at a critical one."""
    if gate in CRITICAL_GATES:
        return 0
    allowed = allowed_failures(policy.hard_pass_rate, attempts)
    if gate == "state" and policy.completion_min is not None:
        allowed = min(allowed, allowed_failures(policy.completion_min, attempts))
    return allowed


def let_pass(evidence: Evidence, shown: Figures) -> Tolerated | None:
    """Return the failures that were tolerated; None without any, or where a limit on rates is
    missed."""
    policy = evidence.suite.policy
    if exact(policy.hard_pass_rate) == 1:
        return None
    if hard_pass_limit(policy, shown).failed or completion_limit(policy, shown).failed:
        return None
    failures = against_promotion(shown.failures)
    passed_over = [trace for trace in failures if not trace.critical]
    if not passed_over:
        return None
    made = shown.episodes.total(lambda e: e.attempts)
    by_gate = {
        gate: count
        for at, gate in enumerate(GATES)
        if (count := sum(trace.results[at] == "fail" for trace in passed_over))
    }
    return Tolerated(
        failing=len(passed_over),
        attempts=made,
        allowed=allowed_failures(policy.hard_pass_rate, made),
        hard_pass_rate=policy.hard_pass_rate,
        completion_min=policy.completion_min,
        by_gate=by_gate,
        traces=tuple(trace.trace_id for trace in passed_over[:MOST_TOLERATED]),
    )


def tolerated_text(found: Tolerated) -> str:
    """Return the fact in a sentence: how many failed of how many, at which gates, within which
    rate."""
    gates = ", ".join(f"{gate} {count}" for gate, count in found.by_gate.items())
    rates = f"hard_pass_rate {found.hard_pass_rate:g}"
    if found.completion_min is not None:
        rates += f", completion_min {found.completion_min:g}"
    return (
        f"{found.failing} of {plural(found.attempts, 'attempt')} failed and are tolerated "
        f"({gates}; {rates} leaves room for {found.allowed})"
    )


def tolerated_names(found: Tolerated) -> str:
    """Return the ids of the first traces, and how many more there are."""
    first = found.traces[:5]
    more = found.failing - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")
