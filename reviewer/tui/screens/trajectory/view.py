"""One trace in lines: where it stands, its verdict, its source, the clauses of its contract."""

from collections.abc import Sequence
from typing import NamedTuple

from reviewer.desk.views import Clause, TraceView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED, STATES, cell_style
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Span, middle, pad, spread
from reviewer.tui.widgets.words import SHORT


class Told(NamedTuple):
    """A line of the contract: the gates it speaks of, and the event that shows it."""

    line: list[Span]
    gates: tuple[str, ...]
    seq: int | None


def context(trace: TraceView, place: str, width: int) -> list[Span]:
    """Line 2: episode, candidate, attempt, trace, each with the keys that step through it."""
    long = width >= 120
    left = [
        Span("{ ", "key", "screen.episode(-1)"),
        Span(middle(visible_line(trace.episode_id), 60 if long else 20), "strong"),
        Span(" }", "key", "screen.episode(1)"),
        Span(f" {place}" if place else "", "dim"),
        Span("   "),
        Span(middle(visible_line(trace.candidate_id), 60 if long else 20)),
        Span("   "),
        Span("[ ", "key", "screen.attempt(-1)"),
        Span(f"attempt {trace.attempt}", "strong"),
        Span(" ]", "key", "screen.attempt(1)"),
        Span(f" of {max(len(trace.attempts), trace.attempt)} ", "dim"),
        *_strip(trace, 24 if long else 12),
    ]
    right = [Span(" trace ", "dim"), Span(middle(visible_line(trace.trace_id), 70))] if long else []
    return spread(left, right, width)


def _strip(trace: TraceView, most: int) -> list[Span]:
    """One glyph an attempt, as many as there is room for around this one, which is in reverse."""
    numbers = [each.attempt for each in trace.attempts]
    at = numbers.index(trace.attempt) if trace.attempt in numbers else 0
    first = max(0, min(at - most // 2, len(numbers) - most))
    strip = []
    for each in trace.attempts[first : first + most]:
        action = f"screen.attempt_to({each.attempt})"
        glyph = words.mark(each.mark)._replace(action=action)
        here = each.attempt == trace.attempt and len(numbers) > 1
        strip.append(glyph._replace(style=f"*{glyph.style}") if here else glyph)
    return [Span("…", "dim") if first else Span(""), *strip]


def verdict(trace: TraceView, finding: str, width: int) -> list[Span]:
    """Line 3: the word on this trace, the gates that do not pass, and which finding is chosen."""
    state = STATES[trace.mark]
    left: list[Span] = [Span(f"{state.glyph} {state.word}", cell_style(trace.mark)), Span("  ")]
    critical = {each.gate for each in trace.findings if each.severity == "critical"}
    by_result: dict[str, list[str]] = {}
    for gate, result in zip(trace.gates, trace.results, strict=True):
        by_result.setdefault("critical" if gate in critical else result, []).append(gate)
    for mark in ("critical", "fail"):
        for gate in by_result.get(mark, ()):
            left += [Span(f"{SHORT.get(gate, gate)} "), words.mark(mark), Span("  ")]
    unknown = by_result.get("not_measured", [])
    if 0 < len(unknown) <= 2:
        for gate in unknown:
            left += [Span(f"{SHORT.get(gate, gate)} "), words.mark("not_measured"), Span("  ")]
    elif unknown:
        told = f"{STATES['not_measured'].glyph} {len(unknown)} gates not measured"
        left += [Span(told, "not_measured"), Span("  ")]
    left.append(Span(f"{len(by_result.get('pass', ()))} pass", "dim"))
    return spread(left, [Span(f"  {finding}", "dim")], width)


def said(trace: TraceView, width: int) -> list[list[Span]]:
    """Line 4 of an imported trace, if there is one: what its source says of itself and of the
    attempt, in short."""
    brief = [
        f"{name} {text}" for name, text in trace.said if name in ("format", "clock", "verdict")
    ]
    if not brief:
        return []
    noted = sum(name == "notes" for name, _ in trace.said) + len(trace.notes)
    brief += [words.plural(noted, "note")] if noted else []
    text = visible_line(" · ".join(brief))
    right = [Span("  all of it", "dim", "screen.look('source')")]
    return [spread([Span("source ", "dim"), Span(text)], right, width)]


def clauses(trace: TraceView, width: int) -> list[Told]:
    """The contract, failing clauses first, each with the event that shows it. Gates of which the
    same is said, and no event shows it, share a line."""
    order = {"critical": 0, "fail": 1, "not_measured": 2}
    lines: dict[tuple[object, ...], list[Clause]] = {}
    for number, clause in enumerate(trace.clauses):
        shared = clause.seq is None and clause.mark in ("pass", "not_measured")
        lines.setdefault((clause.mark, clause.text) if shared else (number,), []).append(clause)
    told = []
    for alike in sorted(lines.values(), key=lambda each: order.get(each[0].mark, 3)):
        gates = tuple(dict.fromkeys(clause.gate for clause in alike))
        told.append(Told(_clause(alike[0], gates, width), gates, alike[0].seq))
    return told


def _clause(clause: Clause, gates: Sequence[str], width: int) -> list[Span]:
    place = "no event" if clause.seq is None else f"event {clause.seq}"
    if clause.seq is None and clause.mark in ("pass", "not_measured"):
        place = "whole trace" if clause.mark == "pass" else ""
    names = ", ".join(SHORT.get(gate, gate) for gate in gates)
    left = [
        words.mark(clause.mark),
        Span(" " + (pad(names, 10) if len(gates) == 1 else f"{names}  "), "strong"),
        Span(visible_line(clause.text), "dim" if clause.mark == "pass" else "text"),
    ]
    style = "key" if clause.seq is not None else "dim"
    return spread(left, [Span(f" {place} ", style)], width - 1)


def contract_note(trace: TraceView) -> list[Span]:
    """How many clauses fail, are not measured, and hold."""
    marks = [clause.mark for clause in trace.clauses]
    failing = sum(mark in RED for mark in marks)
    holding = marks.count("pass")
    unknown = len(marks) - failing - holding
    text = f"{words.plural(failing, 'clause')} fail, "
    text += f"{unknown} not measured, " if unknown else ""
    return [Span(f"{text}{holding} hold", "fail" if failing else "dim")]
