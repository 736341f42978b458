"""The figures that a reader of a report looks for first."""

from typing import Any

from reviewer.report.marks import OF_RESULT
from reviewer.report.words import NOT_MEASURED, between, cost_span, number, plural, seconds, usd


def key_figures(report: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(name, value, of what, mark) of the figures that a reader looks for first. The mark is what
    the decision set says of it, empty where the policy asks nothing."""
    rate, critical = report["hard_pass_rate"], report["critical_failures"]
    hat, cost, latency = report["pass_hat_interval"], report["cost"], report["latency_ms"]
    said = {
        row["gate"]: OF_RESULT.get(row["result"], "") for row in report["decision_set"]["gates"]
    }
    if report["suite"]["probe"]:
        said = {}
    grave = said.get("D1", "")
    successes = f"{rate['pass']} {'success' if rate['pass'] == 1 else 'successes'}"
    budget, slowest = cost["cpst_budget_usd"], latency["p95_policy"]
    return [
        (
            "critical failures",
            str(critical["count"]),
            f"in {plural(critical['n'], 'attempt')}",
            "critical" if grave == "fail" else grave,
        ),
        (
            "hard pass",
            _rate(rate),
            f"{_passes(rate)} of {plural(rate['n'], 'attempt')}",
            said.get("D2", ""),
        ),
        (
            f"pass^{hat['k']}",
            _repeated(hat),
            f"over {plural(hat['episodes'], 'episode')}, policy {hat['policy']:g}",
            said.get("D3", ""),
        ),
        (
            "cost per success",
            _per_success(cost),
            f"over {successes}" + ("" if budget is None else f", budget {usd(budget)}"),
            said.get("D4", ""),
        ),
        (
            "latency p95",
            seconds(latency["p95"]),
            f"over {plural(latency['n'], 'attempt')}"
            + ("" if slowest is None else f", at most {seconds(slowest)}"),
            said.get("D5", ""),
        ),
    ]


def _rate(rate: dict[str, Any]) -> str:
    """The rate, or between which values it lies."""
    known = rate["known"]
    if rate["value"] is not None or known["low_possible"] is None:
        return number(rate["value"])
    return between(known["low_possible"], known["high_possible"])


def _passes(rate: dict[str, Any]) -> str:
    unknown = rate["not_measured"]
    return f"{rate['pass']} to {rate['pass'] + unknown}" if unknown else str(rate["pass"])


def _repeated(hat: dict[str, Any]) -> str:
    known = hat["known"].get(str(hat["k"]))
    if hat["value"] is not None or known is None or known["low_possible"] is None:
        return number(hat["value"])
    return between(known["low_possible"], known["high_possible"])


def _per_success(cost: dict[str, Any]) -> str:
    if cost["cpst_usd"] is not None:
        return usd(cost["cpst_usd"])
    return cost_span(cost["cpst_low_possible"], cost["cpst_high_possible"]) or NOT_MEASURED
