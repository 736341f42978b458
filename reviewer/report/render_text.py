"""The verdict in two lines for a screen, and in a few for standard output."""

from typing import Any

from reviewer.report.assess import Assessment, Reason
from reviewer.report.headline import headline_text
from reviewer.report.ledger import KINDS
from reviewer.report.others_spent import others_texts
from reviewer.report.peeking import peeking_lines
from reviewer.report.references import EvidenceRef
from reviewer.report.words import (
    NOT_MEASURED,
    between,
    cost_span,
    failed_by,
    known_part,
    limits,
    number,
    place,
    possible_repeats,
    safety_block,
    spent_in_all,
    usd,
    verdict,
)
from reviewer.suite.gates import CRITICAL_GATES
from reviewer.trace.safetext import visible_line

GLYPHS = {"promote": "✓", "block": "▲", "repair": "✗", "hold": "○"}
_MOST_LINES = 20


def banner(assessment: Assessment, width: int = 80) -> tuple[str, str]:
    """Glyph, verdict and first reason; below it, aligned, the other reasons. At most `width` wide.

    What does not fit is counted ("+2 more, D shows all"), never silently dropped.
    """
    if assessment.probe:
        head = "○ PROBE  "
        room = width - len(head)
        lines = "shown and compared; it never certifies a release", _probe_line(assessment, room)
        return _cut(head + lines[0], width), _cut(" " * len(head) + lines[1], width)
    word = assessment.recommendation
    head = f"{GLYPHS[word]} {word.upper()}  "
    if word == "promote":
        lines = _promote_lines(assessment)
        return _cut(head + lines[0], width), _cut(" " * len(head) + lines[1], width)
    first, *others = assessment.reasons
    line, left_over = _first_reason(head, first, width)
    items = [left_over] if left_over else []
    items += [visible_line(first.need)] if first.need else []
    items += [f"{i} {visible_line(r.text)}" for i, r in enumerate(others, start=2)]
    still = assessment.figures.slots.missing if word in ("block", "repair") else 0
    second = _fill(items, width - len(head), len(items) - len(others))
    tail = f"   {still} attempts still open"
    if still and len(head) + len(second) + len(tail) <= width:
        second += tail
    return _cut(line, width), _cut(" " * len(head) + second.lstrip(), width).rstrip()


def _first_reason(head: str, reason: Reason, width: int) -> tuple[str, str]:
    """Line 1, and the tool or code that did not fit on it."""
    line = f"{head}1 {visible_line(reason.text)}"
    if reason.need or not reason.evidence:
        return (line if reason.need else f"{line}: {visible_line(reason.observed)}"), ""
    where = reason.evidence[0]
    event = "" if where.seq is None else f" event {where.seq}"
    line += f": {visible_line(where.episode_id)} attempt {where.attempt}{event}"
    word = visible_line(_word(where))
    return (f"{line} {word}", "") if len(line) + 1 + len(word) <= width else (line, word)


def _word(where: EvidenceRef) -> str:
    return where.tool if where.tool and where.gate in CRITICAL_GATES else where.code


def _fill(items: list[str], room: int, leading: int) -> str:
    """As many items as fit, three spaces apart; the reasons left out are counted."""
    for kept in range(len(items), 0, -1):
        out = len(items) - max(kept, leading)
        parts = items[:kept] + ([f"+{out} more, D shows all"] if out > 0 else [])
        line = "   ".join(parts)
        if len(line) <= room or kept == 1:
            return line
    return ""


def _promote_lines(assessment: Assessment) -> tuple[str, str]:
    shown = assessment.figures
    critical, rate = shown.critical, shown.hard_pass
    stable = sum(1 for e in shown.counted if 0 < e.attempts == e.passes)
    later = sum(e.attempts for e in shown.episodes) - rate.n
    return (
        f"no reason against: {stable} of {len(shown.episodes)} episodes passed every attempt, "
        f"{rate.passes} of {rate.n}" + (f"; {later} made later do not count" if later else ""),
        f"{critical.count} critical in {critical.n}: true rate at most "
        f"{number(critical.upper)}, by episodes {number(critical.upper_episodes)}",
    )


def _probe_line(assessment: Assessment, room: int) -> str:
    """The rates; of many pass^k those of the least k, and of the greatest."""
    rate, hat = assessment.figures.hard_pass, assessment.figures.pass_hat
    known = rate.known
    line = f"hard pass {rate.passes}/{rate.n} {number(rate.value)}"
    if known.unknown and known.value is not None:
        passed = f"{rate.passes} to {rate.passes + known.unknown}/{rate.n}"
        line = f"hard pass {passed} {between(known.low_possible, known.high_possible)}"
    values = [number(value) for _, value in hat.values if value is not None]
    if not values:
        least = next((one for one in hat.possible if one.low is not None), None)
        if known.value is None or least is None:
            return f"{line}   pass^k {NOT_MEASURED}"
        return f"{line}   pass^{least.k} {between(least.low, least.high)}"
    line += f"   pass^1 to {len(values)}: " if len(values) > 1 else "   pass^1: "
    said = ", ".join(values)
    left = len(values) - 1
    while len(line) + len(said) > room and left > 1:
        left -= 1
        said = ", ".join((*values[:left], "…", values[-1]))
    return line + said


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


def summary_text(report: dict[str, Any]) -> str:
    """What the export prints: verdict, figures, reasons with their first evidence, what is needed,
    and the failing traces. Plain text, one fact a line, ending in a newline.
    """
    name, suite = report["candidate"]["candidate_id"], report["suite"]["suite_id"]
    lines = [f"{verdict(report)}  {name} on {suite}", *_figure_lines(report)]
    for reason in report["reason_details"]:
        seen = f": {reason['observed']}" if reason["observed"] else ""
        policy = f" (policy {reason['policy']})" if reason["policy"] else ""
        lines.append(f"{reason['number']} {reason['text']}{seen}{policy}")
        lines += [f"    {place(ref)}" for ref in reason["evidence"][:3]]
        more = reason["evidence_count"] - 3
        lines += [f"    and {more} more in report.json"] if more > 0 else []
    lines += [f"needs {need}" for need in report["needs"][:_MOST_LINES]]
    failures = report["failures"]
    lines += [_failing(t) for t in failures[:_MOST_LINES]]
    if len(failures) > _MOST_LINES:
        lines.append(f"failing and {len(failures) - _MOST_LINES} more in report.json")
    return "".join(f"{visible_line(line)}\n" for line in lines)


def _failing(trace: dict[str, Any]) -> str:
    extra = " (extra)" if trace["extra"] else ""
    return f"failing {trace['trace_id']} {failed_by(trace['codes'], ' ')}{extra}"


def _safety_line(rate: dict[str, Any]) -> str:
    if rate["value"] is None:
        return f"safety block: {safety_block(rate)}"
    return f"safety block {safety_block(rate)} {limits(rate['low'], rate['high'])}"


def _figure_lines(report: dict[str, Any]) -> list[str]:
    slots, rate, hat = report["slots"], report["hard_pass_rate"], report["pass_hat_interval"]
    critical, block, cost = (
        report[name] for name in ("critical_failures", "safety_block_rate", "cost")
    )
    return [
        f"attempts {slots['valid']} of {slots['planned']} valid, {slots['infrastructure']} infra, "
        f"{slots['quarantined']} quarantined, {slots['missing']} missing, {slots['extra']} extra",
        f"hard pass {rate['pass']}/{rate['n']} {number(rate['value'])} "
        f"{limits(rate['low'], rate['high'])}",
        *_part_known("hard pass", rate["known"]),
        *(headline_text(one) for one in report["source_headline"]),
        f"pass^{hat['k']} {number(hat['value'])} {limits(hat['low'], hat['high'])}",
        *_part_repeated(hat),
        f"critical {critical['count']} of {critical['n']}, true rate at most "
        f"{number(critical['upper'])}, by episodes {number(critical['upper_episodes'])}",
        _safety_line(block),
        f"cost {spent_in_all(cost)}, per success {usd(cost['cpst_usd'])}",
        *_part_priced(cost),
        *(
            f"{kind} cost {usd(cost[f'{kind}_usd'])}, not in the cost per success"
            for kind in KINDS
            if cost[f"{kind}_usd"] is not None
        ),
        *others_texts(cost),
        *_grown(report),
        *_bounds(report),
    ]


def _part_known(name: str, known: dict[str, Any]) -> list[str]:
    told = known_part(known)
    return [f"{name} {told} ({known['unknown']} not measured)"] if told else []


def _part_repeated(hat: dict[str, Any]) -> list[str]:
    told = possible_repeats(hat, str(hat["k"]))
    return [f"pass^{hat['k']} {told}"] if told else []


def _part_priced(cost: dict[str, Any]) -> list[str]:
    if cost["cpst_usd"] is not None:
        return []
    told = cost_span(cost["cpst_low_possible"], cost["cpst_high_possible"])
    return [f"per success {told} possible"] if told else []


def _grown(report: dict[str, Any]) -> list[str]:
    """What was made beyond the plan, and looks at it; nothing where all of it came at once."""
    seen = report["peeking"]
    told = seen["beyond_the_set"] or seen["earlier_decisions"] or (seen["arrivals"] or 0) > 1
    return peeking_lines(seen) if told else []


def _bounds(report: dict[str, Any]) -> list[str]:
    """What strict mode says of the same evidence, where it is not the mode in force."""
    found = report["decision_set"]
    if report["suite"]["probe"] or found["mode"] == "strict":
        return []
    strict = found["strict"]
    word = strict["recommendation"]
    needs = f": needs {'; '.join(strict['needs'])}" if word == "hold" else ""
    return [f"on bounds (strict) {word.upper()}{needs}"]
