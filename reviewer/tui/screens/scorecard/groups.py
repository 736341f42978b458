"""Heads of groups: what a group is called, and what stands in the drawer for one."""

from collections.abc import Sequence

from reviewer.desk.scorecards.views import Group
from reviewer.trace.safetext import visible_line
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Line, Span, cut


def group_name(group: Group) -> str:
    """Its tag or category in safe text."""
    return visible_line(group.label) or "(no tag)"


def head_name(group: Group, width: int, *, folded: bool = False) -> str:
    """`- refund 412`: an open group with its episodes; a folded one has a plus."""
    count = f" {group.episodes:,}"
    name = cut(group_name(group), max(1, width - 2 - len(count)))
    return f"{'+' if folded else '-'} {name}{count}"


def group_lines(group: Group, k: int, gates: Sequence[str]) -> list[Line]:
    """What the drawer says of a group."""
    failing = [
        f"{gate} {count:,}" for gate, count in zip(gates, group.failed, strict=True) if count
    ]
    return [
        [
            Span(f" {words.plural(group.episodes, 'episode')}, hard pass "),
            Span(f"{group.counted_passes:,}/{group.counted:,}", "strong"),
            Span(f", {group.infra:,} infra, pass^{k} "),
            Span(
                words.decimal(group.pass_hat),
                "not_measured" if group.pass_hat is None else "strong",
            ),
            Span(f", mean cost {words.money(group.mean_cost_usd)}"),
        ],
        [
            Span(f" {group.critical:,} critical", "critical" if group.critical else "dim"),
            Span(f"   failing attempts: {', '.join(failing) or 'none'}"),
        ],
    ]
