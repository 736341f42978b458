"""The queue and the agreement of its reviewers, in lines."""

from collections.abc import Sequence

from reviewer.desk.review_views import DisagreementView, QueueView, ReasonLine
from reviewer.trace.safetext import visible_line
from reviewer.tui.bars import estimate_lines
from reviewer.tui.columns import Column
from reviewer.tui.lines import Line, Span, cut, middle, pad, spread
from reviewer.tui.words import plural
from reviewer.tui.wrap import Block

WORDS = {
    "safety": "safety: a critical finding",
    "gate_disagreement": "gates and harness disagree",
    "iteration_limit": "iteration limit",
    "blocked_output": "blocked output",
    "thumbs_down": "thumbs down",
    "judge_flips": "judge flips",
    "lost_episode": "lost episode",
    "low_efficiency": "efficiency < 0.3",
    "uncertain": "uncertain, near a limit",
    "random": "random",
    "quota": "to make up the number",
}
PRIORITIES = {"high": ("! high", "quarantined"), "normal": ("· normal", "text"), "low": ("· low",
    "dim")}  # fmt: skip
EMPTY = "no labels yet: L starts. Two reviewers and 20 repeats make this readable"
KINDS = {"pair": "pairs", "message": "final messages"}


def reason_words(reason: str) -> str:
    """A reason of the queue, as a person says it."""
    return WORDS.get(reason, visible_line(reason).replace("_", " "))


def top(found: QueueView, width: int) -> list[Line]:
    """Lines 2 and 3: what there is to label, who labels, and whether a high flag is open."""
    names = ", ".join(visible_line(name) for name in found.reviewers) or "none yet"
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(found.suite_id), 30), "strong"),
        Span("   "),
        Span(KINDS[found.kind], "strong"),
        Span(f"   {plural(found.items, 'item')}, {found.done:,} done"),
    ]
    right = [Span(" reviewers ", "dim"), Span(cut(names, width // 4))]
    return [spread(left, right, width), _flags(found.open_high)]


def left_out(found: QueueView) -> list[Span]:
    """What cannot be labeled, and where reasons are told."""
    counts = ((found.identical, "identical"), (found.unpaired, "without a partner"))
    words = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    left = f" not in the queue: {words}; " if words and found.kind == "pair" else " "
    return [Span(f"{left}v shows saved items", "dim")]


def _flags(count: int) -> list[Span]:
    if not count:
        return [Span("✓ no high flag is open", "pass")]
    still = "is" if count == 1 else "are"
    return [
        Span(f"○ {plural(count, 'high flag')} {still} open: ", "not_measured"),
        Span(f"no PROMOTE can be signed until {'it is' if count == 1 else 'they are'} closed"),
    ]


class ReasonSheet:
    """One reason a line: what it is, how pressing, what is left, what is done."""

    def __init__(self, width: int) -> None:
        reason = 30 if width < 120 else 44
        sizes = [("reason", reason), ("priority", 10), ("left", 6), ("done", 6)]
        x = 2
        self.columns: list[Column] = []
        for key, size in [*sizes, ("before PROMOTE", max(4, width - reason - 31))]:
            self.columns.append(Column(key, x, size))
            x += size + (4 if key == "done" else 1)
        line = ""
        for column in self.columns:
            title = pad(column.key, column.width, right=column.key in ("left", "done"))
            line = pad(line, column.x) + title
        self.header: Sequence[Line] = [[Span(line.rstrip(), "dim")]]
        self.totals: Sequence[Line] = ()

    def flag(self, row: ReasonLine) -> Span:
        return Span(" ")

    def cells(self, row: ReasonLine) -> list[Line]:
        words, style = PRIORITIES[row.priority]
        empty = not row.left and not row.done
        text = "dim" if empty else "text"
        return [
            [Span(reason_words(row.reason), text)],
            [Span(words, "dim" if empty else style)],
            [Span(pad(f"{row.left:,}", 6, right=True), "strong" if row.left else "dim")],
            [Span(pad(f"{row.done:,}", 6, right=True), text)],
            [Span(cut(visible_line(row.note), self.columns[-1].width), "dim")],
        ]


def figures(found: QueueView, width: int) -> list[Block]:
    """Agreement between reviewers, then each with himself, then what is still needed."""
    if not found.done and all(each.value is None for each in found.agreement):
        return [Block(EMPTY)]
    lines = estimate_lines([*found.agreement, *found.consistency], width)
    blocks = [Block("", head=line) for line in lines]
    return [*blocks, Block(found.needed, "dim")] if found.needed else blocks


def saved(found: QueueView, width: int) -> list[Block]:
    """Items that are saved, in columns: only here an item shows why it was asked."""
    if not found.saved:
        return [Block("nothing saved yet: an item shows its reason once it has its label")]
    reason, chance = (36 if width < 118 else 60), 8
    heading = f"{pad('reasons', reason)}  {pad('chance', chance)}  answer"
    blocks = [Block("", head=[Span(heading, "dim")])]
    for row in found.saved:
        reasons, pi, answer = (*row, "", "", "")[:3]
        words = ", ".join(reason_words(each) for each in reasons.split(", "))
        blocks.append(
            Block(
                visible_line(answer),
                head=[
                    Span(f"{pad(cut(words, reason), reason)}  "),
                    Span(f"{pad(cut(visible_line(pi), chance), chance)}  ", "dim"),
                ],
            )
        )
    return blocks


def disagreement_line(row: DisagreementView, width: int) -> list[Span]:
    """One item for a third person."""
    names = " and ".join(visible_line(name) for name in row.reviewers)
    left = [
        Span(pad(middle(visible_line(row.episode_id), 20), 22), "strong"),
        Span(visible_line(row.text)),
    ]
    return spread(left, [Span(f" {cut(names, width // 3)} ", "dim")], width)
