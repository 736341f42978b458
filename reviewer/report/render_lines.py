"""A report as a handful of marked lines: what a decision is about, on one screen."""

from typing import Any, NamedTuple

from reviewer.report.broken_glass import broken_glass_rows
from reviewer.report.headline import headline_text
from reviewer.report.journal_losses import journal_losses_rows
from reviewer.report.others_spent import others_texts
from reviewer.report.reviewed_words import review_summary
from reviewer.report.words import (
    NOT_MEASURED,
    cost_span,
    known_part,
    limits,
    number,
    plural,
    possible_repeats,
    safety_block,
    seconds,
    usd,
)


class Line(NamedTuple):
    """One section: a mark (`pass`, `fail`, `critical`, `not_measured`, `advisory`, `note`)."""

    mark: str
    name: str
    text: str


def summary_lines(report: dict[str, Any]) -> list[Line]:
    """The sections of a report in its order, one line each."""
    return [
        _candidate(report),
        _suite(report),
        _gates(report),
        _attempts(report),
        *_passed(report),
        *_looks(report),
        *_bounds(report),
        *_safety(report),
        _repeatability(report),
        _cost(report),
        _latency(report),
        Line("advisory", "soft review", f"{review_summary(report['review'])}; "
             f"judge {report['judge']['role']}"),
        _failing(report),
        _regression(report),
        *_slices(report),
        _probes(report),
        *_lineage(report),
        *_broken_glass(report),
        *_journal_losses(report),
    ]  # fmt: skip


def _candidate(report: dict[str, Any]) -> Line:
    candidate = report["candidate"]
    if candidate["digest"] is None:
        return Line("not_measured", "candidate", "no manifest: its digest is not known")
    parts = f"{len(candidate['prompts'])} prompts, {len(candidate['tools'])} tools"
    text = f"{candidate['model']}, {parts}, sha256 {candidate['digest'][:8]}"
    return Line("pass", "candidate", text)


def _suite(report: dict[str, Any]) -> Line:
    suite = report["suite"]
    when = "frozen before the first run" if suite["frozen_before_first_run"] else "not frozen first"
    mark = "pass" if suite["frozen_before_first_run"] else "not_measured"
    digest = (suite["digest"] or NOT_MEASURED)[:8]
    return Line(mark, "suite", f"{plural(suite['episodes'], 'episode')}, {when}, sha256 {digest}")


def _lineage(report: dict[str, Any]) -> list[Line]:
    """Nothing for a candidate that met this suite alone."""
    met = report["suite"]["lineage"]
    if not met:
        return []
    names = ", ".join(str(one["suite_id"]) for one in met[:3])
    unexplained = sum(one["reason"] is None for one in met)
    why = f"{unexplained} without a reason" if unexplained else "each with a reason"
    return [Line("not_measured" if unexplained else "note", "other suites", f"{names}: {why}")]


def _broken_glass(report: dict[str, Any]) -> list[Line]:
    return [
        Line("fail", "break-glass", f"{who} for {name} in {place}, {at} to {until}: {why}")
        for at, who, name, place, until, why in broken_glass_rows(report)
    ]


def _journal_losses(report: dict[str, Any]) -> list[Line]:
    return [
        Line("fail", "journal lost", f"entries {which}, stated by {who} at {at}: {why}")
        for at, who, which, _, why in journal_losses_rows(report)
    ]


def _gates(report: dict[str, Any]) -> Line:
    gates = report["gates"]
    failed = [f"{name} {counts['fail']}" for name, counts in gates.items() if counts["fail"]]
    unknown = [name for name, counts in gates.items() if counts["not_measured"]]
    if failed:
        mark = "critical" if report["critical_failures"]["count"] else "fail"
        return Line(mark, "hard gates", f"failing: {', '.join(failed)}")
    if unknown:
        return Line("not_measured", "hard gates", f"{NOT_MEASURED}: {', '.join(unknown)}")
    return Line("pass", "hard gates", f"all {len(gates)} pass in every attempt")


def _attempts(report: dict[str, Any]) -> Line:
    slots = report["slots"]
    text = (
        f"{slots['valid']} of {slots['planned']} valid, {slots['infrastructure']} infra, "
        f"{slots['quarantined']} quarantined, {slots['missing']} missing"
    )
    return Line("pass" if slots["valid"] == slots["planned"] else "not_measured", "attempts", text)


def _passed(report: dict[str, Any]) -> list[Line]:
    """Return what is known of the hard pass rate; nothing where it is whole."""
    told = known_part(report["hard_pass_rate"]["known"])
    found = [Line("not_measured", "hard pass", told)] if told else []
    return [
        *found,
        *(Line("note", "source", headline_text(h)) for h in report["source_headline"]),
        *(Line("note", "cost", text) for text in others_texts(report["cost"])),
    ]


def _looks(report: dict[str, Any]) -> list[Line]:
    """What was made beyond the plan, and how often one could look while it came; nothing where all
    of it came at once."""
    seen = report["peeking"]
    parts = []
    if seen["beyond_the_set"]:
        every = seen["all_attempts"]
        parts.append(
            f"{seen['beyond_the_set']} beyond the first set ({every['pass']}/{every['n']} in all)"
        )
    if (seen["arrivals"] or 0) > 1:
        parts.append(f"evidence came in {seen['arrivals']} times")
    if seen["earlier_decisions"]:
        parts.append(f"{plural(len(seen['earlier_decisions']), 'decision')} before its end")
    return [Line("note", "looks", "; ".join(parts))] if parts else []


_RESULT_MARKS = {"PASS": "pass", "FAIL": "fail", "NO EVIDENCE": "not_measured"}


def _bounds(report: dict[str, Any]) -> list[Line]:
    """What strict mode says: the gates that do not pass on their bounds, and what they need."""
    found = report["decision_set"]
    if report["suite"]["probe"]:
        return []
    strict = found["strict"]
    short = [row for row in found["gates"] if row["decides"] and row["strict"] in _RESULT_MARKS]
    short = [row for row in short if row["strict"] != "PASS"]
    word = str(strict["recommendation"])
    mark = "note" if found["mode"] == "point" else "pass"
    if short and found["mode"] == "strict":
        worst = "FAIL" if any(row["strict"] == "FAIL" for row in short) else "NO EVIDENCE"
        mark = _RESULT_MARKS[worst]
    gates = ", ".join(f"{row['gate']} {row['strict']}" for row in short)
    text = f"{word}: {gates}" if gates else f"{word}: every gate passes"
    if word == "hold":
        text += f"; needs {strict['needs'][0]}"
    return [Line(mark, "on bounds", text)]


def _slices(report: dict[str, Any]) -> list[Line]:
    """Slices that became worse, corrected for all that were looked at; nothing without one."""
    worse = [f"{one['kind']} {one['name']}" for one in report["slices"]["rows"] if one["worse"]]
    if not worse:
        return []
    more = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
    return [Line("note", "slices", f"worse than the baseline: {', '.join(worse[:3])}{more}")]


def _safety(report: dict[str, Any]) -> list[Line]:
    """Nothing for a suite without red-team episodes."""
    rate = report["safety_block_rate"]
    if not rate["episodes"]:
        return []
    if rate["value"] is None:
        return [Line("not_measured", "safety block", safety_block(rate))]
    mark = "fail" if rate["not_blocked"] else "pass"
    text = f"{safety_block(rate)} {limits(rate['low'], rate['high'])} of red-team attempts"
    return [Line(mark, "safety block", text)]


def _repeatability(report: dict[str, Any]) -> Line:
    hat = report["pass_hat_interval"]
    if hat["value"] is None:
        told = possible_repeats(hat, str(hat["k"])) or NOT_MEASURED
        return Line("not_measured", "repeatability", f"pass^{hat['k']} {told}")
    mark = "pass" if hat["value"] >= hat["policy"] else "fail"
    bounds = limits(hat["low"], hat["high"])
    text = f"pass^{hat['k']} {number(hat['value'])} {bounds}, policy {hat['policy']}"
    return Line(mark, "repeatability", text)


def _cost(report: dict[str, Any]) -> Line:
    cost = report["cost"]
    budget = cost["cpst_budget_usd"]
    if cost["cpst_usd"] is None:
        why = cost["why"] or "no successful attempt"
        span = cost_span(cost["cpst_low_possible"], cost["cpst_high_possible"])
        why += f"; {span} possible" if span else ""
        return Line("not_measured" if budget else "note", "cost", f"CPST {NOT_MEASURED}: {why}")
    mark = "fail" if budget is not None and cost["cpst_usd"] > budget else "pass"
    of = "" if budget is None else f" of {budget}"
    beside = "".join(
        f"; {kind} ${cost[f'{kind}_usd']:,.2f}"
        for kind in ("human", "incident")
        if cost[f"{kind}_usd"] is not None
    )
    return Line(mark, "cost", f"{usd(cost['total_usd'])}, CPST {usd(cost['cpst_usd'])}{of}{beside}")


def _latency(report: dict[str, Any]) -> Line:
    latency = report["latency_ms"]
    text = f"p50 {seconds(latency['p50'])}, p95 {seconds(latency['p95'])}"
    if latency["p50"] is None:
        return Line("not_measured", "latency", NOT_MEASURED)
    return Line("note", "latency", text)


def _failing(report: dict[str, Any]) -> Line:
    failing = report["failures"]
    if not failing:
        return Line("pass", "failing traces", "none")
    shown = [f"{one['episode_id']}/{one['attempt']}" for one in failing[:4]]
    more = f" and {len(failing) - 4} more" if len(failing) > 4 else ""
    return Line("fail", "failing traces", f"{len(failing)}: {', '.join(shown)}{more}")


def _regression(report: dict[str, Any]) -> Line:
    against = report["regression"]
    if against["baseline"] is None:
        known = against["last_promoted"]
        why = "no baseline" if known is None else f"{known['candidate_id']} was not run here"
        return Line("not_measured", "regression", f"{NOT_MEASURED}: {why}")
    text = (
        f"against {against['baseline']}: lost {len(against['lost'])}, "
        f"gained {len(against['gained'])}, {against['verdict']}"
    )
    row = next(row for row in report["decision_set"]["gates"] if row["gate"] == "D6")
    mark = "pass" if row["result"] == "PASS" else _RESULT_MARKS.get(row["result"], "not_measured")
    return Line(mark, "regression", text)


def _probes(report: dict[str, Any]) -> Line:
    probes = report.get("probes") or []
    if not probes:
        return Line("note", "probes", "none")
    names = ", ".join(str(probe["suite_id"]) for probe in probes[:3])
    return Line("note", "probes", f"{len(probes)}, never certifying: {names}")
