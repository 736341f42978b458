"""What limits still need that the evidence does not decide."""

from msgspec import structs

from reviewer.report.evidence import Evidence
from reviewer.report.figures import Figures
from reviewer.report.gap import Gap, gap, plural
from reviewer.report.limits import (
    Limit,
    completion_limit,
    cost_limit,
    hard_pass_limit,
    latency_limit,
    pass_hat_limit,
)
from reviewer.report.regression import Regression, lost_limit, not_worse_limit


def open_limits(
    evidence: Evidence, shown: Figures, regression: Regression, explained: bool
) -> list[Gap]:
    """A gap for each limit that the evidence does not decide: none of them is ever passed over.

    A rate left open by gaps already named is not named again (`explained`). One that is known, and
    open only because its bound is wide, is always named.
    """
    policy = evidence.suite.policy
    found = []
    for what, rate, limit in (
        ("hard pass rate", shown.hard_pass, hard_pass_limit(policy, shown)),
        ("completion", shown.completion, completion_limit(policy, shown)),
    ):
        if limit.open and (not explained or rate.value is not None):
            found.append(_limit_gap(what, limit))
    k = policy.pass_hat.k
    repeated = pass_hat_limit(policy, shown)
    more = _more_attempts(evidence, shown)
    if repeated.open and more:
        what = f"pass^{k} needs {k} attempts in every episode"
        need = f"{more} {plural('more run', more)}"
        short = gap(what, repeated.observed, repeated.policy, f"{need} for pass^{k}")
        found.append(structs.replace(short, short=f"needs {need}"))
    elif repeated.open and (not explained or shown.pass_hat.exact is not None):
        found.append(_limit_gap("", repeated))
    cost = cost_limit(policy, shown)
    if shown.cost.unknown and policy.max_cpst_usd is not None:
        if not any(code == "cost_not_measured" and n for code, n in evidence.unknown_codes):
            need = f"cost of {shown.cost.unknown} {plural('attempt', shown.cost.unknown)}"
            found.append(gap(need, cost.observed, cost.policy, need))
    elif cost.open and (not explained or shown.cost.exact_cpst is not None):
        found.append(_limit_gap("cost per success", cost))
    latency = latency_limit(policy, shown)
    if latency.open and (not explained or shown.hard_pass.n):
        found.append(_limit_gap("p95 latency", latency))
    against = not_worse_limit(regression) if policy.mode == "strict" else lost_limit(regression)
    if against.open:
        found.append(_limit_gap("regression", against))
    return found


def _limit_gap(what: str, limit: Limit) -> Gap:
    need = limit.lacking or f"attempts that measure {what or limit.observed}"
    named = f"{what}: {limit.observed}" if what else limit.observed
    return gap(named, limit.observed, limit.policy, need)


def _more_attempts(evidence: Evidence, shown: Figures) -> int:
    """Attempts that pass^k needs beyond those the plan already asks for."""
    k = evidence.suite.policy.pass_hat.k
    return sum(max(0, k - max(e.attempts, evidence.plan)) for e in shown.counted)
