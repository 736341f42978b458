"""An import in lines: what is understood of each file, what is refused and what it brings."""

import textwrap

from reviewer.desk.imports.api import FileView, FilledView, ImportState, ImportView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.widgets.lines import Line, Span, cut, middle
from reviewer.tui.widgets.words import plural

SHOWN_REFUSALS = 5
STYLES: dict[ImportState, str] = {
    "reading": "running",
    "pausing": "running",
    "paused": "not_measured",
    "done": "pass",
    "stopped": "not_measured",
    "failed": "fail",
}


def passed_words(filled: FilledView) -> str:
    """How many passed of those anything was said of."""
    passed = f"{filled.passed:,} of {filled.measured:,} passed" if filled.measured else "no verdict"
    open_ = "".join(f", {n:,} not measured: {code}" for code, n in filled.not_measured.items())
    return passed + visible_line(open_)


def cost_words(filled: FilledView) -> str:
    """Costs that are known, and how many are not."""
    if filled.cost_usd is None:
        return "cost not measured"
    more = f", {filled.unpriced:,} without" if filled.unpriced else ""
    return f"${filled.cost_usd:,.4f}{more}"


def plan_lines(view: ImportView, width: int) -> tuple[str, str, list[Line]]:
    """(what stands above, its style, the lines below) of an import that writes nothing."""
    lines: list[Line] = []
    for result in view.results:
        lines += file_lines(result, width)
    if view.passed:
        words = f"{view.passed:,} other files there are no traces: passed over"
        lines.append([Span(words, "dim")])
    if view.state == "reading":
        of = f"file {view.file:,} of {view.files:,}: " if view.files else ""
        share = f" {view.done * 100 // view.size} %" if view.size else ""
        return f"reading {of}{middle(visible_line(view.path), 40)}{share}", "running", lines
    if view.state == "failed":
        return f"✗ {visible_line(view.problem)}", "fail", lines
    if view.state == "stopped":
        return "stopped", "not_measured", lines
    would = f"would add {plural(view.added, 'trace')}"
    if view.refused:
        return f"{would}, {plural(view.refused, 'record')} refused", "quarantined", lines
    return would, "pass" if view.added else "not_measured", lines


def file_lines(result: FileView, width: int) -> list[Line]:
    """One file: its format and counts, what it brings, notes, the first refusals."""
    path = middle(visible_line(result.path), max(20, width - 34))
    if result.problem and not result.records:
        text = f"refused: {visible_line(result.problem)}"
        return [[Span(path, "strong")], *_wrapped(text, "fail", width)]
    counts = f"  {visible_line(result.reader)}, {plural(result.records, 'record')}"
    lines: list[Line] = [[Span(path, "strong"), Span(counts, "dim")]]
    if result.state == "known":
        lines.append([Span("  nothing new: this very file was imported before", "not_measured")])
    for filled in result.filled:
        who = f"{visible_line(filled.suite_id)} · {visible_line(filled.candidate_id)}"
        lines.append([Span("  "), Span(middle(who, width - 2), "text")])
        said = f"    {plural(filled.episodes, 'episode')}, {plural(filled.attempts, 'attempt')}, "
        said += f"{passed_words(filled)}, {cost_words(filled)}"
        lines.append([Span(cut(said, width))])
    for record, reasons in result.refusals[:SHOWN_REFUSALS]:
        text = f"record {record:,}: {visible_line(', '.join(reasons))}"
        lines += _wrapped(text, "fail", width)
    if result.refused > SHOWN_REFUSALS:
        lines.append([Span(f"  and {result.refused - SHOWN_REFUSALS:,} more refused", "fail")])
    if result.state != "known":
        for note in result.notes:
            lines += _wrapped(f"note: {visible_line(note)}", "dim", width)
    return lines


def _wrapped(text: str, style: str, width: int) -> list[Line]:
    return [[Span(f"  {line}", style)] for line in textwrap.wrap(text, max(20, width - 2))[:4]]


def ended_words(view: ImportView) -> tuple[str, str]:
    """How an import ended, and the style of the words."""
    counts = f"{plural(view.added, 'trace')} added"
    if view.refused:
        counts += f", {plural(view.refused, 'record')} refused: {key_of('screen.runs')} shows why"
    name = middle(visible_line(view.order.path), 30)
    if view.state == "failed":
        return f"✗ import of {name} failed: {visible_line(view.problem)}", "fail"
    if view.state == "stopped":
        return f"import of {name} stopped, {counts}; the same import goes on later", "not_measured"
    return f"import of {name}: {counts}", "quarantined" if view.refused else "pass"
