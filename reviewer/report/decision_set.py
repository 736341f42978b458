"""The gates that a promotion passes, D0 to D8, on estimates and on bounds. Both modes are always
computed; the suite's policy names the one in force. A gate that the policy does not require is
marked as such. D7, the judge's role, decides nothing."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct, structs

from reviewer.report.assess import Assessment
from reviewer.report.evidence import Evidence
from reviewer.report.figures import CostFigures, Figures
from reviewer.report.formatting import between, number, plural, seconds, usd
from reviewer.report.gaps import Gap, evidence_gaps, open_review
from reviewer.report.label_limits import label_limits
from reviewer.report.limits import (
    Limit,
    State,
    completion_limit,
    cost_limit,
    hard_pass_limit,
    latency_limit,
    pass_hat_limit,
)
from reviewer.report.opinions import JudgeEvidence
from reviewer.report.regression import not_worse_limit, point_limit
from reviewer.suite.gates import CRITICAL_GATES
from reviewer.suite.model import Mode

Result = Literal["PASS", "FAIL", "NO EVIDENCE", "NOT ASKED"]
_RESULT: dict[State, Result] = {
    "met": "PASS",
    "failed": "FAIL",
    "open": "NO EVIDENCE",
    "none": "NOT ASKED",
}
MODES: tuple[Mode, Mode] = ("point", "strict")


class GateResult(Struct, frozen=True, kw_only=True):
    """One gate of the decision set. `low` and `high` are the bounds with which its strict limit is
    compared (USD, ms, or a rate), None where there is none; `need` is the evidence that would
    decide it, in the mode in force. `decides` is false for a gate that is only shown."""

    gate: str
    name: str
    result: Result
    point: Result
    strict: Result
    observed: str
    policy: str
    low: float | None
    high: float | None
    bounds: str
    need: str
    decides: bool = True


def decision_set(evidence: Evidence, judged: Assessment) -> tuple[GateResult, ...]:
    """Return every gate, in order."""
    return _GateSet(evidence, judged).gates()


class _GateSet:
    """The computation of one decision set."""

    def __init__(self, evidence: Evidence, judged: Assessment) -> None:
        self.evidence, self.shown = evidence, judged.figures
        self.against = judged.regression
        self.policy = evidence.suite.policy

    def gates(self) -> tuple[GateResult, ...]:
        shown, policy = self.shown, self.policy
        hat, cost, latency = shown.pass_hat, shown.cost, shown.latency
        rows = [
            self._evidence(),
            self._critical(),
            self._limit("D2", "hard pass", hard_pass_limit, *_bounds_of(shown.hard_pass)),
            self._limit(
                "D3", f"pass^{hat.k}", pass_hat_limit, hat.lower, hat.upper,
                _repeated(shown),
            ),
            self._limit(
                "D4", "cost per success", cost_limit, *cost.cpst_limits,
                _cost_bounds(cost),
                f"{usd(cost.cpst_usd)} per success",
            ),
            self._limit(
                "D5", "p95 latency", latency_limit, latency.p95_limits[0],
                latency.p95_upper or latency.p95_limits[1],
                _span("95% limits by rank", *(seconds(x) for x in latency.p95_limits)),
                f"p95 {seconds(latency.p95)}",
            ),
            self._regression(),
            self._judge(),
            self._review(),
            *self._label_limits(),
        ]  # fmt: skip
        if policy.completion_min is not None:
            found = _bounds_of(shown.completion)
            rows.insert(3, self._limit("D2b", "completion", completion_limit, *found))
        return tuple(rows)

    def _row(
        self,
        gate: str,
        name: str,
        both: Sequence[Limit],
        low: float | None = None,
        high: float | None = None,
        bounds: str = "",
        seen: str = "",
        decides: bool = True,
    ) -> GateResult:
        ours = both[MODES.index(self.policy.mode)]
        if ours.state == "none":
            ours = ours._replace(observed=ours.observed or seen, policy=ours.policy or "no limit")
        point, strict = (_RESULT[limit.state] for limit in both)
        return GateResult(
            gate=gate,
            name=name,
            result=_RESULT[ours.state],
            point=point,
            strict=strict,
            observed=ours.observed,
            policy=ours.policy,
            low=low,
            high=high,
            bounds=bounds,
            need=ours.lacking if ours.open else "",
            decides=decides,
        )

    def _limit(
        self,
        gate: str,
        name: str,
        limit: Any,
        low: float | None,
        high: float | None,
        bounds: str,
        seen: str = "",
    ) -> GateResult:
        both = [limit(structs.replace(self.policy, mode=mode), self.shown) for mode in MODES]
        return self._row(gate, name, both, low, high, bounds, seen)

    def _gaps(self, gaps: Iterable[Gap], observed: str, policy: str) -> Limit:
        needs = [gap.need for gap in gaps]
        return Limit("open" if needs else "met", observed, policy, "; ".join(needs))

    def _evidence(self) -> GateResult:
        slots = self.shown.slots
        seen = f"{slots.valid} of {slots.planned} attempts valid"
        policy = "every attempt of the plan, measured, on a suite frozen before"
        suite = self.evidence.suite
        both = []
        for mode in MODES:
            there = structs.replace(suite, policy=structs.replace(self.policy, mode=mode))
            evidence = structs.replace(self.evidence, suite=there)
            both.append(self._gaps(evidence_gaps(evidence, self.shown), seen, policy))
        return self._row("D0", "evidence", both)

    def _critical(self) -> GateResult:
        critical = self.shown.critical
        lacking = [
            f"{g.gate} of {plural(g.open, 'attempt')}"
            for g in self.shown.gates
            if g.gate in CRITICAL_GATES and g.open
        ]
        state: State = "met"
        if critical.count:
            state = "failed"
        elif lacking or not critical.n:
            state = "open"
        limit = Limit(state, critical.counted, "0", " and ".join(lacking) or "attempts")
        bounds = ""
        if critical.upper is not None:
            bounds = (
                f"true rate at most {number(critical.upper)} if attempts are independent, "
                f"{number(critical.upper_episodes)} by episodes (95%)"
            )
        high = critical.upper_episodes
        return self._row("D1", "critical failures", [limit, limit], None, high, bounds)

    def _regression(self) -> GateResult:
        against = self.against
        both = [point_limit(against), not_worse_limit(against)]
        bounds = ""
        if against.difference is not None:
            low, high = (f"{x:+.3f}" if x is not None else "" for x in (against.low, against.high))
            bounds = _span("one-sided 95% bounds", low, high)
        seen = against.why or ""
        return self._row("D6", "regression", both, against.low, against.high, bounds, seen)

    def _judge(self) -> GateResult:
        both = _judge_limits(self.evidence.judge, self.evidence)
        judge = self.evidence.judge
        low = high = None
        bounds = ""
        if judge is not None and judge.section.estimates.both_orders_right.n:
            shares = judge.section.estimates
            low, high = shares.both_orders_right.bound, shares.flip_rate.bound
            bounds = (
                f"both orders right at least {number(low)}, flips at most {number(high)} "
                "(95%, mean over episodes)"
            )
        return self._row("D7", "judge role", both, low, high, bounds, decides=False)

    def _review(self) -> GateResult:
        review, policy = self.evidence.review, self.policy.labels
        wanted = f"{plural(policy.min_pairs, 'pair')} labeled, every high flag closed"
        if review is None:
            state: State = "open" if policy.min_pairs else "none"
            limit = Limit(state, "no label", wanted, f"{plural(policy.min_pairs, 'labeled pair')}")
            return self._row("D8", "human review", [limit, limit])
        flags = review.high_flags
        seen = (
            f"{plural(review.pairs_labelled, 'pair')} labeled, {flags.traces - flags.open} of "
            f"{plural(flags.traces, 'high flag')} closed"
        )
        limit = self._gaps(open_review(self.evidence), seen, wanted)
        named = (one for one in review.random_part.rates if one.question == "passes")
        passed = next((one for one in named if one.value is not None), None)
        bounds = ""
        if passed is not None:
            bounds = f"random part {number(passed.value)} " + _span(
                "of messages pass", number(passed.low), number(passed.high)
            )
        low, high = (passed.low, passed.high) if passed is not None else (None, None)
        return self._row("D8", "human review", [limit, limit], low, high, bounds)

    def _label_limits(self) -> list[GateResult]:
        """Return a row for each limit that the policy sets on labels."""
        point, strict = (
            label_limits(structs.replace(self.policy, mode=mode), self.evidence.review)
            for mode in MODES
        )
        return [
            self._row(f"D8.{number}", one.name, [one.limit, other.limit])
            for number, (one, other) in enumerate(zip(point, strict, strict=True), 1)
        ]


def _judge_limits(judge: JudgeEvidence | None, evidence: Evidence) -> list[Limit]:
    policy = evidence.suite.policy.judge
    wanted = f"right at least {policy.min_accuracy:g}, flips at most {policy.max_flip_rate:g}"
    if judge is None:
        return [Limit("none", "no judge asked", wanted)] * 2
    section = judge.section
    seen, needs, found = section.role, section.needs or "", section.accepted
    if not section.estimates.both_orders_right.n or section.expired:
        return [Limit("open", seen, wanted, needs)] * 2
    on_bounds: State = "met" if found.strict else "failed" if found.refuted else "open"
    on_estimates: State = "met" if found.point else "failed"
    return [Limit(state, seen, wanted, needs) for state in (on_estimates, on_bounds)]


def _bounds_of(rate: Any) -> tuple[float | None, float | None, str]:
    if rate.value is None:
        known = rate.known
        span = between(known.low_possible, known.high_possible)
        return None, None, f"possible {span}" if known.unknown else ""
    what = "one-sided 95% bounds of the mean over episodes"
    text = _span(what, number(rate.lower), number(rate.upper))
    return rate.lower, rate.upper, text


def _repeated(shown: Figures) -> str:
    hat, episodes = shown.pass_hat, len(shown.counted)
    if hat.value is None:
        return ""
    return (
        f"pass^{hat.k} = {number(hat.value)}, 95% lower bound {number(hat.lower)}, "
        f"{plural(episodes, 'episode')}"
    )


def _cost_bounds(cost: CostFigures) -> str:
    told = _span("95% limits over episodes", *(usd(x) for x in cost.cpst_limits))
    if not told:
        return ""
    return f"{told}, {'no cap' if cost.most is None else 'capped'} per attempt"


def _span(what: str, low: str, high: str) -> str:
    return "" if "not measured" in (low, high) else f"{what} {low} and {high}"
