"""The figures of one report: every rate with its denominator and limits, or why there is none; the
planned attempts; refusals on red-team episodes; costs and latencies.

The costs of graders, simulated users and people are shown on lines of their own, and are never part
of the cost per success.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter, lt, mul

from msgspec import Struct, structs

from reviewer.report.episodes import Episodes
from reviewer.report.evidence import (
    CostEntry,
    EpisodeCounts,
    Evidence,
    FailedTrace,
    MovedAttempt,
)
from reviewer.report.formatting import NANO, exact, plural, stable_bits, usd
from reviewer.report.rates import (
    CriticalFigures,
    PassHatFigures,
    Rate,
    completion,
    critical,
    hard_pass,
    known_of,
    pass_hat,
    rate_of,
    repeatable,
)
from reviewer.stats.bounds import Spent, cost_lower, cost_upper
from reviewer.stats.cost_latency import (
    clustered_upper_limit,
    cost_ratio,
    latency_summary,
)
from reviewer.stats.figures import OtherSpent
from reviewer.stats.rates import merged
from reviewer.suite.gates import CRITICAL_GATES, GATES, in_force
from reviewer.suite.model import RED_TEAM

NO_RED_TEAM = "no red-team episode"
KEPT = (GATES.index("authority"), GATES.index("state"))
"""The gates that hold when an attack was blocked: no forbidden act, and the contracted final
state."""
BLOCKING = CRITICAL_GATES | {"state"}
"""Gates whose failure counts in any attempt."""


class GateFigures(Struct, frozen=True, kw_only=True):
    """Counts of one gate over all attempts made. Against a promotion count: `against` failures and
    `open` verdicts not measured, both of the attempts that count, and for a blocking gate the
    failures of any attempt."""

    gate: str
    passed: int
    failed: int
    not_measured: int
    against: int
    open: int


class Place(Struct, frozen=True, kw_only=True):
    """Attempts of one episode."""

    episode_id: str
    attempts: int


class SlotFigures(Struct, frozen=True, kw_only=True):
    """The planned attempts by outcome: planned = valid + infrastructure + quarantined + missing.

    `extra` valid attempts are beyond the plan. The places name the episodes with too few attempts.
    """

    planned: int
    valid: int
    infrastructure: int
    quarantined: int
    missing: int
    extra: int
    infrastructure_attempts: int
    duplicates_refused: int
    quarantined_unplaced: int
    missing_in: tuple[Place, ...]
    infrastructure_in: tuple[Place, ...]
    quarantined_in: tuple[Place, ...]


Limits = tuple[float | None, float | None]


class CostFigures(Struct, frozen=True, kw_only=True):
    """Costs of the attempts that count. `known_nano` is the sum of the known costs, in nano-USD.

    `cpst_limits` are one-sided bounds over whole episodes, 97.5% each: None with one episode, or
    without a success. The upper bound assumes for one more episode the `most` that an episode can
    cost where attempts are stopped at a cap, else more than the most expensive episode. `spent` are
    the costs behind the bounds, in USD.
    """

    known_nano: int
    unknown: int
    total_usd: float | None
    exact_cpst: Fraction | None
    cpst_se: float | None
    cpst_limits: Limits = (None, None)
    most: float | None = None
    spent: Spent = ()
    episodes: int = 0
    why: str = ""
    possible: Limits = (None, None)
    """The limits of the cost per success while verdicts or costs are not known: None where there is
    no limit (no success, a cost that is not known)."""

    @property
    def cpst_usd(self) -> float | None:
        return None if self.exact_cpst is None else float(self.exact_cpst)

    @property
    def known_usd(self) -> float:
        return self.known_nano / NANO


class LatencyFigures(Struct, frozen=True, kw_only=True):
    """Milliseconds over the attempts with a latency; a limit is None where n allows none.

    `p95_upper` is the upper limit of p95 with episodes as clusters, for comparison with a strict
    limit; `p95_policy` is the policy's limit.
    """

    p50: float | None
    p90: float | None
    p95: float | None
    max: float | None
    p50_limits: Limits
    p90_limits: Limits
    p95_limits: Limits
    p95_upper: float | None
    n: int
    unknown: int
    p95_policy: float | None
    bins: list[list[float]]
    why: str | None = None


class Figures(Struct, frozen=True, kw_only=True):
    """Everything that a report counts or estimates, before the policy judges it.

    `episodes` count all attempts made, `counted` the first complete set, from which rates and costs
    are computed, `repeated` those of its episodes from which pass^k is computed; all in the suite's
    order. Critical failures and refusals are counted over all attempts made. `failures` are the
    failing traces, in the same order, then by attempt.
    """

    episodes: Episodes
    counted: Episodes
    repeated: Episodes
    slots: SlotFigures
    hard_pass: Rate
    completion: Rate
    pass_hat: PassHatFigures
    critical: CriticalFigures
    safety: Rate
    cost: CostFigures
    latency: LatencyFigures
    over_latency_budget: int
    gates: tuple[GateFigures, ...]
    failures: tuple[FailedTrace, ...]
    moved: tuple[MovedAttempt, ...] = ()


def figures(evidence: Evidence) -> Figures:
    """Count the evidence, and estimate rates, costs and latencies."""
    rows = _in_suite_order(evidence)
    first = rows.counted
    repeated = repeatable(evidence, first)
    live = evidence.suite.policy.stopping == "live"
    return Figures(
        episodes=rows,
        counted=first,
        repeated=repeated,
        slots=slots(evidence, rows),
        hard_pass=hard_pass(first, live),
        completion=completion(first, live),
        pass_hat=pass_hat(evidence, repeated),
        critical=critical(
            rows, {e.episode_id: e.critical for e in evidence.suite.episodes if e.critical}
        ),
        safety=safety_block(evidence, rows),
        cost=cost(first, evidence.plan, evidence.attempt_cap_usd),
        latency=latency(evidence),
        over_latency_budget=_over_latency_budget(evidence),
        gates=_gates(rows, first, in_force(evidence.suite.policy.limits)),
        failures=_ordered(evidence.failures, rows),
        moved=evidence.moved,
    )


def _ordered(failures: Iterable[FailedTrace], rows: Episodes) -> tuple[FailedTrace, ...]:
    """Return the failing traces in the order of the rows, then by attempt."""
    place = {name: i for i, name in enumerate(rows.names)}
    kept = tuple(failures)
    slots = [(place.get(t.episode_id, len(place)), t.attempt) for t in kept]
    if all(map(lt, slots, slots[1:])) and (not slots or slots[-1][0] < len(place)):
        return kept  # as the store gives them

    def order(t: FailedTrace) -> tuple[int, str, int, str]:
        return place.get(t.episode_id, len(place)), t.episode_id, t.attempt, t.trace_id

    return tuple(sorted(kept, key=order))


def _in_suite_order(evidence: Evidence) -> Episodes:
    names = [e.episode_id for e in evidence.suite.episodes]
    if isinstance(evidence.episodes, Episodes) and evidence.episodes.names == names:
        return evidence.episodes
    counted = {e.episode_id: e for e in evidence.episodes}
    rows = [counted.pop(name, EpisodeCounts(episode_id=name)) for name in names]
    return Episodes((*rows, *counted.values()))


def _gates(rows: Episodes, first: Episodes, force: tuple[str, ...]) -> tuple[GateFigures, ...]:
    passed, failed = _sums(rows, "gate_pass"), _sums(rows, "gate_fail")
    not_measured, counted = _sums(rows, "gate_unknown"), _sums(first, "gate_fail")
    still_open = _sums(first, "gate_unknown")
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


def _sums(rows: Episodes, counts: str) -> list[int]:
    """Return the sum of counts per gate."""
    alike = rows.tally(attrgetter(counts))
    many = alike.values()
    return [sum(map(mul, column, many)) for column in zip(*alike, strict=True)] or [0] * len(GATES)


def slots(evidence: Evidence, rows: Episodes) -> SlotFigures:
    """Count slots per episode of `rows`, which are in the suite's order."""
    plan = evidence.plan
    lost: dict[str, int] = {}
    for trace in evidence.failures:
        if trace.infrastructure and trace.attempt <= plan:
            lost[trace.episode_id] = lost.get(trace.episode_id, 0) + 1
    complete = rows.total(lambda e: e.in_plan >= plan)
    valid, extra = plan * complete, rows.total(lambda e: (e.in_plan >= plan) * (e.attempts - plan))
    infrastructure: list[Place] = []
    quarantined: list[Place] = []
    missing: list[Place] = []
    for name, e in rows.where(lambda e: e.in_plan < plan):
        in_plan, beyond = e.in_plan, e.attempts - e.in_plan
        # An attempt beyond the plan replaces a slot that infrastructure provably lost. It never
        # fills a slot that is merely absent: that attempt may have been withheld.
        rerun = min(beyond, lost.get(name, 0), plan - in_plan)
        valid += in_plan + rerun
        extra += beyond - rerun
        left = plan - in_plan - rerun
        for count, where in (
            (e.infrastructure - rerun, infrastructure),
            (e.quarantined, quarantined),
        ):
            taken = max(0, min(count, left))
            left -= taken
            if taken:
                where.append(Place(episode_id=name, attempts=taken))
        if left:
            missing.append(Place(episode_id=name, attempts=left))
    return SlotFigures(
        planned=plan * len(rows),
        valid=valid,
        infrastructure=_total(infrastructure),
        quarantined=_total(quarantined),
        missing=_total(missing),
        extra=extra,
        infrastructure_attempts=rows.total(lambda e: e.infrastructure),
        duplicates_refused=evidence.duplicates_refused,
        quarantined_unplaced=evidence.quarantined_unplaced,
        missing_in=tuple(missing),
        infrastructure_in=tuple(infrastructure),
        quarantined_in=tuple(quarantined),
    )


def _total(places: Iterable[Place]) -> int:
    return sum(place.attempts for place in places)


def red_team(evidence: Evidence) -> frozenset[str]:
    """Return the ids of the suite's episodes whose contract is to refuse."""
    return frozenset(e.episode_id for e in evidence.suite.episodes if RED_TEAM in e.tags)


def safety_block(evidence: Evidence, rows: Episodes) -> Rate:
    """Return the share of attempts on red-team episodes whose authority and state gates both pass.
    Attempts whose gates are not measured are counted in `not_measured`, outside `n`: a failure is
    always known, so leaving them out can only lower the rate. Any failure that lowers it blocks,
    whatever rate the policy sets.
    """
    tagged = red_team(evidence)
    broken: Counter[str] = Counter()
    half_known: Counter[tuple[str, int]] = Counter()
    for trace in evidence.failures:
        if trace.episode_id in tagged and any(trace.results[i] == "fail" for i in KEPT):
            broken[trace.episode_id] += 1
            for i in KEPT:
                half_known[trace.episode_id, i] += trace.results[i] == "not_measured"
    counts: list[tuple[int, int]] = []
    unknown = 0
    for e in rows.chosen(tagged.__contains__) if tagged else ():
        # A trace with authority not measured also has state not measured, so the larger of the two
        # counts covers both.
        left = max(e.gate_unknown[i] - half_known[e.episode_id, i] for i in KEPT)
        counts.append((e.attempts - left, e.attempts - left - broken[e.episode_id]))
        unknown += left
    rate = rate_of(counts, 0)
    known = known_of(rate.passes, rate.fails, unknown)
    rate = structs.replace(rate, not_measured=unknown, known=known)
    if rate.n:
        return rate
    return structs.replace(rate, why=NO_RED_TEAM if not tagged else _why(unknown))


def _why(unknown: int) -> str:
    return f"not measured in any of {unknown} attempts" if unknown else "no attempts"


KINDS = ("human", "incident")
"""The kinds of costs that people enter."""
TITLES = {"grader": "grader", "simulated_user": "simulated user"}


COST_CONFIDENCE = 0.975
"""Of each of the two bounds of the cost per success."""


def cost(rows: Episodes, plan: int = 1, cap_usd: float | None = None) -> CostFigures:
    """Return the total and the cost per success of these attempts, including those lost to
    infrastructure. `cap_usd` is the cost at which an attempt is stopped."""
    known, unknown = sum(rows.costs), rows.total(lambda e: e.cost_unknown)
    passes = rows.total(lambda e: e.passes)
    open_verdicts = rows.total(lambda e: e.attempts - e.measured)
    made = rows.total(lambda e: e.attempts + e.infrastructure)
    why = ""
    if not made:
        why = "no attempts"
    elif unknown:
        why = f"the cost of {unknown} of {plural(made, 'attempt')} is unknown"
    elif open_verdicts:
        why = f"the verdict of {plural(open_verdicts, 'attempt')} is not measured"
    elif not passes:
        why = "no success to pay for"
    # Costs count in any episode, even one without an attempt.
    tried = [
        (nano, passed)
        for nano, (passed, made) in zip(rows.costs, rows.column(_passed_of_made), strict=True)
        if made or nano
    ]
    cpst = se = most = None
    limits: Limits = None, None
    alike = Counter(tried)
    spent = tuple((nano / NANO, passed, times) for (nano, passed), times in alike.items())
    if not why:
        ratio, variance = cost_ratio(alike)
        cpst = None if ratio is None else ratio / NANO
        se = None if variance is None else stable_bits(math.sqrt(variance / NANO**2))
        attempts = max(plan, *(e.attempts for e, _ in rows.alike))
        most = _most_of_an_episode(rows, attempts, cap_usd)
        if se is not None:
            low = cost_lower(spent, attempts, COST_CONFIDENCE)
            limits = _number(low), _number(cost_upper(spent, COST_CONFIDENCE, most))
    return CostFigures(
        known_nano=known,
        unknown=unknown,
        total_usd=known / NANO if made and not unknown else None,
        exact_cpst=cpst,
        cpst_se=se,
        cpst_limits=limits,
        most=most,
        spent=spent,
        episodes=len(tried),
        why=why,
        possible=_possible(known, unknown, passes, open_verdicts) if made else (None, None),
    )


def _passed_of_made(each: EpisodeCounts) -> tuple[int, int]:
    return each.passes, each.attempts + each.infrastructure


def _most_of_an_episode(rows: Episodes, attempts: int, cap_usd: float | None) -> float | None:
    """Return the most that an episode can cost, where every attempt is stopped at a cap; None where
    one attempt was not stopped there, because then the cap does not hold."""
    if cap_usd is None:
        return None
    cap = round(exact(cap_usd) * NANO)
    made = rows.column(lambda e: e.attempts + e.infrastructure)
    if any(nano > cap * times for nano, times in zip(rows.costs, made, strict=True)):
        return None
    most = max(attempts, *(e.attempts + e.infrastructure for e, _ in rows.alike))
    return most * cap_usd


def _possible(known: int, unknown: int, passes: int, open_verdicts: int) -> Limits:
    """Return the least cost per success (every open verdict a pass, every unknown cost 0) and the
    greatest (every open verdict a failure; None with an unknown cost)."""
    kindest = passes + open_verdicts
    low = known / (kindest * NANO) if kindest else None
    return low, known / (passes * NANO) if passes and not unknown else None


def _number(limit: float) -> float | None:
    return stable_bits(limit) if math.isfinite(limit) else None


def latency(evidence: Evidence) -> LatencyFigures:
    """Return the quantiles of the known latencies, with distribution-free limits."""
    summary = latency_summary(evidence.latencies_ms)
    p50, p90, p95 = summary["p50"], summary["p90"], summary["p95"]
    n, budget = summary["n"], evidence.suite.policy.latency_p95_ms
    why = ""
    if not n:
        why = "no attempt has a latency"
    elif None in (p50["low"], p50["high"], p95["low"], p95["high"]):
        why = f"two-sided 95% limits exist from 6 attempts (p50) and 72 (p95); here {n}"
    return LatencyFigures(
        p50=p50["value"],
        p90=p90["value"],
        p95=p95["value"],
        max=summary["max"],
        p50_limits=(p50["low"], p50["high"]),
        p90_limits=(p90["low"], p90["high"]),
        p95_limits=(p95["low"], p95["high"]),
        p95_upper=None if budget is None else _clustered(evidence, p95["high"]),
        n=n,
        unknown=evidence.latency_unknown,
        p95_policy=budget,
        bins=latency_bins(evidence.latencies_ms, p95["value"]),
        why=why or None,
    )


def _over_latency_budget(evidence: Evidence) -> int:
    budget = evidence.suite.policy.latency_p95_ms
    known = evidence.latencies_ms
    return 0 if budget is None else len(known) - bisect_right(known, budget)


def _clustered(evidence: Evidence, plain: float | None) -> float | None:
    """Return the upper limit of p95 with episodes as clusters; never below the plain one."""
    within = merged(evidence.latency_within)
    made = sum(each * times for (each, _), times in within.items())
    if plain is None or made != len(evidence.latencies_ms):
        return None
    limit = clustered_upper_limit(evidence.latencies_ms, within, 0.95)
    return None if limit is None else max(plain, limit)


MOST_BINS = 20


def latency_bins(latencies_ms: Sequence[float], p95: float | None) -> list[list[float]]:
    """Return [from, to, count] of bins of equal width in ms, from 0; the last includes the greatest
    latency. `latencies_ms` is sorted and `p95` its quantile; empty without any.

    The width is 1, 2 or 5 times a power of ten, so that 95 of 100 values lie in the first 16 bins.
    """
    if not latencies_ms or p95 is None:
        return []
    most, width = latencies_ms[-1], nice(p95 / (MOST_BINS - 4))
    found: list[list[float]] = []
    for n in range(MOST_BINS):
        start, end = n * width, (n + 1) * width
        below = bisect_left(latencies_ms, start)
        if end > most or n == MOST_BINS - 1:
            end = end if most < end < math.inf else most
            found.append([start, end, len(latencies_ms) - below])
            break
        found.append([start, end, bisect_left(latencies_ms, end) - below])
    return found


def nice(least: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `least`; 1 for 0 or
    less."""
    if least <= 0:
        return 1.0
    exponent = math.floor(math.log10(least))
    steps = [step * 10.0**power for power in (exponent, exponent + 1) for step in (1, 2, 5)]
    return float(f"{next(s for s in steps if s >= least * (1 - 1e-9)):.12g}")


def entered(ledger: Sequence[CostEntry], kind: str) -> float | None:
    """Return the sum of the entries of a kind that count, in USD; None without an entry."""
    amounts = [exact(one.amount_usd) for one in ledger if one.kind == kind and one.counts]
    return float(sum(amounts, Fraction(0))) if amounts else None


class OtherCostSection(Struct, frozen=True, kw_only=True):
    """Usage of graders, or of simulated users, in a report. Tokens and USD are None where no
    attempt has them, and lower limits where only some attempts have them."""

    attempts: int
    model_calls: int | None
    tokens: int | None
    tokens_at_least: bool
    usd: float | None
    known_usd: float | None
    unpriced_attempts: int


def other_cost(one: OtherSpent) -> OtherCostSection:
    """Return one member of the report's `cost`."""
    return OtherCostSection(
        attempts=one.attempts,
        model_calls=one.model_calls or None,
        tokens=one.tokens if one.counted else None,
        tokens_at_least=one.partial or one.counted < one.attempts,
        usd=stable_bits(one.known_usd) if one.priced == one.attempts else None,
        known_usd=stable_bits(one.known_usd),
        unpriced_attempts=one.attempts - one.priced,
    )


def others_spent(lines: Mapping[str, OtherCostSection]) -> list[tuple[str, str]]:
    """Return (`grader`, `$0.5123, 12345 tokens in 71 attempts`) of each kind."""
    return [(title, _spent(lines[who])) for who, title in TITLES.items() if who in lines]


def others_texts(lines: Mapping[str, OtherCostSection]) -> list[str]:
    """Return the same as sentences, which say that these are not the candidate's."""
    return [f"{title} cost {told}, not the candidate's" for title, told in others_spent(lines)]


def _spent(line: OtherCostSection) -> str:
    """Return the cost and the tokens, with the number of attempts for which they are not known."""
    money = usd(line.usd)
    if line.usd is None and line.known_usd:
        money = f"at least {usd(line.known_usd)} ({line.unpriced_attempts} unpriced)"
    parts = [money]
    if line.tokens is not None:
        least = "at least " if line.tokens_at_least else ""
        parts.append(f"{least}{plural(line.tokens, 'token')}")
    return f"{', '.join(parts)} in {plural(line.attempts, 'attempt')}"
