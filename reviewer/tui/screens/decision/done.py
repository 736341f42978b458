"""What was done in the attempts behind the reasons of a report, event by event."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from reviewer.desk.views import Reason
from reviewer.trace.safetext import visible, visible_line
from reviewer.tui.views.attempt import Read, clause_lines, event_lines, read
from reviewer.tui.views.event_list import ListMarks
from reviewer.tui.widgets.lines import Block, Span
from reviewer.tui.widgets.words import plural

if TYPE_CHECKING:
    from reviewer.desk.desk import Desk

MOST = 3
"""Attempts that are shown for one reason."""
Behind = list[tuple[Reason, list[Read]]]


def read_behind(desk: "Desk", reasons: Iterable[Reason]) -> Behind:
    """Read the first attempts behind each reason; traces that no longer exist are left out."""
    found: Behind = []
    for reason in reasons:
        first = {one.trace_id: one.seq for one in reversed(reason.evidence)}
        ids = dict.fromkeys(one.trace_id for one in reason.evidence)
        attempts = [read(desk, each, first[each]) for each in list(ids)[:MOST]]
        found.append((reason, [one for one in attempts if one is not None]))
    return found


def done_blocks(behind: Behind, width: int) -> list[Block]:
    """Return each reason with the attempts behind it. An attempt that an earlier reason has shown
    is only named."""
    blocks: list[Block] = []
    shown: set[str] = set()
    for reason, attempts in behind:
        head = [Span(f" {reason.number} ", "key"), Span(f"{visible_line(reason.text)}  ", "strong")]
        blocks.append(Block(visible_line(reason.observed), "text", head))
        for one in attempts:
            blocks += _attempt(one, reason, width, again=one.trace.trace_id in shown)
            shown.add(one.trace.trace_id)
        left = len({one.trace_id for one in reason.evidence}) - len(attempts)
        if left > 0:
            blocks.append(Block(f"{plural(left, 'further attempt')}, not shown here", "dim"))
        blocks.append(Block(""))
    return blocks


def _attempt(found: Read, reason: Reason, width: int, *, again: bool) -> Iterator[Block]:
    trace = found.trace
    name = f"{visible_line(trace.episode_id)} attempt {trace.attempt}"
    if again:
        yield Block(f"{name}: shown above", "dim")
        return
    yield Block("", head=[Span(f"{name}, {plural(trace.events, 'event')}", "strong")])
    mine: Sequence[int | None] = [
        one.seq for one in reason.evidence if one.trace_id == trace.trace_id
    ]
    if not trace.listed:
        yield Block("its events are not kept here", "not_measured")
    else:
        marks = ListMarks(slowest=trace.slowest_ms, dearest=trace.dearest_usd)
        lines = event_lines(found.events, trace.events, mine[0], width, marks)
        yield from (Block("", head=line) for line in lines)
        left = trace.events - len(found.events)
        if left > 0:
            yield Block(f"{plural(left, 'more event')} in the trace itself", "dim")
    yield from clause_lines((one for one in trace.clauses if one.mark != "pass"), "", width)
    if trace.final_message is not None:
        yield Block(visible(trace.final_message), quoted=True)
