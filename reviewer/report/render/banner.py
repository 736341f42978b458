"""The verdict in two lines for a screen."""

from reviewer.report.assess import Assessment, Reason
from reviewer.report.evidence import EvidenceRef
from reviewer.report.formatting import NOT_MEASURED, between, number
from reviewer.suite.gates import CRITICAL_GATES
from reviewer.trace.safetext import visible_line

GLYPHS = {"promote": "✓", "block": "▲", "repair": "✗", "hold": "○"}


def banner(assessment: Assessment, width: int = 80) -> tuple[str, str]:
    """Return glyph, verdict and first reason; below it, aligned, the other reasons. At most `width`
    wide.

    Reasons that do not fit are counted ("+2 more, D shows all"), never silently dropped.
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
    """Return line 1, and the tool or code that did not fit on it."""
    line = f"{head}1 {visible_line(reason.text)}"
    if reason.need or not reason.evidence:
        seen = "" if reason.need or not reason.observed else f": {visible_line(reason.observed)}"
        return f"{line}{seen}", ""
    where = reason.evidence[0]
    event = "" if where.seq is None else f" event {where.seq}"
    line += f": {visible_line(where.episode_id)} attempt {where.attempt}{event}"
    word = visible_line(_word(where))
    return (f"{line} {word}", "") if len(line) + 1 + len(word) <= width else (line, word)


def _word(where: EvidenceRef) -> str:
    return where.tool if where.tool and where.gate in CRITICAL_GATES else where.code


def _fill(items: list[str], room: int, leading: int) -> str:
    """Return as many items as fit, three spaces apart; the reasons left out are counted."""
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
    stable = shown.counted.total(lambda e: 0 < e.attempts == e.passes)
    later = shown.episodes.total(lambda e: e.attempts) - rate.n
    return (
        f"no reason against: {stable} of {len(shown.episodes)} episodes passed every attempt, "
        f"{rate.passes} of {rate.n}" + (f"; {later} made later do not count" if later else ""),
        f"{critical.count} critical in {critical.n}: true rate at most "
        f"{number(critical.upper)}, by episodes {number(critical.upper_episodes)}",
    )


def _probe_line(assessment: Assessment, room: int) -> str:
    """Return the rates; of several pass^k those of the smallest and the largest k."""
    rate, hat = assessment.figures.hard_pass, assessment.figures.pass_hat
    known = rate.known
    line = f"hard pass {rate.passes}/{rate.n} {number(rate.value)}"
    if known.unknown and known.value is not None:
        passed = f"{rate.passes} to {rate.passes + known.unknown}/{rate.n}"
        line = f"hard pass {passed} {between(known.low_possible, known.high_possible)}"
    values = [number(value) for _, value in hat.values if value is not None]
    if not values:
        bounded = ((k, one) for k, one in hat.known.items() if one.low_possible is not None)
        k, least = next(bounded, ("k", None))
        if known.value is None or least is None:
            return f"{line}   pass^k {NOT_MEASURED}"
        return f"{line}   pass^{k} {between(least.low_possible, least.high_possible)}"
    line += f"   pass^1 to {len(values)}: " if len(values) > 1 else "   pass^1: "
    said = ", ".join(values)
    left = len(values) - 1
    while len(line) + len(said) > room and left > 1:
        left -= 1
        said = ", ".join((*values[:left], "…", values[-1]))
    return line + said


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
