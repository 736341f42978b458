"""Two candidates, or two attempts, in lines: what changed, by how much, and in which evidence."""

from collections.abc import Iterable

from reviewer.desk.compare.views import Amount, AttemptComparison, Comparison
from reviewer.desk.views import Mark
from reviewer.trace.safetext import visible_line
from reviewer.tui.views.event import changed
from reviewer.tui.widgets import words
from reviewer.tui.widgets.lines import Line, Span, middle, spread
from reviewer.tui.widgets.value_tree import SIGNS, Entry
from reviewer.tui.widgets.words import SHORT, strip, suite_word
from reviewer.tui.widgets.wrap import Block

BRIEF = {
    "cost, sum": "cost",
    "cost per success": "CPST",
    "latency, median": "p50",
    "steps, sum": "steps",
}


def top(found: Comparison, width: int) -> list[Line]:
    """Lines 2 to 7: who against whom, the sentence, the figures, what they are worth, the sums."""
    state = "critical" if found.new_critical else "fail" if found.lost else "pass"
    if not found.compared:
        state = "not_measured"
    return [
        _context(found, width),
        [words.mark(state), Span(f" {visible_line(found.sentence)}", "strong")],
        [Span(f" {visible_line(found.figures)}")],
        [Span(f" {visible_line(found.test)}", "dim")],
        [
            Span(
                f" {visible_line(found.conclusion)}",
                "fail" if found.verdict == "worse" else "dim",
            )
        ],
        amount_line(found.amounts, roomy=width >= 150),
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


def amount_line(amounts: Iterable[Amount], *, roomy: bool) -> list[Span]:
    """Every figure of both sides on one line; with room, the difference too."""
    line = [Span(" ")]
    for each in amounts:
        name = each.name if roomy else BRIEF.get(each.name, each.name)
        told = f"{figure(each, each.baseline)} → {figure(each, each.candidate)}"
        line += [Span(f"{name} ", "dim"), Span(told)]
        if roomy and each.difference is not None:
            sign = "-" if each.difference < 0 else "+" if each.difference else "±"
            line.append(Span(f" ({sign}{figure(each, abs(each.difference))})", "dim"))
        elif roomy and each.why:
            line.append(Span(f" ({visible_line(each.why)})", "not_measured"))
        line.append(Span("  "))
    return line[:-1]


def figure(each: Amount, value: float | None) -> str:
    """A figure in its unit, or n/m."""
    if value is None:
        return words.UNKNOWN
    if each.unit == "steps":
        return f"{value:,.0f}"
    if each.unit == "ms":
        return words.seconds(value)
    return words.money(value, 4 if each.name == "cost per success" else 3)


def evidence_entries(found: AttemptComparison) -> list[Entry]:
    """Which evidence changed, a line each: `»` where the two part, `→` where a step shows it, to
    which Enter goes."""
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
    """Whose attempts these are, for a rule."""
    a, b = found.baseline, found.candidate
    told = f"{found.episode_id} · attempt {a.attempt}"
    told += "" if a.attempt == b.attempt else f" and {b.attempt}"
    return [Span(visible_line(told), "strong")]


def pair_top(found: AttemptComparison, place: str, width: int) -> list[Line]:
    """Lines 2 to 4: episode and attempts, both verdicts and the gates between them, the sums."""
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
    return [line, _verdict(found), amount_line(found.amounts, roomy=width >= 120)]


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
    """What became of the final state, a line a path."""
    if not (found.baseline.payload and found.candidate.payload):
        return [Block("○ not measured: the events of one side are not stored", "not_measured")]
    return changed(found.state) or [Block("the final state is the same on both sides")]


BRACKETS = {"=": ("", ""), "-": ("[-", "-]"), "+": ("{+", "+}")}
"""What stands around words that only one side has, as git writes it."""


def message_blocks(found: AttemptComparison) -> list[Block]:
    """The final messages in one text: words that only one side has in brackets and in color."""
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
