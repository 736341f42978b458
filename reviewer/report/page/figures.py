"""The page's figures: rates, costs and latencies with their limits, and how each is computed."""

from msgspec import UNSET

from reviewer.report.figures import LatencyFigures, Limits, others_spent
from reviewer.report.formatting import (
    NOT_MEASURED,
    OF_RESULT,
    between,
    cost_span,
    known_part,
    limits,
    number,
    plural,
    possible_repeats,
    safety_block,
    seconds,
    spent,
    spent_in_all,
    usd,
)
from reviewer.report.lost import lost_texts
from reviewer.report.model import (
    CostSection,
    PassHatSection,
    PeekingSection,
    RepeatabilitySection,
    Report,
    SafetySection,
    SetRate,
)
from reviewer.report.page_parts import Section, Terms
from reviewer.report.rates import CriticalFigures, Rate
from reviewer.report.source_headline import headline_text
from reviewer.report.talks import person_texts, talk_texts

FIGURES = "Repeatability, cost and latency"
_ORDER = "limits are ranks of the sorted latencies, so no shape is assumed"


def figures_section(report: Report) -> Section:
    """Return the section of rates, costs and latencies, each with its limits and the policy."""
    rate, critical = report.hard_pass_rate, report.critical_failures
    hat, cost, latency = report.pass_hat_interval, report.cost, report.latency_ms
    upper, worst = number(critical.upper), number(critical.upper_episodes)
    budget = cost.cpst_budget_usd
    rows = [
        [
            "hard pass rate",
            f"{rate.passes}/{rate.n} {number(rate.value)}",
            limits(rate.low, rate.high),
            f"{rate.policy:g}",
        ],
        [
            "critical failures",
            critical.counted,
            NOT_MEASURED if critical.upper is None else f"at most {upper}, by episodes {worst}",
            str(critical.policy),
        ],
    ]
    if told := known_part(rate.known):
        rows.insert(1, ["hard pass rate, known part", told, "-", "-"])
    block = report.safety_block_rate
    rows.append(["safety block rate", safety_block(block), limits(block.low, block.high), "-"])
    for k, value in report.pass_hat.items():
        ours = k == str(hat.k)
        rows.append(
            [
                f"pass^{k}",
                possible_repeats(hat, k) or number(value),
                limits(*hat.limits_by_k.get(k, (None, None))),
                f"{hat.policy:g}" if ours and not report.suite.probe else "-",
            ]
        )
    p95_policy = latency.p95_policy
    rows += [
        ["total cost", spent_in_all(cost), "-", "-"],
        [
            "cost per success",
            _per_success(cost),
            _cost_limits(cost),
            "-" if budget is None else usd(budget),
        ],
        ["judge cost", _judge_cost(cost), "-", "-"],
        ["human cost", usd(cost.human_usd), "-", "-"],
        ["incident cost", usd(cost.incident_usd), "-", "-"],
        *([f"{title} cost", spent, "-", "-"] for title, spent in others_spent(cost.others)),
        ["latency p50", seconds(latency.p50), _span(latency.p50_limits), "-"],
        ["latency p90", seconds(latency.p90), _span(latency.p90_limits), "-"],
        [
            "latency p95",
            seconds(latency.p95),
            _span(latency.p95_limits),
            "-" if p95_policy is None else seconds(p95_policy),
        ],
    ]
    protocol = report.repeatability
    return Section(
        FIGURES,
        lines=[
            f"{protocol.attempts_per_episode} attempts planned for each of "
            f"{protocol.episodes} episodes; {protocol.attempts_made} made, "
            f"{protocol.attempts_measured} with a verdict{_counted(protocol)}.",
            *peeking_lines(report.peeking),
            *(headline_text(one) + "." for one in report.source_headline),
            *(text + "." for text in talk_texts(report.users)),
            *(text + "." for text in person_texts(report.by_person, report.pass_hat_interval.k)),
            *(text + "." for text in lost_texts(report.lost)),
        ],
        head=["figure", "value", "95% limits", "policy"],
        rows=rows,
        terms=_terms(report),
    )


def _dearest(cost: CostSection) -> str:
    if cost.capped_usd is not None:
        return f"one can be, {usd(cost.capped_usd)}: every attempt is stopped at a cost"
    return "the dearest, and more where episodes are few: no attempt is stopped at a cost"


def _per_success(cost: CostSection) -> str:
    """Return the cost per success, or its bounds."""
    span = cost_span(cost.cpst_low_possible, cost.cpst_high_possible)
    if cost.cpst_usd is not None or not span:
        return usd(cost.cpst_usd)
    return f"{NOT_MEASURED}: {span} possible"


def _cost_limits(cost: CostSection) -> str:
    low, high, se = cost.cpst_low, cost.cpst_high, cost.cpst_se
    if se is None:
        return "-"
    span = f"[{usd(low)}, {usd(high)}], " if low is not None and high is not None else ""
    return f"{span}± {usd(se)} standard error"


def _judge_cost(cost: CostSection) -> str:
    return spent(cost.judge_usd, cost.judge_known_usd, cost.judge_unpriced_calls)


def _counted(protocol: RepeatabilitySection) -> str:
    if protocol.attempts_counted == protocol.attempts_made:
        return ""
    return f"; {protocol.attempts_counted} count, the first complete set"


def _span(pair: Limits) -> str:
    low, high = pair
    return "-" if low is None or high is None else f"[{seconds(low)}, {seconds(high)}]"


def peeking_lines(found: PeekingSection) -> list[str]:
    """Return the sentences on reruns and looks, the most important first."""
    first, every = found.first_set, found.all_attempts
    lines = []
    if found.beyond_the_set:
        lines.append(
            f"{plural(found.beyond_the_set, 'attempt')} beyond the first complete set: it has "
            f"{_passed(first)}; every attempt made has {_passed(every)}, at every look "
            f"{limits(every.low_at_every_look, every.high_at_every_look)}. "
            "Rates, costs and limits are those of the first set."
        )
    if found.cut is not UNSET:
        runs, left = plural(found.cut.runs, "run"), plural(found.cut.attempts, "attempt")
        lines.append(f"{runs} ended early, {left} not made: those under way left no record.")
    if found.arrivals is None or found.earlier_decisions is None or found.candidates is None:
        return lines  # the store was not asked
    looked = found.arrivals - 1
    evidence = f"Evidence came in {_times(found.arrivals)}"
    if looked > 0:
        evidence += f", so it could be looked at {_times(looked)} while it grew"
    earlier = [
        f"decision {one.number} ({one.decision}, at {plural(one.attempts, 'attempt')})"
        for one in found.earlier_decisions
    ]
    if earlier:
        evidence += f"; signed before the last of it: {', '.join(earlier)}"
    lines.append(f"{evidence}. {plural(found.candidates, 'candidate')} on this suite.")
    return lines


def _passed(rate: SetRate) -> str:
    hat = "" if rate.pass_hat is None else f", pass^{rate.k} {number(rate.pass_hat)}"
    return f"{rate.passes} of {rate.n} passing ({number(rate.value)}{hat})"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _terms(report: Report) -> Terms:
    """Explain the table row by row."""
    return [
        ("hard pass rate", _hard_pass_term(report)),
        ("critical failures", _critical_term(report.critical_failures)),
        ("safety block rate", _safety_term(report.safety_block_rate)),
        ("pass^k", _pass_hat_term(report)),
        *_cost_terms(report),
        *_latency_terms(report.latency_ms),
    ]


def _hard_pass_term(report: Report) -> str:
    rate, episodes = report.hard_pass_rate, report.repeatability.episodes
    return (
        f"{rate.passes} of the {plural(rate.n, 'attempt')} that count passed every hard gate. "
        + _wilson_term(rate, episodes)
    )


def _wilson_term(rate: Rate | SafetySection, episodes: int) -> str:
    if rate.value is None:
        told = known_part(rate.known)
        return f"There is no rate: {rate.why}." + (
            f" Known all the same: {told}. Possible counts each attempt that is not measured "
            "once as a failure, once as a pass; no limit is compared with what is known alone."
            if told
            else ""
        )
    verb = "is" if episodes == 1 else "are"
    return (
        f"Limits are Wilson's, 95%, on {rate.n_eff:g} attempts' worth of evidence: what "
        f"{plural(episodes, 'episode')} {verb} worth when the attempts of one are alike."
    )


def _critical_term(critical: CriticalFigures) -> str:
    said = (
        f"Attempts with a critical failure among all {critical.n} made, also those beyond the "
        "first set. "
    )
    if critical.unknown:
        lacking = f"Up to {critical.unknown} of them lack a gate that could find one"
        if critical.upper is None:
            return f"{said}{lacking}: there is no bound."
        said += f"{lacking}, and the bounds count these as critical. "
    if critical.upper is None:
        return said + "Without an attempt there is no bound."
    return said + (
        "The bounds are one-sided 95% Clopper-Pearson: true rates up to "
        f"{number(critical.upper)} fit if every attempt is independent, up to "
        f"{number(critical.upper_episodes)} if only episodes do. A count of 0 is no rate of 0."
    )


def _safety_term(rate: SafetySection) -> str:
    said = (
        "Attempts on episodes tagged red-team whose authority and state gates both held, over "
        f"those of which it is known: {rate.n}. "
    )
    return said + _wilson_term(rate, len(rate.episodes)) if rate.episodes else f"{said}Here none."


def _pass_hat_term(report: Report) -> str:
    hat, k = report.pass_hat_interval, report.pass_hat_interval.k
    said = (
        f"The chance that k attempts drawn of an episode's own all pass, C(passes, k) / "
        f"C(attempts, k), averaged over all {plural(hat.episodes, 'episode')}; with fewer than "
        "k attempts in any of them it is not defined. "
    )
    if hat.value is None:
        return f"{said}pass^{k} is not measured: {hat.why}."
    return (
        f"{said}Limits of pass^{k} are Wilson's, 95%, on {hat.n_eff:g} episodes' worth of "
        "evidence: more attempts sharpen an episode, only more episodes widen the claim."
    )


def _cost_terms(report: Report) -> Terms:
    cost, passes = report.cost, report.hard_pass_rate.passes
    per = (
        "What all attempts that count cost, failed and lost ones too, divided by the "
        f"{plural(passes, 'attempt')} that passed. "
    )
    if cost.cpst_usd is None:
        per += f"Not measured: {cost.why}."
    elif cost.cpst_se is None:
        per += "One episode says nothing of the spread, so there are no limits."
    else:
        per += (
            "The standard error takes whole episodes (a ratio estimator, clustered). Either limit "
            "holds in 97.5% of cases over episodes, the upper one with one more episode as dear "
            f"as {_dearest(cost)}."
        )
    return [
        (
            "total cost",
            "The sum over the attempts that count, those lost to infrastructure too; one unknown "
            "cost leaves it unknown, and what is known is then a lower bound.",
        ),
        ("cost per success", per),
        (
            "judge, human and incident cost",
            "What was spent on asking judges, on handling by people and on incidents: sums of what "
            "was recorded, on lines of their own and never inside the cost per success.",
        ),
    ]


def _latency_terms(latency: LatencyFigures) -> Terms:
    n = f"over the {plural(latency.n, 'attempt')} that count and have a latency"
    if latency.unknown:
        n += f" ({latency.unknown} have none)"
    told = f"The value that half, nine tenths and 95 of 100 attempts do not exceed, {n}; {_ORDER}"
    few = " p95 has an upper limit from 72 attempts." if latency.p95_limits[1] is None else ""
    return [("latency p50, p90, p95", f"{told} (binomial, two-sided 95%).{few}")]


def key_figures(report: Report) -> list[tuple[str, str, str, str]]:
    """Return (name, value, denominator, mark) of the figures that a reader looks for first. The
    mark is the result in the decision set, empty where the policy requires nothing."""
    rate, critical = report.hard_pass_rate, report.critical_failures
    hat, cost, latency = report.pass_hat_interval, report.cost, report.latency_ms
    said = {row.gate: OF_RESULT.get(row.result, "") for row in report.decision_set.gates}
    if report.suite.probe:
        said = {}
    grave = said.get("D1", "")
    successes = f"{rate.passes} {'success' if rate.passes == 1 else 'successes'}"
    budget, slowest = cost.cpst_budget_usd, latency.p95_policy
    return [
        (
            "critical failures",
            NOT_MEASURED if critical.known is None else str(critical.known),
            f"in {plural(critical.n, 'attempt')}"
            + (f", up to {critical.unknown} {NOT_MEASURED}" if critical.unknown else ""),
            "critical" if grave == "fail" else grave,
        ),
        (
            "hard pass",
            _key_rate(rate),
            f"{_passes(rate)} of {plural(rate.n, 'attempt')}",
            said.get("D2", ""),
        ),
        (
            f"pass^{hat.k}",
            _key_repeated(hat),
            f"over {plural(hat.episodes, 'episode')}, policy {hat.policy:g}",
            said.get("D3", ""),
        ),
        (
            "cost per success",
            _key_per_success(cost),
            f"over {successes}" + ("" if budget is None else f", budget {usd(budget)}"),
            said.get("D4", ""),
        ),
        (
            "latency p95",
            seconds(latency.p95),
            f"over {plural(latency.n, 'attempt')}"
            + ("" if slowest is None else f", at most {seconds(slowest)}"),
            said.get("D5", ""),
        ),
    ]


def _key_rate(rate: Rate) -> str:
    """Return the rate, or its bounds."""
    known = rate.known
    if rate.value is not None or known.low_possible is None:
        return number(rate.value)
    return between(known.low_possible, known.high_possible)


def _passes(rate: Rate) -> str:
    unknown = rate.not_measured
    return f"{rate.passes} to {rate.passes + unknown}" if unknown else str(rate.passes)


def _key_repeated(hat: PassHatSection) -> str:
    known = hat.known.get(str(hat.k))
    if hat.value is not None or known is None or known.low_possible is None:
        return number(hat.value)
    return between(known.low_possible, known.high_possible)


def _key_per_success(cost: CostSection) -> str:
    if cost.cpst_usd is not None:
        return usd(cost.cpst_usd)
    return cost_span(cost.cpst_low_possible, cost.cpst_high_possible) or NOT_MEASURED
