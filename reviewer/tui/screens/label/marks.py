"""The criteria of one message, each with its scale, as the lines of a pane."""

import textwrap
from collections.abc import Sequence

from reviewer.desk.labels.api import CriterionView, LabelItem
from reviewer.trace.safetext import visible_line
from reviewer.tui.shell.labeling import Draft
from reviewer.tui.widgets.lines import Line, Span, cut, rule, spread, width_of


def levels(criterion: CriterionView) -> range:
    """The answers that may be given: every whole number up to the highest level."""
    return range(1, max((value for value, _ in criterion.levels), default=0) + 1)


def first_open(item: LabelItem, draft: Draft, after: int = -1) -> int | None:
    """The index of the first criterion without an answer, those behind `after` before the others;
    None when all are answered."""
    open_ = [n for n, each in enumerate(item.criteria) if each.criterion_id not in draft.marks]
    return next((n for n in open_ if n > after), open_[0] if open_ else None)


def pane(
    item: LabelItem, draft: Draft, at: int, width: int, height: int, *, active: bool
) -> list[Line]:
    """A rule and `height - 1` lines. Every criterion is open where there is room, else only the one
    that is asked."""
    title = f"criterion {at + 1:,} of {len(item.criteria):,}" if item.criteria else "no criterion"
    joint = Span("┳" if active else "┬", "rule")
    lines: list[Line] = [[joint, *rule(width - 1, [Span(title, "strong")], heavy=active)]]
    inner, room = width - 2, height - 1
    numbered = list(enumerate(item.criteria))
    body = [_lines(each, draft, n == at, inner, full=True) for n, each in numbered]
    taken = sum(len(each) for each in body)
    if taken > room:
        body = [_lines(each, draft, n == at, inner, full=n == at) for n, each in numbered]
    gap: list[Line] = [[]] if taken + len(body) - 1 <= room else []
    found: list[Line] = []
    start = end = 0
    for number, each in enumerate(body):
        start = len(found) if number == at else start
        found += each
        end = len(found) if number == at else end
        found += gap
    first = max(0, min(start, end - room))
    shown = found[first : first + room]
    shown += [[] for _ in range(room - len(shown))]
    return [*lines, *([Span("│", "rule"), *line] for line in shown)]


def _lines(
    criterion: CriterionView, draft: Draft, here: bool, width: int, *, full: bool
) -> list[Line]:
    mark = draft.marks.get(criterion.criterion_id)
    title = [
        Span("›" if here else " ", "strong"),
        Span(f"{criterion.number} ", "key"),
        Span(cut(visible_line(criterion.title), width - 20), "strong" if here else "text"),
    ]
    right = [_state(criterion, mark, here, full)]
    lines: list[Line] = [spread(title, right, width)]
    if full:
        wrapped = textwrap.wrap(visible_line(criterion.asks), max(8, width - 4))[:2]
        lines += [[Span(f"   {text}", "dim")] for text in wrapped]
        lines += _scale(criterion, mark, here, width)
    return lines


def _state(criterion: CriterionView, mark: int | None, here: bool, full: bool) -> Span:
    if mark is not None:
        return Span("✓ answered" if full else f"✓ {mark} {_anchor(criterion, mark)}", "pass")
    if here:
        return Span(f"answer 1 to {levels(criterion)[-1]}" if levels(criterion) else "", "strong")
    return Span("waits", "dim")


def _anchor(criterion: CriterionView, value: int) -> str:
    return cut(visible_line(dict(criterion.levels).get(value, "")), 12)


def _scale(criterion: CriterionView, mark: int | None, here: bool, width: int) -> list[Line]:
    """Levels in one line when they fit, else a line for each that has an anchor or was chosen."""
    anchors = dict(criterion.levels)
    pieces = [(value, visible_line(anchors.get(value, ""))) for value in levels(criterion)]
    line: list[Span] = [Span("  ")]
    for value, anchor in pieces:
        line += _level(criterion, value, anchor, mark, here)
    if width_of(line) <= width:
        return [line]
    lines: list[Line] = []
    for value, anchor in pieces:
        if anchor or value == mark:
            spans = _level(criterion, value, cut(anchor, width - 8), mark, here)
            lines.append([Span("  "), *spans])
    return lines


def _level(
    criterion: CriterionView, value: int, anchor: str, mark: int | None, here: bool
) -> Sequence[Span]:
    action = f"screen.mark({criterion.number}, {value})"
    if value == mark:
        return [Span(f"[{f'{value} {anchor}'.rstrip()}]", "*strong", action)]
    key = "key" if here else "dim"
    return [Span(f" {value}", key, action), Span(f" {anchor} " if anchor else " ", "text", action)]
