"""Two candidates, or two attempts, in lines: the grids, the changes, and the evidence of them."""

from collections.abc import Iterable, Sequence
from re import sub
from textwrap import wrap
from typing import Literal, NamedTuple

from reviewer.desk.compare.views import (
    AlignedStep,
    Amount,
    AttemptComparison,
    Comparison,
    EpisodeChange,
    StepWord,
)
from reviewer.desk.views import EpisodeRow, EventRow, Mark
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.theme import RED
from reviewer.tui.views.event import changed
from reviewer.tui.views.event_list import KINDS
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import (
    Block,
    Column,
    Line,
    Sheet,
    Span,
    cut,
    in_order,
    middle,
    pad,
    spread,
    whole_parts,
    width_of,
)
from reviewer.tui.widgets.value_tree import SIGNS, Entry
from reviewer.tui.widgets.words import SHORT, strip, suite_word

WORDS = {
    "lost": Span("✗ LOST", "fail-cell"),
    "gained": Span("✓ gained", "pass"),
    "changed": Span("~ changed", "strong"),
    "unchanged": Span("= same", "dim"),
    "not compared": Span("○ not compared", "not_measured"),
}
STEP_SIGNS: dict[StepWord, str] = {
    "same": "=", "result": "~", "arguments": "~", "content": "~", "instead": "≠",
    "baseline": "-", "candidate": "+",
}  # fmt: skip
FOLD = 6
"""Equal events in a row from which they are folded into one line."""


class EpisodePair(NamedTuple):
    """One row of the list: the change, and both rows of the scorecard, None where there is none."""

    change: EpisodeChange
    baseline: EpisodeRow | None
    candidate: EpisodeRow | None


class EpisodeSheet(Sheet):
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
        self.columns = in_order(sized, gap=gap)
        head = "  " + (" " * gap).join(pad(cut(name, size), size) for name, size in sized)
        self.header = [[Span(head.rstrip(), "dim")]]

    def flag(self, row: EpisodePair) -> Span:
        return Span("▲", "critical") if row.change.new_critical else Span(" ")

    def cells(self, row: EpisodePair) -> list[Line]:
        change = row.change
        sides = row.baseline, row.candidate
        costs = [words.cost(side.mean_cost_usd if side else None) for side in sides]
        times = [words.seconds(side.latency_p50_ms if side else None) for side in sides]
        failing = [
            str(len(side.gates_failing)) if side.gates_known else words.UNKNOWN
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
    step that differs, one above the other; or `equal` events folded. `place` is the place of the
    (first) step; `first` marks the first divergence."""

    side: Literal["both", "baseline", "candidate", "fold"]
    place: int
    step: AlignedStep
    equal: int = 1
    first: bool = False


def step_rows(
    steps: Sequence[AlignedStep], first: int | None, *, wide: bool, folded: bool
) -> list[StepRow]:
    """Return the lines for aligned events: in two columns where there is room, else interleaved."""
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
    """Return whether both sides of a step need a line each: other acts, other words, other
    marks."""
    old, new = step.baseline, step.candidate
    if old is None or new is None or step.change == "instead":
        return True
    return old.mark != new.mark or (step.change == "content" and new.kind == "message")


class StepSheet(Sheet):
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
        self.header = [head] if wide else ()

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
            return [[Span(STEP_SIGNS[step.change], style)], old, new]
        shown = step.baseline if row.side == "baseline" else step.candidate or step.baseline
        both = row.side == "both"
        sign = STEP_SIGNS[step.change] if both else {"baseline": "-"}.get(row.side, "+")
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
    """Return the first difference of two events that belong together, to be put after the title."""
    new = step.candidate
    if step.change == "instead" or new is None or new.kind == "message" or not step.lines:
        return ""
    return visible_line(step.lines[0]) if step.baseline is not None else ""


BRIEF = {
    "cost, sum": "cost",
    "cost per success": "CPST",
    "latency, median": "p50",
    "steps, sum": "steps",
}


def top(found: Comparison, width: int) -> list[Line]:
    """Return lines 2 to 7: the two candidates, the sentence, the figures, their reliability, the
    sums."""
    state = "critical" if found.new_critical else "fail" if found.lost else "pass"
    if not found.compared:
        state = "not_measured"

    def told(text: str) -> str:
        return whole_parts(visible_line(text), width - 2)

    sentence = found.sentence
    if len(sentence) > width - 2:  # the names are in the rows, each next to its word
        sentence = sub(r" \([^()]*\)", "", sentence)
    return [
        _context(found, width),
        [words.mark(state), Span(f" {told(sentence)}", "strong")],
        *([Span(f" {part}")] for part in wrap(visible_line(found.figures), width - 2)),
        [Span(f" {visible_line(found.test)}", "dim")],
        [
            Span(
                f" {told(found.conclusion)}",
                "fail" if found.verdict == "worse" else "dim",
            )
        ],
        *amount_lines(found.amounts, width, roomy=width >= 150),
    ]


def _context(found: Comparison, width: int) -> list[Span]:
    room = 60 if width >= 120 else 16
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite.suite_id), room)),
        Span(" "),
        suite_word(found.suite.state),
    ]
    right = [
        Span(" baseline ", "dim"),
        Span(middle(visible_line(found.baseline_id), room), "strong", "screen.other"),
        Span(" → ", "dim"),
        Span("< ", "key", "screen.candidate(-1)"),
        Span(middle(visible_line(found.candidate_id), room), "strong"),
        Span(" >", "key", "screen.candidate(1)"),
    ]
    return spread(left, right, width)


def amount_lines(amounts: Iterable[Amount], width: int, *, roomy: bool) -> list[Line]:
    """Return every figure of both sides, on as many lines as needed; with room, the difference
    too."""
    lines: list[list[Span]] = [[Span(" ")]]
    for each in amounts:
        line: list[Span] = []
        name = each.name if roomy else BRIEF.get(each.name, each.name)
        told = f"{figure(each, each.baseline)} → {figure(each, each.candidate)}"
        line += [Span(f"{name} ", "dim"), Span(told)]
        if roomy and each.difference is not None:
            sign = "-" if each.difference < 0 else "+" if each.difference else "±"
            line.append(Span(f" ({sign}{figure(each, abs(each.difference))})", "dim"))
        elif roomy and each.why:
            line.append(Span(f" ({visible_line(each.why)})", "not_measured"))
        if len(lines[-1]) > 1 and width_of([*lines[-1], *line]) > width:
            lines.append([Span(" ")])
        lines[-1] += [*line, Span("  ")]
    return [line[:-1] for line in lines]


def figure(each: Amount, value: float | None) -> str:
    """Return a figure in its unit, or n/m."""
    if value is None:
        return words.UNKNOWN
    if each.unit == "steps":
        return f"{value:,.0f}"
    if each.unit == "ms":
        return words.seconds(value)
    return words.money(value, 4 if each.name == "cost per success" else 3)


def evidence_entries(found: AttemptComparison) -> list[Entry]:
    """Return a line for each piece of evidence that changed: `»` where the two first differ, `→`
    where Enter opens a step that shows it."""
    entries = []
    for text, step in zip(found.evidence, found.evidence_steps, strict=True):
        go = None if step is None else ("step", step)
        sign = "· " if go is None else "» " if step == found.first_divergence else "→ "
        entries.append(Entry(Block(text, head=[Span(sign, "key" if go else "dim")]), go=go))
    if found.cut:
        head = [Span("○ ", "not_measured")]
        entries.append(Entry(Block(found.cut, "not_measured", head=head)))
    return entries


def pair_title(found: AttemptComparison) -> list[Span]:
    """Return the names of the two attempts, for a rule."""
    a, b = found.baseline, found.candidate
    told = f"{found.episode_id} · attempt {a.attempt}"
    told += "" if a.attempt == b.attempt else f" and {b.attempt}"
    return [Span(visible_line(told), "strong")]


def pair_top(found: AttemptComparison, place: str, width: int) -> list[Line]:
    """Return lines 2 to 4: episode and attempts, both verdicts and the gates that differ, the
    sums."""
    room = 60 if width >= 120 else 15
    line: list[Span] = [
        Span("{ ", "key", "screen.episode(-1)"),
        Span(middle(visible_line(found.episode_id), 60 if width >= 120 else 18), "strong"),
        Span(" }", "key", "screen.episode(1)"),
        Span(f" {place}  " if place else "  ", "dim"),
    ]
    for number, side in enumerate((found.baseline, found.candidate)):
        line += [
            Span(" → " if number else "", "dim"),
            Span(middle(visible_line(side.candidate_id), room)),
            Span(f" [{side.attempt}] ", "key", "screen.attempt(1)"),
            *strip([each.mark for each in side.siblings], 12 if width >= 120 else 5),
        ]
    amounts = amount_lines(found.amounts, width, roomy=width >= 120)
    return [line, _verdict(found), *amounts]


def _verdict(found: AttemptComparison) -> list[Span]:
    before, after = found.baseline.mark, found.candidate.mark
    line = [words.mark_word(before), Span(" → ", "dim"), words.mark_word(after), Span("   ")]
    moved = [each for each in found.gates if each.baseline != each.candidate]
    for each in moved:
        line += [
            Span(f"{SHORT.get(each.gate, each.gate)} "),
            *_marks(each.baseline, each.candidate),
        ]
    rest = len(found.gates) - len(moved)
    line.append(Span(f"{rest} gates same" if moved else "every gate says the same", "dim"))
    return line


def _marks(before: Mark, after: Mark) -> list[Span]:
    return [words.mark(before), Span("→", "dim"), words.mark(after), Span("  ")]


def state_blocks(found: AttemptComparison) -> list[Block]:
    """Return the changes of the final state, a line for each path."""
    if not (found.baseline.payload and found.candidate.payload):
        return [Block("○ not measured: the events of one side are not stored", "not_measured")]
    return changed(found.state) or [Block("the final state is the same on both sides")]


BRACKETS = {"=": ("", ""), "-": ("[-", "-]"), "+": ("{+", "+}")}
"""The brackets around words that only one side has, as git writes them."""


def message_blocks(found: AttemptComparison) -> list[Block]:
    """Return the final messages in one text: words of one side only in brackets and in color."""
    if not found.message:
        return [Block("no final message on either side")]
    text, marks = "", []
    for sign, said in found.message:
        before, after = BRACKETS[sign]
        start = len(text) + (1 if text else 0)
        words_of = visible_line(said)
        text += f"{' ' if text else ''}{before}{words_of}{after}"
        if sign != "=":
            marks.append((start, len(text), SIGNS[sign]))
    old, new = found.sides
    told = f"[-{old} alone-]  {{+{new} alone+}}"
    middle_of = told.index("  ")
    key = Block(
        told, "dim", marks=[(0, middle_of, SIGNS["-"]), (middle_of + 2, len(told), SIGNS["+"])]
    )
    return [key, Block(text, quoted=True, marks=marks)]
