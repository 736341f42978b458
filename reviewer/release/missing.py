"""What a promotion still needs: each gap in words, with its count and what would close it."""

from collections.abc import Sequence

from msgspec import Struct, structs

from reviewer.release.amounts import named
from reviewer.release.evidence import Evidence
from reviewer.release.figures import Figures
from reviewer.release.limits import (
    Limit,
    completion_limit,
    cost_limit,
    hard_pass_limit,
    latency_limit,
    pass_hat_limit,
)

_UNKNOWN = {
    "no_start_digest": "start state digest",
    "cost_not_measured": "cost",
}


class Gap(Struct, frozen=True, kw_only=True):
    """One thing not measured: `text` as a reason, `need` as a sentence, `short` for a banner."""

    text: str
    observed: str
    policy: str
    need: str
    short: str


def gaps(evidence: Evidence, shown: Figures) -> list[Gap]:
    """Everything required that the evidence does not hold, in a fixed order."""
    found = _slot_gaps(shown)
    found += _unmeasured(evidence, shown)
    if evidence.candidate is None or not evidence.candidate.digest:
        what = f"candidate manifest of {evidence.candidate_id}"
        found.append(_gap(what, "unknown digest", "candidate known by digest", what))
    found += _frozen(evidence)
    limits = _open_limits(evidence, shown, explained=bool(found))
    return [*found, *_review_gaps(evidence, shown), *limits]


def _review_gaps(evidence: Evidence, shown: Figures) -> list[Gap]:
    """Labels that the policy wants, and high flags that nobody has looked at. Beside a critical
    failure those are not asked for: no label can lift it."""
    review, wanted = evidence.review, evidence.suite.policy.labels.min_pairs
    made, found = review.pairs if review else 0, []
    if made < wanted:
        more, pairs = wanted - made, _plural("pair", wanted - made)
        found.append(
            Gap(
                text=f"labels missing: {more} more {pairs}",
                observed=f"{made} of {wanted} pairs",
                policy=f"{wanted} pairs",
                need=f"{more} more labelled {pairs}",
                short=f"needs {more} more {pairs}",
            )
        )
    if review is not None and review.open_high and not shown.critical.count:
        flags = _plural("high flag", review.open_high)
        found.append(
            Gap(
                text=f"review missing: {review.open_high} of {review.high} high flags open",
                observed=f"{review.high - review.open_high} of {review.high} closed",
                policy="every high flag closed by a label",
                need=f"labels that close {review.open_high} {flags}",
                short=f"needs {review.open_high} {flags} closed",
            )
        )
    return found


def _gap(what: str, observed: str, policy: str, need: str) -> Gap:
    return Gap(
        text=f"evidence missing: {what}",
        observed=observed,
        policy=policy,
        need=need,
        short=f"needs {need}",
    )


def _slot_gaps(shown: Figures) -> list[Gap]:
    slots = shown.slots
    if not slots.planned:
        what = "the suite plans no attempts"
        return [_gap(what, "0 planned", "at least one attempt", "episodes in the suite")]
    found = []
    for count, places, state, remedy in (
        (slots.missing, slots.missing_in, "not run", "more run"),
        (slots.infrastructure, slots.infrastructure_in, "failed by infrastructure", "rerun"),
        (slots.quarantined, slots.quarantined_in, "quarantined", "valid record"),
    ):
        if not count:
            continue
        where = named([name for name, _ in places])
        need = f"{count} {_plural(remedy, count)}"
        gap = _gap(
            f"{count} of {slots.planned} attempts {state} ({where})",
            f"{slots.valid} of {slots.planned} valid",
            f"{slots.planned} attempts",
            f"{need} ({_spread(places)})",
        )
        found.append(structs.replace(gap, short=f"needs {need}"))
    return found


def _spread(places: Sequence[tuple[str, int]]) -> str:
    """Episodes with their counts; a single episode holds them all and needs no count."""
    if len(places) == 1:
        return places[0][0]
    return named([f"{name} × {count}" for name, count in places])


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _unmeasured(evidence: Evidence, shown: Figures) -> list[Gap]:
    made = shown.hard_pass.n
    found = []
    for code, count in evidence.unknown_codes:
        if count:
            what = _UNKNOWN.get(code, code)
            text = f"{what} of {count} of {made} attempts"
            need = f"{what} of {count} {_plural('attempt', count)}"
            found.append(_gap(text, f"{count} of {made} not measured", "all measured", need))
    if not found:
        for gate in shown.gates:
            if gate.open:
                what = f"gate {gate.gate} of {gate.open}"
                seen = f"{gate.open} of {made} not measured"
                need = f"{what} {_plural('attempt', gate.open)}"
                found.append(_gap(f"{what} of {made} attempts", seen, "all measured", need))
    open_verdicts = shown.hard_pass.not_measured
    if not found and open_verdicts:
        what = f"verdict of {open_verdicts}"
        found.append(
            _gap(
                f"{what} of {made} attempts",
                f"{open_verdicts} of {made} not measured",
                "all measured",
                f"{what} {_plural('attempt', open_verdicts)}",
            )
        )
    return found


def frozen_before_first_run(evidence: Evidence) -> bool:
    """Whether the suite was frozen before the first record of this candidate came in."""
    if evidence.frozen_seq is None or not evidence.suite.digest:
        return False
    return evidence.first_run_seq is None or evidence.frozen_seq < evidence.first_run_seq


def _frozen(evidence: Evidence) -> list[Gap]:
    if frozen_before_first_run(evidence):
        return []
    name = evidence.suite.suite_id
    frozen = evidence.frozen_seq is not None and evidence.suite.digest
    seen = "frozen after the first run" if frozen else "not frozen"
    what = f"freeze of {name} before the first run"
    need = f"runs of {name} made after its freeze" if frozen else f"a freeze of {name}, then runs"
    return [_gap(what, seen, "frozen before the first run", need)]


def _open_limits(evidence: Evidence, shown: Figures, explained: bool) -> list[Gap]:
    """A gap for each limit that the evidence does not decide: none of them is ever passed over.

    A rate left open by gaps already named is not named again (`explained`). One that is known, and
    open only because its bound is wide, is always named.
    """
    policy = evidence.suite.policy
    found = []
    if not explained:
        for what, limit in (
            ("hard pass rate", hard_pass_limit(policy, shown)),
            ("completion", completion_limit(policy, shown)),
        ):
            if limit.open:
                found.append(_limit_gap(what, limit))
    k = policy.pass_hat.k
    repeated = pass_hat_limit(policy, shown)
    more = _more_attempts(evidence, shown)
    if repeated.open and more:
        what = f"pass^{k} needs {k} attempts in every episode"
        need = f"{more} {_plural('more run', more)}"
        gap = _gap(what, repeated.observed, repeated.policy, f"{need} for pass^{k}")
        found.append(structs.replace(gap, short=f"needs {need}"))
    elif repeated.open and (not explained or shown.pass_hat.exact is not None):
        found.append(_limit_gap(f"pass^{k}", repeated))
    cost = cost_limit(policy, shown)
    if shown.cost.unknown and policy.max_cpst_usd is not None:
        if not any(code == "cost_not_measured" and n for code, n in evidence.unknown_codes):
            need = f"cost of {shown.cost.unknown} {_plural('attempt', shown.cost.unknown)}"
            found.append(_gap(need, cost.observed, cost.policy, need))
    elif cost.open and (not explained or shown.cost.exact_cpst is not None):
        found.append(_limit_gap("cost per success", cost))
    latency = latency_limit(policy, shown)
    if latency.open and (not explained or shown.hard_pass.n):
        found.append(_limit_gap("p95 latency", latency))
    return found


def _limit_gap(what: str, limit: Limit) -> Gap:
    need = limit.lacking or f"attempts that measure {what}"
    return _gap(f"{what}: {limit.observed}", limit.observed, limit.policy, need)


def _more_attempts(evidence: Evidence, shown: Figures) -> int:
    """Attempts that pass^k needs beyond those the plan already asks for."""
    k = evidence.suite.policy.pass_hat.k
    return sum(max(0, k - max(e.attempts, evidence.plan)) for e in shown.counted)
