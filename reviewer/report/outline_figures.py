"""The figures of a report in words: rates, costs and latencies with their limits."""

from typing import Any

from reviewer.report.block import Block
from reviewer.report.headline import headline_text
from reviewer.report.others_spent import others_spent
from reviewer.report.peeking import peeking_lines
from reviewer.report.words import (
    NOT_MEASURED,
    cost_span,
    known_part,
    limits,
    number,
    possible_repeats,
    safety_block,
    seconds,
    spent,
    spent_in_all,
    usd,
)


def figures_block(report: dict[str, Any]) -> Block:
    """Rates, costs and latencies, each with its limits and what it is held to."""
    rate, critical = report["hard_pass_rate"], report["critical_failures"]
    hat, cost, latency = report["pass_hat_interval"], report["cost"], report["latency_ms"]
    upper, worst = number(critical["upper"]), number(critical["upper_episodes"])
    budget = cost["cpst_budget_usd"]
    rows = [
        [
            "hard pass rate",
            f"{rate['pass']}/{rate['n']} {number(rate['value'])}",
            limits(rate["low"], rate["high"]),
            f"{rate['policy']:g}",
        ],
        [
            "critical failures",
            f"{critical['count']} in {critical['n']}",
            f"at most {upper}, by episodes {worst}",
            str(critical["policy"]),
        ],
    ]
    if told := known_part(rate["known"]):
        rows.insert(1, ["hard pass rate, known part", told, "-", "-"])
    block = report["safety_block_rate"]
    rows.append(
        ["safety block rate", safety_block(block), limits(block["low"], block["high"]), "-"]
    )
    for k, value in report["pass_hat"].items():
        ours = k == str(hat["k"])
        rows.append(
            [
                f"pass^{k}",
                possible_repeats(hat, k) or number(value),
                limits(*hat["limits_by_k"].get(k, (None, None))),
                f"{hat['policy']:g}" if ours and not report["suite"]["probe"] else "-",
            ]
        )
    p95_policy = latency["p95_policy"]
    rows += [
        ["total cost", spent_in_all(cost), "-", "-"],
        [
            "cost per success",
            _per_success(cost),
            _cost_limits(cost),
            "-" if budget is None else usd(budget),
        ],
        ["judge cost", _judge_cost(cost), "-", "-"],
        ["human cost", usd(cost["human_usd"]), "-", "-"],
        ["incident cost", usd(cost["incident_usd"]), "-", "-"],
        *([f"{title} cost", spent, "-", "-"] for title, spent in others_spent(cost)),
        ["latency p50", seconds(latency["p50"]), _span(latency["p50_limits"]), "-"],
        ["latency p90", seconds(latency["p90"]), _span(latency["p90_limits"]), "-"],
        [
            "latency p95",
            seconds(latency["p95"]),
            _span(latency["p95_limits"]),
            "-" if p95_policy is None else seconds(p95_policy),
        ],
    ]
    protocol = report["repeatability"]
    return Block(
        "Repeatability, cost and latency",
        lines=[
            f"{protocol['attempts_per_episode']} attempts planned for each of "
            f"{protocol['episodes']} episodes; {protocol['attempts_made']} made, "
            f"{protocol['attempts_measured']} with a verdict{_counted(protocol)}.",
            *peeking_lines(report["peeking"]),
            *(headline_text(one) + "." for one in report["source_headline"]),
        ],
        head=["figure", "value", "95% limits", "policy"],
        rows=rows,
    )


def _per_success(cost: dict[str, Any]) -> str:
    """The cost per success, or between which amounts it lies."""
    span = cost_span(cost["cpst_low_possible"], cost["cpst_high_possible"])
    if cost["cpst_usd"] is not None or not span:
        return usd(cost["cpst_usd"])
    return f"{NOT_MEASURED}: {span} possible"


def _cost_limits(cost: dict[str, Any]) -> str:
    low, high, se = cost["cpst_low"], cost["cpst_high"], cost["cpst_se"]
    if se is None:
        return "-"
    span = f"[{usd(low)}, {usd(high)}], " if low is not None and high is not None else ""
    return f"{span}± {usd(se)} standard error"


def _judge_cost(cost: dict[str, Any]) -> str:
    return spent(cost["judge_usd"], cost["judge_known_usd"], cost["judge_unpriced_calls"])


def _counted(protocol: dict[str, Any]) -> str:
    if protocol["attempts_counted"] == protocol["attempts_made"]:
        return ""
    return f"; {protocol['attempts_counted']} count, the first complete set"


def _span(pair: list[float | None]) -> str:
    low, high = pair
    return "-" if low is None or high is None else f"[{seconds(low)}, {seconds(high)}]"
