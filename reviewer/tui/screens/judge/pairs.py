"""The judged pairs that one reviewer may see, a line each in an order that he chooses, and in words
what he may not see yet."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reviewer.desk.judge.api import JudgePairRow, JudgeView
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import worded
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad

OUTCOMES = {
    "agrees": ("✓ agrees", "pass"),
    "flips": ("✗ flips", "fail"),
    "differs": ("✗ differs", "fail"),
    "error": ("○ not parsed", "not_measured"),
}
NEEDS_YOU = frozenset({"flips", "differs", "error"})
"""Outcomes that a person should look at."""


class Sort(NamedTuple):
    """An order of the pairs, in words, and what it is by."""

    words: str
    key: Callable[[JudgePairRow], tuple[object, ...]]


SORTS = (
    Sort("parting first", lambda row: (row.outcome not in NEEDS_YOU, row.pair)),
    Sort("by number", lambda row: (row.pair,)),
    Sort("by people's answer", lambda row: (row.people, row.pair)),
)


def unseen(found: JudgeView) -> str:
    """What is not listed, and what would bring it here: the judge's word on a pair is for those who
    have labeled it."""
    if not found.labeled_pairs and not found.hidden:
        return worded("no judge answers: {run} shows what they would cost")
    if not found.labeled_pairs:
        return worded("no human labels: {screen.label} starts. Without them nothing is calibrated")
    words = []
    if found.others:
        them = "it to see it" if found.others == 1 else "them to see them"
        verb = "is" if found.others == 1 else "are"
        words.append(f"{found.others:,} more {verb} labeled by others: label {them}")
    if found.begun:
        verb = "waits" if found.begun == 1 else "wait"
        words.append(f"{found.begun:,} of yours {verb} for the other order")
    if found.hidden:
        words.append(f"{found.hidden:,} labeled by nobody")
    return "; ".join(words) or "every judged pair is labeled by you; hard gates never read a judge"


class JudgeSheet:
    """One pair a line: what people said, what the judge said in either order."""

    def __init__(self, width: int) -> None:
        episode = 16 if width < 120 else 40
        sizes = [("pair", 4), ("episode", episode), ("people", 8), ("forward", 8), ("swapped", 8)]
        x = 2
        self.columns: list[Column] = []
        for key, size in [*sizes, ("judge", 12), ("slot", max(4, width - episode - 48))]:
            self.columns.append(Column(key, x, size))
            x += size + 1
        line = ""
        for column in self.columns:
            line = pad(line, column.x) + ("" if column.key == "slot" else column.key)
        self.header: Sequence[Line] = [[Span(line.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: JudgePairRow) -> Span:
        return Span(" ")

    def cells(self, row: JudgePairRow) -> list[Line]:
        words, style = OUTCOMES[row.outcome]
        answers = (row.people, row.forward, row.swapped)
        return [
            [Span(f"{row.pair:,}")],
            [Span(middle(visible_line(row.episode_id), self.columns[1].width))],
            *([Span(cut(visible_line(each), 8))] for each in answers),
            [Span(words, style)],
            [Span(cut(visible_line(row.slot), self.columns[-1].width), "dim")],
        ]


def names(found: JudgeView) -> list[Span]:
    """Which candidate A is, and which B."""
    return [
        Span("A ", "strong"),
        Span(middle(visible_line(found.a_name), 20)),
        Span("  B ", "strong"),
        Span(middle(visible_line(found.b_name), 20)),
    ]
