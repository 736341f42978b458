"""An item to be labeled, in lines: made of the item and the draft, and of nothing else."""

from collections.abc import Sequence

from reviewer.desk.labels.api import CriterionView, LabelItem, SavedLabel, Session
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.shell.labeling import Draft
from reviewer.tui.views.run import bar, clock
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, rule, spread, width_of

SIDES = {"left": "Left", "right": "Right"}
WIDE, WIDEST = 120, 160


def context(session: Session, item: LabelItem | None, width: int) -> list[Span]:
    """Line 2: the suite, the rubric, which item, who labels."""
    right = [Span(f" {session.role} " if session.role == "adjudicator" else " reviewer ", "dim")]
    right.append(Span(middle(visible_line(session.reviewer), max(12, width // 6))))
    left = [
        Span("suite ", "dim"),
        Span(middle(visible_line(session.suite_id), max(14, width // 5)), "strong"),
    ]
    if item is not None:
        version = visible_line(item.rubric).split(" ")[-1]
        left += [Span("   rubric ", "dim"), Span(version)]
        left += [Span("   item ", "dim"), Span(f"{item.place:,} of {item.total:,}")]
        left.append(Span("   blind", "strong"))
    return spread(left, right, width)


def request_title(item: LabelItem) -> list[Span]:
    """The rule above what the customer asked."""
    return [Span(middle(visible_line(item.episode_id), 40), "strong"), Span(" · user request")]


# what was chosen ---------------------------------------------------------------------------------


def chosen(on: bool) -> str:
    """A mark that needs no color."""
    return "(x)" if on else "( )"


def answer_line(draft: Draft, width: int) -> list[Span]:
    """Left, tie, both bad, right and the flag, each with its key; all of them buttons."""
    table = (
        ("← h", "Left", draft.answer == "left", "answer('left')"),
        ("t", "tie", draft.answer == "tie", "answer('tie')"),
        ("b", "both bad", draft.answer == "both_bad", "answer('both_bad')"),
        ("l →", "Right", draft.answer == "right", "answer('right')"),
        ("!", "flag", draft.flag, "flag"),
    )
    cells = [
        [
            Span(key, "key", f"screen.{action}"),
            Span(" "),
            Span(f"{chosen(on)} {word}", "*strong" if on else "text", f"screen.{action}"),
        ]
        for key, word, on, action in table
    ]
    free = width - 2 - sum(width_of(cell) for cell in cells)
    gap = Span(" " * max(1, min(20, free // (len(cells) - 1))))
    line: list[Span] = [Span(" ")]
    for number, cell in enumerate(cells):
        line += [gap, *cell] if number else cell
    return line


def note_line(draft: Draft, *, flag: bool = False) -> list[Span]:
    """The note, and where there is no other place for it the flag."""
    if draft.note:
        note = [Span(" note: ", "dim"), Span(visible_line(draft.note))]
    else:
        note = [Span(f" note: none ({key_of('note')} writes one)", "dim", "screen.note")]
    if not flag:
        return note
    word = "flagged (! takes it back)" if draft.flag else "flag: no (! sets it)"
    style = "quarantined" if draft.flag else "dim"
    return [Span(f" {word}  ", style, "screen.flag"), *note]


def progress_line(item: LabelItem, spent: float, width: int) -> list[Span]:
    """How much is done, and how long this one and one on average took."""
    line = [Span(" "), *bar(item.done, item.total, 48 if width >= WIDE else 24)]
    line.append(Span(f"  {item.done:,} of {item.total:,} done, {item.skipped:,} skipped"))
    mean = "n/m" if item.mean_seconds is None else clock(item.mean_seconds)
    line.append(Span(f"    this {clock(spent)}   mean {mean}", "dim"))
    if width >= WIDE and item.mean_seconds is not None:
        left = item.mean_seconds * max(0, item.total - item.done)
        line.append(Span(f"   about {clock(left)} left", "dim"))
    return line


def saved_words(saved: SavedLabel, place: int) -> str:
    """Line 23 after a save. The item's reason is not told: its other order may still come."""
    return f"item {place:,} saved {saved.at[11:19]}Z. {key_of('undo')} takes it back."


# criteria of a pair ------------------------------------------------------------------------------


def criteria_lines(item: LabelItem, draft: Draft, width: int, joint: int | None) -> list[Line]:
    """Which criterion spoke for which side, under a rule; with both anchors where there is room."""
    title = [Span("which is better, and why", "strong")]
    lines: list[Line] = [rule(width, title, joint=joint)]
    if not item.criteria:
        return lines
    if len(item.criteria) > 4 and width < WIDE:
        return [*lines, *_packed(item.criteria, draft, width)]
    name = min(16, max(len(criterion.title) for criterion in item.criteria) + 2)
    if width >= WIDE:
        lines.append(_anchors_heading(name, width))
    lines += [_criterion(each, draft, name, width) for each in item.criteria]
    return lines


def _decided(criterion: CriterionView, draft: Draft) -> Span:
    side = draft.decided.get(criterion.criterion_id)
    action = f"screen.numbered({criterion.number})"
    if side is not None:
        return Span(f"(x) {pad(SIDES[side], 6)}", "strong", action)
    if criterion.required:
        return Span("( ) needed", "not_measured", action)
    return Span("( )       ", "text", action)


def _criterion(criterion: CriterionView, draft: Draft, name: int, width: int) -> list[Span]:
    left = [
        Span(f" {criterion.number} ", "key", f"screen.numbered({criterion.number})"),
        Span(pad(cut(visible_line(criterion.title), name - 1), name), "strong"),
    ]
    if width < WIDE:
        left.append(Span(visible_line(criterion.asks)))
    else:
        asks, anchor = _anchor_rooms(name, width)
        left.append(Span(pad(cut(visible_line(criterion.asks), asks - 2), asks)))
        left += [
            Span(pad(cut(visible_line(text), anchor - 2), anchor), "dim")
            for text in (criterion.weak, criterion.strong)
        ]
    return spread(left, [_decided(criterion, draft)], min(width, WIDEST))


def _anchor_rooms(name: int, width: int) -> tuple[int, int]:
    room = min(width, WIDEST) - 3 - name - 11
    return room - 2 * (room // 3), room // 3


def _anchors_heading(name: int, width: int) -> list[Span]:
    asks, anchor = _anchor_rooms(name, width)
    text = f"   {pad('criterion', name)}{pad('', asks)}{pad('weak looks like', anchor)}"
    right = [Span("better    ", "dim")]
    return spread([Span(f"{text}strong looks like", "dim")], right, min(width, WIDEST))


def _packed(criteria: Sequence[CriterionView], draft: Draft, width: int) -> list[Line]:
    """Many criteria, three to a line, by title only."""
    room = width // 3
    lines: list[Line] = []
    for first in range(0, len(criteria), 3):
        line: list[Span] = []
        for criterion in criteria[first : first + 3]:
            line.append(Span(f" {criterion.number} ", "key"))
            line.append(Span(pad(cut(visible_line(criterion.title), room - 15), room - 14)))
            line.append(_decided(criterion, draft))
            line.append(Span(" "))
        lines.append(line)
    return lines
