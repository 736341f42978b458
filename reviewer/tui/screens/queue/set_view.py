"""A review set in the queue, in lines: its content and its rates."""

from reviewer.desk.labels.api import EstimateView, QueueView
from reviewer.desk.review_sets.views import SetView
from reviewer.trace.safetext import visible_line
from reviewer.tui.screens.queue.view import names
from reviewer.tui.widgets.lines import Block, Line, Span, cut, middle, spread, width_of
from reviewer.tui.widgets.plot import estimate_lines


def set_top(held: SetView, found: QueueView, width: int) -> list[Line]:
    """Return lines 2 and 3 of a review set: its content, this person's progress, and its first
    rate."""
    unit, shown = ("pairs", "showings") if held.kind == "pair" else ("traces", "")
    unit = "conversations, of their user" if held.about else unit
    left = [
        Span("set ", "dim"),
        Span(middle(visible_line(held.name), 30), "strong"),
        Span(f"   {held.units:,} of {held.size:,} {unit}", "strong"),
        Span(f"   you: {found.done:,} of {found.items:,} {shown}".rstrip() + " done"),
    ]
    room = max(12, width - width_of(left) - 5)
    right = [Span(" by ", "dim"), Span(cut(names(found.reviewers), room))]
    first = held.rates[0]
    if first.value is None or first.low is None or first.high is None:
        second: Line = [
            Span("○ not measured: ", "not_measured"),
            Span(cut(f"{visible_line(first.question)} ({first.why})", width - 18)),
        ]
    else:
        still = f", {first.open:,} not settled" if first.open else ""
        second = [
            Span(f"{visible_line(first.question)} "),
            Span(f"{first.value:.3f}", "strong"),
            Span(
                f" [{first.low:.3f}, {first.high:.3f}],"
                f" {first.hits:,} yes of {first.n:,} labeled{still}"
            ),
        ]
    return [spread(left, right, width), second]


def rates(held: SetView, width: int) -> list[Block]:
    """Return each question of a review set for the whole set, then for each stratum."""
    lines: list[Line] = []
    for number, one in enumerate(held.rates):
        name = f"  {one.dimension} {one.stratum}" if one.dimension else one.question
        estimate = EstimateView(
            name=visible_line(name),
            value=one.value,
            low=one.low,
            high=one.high,
            hits=None,
            n=one.n,
            why=one.why,
        )
        if not one.dimension and number:
            lines.append([])
        drawn = estimate_lines([estimate], width)
        lines += drawn if not number else drawn[1:]
    note = f"{held.drawn:,} drawn by lot ({held.sample}, seed {held.seed})"
    flagged = f"; {held.picked:,} by flags alone, in no rate" if held.picked else ""
    gone = f"; {held.gone:,} changed or not here" if held.gone else ""
    return [*(Block("", head=line) for line in lines), Block(f"{note}{flagged}{gone}", "dim")]
