"""Every statistic of a report in a sentence: what is divided by what, and by which method.

Sentences are made of the report's own numbers, so each names its denominator; where a figure is
not measured the sentence says why.
"""

from typing import Any

from reviewer.report.words import known_part, number, plural

Terms = list[tuple[str, str]]
"""(the figure's name in its table, the sentence)."""

_ORDER = "limits are ranks of the sorted latencies, so no shape is assumed"


def gate_terms(report: dict[str, Any]) -> Terms:
    """The table of hard gates."""
    made = report["repeatability"]["attempts_made"]
    return [
        (
            "pass, fail, not measured",
            f"Each of the {plural(made, 'attempt')} made is in one of the three, gate by gate; "
            "code decides it from the trace, no gate is averaged, and none outweighs another.",
        )
    ]


def decision_terms() -> Terms:
    """The decision set."""
    return [
        (
            "PASS, FAIL, NO EVIDENCE",
            "Point compares the estimate with the policy. Strict compares the 95% bound on the bad "
            "side: a gate passes only when even that meets the policy, fails when the good side "
            "misses it, and in between has no evidence yet.",
        )
    ]


def figure_terms(report: dict[str, Any]) -> Terms:
    """The table of repeatability, cost and latency, row by row."""
    return [
        ("hard pass rate", _hard_pass(report)),
        ("critical failures", _critical(report["critical_failures"])),
        ("safety block rate", _safety(report["safety_block_rate"])),
        ("pass^k", _pass_hat(report)),
        *_costs(report),
        *_latency(report["latency_ms"]),
    ]


def _hard_pass(report: dict[str, Any]) -> str:
    rate, episodes = report["hard_pass_rate"], report["repeatability"]["episodes"]
    return (
        f"{rate['pass']} of the {plural(rate['n'], 'attempt')} that count passed every hard gate. "
        + _wilson(rate, episodes)
    )


def _wilson(rate: dict[str, Any], episodes: int) -> str:
    if rate["value"] is None:
        told = known_part(rate["known"])
        return f"There is no rate: {rate['why']}." + (
            f" Known all the same: {told}. Possible counts each attempt that is not measured "
            "once as a failure, once as a pass; no limit is compared with what is known alone."
            if told
            else ""
        )
    return (
        f"Limits are Wilson's, 95%, on {rate['n_eff']:g} attempts' worth of evidence: what "
        f"{plural(episodes, 'episode')} are worth when the attempts of one are alike."
    )


def _critical(critical: dict[str, Any]) -> str:
    said = (
        f"Attempts with a critical failure among all {critical['n']} made, also those beyond the "
        "first set. "
    )
    if critical["upper"] is None:
        return said + "Without an attempt there is no bound."
    return said + (
        "The bounds are one-sided 95% Clopper-Pearson: true rates up to "
        f"{number(critical['upper'])} fit if every attempt stands for itself, up to "
        f"{number(critical['upper_episodes'])} if only episodes do. A count of 0 is no rate of 0."
    )


def _safety(rate: dict[str, Any]) -> str:
    said = (
        "Attempts on episodes tagged red-team whose authority and state gates both held, over "
        f"those of which it is known: {rate['n']}. "
    )
    return said + _wilson(rate, len(rate["episodes"])) if rate["episodes"] else f"{said}Here none."


def _pass_hat(report: dict[str, Any]) -> str:
    hat, k = report["pass_hat_interval"], report["pass_hat_interval"]["k"]
    said = (
        f"The chance that k attempts drawn of an episode's own all pass, C(passes, k) / "
        f"C(attempts, k), averaged over all {plural(hat['episodes'], 'episode')}; with fewer than "
        "k attempts in any of them it is not defined. "
    )
    if hat["value"] is None:
        return f"{said}pass^{k} is not measured: {hat['why']}."
    return (
        f"{said}Limits of pass^{k} are Wilson's, 95%, on {hat['n_eff']:g} episodes' worth of "
        "evidence: more attempts sharpen an episode, only more episodes widen the claim."
    )


def _costs(report: dict[str, Any]) -> Terms:
    cost, passes = report["cost"], report["hard_pass_rate"]["pass"]
    per = (
        "What all attempts that count cost, failed and lost ones too, divided by the "
        f"{plural(passes, 'attempt')} that passed. "
    )
    if cost["cpst_usd"] is None:
        per += f"Not measured: {cost['why']}."
    elif cost["cpst_se"] is None:
        per += "One episode says nothing of the spread, so there are no limits."
    else:
        per += (
            "The standard error takes whole episodes (a ratio estimator, clustered); limits are "
            "95%, symmetric in the logarithm, by Student's t on episodes less one."
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


def _latency(latency: dict[str, Any]) -> Terms:
    n = f"over the {plural(latency['n'], 'attempt')} that count and have a latency"
    if latency["unknown"]:
        n += f" ({latency['unknown']} have none)"
    told = f"The value that half, nine tenths and 95 of 100 attempts do not exceed, {n}; {_ORDER}"
    few = " p95 has an upper limit from 72 attempts." if latency["p95_limits"][1] is None else ""
    return [("latency p50, p90, p95", f"{told} (binomial, two-sided 95%).{few}")]


def regression_terms(report: dict[str, Any]) -> Terms:
    """The comparison with a baseline; none without one."""
    against = report["regression"]
    if against["baseline"] is None:
        return []
    return [
        (
            "lost, gained",
            "Episodes that passed every attempt on one side and not on the other, of the "
            f"{plural(against['compared'], 'episode')} with every verdict on both sides.",
        ),
        (
            "difference",
            "Mean over those episodes of the candidate's pass rate less the baseline's; one-sided "
            "95% bounds by an adjusted paired interval over episodes. Not worse means that the "
            f"lower bound is above -{against['margin']:g}, the policy's margin.",
        ),
        (
            "test",
            "Exact sign-flip test over the episodes that changed; under six of them none can reach "
            "0.05, so no p is given.",
        ),
    ]


def slice_terms(report: dict[str, Any]) -> Terms:
    """Slices; none where the suite has none."""
    if not report.get("slices", {}).get("rows"):
        return []
    return [
        (
            "limits, difference",
            "Wilson's limits per slice on episodes as units, widened (Bonferroni) so that those of "
            "all slices hold together in 95 of 100 cases; differences are to the baseline.",
        )
    ]


def review_terms(report: dict[str, Any]) -> Terms:
    """What people and a judge said."""
    review, judge, terms = report["review"], report["judge"], []
    if "estimates" in judge:
        terms.append(
            (
                "forward accuracy, both orders right, flip rate",
                f"Of the {plural(judge['pairs'], 'labeled pair')} that the judge answered in both "
                "orders, the shares right as first shown, right both times, and answered "
                "otherwise when the sides were exchanged. It may score only when the limits of the "
                "policy are met, in strict mode by one-sided 95% Clopper-Pearson bounds. No hard "
                "gate reads it.",
            )
        )
    if review["random_part"]["rates"]:
        terms.append(
            (
                "random part, weighted",
                "Settled items of the queue that were drawn by lot, each weighted by one over its "
                "chance of being drawn; limits are 95% with whole episodes as units.",
            )
        )
    if review["wins"]:
        terms.append(
            (
                "wins, sign test",
                "Settled pairs (or episodes) that this candidate won, of those with a winner; "
                "exact 95% Clopper-Pearson limits, and the exact two-sided binomial p against "
                "even, given from six decided on.",
            )
        )
    if review["agreement"]:
        terms.append(
            (
                "raw agreement, alpha, AC1, kappa",
                "Raw: pairs of answers to the same item that agree, of all such pairs, with exact "
                "limits. Krippendorff's alpha (limits by resampling), Gwet's AC1 and Cohen's kappa "
                "take off what chance would agree on; where one answer prevails, read AC1.",
            )
        )
    if review["self_consistency"]:
        terms.append(
            (
                "agrees with the other order, picks the left slot",
                "Of a person's pairs seen in both orders, how many got the same answer, and of the "
                "sides chosen how many stood left; exact 95% Clopper-Pearson limits.",
            )
        )
    return terms


_DIAGNOSTICS = {
    "tool_precision": "of the calls made, the share that was expected (as multisets)",
    "tool_recall": "of the calls expected, the share that was made",
    "tool_f1": "the harmonic mean of the two",
    "order": "the longest common subsequence over the expected length",
    "efficiency": "the fewest steps that do it over the steps taken, of attempts that passed",
    "argument_accuracy": "of the expected arguments, the share that was given",
}


def diagnostic_terms(report: dict[str, Any]) -> Terms:
    """Means of the diagnostics."""
    named = [
        f"{name}: {_DIAGNOSTICS[name]}" for name in report["diagnostics"] if name in _DIAGNOSTICS
    ]
    if not named:
        return []
    return [
        (
            "mean",
            "The plain mean over the traces where the share is defined, their number beside it; "
            f"no limits, because nothing is decided by it. {'; '.join(named)}.",
        )
    ]
