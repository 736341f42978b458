"""The grids of a comparison: episodes on both sides, and events side by side or interleaved."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from reviewer.desk.compare.views import AlignedStep, EpisodeChange, StepWord
from reviewer.desk.views import EpisodeRow, EventRow
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.views.event_list import KINDS
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Column, Line, Span, cut, middle, pad
from reviewer.tui.widgets.words import strip

WORDS = {
    "lost": Span("✗ LOST", "fail"),
    "gained": Span("✓ gained", "pass"),
    "changed": Span("~ changed", "strong"),
    "unchanged": Span("= same", "dim"),
    "not compared": Span("○ not compared", "not_measured"),
}
SIGNS: dict[StepWord, str] = {
    "same": "=", "result": "~", "arguments": "~", "content": "~", "instead": "≠",
    "baseline": "-", "candidate": "+",
}  # fmt: skip
FOLD = 6
"""Equal events in a row from which on they are folded into one line."""


class EpisodePair(NamedTuple):
    """One row of the list: the change, and both rows of the scorecard, None where there is none."""

    change: EpisodeChange
    baseline: EpisodeRow | None
    candidate: EpisodeRow | None


class EpisodeSheet:
    """Columns of the list of episodes at one width."""

    def __init__(self, width: int) -> None:
        roomy = width >= 120
        self._strip = 10 if width >= 140 else 5
        self._arrow = " → " if roomy else "→"
        pair = len(self._arrow)
        fixed = [
            ("change", 14),
            ("attempts", 2 * self._strip + pair),
            ("gates", 6 + pair),
            ("cost", 10 + pair),
            ("latency p50", 12 + pair),
        ]
        gap = 2 if roomy else 1
        taken = 2 + sum(size + gap for _, size in fixed)
        sized = [("episode", max(8, min(48, width - taken))), *fixed]
        self.columns: list[Column] = []
        x = 2
        for name, size in sized:
            self.columns.append(Column(name, x, size))
            x += size + gap
        head = "  " + (" " * gap).join(pad(cut(name, size), size) for name, size in sized)
        self.header: Sequence[Line] = [[Span(head.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: EpisodePair) -> Span:
        return Span("▲", "critical") if row.change.new_critical else Span(" ")

    def cells(self, row: EpisodePair) -> list[Line]:
        change = row.change
        sides = row.baseline, row.candidate
        costs = [words.cost(side.mean_cost_usd if side else None) for side in sides]
        times = [words.seconds(side.latency_p50_ms if side else None) for side in sides]
        failing = [
            str(len(side.gates_failing)) if side.attempts else words.UNKNOWN
            for side in (change.baseline, change.candidate)
        ]
        marks: list[Span] = []
        for number, side in enumerate(sides):
            made = [each.mark for each in side.attempts] if side else []
            marks += [Span(self._arrow, "dim")] if number else []
            marks += strip(made, self._strip) if made else [Span("·", "missing")]
        return [
            [Span(middle(visible_line(change.episode_id), self.columns[0].width))],
            [WORDS[change.change]],
            marks,
            self._pair(failing),
            self._pair(costs),
            self._pair(times),
        ]

    def _pair(self, texts: list[str]) -> list[Span]:
        style = "not_measured" if words.UNKNOWN in texts else "text"
        return [Span(self._arrow.join(texts), style)]


class StepRow(NamedTuple):
    """One line of the aligned events. `side`: both on one line; the baseline's or candidate's of a
    step that differs, one above the other; or `equal` events folded. `place` is that of the
    (first) step; `first` marks the first divergence."""

    side: Literal["both", "baseline", "candidate", "fold"]
    place: int
    step: AlignedStep
    equal: int = 1
    first: bool = False


def step_rows(
    steps: Sequence[AlignedStep], first: int | None, *, wide: bool, folded: bool
) -> list[StepRow]:
    """The lines for aligned events: in two columns where there is room, else interleaved."""
    rows: list[StepRow] = []
    at = 0
    while at < len(steps):
        step = steps[at]
        if step.change == "same":
            end = next((n for n in range(at, len(steps)) if steps[n].change != "same"), len(steps))
            if folded and end - at >= FOLD:
                rows.append(StepRow("fold", at, step, end - at))
            else:
                rows += [StepRow("both", n, steps[n]) for n in range(at, end)]
            at = end
            continue
        mark = at == first
        if wide or not _apart(step):
            rows.append(StepRow("both", at, step, first=mark))
        else:
            if step.baseline is not None:
                rows.append(StepRow("baseline", at, step, first=mark))
            if step.candidate is not None:
                mark = mark and step.baseline is None
                rows.append(StepRow("candidate", at, step, first=mark))
        at += 1
    return rows


def _apart(step: AlignedStep) -> bool:
    """Whether both sides of a step need a line each: other acts, other words, other marks."""
    old, new = step.baseline, step.candidate
    if old is None or new is None or step.change == "instead":
        return True
    return old.mark != new.mark or (step.change == "content" and new.kind == "message")


class StepSheet:
    """Columns of the aligned events at one width; two sides from 120 columns on."""

    def __init__(self, width: int, names: tuple[str, str], *, wide: bool) -> None:
        self._wide = wide
        half = (width - 7) // 2
        sized = [("sign", 1), ("baseline", half), ("candidate", width - 7 - half)]
        if not wide:
            sized = [("sign", 1), ("event", max(10, width - 4))]
        x = 2
        self.columns: list[Column] = []
        for name, size in sized:
            self.columns.append(Column(name, x, size))
            x += size + (2 if name == "baseline" else 1)
        head: list[Span] = []
        if wide:
            head = [
                Span(" " * 4),
                Span(pad(cut(visible_line(names[0]), half), half + 2), "dim"),
                Span(cut(visible_line(names[1]), half), "dim"),
            ]
        self.header: Sequence[Line] = [head] if wide else ()
        self.totals: Sequence[Line] = ()

    def flag(self, row: StepRow) -> Span:
        return Span("»" if row.first else " ", "strong")

    def cells(self, row: StepRow) -> list[Line]:
        step = row.step
        if row.side == "fold":
            told = f"{row.equal:,} equal events, z unfolds"
            return [[Span("=", "dim")], [Span(told, "dim")], *([[Span("")]] if self._wide else [])]
        style = "dim" if step.change == "same" else "strong"
        if self._wide:
            old = self._event(step.baseline, 1, style)
            new = self._event(step.candidate, 2, style, _difference(step))
            return [[Span(SIGNS[step.change], style)], old, new]
        shown = step.baseline if row.side == "baseline" else step.candidate or step.baseline
        both = row.side == "both"
        sign = SIGNS[step.change] if both else {"baseline": "-"}.get(row.side, "+")
        told = _difference(step) if both else ""
        return [[Span(sign, style)], self._event(shown, 1, style, told)]

    def _event(
        self, row: EventRow | None, column: int, style: str, difference: str = ""
    ) -> list[Span]:
        room = self.columns[column].width
        if row is None:
            return [Span("", "dim")]
        status = row.status or ""
        wrong = status not in ("", "ok")
        took = "" if row.latency_ms is None else words.seconds(row.latency_ms)
        right = visible_line(status) if wrong else took
        title = visible_line(row.title)
        if row.actor and row.actor != "agent":
            title = f"{title}, {visible_line(row.actor)}"
        wide = max(4, room - 17)
        title = f"{title}  {difference}" if difference else title
        return [
            words.mark(row.mark) if row.mark else Span(" "),
            Span(pad(str(row.seq), 4, right=True), "dim"),
            Span(f" {KINDS.get(row.kind, '?')} "),
            Span(pad(cut(title, wide), wide), "fail" if row.mark in RED else style),
            Span(pad(cut(right, 8), 9, right=True), "fail" if wrong else "dim"),
        ]


def _difference(step: AlignedStep) -> str:
    """The first difference of two events that belong together, to stand behind the title."""
    new = step.candidate
    if step.change == "instead" or new is None or new.kind == "message" or not step.lines:
        return ""
    return visible_line(step.lines[0]) if step.baseline is not None else ""
