"""A report as plain text: the summary that an export prints, and the decision screen's lines."""

from typing import NamedTuple

from msgspec import UNSET

from reviewer.report.figures import others_texts
from reviewer.report.formatting import (
    NOT_MEASURED,
    OF_RESULT,
    cost_span,
    critical_line,
    failed_by,
    known_part,
    limits,
    number,
    place,
    plural,
    possible_repeats,
    safety_block,
    seconds,
    slots_text,
    spent_in_all,
    usd,
    verdict,
)
from reviewer.report.lost import lost_texts
from reviewer.report.model import (
    CostSection,
    Failure,
    PassHatSection,
    Report,
    SafetySection,
    UnknownCandidate,
)
from reviewer.report.page.figures import peeking_lines
from reviewer.report.page.review import review_summary
from reviewer.report.rates import KnownPart
from reviewer.report.render.gates import bounds_in_a_line
from reviewer.report.source_headline import headline_text
from reviewer.report.talks import person_texts, talk_texts
from reviewer.report.tolerated import tolerated_names, tolerated_text
from reviewer.report.waived import waiver_text
from reviewer.trace.safetext import visible_line

_MOST_LINES = 20


def summary_text(report: Report) -> str:
    """Return the summary that the export prints: verdict, figures, reasons with their first
    evidence, needs, and the failing traces. Plain text, one fact per line, ending in a newline.
    """
    name, suite = report.candidate.candidate_id, report.suite.suite_id
    lines = [f"{verdict(report)}  {name} on {suite}", *_figure_lines(report)]
    for reason in report.reason_details:
        seen = f": {reason.observed}" if reason.observed else ""
        policy = f" (policy {reason.policy})" if reason.policy else ""
        lines.append(f"{reason.number} {reason.text}{seen}{policy}")
        lines += [f"    {place(ref)}" for ref in reason.evidence[:3]]
        more = reason.evidence_count - 3
        lines += [f"    and {more} more in report.json"] if more > 0 else []
    lines += [f"needs {need}" for need in report.needs[:_MOST_LINES]]
    failures = report.failures
    lines += [_failing(t) for t in failures[:_MOST_LINES]]
    if len(failures) > _MOST_LINES:
        lines.append(f"failing and {len(failures) - _MOST_LINES} more in report.json")
    return "".join(f"{visible_line(line)}\n" for line in lines)


def _failing(trace: Failure) -> str:
    extra = " (extra)" if trace.extra else ""
    return f"failing {trace.trace_id} {failed_by(trace.codes, ' ')}{extra}"


def _safety_line(rate: SafetySection) -> str:
    if rate.value is None:
        return f"safety block: {safety_block(rate)}"
    return f"safety block {safety_block(rate)} {limits(rate.low, rate.high)}"


def _figure_lines(report: Report) -> list[str]:
    slots, rate, hat = report.slots, report.hard_pass_rate, report.pass_hat_interval
    critical, block, cost = report.critical_failures, report.safety_block_rate, report.cost
    return [
        f"attempts {slots_text(slots)}, {slots.extra} extra",
        report.ran.summary,
        f"hard pass {rate.passes}/{rate.n} {number(rate.value)} {limits(rate.low, rate.high)}",
        *_part_known("hard pass", rate.known),
        *(headline_text(one) for one in report.source_headline),
        f"pass^{hat.k} {number(hat.value)} {limits(hat.low, hat.high)}",
        *_part_repeated(hat),
        critical_line(
            critical.count, critical.n, critical.unknown, critical.upper, critical.upper_episodes
        ),
        _safety_line(block),
        f"cost {spent_in_all(cost)}, per success {usd(cost.cpst_usd)}",
        *_part_priced(cost),
        *(
            f"{kind} cost {usd(spent)}, not in the cost per success"
            for kind, spent in (("human", cost.human_usd), ("incident", cost.incident_usd))
            if spent is not None
        ),
        *others_texts(cost.others),
        *talk_texts(report.users),
        *person_texts(report.by_person, hat.k),
        *lost_texts(report.lost),
        *_tolerated(report),
        *_waived(report),
        *_grown(report),
        *_bounds(report),
    ]


def _part_known(name: str, known: KnownPart) -> list[str]:
    told = known_part(known)
    return [f"{name} {told} ({known.unknown} not measured)"] if told else []


def _part_repeated(hat: PassHatSection) -> list[str]:
    told = possible_repeats(hat, str(hat.k))
    return [f"pass^{hat.k} {told}"] if told else []


def _part_priced(cost: CostSection) -> list[str]:
    if cost.cpst_usd is not None:
        return []
    told = cost_span(cost.cpst_low_possible, cost.cpst_high_possible)
    return [f"per success {told} possible"] if told else []


def _tolerated(report: Report) -> list[str]:
    """Return the failures that the policy tolerates, by name; nothing where there are none."""
    found = report.tolerated
    return [f"{tolerated_text(found)}: {tolerated_names(found)}"] if found else []


def _waived(report: Report) -> list[str]:
    """Return why an unsound suite is used; nothing where it is sound."""
    return [waiver_text(one) for one in report.suite.waived]


def _grown(report: Report) -> list[str]:
    """Return the attempts beyond the plan, and looks at them; empty where all arrived at once."""
    seen = report.peeking
    told = seen.beyond_the_set or seen.earlier_decisions or (seen.arrivals or 0) > 1
    told = told or seen.cut is not UNSET
    return peeking_lines(seen) if told else []


def _bounds(report: Report) -> list[str]:
    """Return the recommendation of strict mode, where it is not the mode in force."""
    found = report.decision_set
    if report.suite.probe or found.mode == "strict":
        return []
    strict = found.strict
    word = strict.recommendation
    needs = f": needs {'; '.join(strict.needs)}" if word == "hold" else ""
    return [f"on bounds (strict) {word.upper()}{needs}"]


class Line(NamedTuple):
    """One section: a mark (`pass`, `fail`, `critical`, `not_measured`, `advisory`, `note`)."""

    mark: str
    name: str
    text: str


def summary_lines(report: Report) -> list[Line]:
    """Return the sections of a report in its order, one line each."""
    return [
        _candidate(report),
        _ran(report),
        _suite(report),
        *(Line("not_measured", "waiver", text) for text in _waived(report)),
        _gates(report),
        _attempts(report),
        *_passed(report),
        *(Line("fail", "tolerated", text) for text in _tolerated(report)),
        *_looks(report),
        *_bounds_line(report),
        *_safety(report),
        _repeatability(report),
        _cost(report),
        _latency(report),
        Line("advisory", "soft review", f"{review_summary(report.review)}; "
             f"judge {report.judge.role}"),
        _failing_line(report),
        _regression(report),
        *_slices(report),
        _probes(report),
        *_lineage(report),
        *_broken_glass(report),
        *_journal_losses(report),
        *_restored(report),
    ]  # fmt: skip


def _candidate(report: Report) -> Line:
    candidate = report.candidate
    if isinstance(candidate, UnknownCandidate) or candidate.digest is None:
        return Line("not_measured", "candidate", "no manifest: its digest is not known")
    model = f"{candidate.model}, " if candidate.model else ""
    parts = f"{len(candidate.prompts)} prompts, {len(candidate.tools)} tools"
    text = f"{model}{parts}, sha256 {candidate.digest[:8]}"
    return Line("pass", "candidate", text)


def _ran(report: Report) -> Line:
    ran = report.ran
    one = len(ran.codes) == 1 and ran.codes[0].pinned and not ran.changed
    mark = "pass" if one and not ran.not_bound else "not_measured" if ran.bound else "note"
    return Line(mark, "what ran", ran.summary)


def _suite(report: Report) -> Line:
    suite = report.suite
    when = "frozen before the first run" if suite.frozen_before_first_run else "not frozen first"
    mark = "pass" if suite.frozen_before_first_run else "not_measured"
    digest = (suite.digest or NOT_MEASURED)[:8]
    return Line(mark, "suite", f"{plural(suite.episodes, 'episode')}, {when}, sha256 {digest}")


def _lineage(report: Report) -> list[Line]:
    """Return a line on other suites; empty for a candidate that was run only on this suite."""
    met = report.suite.lineage
    if not met:
        return []
    names = ", ".join(str(one.suite_id) for one in met[:3])
    unexplained = sum(one.reason is None for one in met)
    why = f"{unexplained} without a reason" if unexplained else "each with a reason"
    return [Line("not_measured" if unexplained else "note", "other suites", f"{names}: {why}")]


def _broken_glass(report: Report) -> list[Line]:
    return [
        Line(
            "fail",
            "break-glass",
            f"{one.principal} for {one.candidate_id} in {one.environment}, {one.at} to "
            f"{one.expires}: {' '.join(one.reason.split())}",
        )
        for one in report.break_glass
    ]


def _journal_losses(report: Report) -> list[Line]:
    return [
        Line(
            "fail",
            "journal lost",
            f"entries {one.lost_seq} to {one.kept_seq}, stated by {one.principal} at {one.at}: "
            f"{' '.join(one.reason.split())}",
        )
        for one in report.journal_losses or ()
    ]


def _restored(report: Report) -> list[Line]:
    return [
        Line(
            "fail",
            "restored",
            f"at {one.at} a backup took the place of a store whose journal had {one.lost} more",
        )
        for one in report.restored or ()
    ]


def _gates(report: Report) -> Line:
    gates = report.gates
    failed = [f"{name} {counts.fail}" for name, counts in gates.items() if counts.fail]
    unknown = [name for name, counts in gates.items() if counts.not_measured]
    if failed:
        mark = "critical" if report.critical_failures.count else "fail"
        return Line(mark, "hard gates", f"failing: {', '.join(failed)}")
    if unknown:
        return Line("not_measured", "hard gates", f"{NOT_MEASURED}: {', '.join(unknown)}")
    return Line("pass", "hard gates", f"all {len(gates)} pass in every attempt")


def _attempts(report: Report) -> Line:
    slots = report.slots
    mark = "pass" if slots.valid == slots.planned else "not_measured"
    return Line(mark, "attempts", slots_text(slots))


def _passed(report: Report) -> list[Line]:
    """Return the known part of the hard pass rate; empty where all verdicts are measured."""
    told, k = known_part(report.hard_pass_rate.known), report.pass_hat_interval.k
    found = [Line("not_measured", "hard pass", told)] if told else []
    return [
        *found,
        *(Line("note", "source", headline_text(h)) for h in report.source_headline),
        *(Line("note", "cost", text) for text in others_texts(report.cost.others)),
        *(Line("note", "users", text) for text in talk_texts(report.users)),
        *(Line("note", "users", text) for text in person_texts(report.by_person, k)),
        *(Line("note", "lost", text) for text in lost_texts(report.lost)),
    ]


def _looks(report: Report) -> list[Line]:
    """Return the attempts beyond the plan, and the occasions to look while they arrived; empty
    where all arrived at once."""
    seen = report.peeking
    parts = []
    if seen.beyond_the_set:
        every = seen.all_attempts
        parts.append(
            f"{seen.beyond_the_set} beyond the first set ({every.passes}/{every.n} in all)"
        )
    if seen.cut is not UNSET:
        parts.append(f"{plural(seen.cut.runs, 'run')} ended early")
    if (seen.arrivals or 0) > 1:
        parts.append(f"evidence came in {seen.arrivals} times")
    if seen.earlier_decisions:
        parts.append(f"{plural(len(seen.earlier_decisions), 'decision')} before its end")
    return [Line("note", "looks", "; ".join(parts))] if parts else []


def _bounds_line(report: Report) -> list[Line]:
    """Return the recommendation of strict mode: the gates that do not pass on their bounds, and
    their needs."""
    found = report.decision_set
    if report.suite.probe:
        return []
    strict = found.strict
    short = [row for row in found.gates if row.decides and row.strict in OF_RESULT]
    short = [row for row in short if row.strict != "PASS"]
    mark = "note" if found.mode == "point" else "pass"
    if mark == "note" and strict.recommendation == "block":
        mark = "fail"
    if short and found.mode == "strict":
        worst = "FAIL" if any(row.strict == "FAIL" for row in short) else "NO EVIDENCE"
        mark = OF_RESULT[worst]
    return [Line(mark, "on bounds", bounds_in_a_line(report))]


def _slices(report: Report) -> list[Line]:
    """Return a line on slices that became worse, corrected for all slices looked at; empty without
    one."""
    worse = [f"{one.kind} {one.name}" for one in report.slices.rows if one.worse]
    if not worse:
        return []
    more = f" and {len(worse) - 3} more" if len(worse) > 3 else ""
    return [Line("note", "slices", f"worse than the baseline: {', '.join(worse[:3])}{more}")]


def _safety(report: Report) -> list[Line]:
    """Return a line on safety; nothing for a suite without red-team episodes."""
    rate = report.safety_block_rate
    if not rate.episodes:
        return []
    if rate.value is None:
        return [Line("not_measured", "safety block", safety_block(rate))]
    mark = "fail" if rate.not_blocked else "pass"
    text = f"{safety_block(rate)} {limits(rate.low, rate.high)} of red-team attempts"
    return [Line(mark, "safety block", text)]


def _repeatability(report: Report) -> Line:
    hat = report.pass_hat_interval
    if hat.value is None:
        told = possible_repeats(hat, str(hat.k)) or NOT_MEASURED
        return Line("not_measured", "repeatability", f"pass^{hat.k} {told}")
    mark = "pass" if hat.value >= hat.policy else "fail"
    bounds = limits(hat.low, hat.high)
    text = f"pass^{hat.k} {number(hat.value)} {bounds}, policy {hat.policy}"
    return Line(mark, "repeatability", text)


def _cost(report: Report) -> Line:
    cost = report.cost
    budget = cost.cpst_budget_usd
    if cost.cpst_usd is None:
        why = cost.why or "no successful attempt"
        span = cost_span(cost.cpst_low_possible, cost.cpst_high_possible)
        why += f"; {span} possible" if span else ""
        return Line("not_measured" if budget else "note", "cost", f"CPST {NOT_MEASURED}: {why}")
    mark = "fail" if budget is not None and cost.cpst_usd > budget else "pass"
    of = "" if budget is None else f" of {budget}"
    beside = "".join(
        f"; {kind} ${spent:,.2f}"
        for kind, spent in (("human", cost.human_usd), ("incident", cost.incident_usd))
        if spent is not None
    )
    return Line(mark, "cost", f"{usd(cost.total_usd)}, CPST {usd(cost.cpst_usd)}{of}{beside}")


def _latency(report: Report) -> Line:
    latency = report.latency_ms
    text = f"p50 {seconds(latency.p50)}, p95 {seconds(latency.p95)}"
    if latency.p50 is None:
        return Line("not_measured", "latency", NOT_MEASURED)
    if latency.unknown:
        text += f", {plural(latency.unknown, 'attempt')} without a latency"
    return Line("note", "latency", text)


def _failing_line(report: Report) -> Line:
    failing = report.failures
    if not failing:
        return Line("pass", "failing traces", "none")
    shown = [f"{one.episode_id}/{one.attempt}" for one in failing[:4]]
    more = f" and {len(failing) - 4} more" if len(failing) > 4 else ""
    return Line("fail", "failing traces", f"{len(failing)}: {', '.join(shown)}{more}")


def _regression(report: Report) -> Line:
    against = report.regression
    if against.baseline is None:
        known = against.last_promoted
        why = "no baseline" if known is None else f"{known.candidate_id} was not run here"
        return Line("not_measured", "regression", f"{NOT_MEASURED}: {why}")
    text = (
        f"against {against.baseline}: lost {len(against.lost)}, "
        f"gained {len(against.gained)}, {against.verdict}"
    )
    row = next(row for row in report.decision_set.gates if row.gate == "D6")
    mark = "pass" if row.result == "PASS" else OF_RESULT.get(row.result, "not_measured")
    return Line(mark, "regression", text)


def _probes(report: Report) -> Line:
    probes = report.probes
    if not probes:
        return Line("note", "probes", "none")
    names = ", ".join(str(probe["suite_id"]) for probe in probes[:3])
    return Line("note", "probes", f"{len(probes)}, never certifying: {names}")
