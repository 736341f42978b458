"""An item to be labeled, in lines: functions of the item and the draft only."""

import textwrap
from collections.abc import Sequence

from reviewer.desk.labels.api import CriterionView, Holder, LabelItem, SavedLabel, Session
from reviewer.trace.safetext import visible_line
from reviewer.tui.settings.keys import key_of
from reviewer.tui.shell.labeling import Draft
from reviewer.tui.views.jobs import bar, clock
from reviewer.tui.widgets.lines import Line, Span, cut, middle, pad, rule, spread, width_of
from reviewer.tui.widgets.words import plural

SIDES = {"left": "Left", "right": "Right"}
WIDE, WIDEST = 120, 160


def context(session: Session, item: LabelItem | None, width: int) -> list[Span]:
    """Return line 2: the suite, the rubric, the item, the reviewer."""
    right = [Span(f" {session.role} " if session.role == "adjudicator" else " reviewer ", "dim")]
    right.append(Span(middle(visible_line(session.reviewer), max(12, width // 6))))
    left = [
        Span("set " if session.review_set else "suite ", "dim"),
        Span(
            middle(visible_line(session.review_set or session.suite_id), max(14, width // 5)),
            "strong",
        ),
    ]
    if item is not None:
        version = visible_line(item.rubric).split(" ")[-1]
        left += [Span("   rubric ", "dim"), Span(version)]
        left += [Span("   item ", "dim"), Span(f"{item.place:,} of {item.total:,}")]
        left.append(Span("   blind", "strong"))
    return spread(left, right, width)


def request_title(item: LabelItem) -> list[Span]:
    """Return the rule above the customer's request."""
    what = " · what the user asks, wants and knows" if item.about else " · user request"
    return [Span(middle(visible_line(item.episode_id), 40), "strong"), Span(what)]


# what was chosen ---------------------------------------------------------------------------------


def chosen(on: bool) -> str:
    """Return a mark that needs no color."""
    return "(x)" if on else "( )"


def answer_line(draft: Draft, width: int) -> list[Span]:
    """Return left, tie, both bad, right and the flag, each with its key; all of them are
    buttons."""
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
    """Return the note, and the flag where it has no other place."""
    if draft.note:
        note = [Span(" note: ", "dim"), Span(visible_line(draft.note))]
    else:
        note = [Span(f" note: none ({key_of('note')} writes one)", "dim", "screen.note")]
    seen = "seen" if draft.evidence_opened else "not opened"
    done = f"evidence {seen} ({key_of('evidence')})"
    style = "strong" if draft.evidence_opened else "dim"
    note = [Span(f" {done}  ", style, "screen.evidence"), *note]
    if not flag:
        return note
    word = "flagged (! removes the flag)" if draft.flag else "flag: no (! sets it)"
    style = "quarantined" if draft.flag else "dim"
    return [Span(f" {word}  ", style, "screen.flag"), *note]


def progress_line(item: LabelItem, spent: float, width: int) -> list[Span]:
    """Return the progress, and the time of this item and of an average one."""
    line = [Span(f"  {item.done:,} of {item.total:,} done, {item.skipped:,} skipped")]
    mean = "n/m" if item.mean_seconds is None else clock(item.mean_seconds)
    line.append(Span(f"   this item {clock(spent)}, mean {mean}", "dim"))
    if width >= WIDE and item.mean_seconds is not None:
        left = item.mean_seconds * max(0, item.total - item.done)
        line.append(Span(f"   about {clock(left)} left", "dim"))
    room = width - 2 - sum(len(span.text) for span in line)
    most = 48 if width >= WIDE else 24
    return [Span(" "), *bar(item.done, item.total, max(8, min(most, room))), *line]


def saved_words(saved: SavedLabel, place: int) -> str:
    """Return line 23 after a save. The item's reason is not named: its other order may still
    come."""
    return f"item {place:,} saved {saved.at[11:19]}Z. {key_of('undo')} undoes it."


def names_of(held: Sequence[Holder]) -> str:
    """Return the people who have an item open."""
    return " and ".join(visible_line(one.reviewer) for one in held)


def held_words(held: Sequence[Holder]) -> tuple[str, ...]:
    """Return who has all the remaining items of this person, to be shown instead of the next
    item."""
    count = sum(one.items for one in held)
    verb, them = ("is", "it") if count == 1 else ("are", "them")
    return (
        f"what is left for you, {plural(count, 'item')}, {verb} with {names_of(held)} now.",
        f"You get {them} when labeled or left there; this screen looks again by itself.",
    )


# criteria of a pair ------------------------------------------------------------------------------


def criteria_lines(item: LabelItem, draft: Draft, width: int, joint: int | None) -> list[Line]:
    """Return the criteria with the side that each decided for, under a rule; with both anchors
    where there is room."""
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
    """Return many criteria by title only, three to a line."""
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


def levels(criterion: CriterionView) -> range:
    """Return the possible answers: every whole number up to the highest level."""
    return range(1, max((value for value, _ in criterion.levels), default=0) + 1)


def first_open(item: LabelItem, draft: Draft, after: int = -1) -> int | None:
    """Return the index of the first criterion without an answer, preferring those after `after`;
    None when all are answered."""
    open_ = [n for n, each in enumerate(item.criteria) if each.criterion_id not in draft.marks]
    return next((n for n in open_ if n > after), open_[0] if open_ else None)


def pane(
    item: LabelItem, draft: Draft, at: int, width: int, height: int, *, active: bool
) -> list[Line]:
    """Return a rule and `height - 1` lines. Every criterion is shown in full where there is room,
    else only the one with the cursor."""
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
    """Return the levels in one line when they fit, else a line for each that has an anchor or was
    chosen."""
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
            first, *rest = textwrap.wrap(anchor, max(8, width - 8)) or [""]
            spans = _level(criterion, value, first, mark, here)
            lines.append([Span("  "), *spans])
            lines += [
                [Span(f"     {part}", "*strong" if value == mark else "text")] for part in rest
            ]
    return lines


def _level(
    criterion: CriterionView, value: int, anchor: str, mark: int | None, here: bool
) -> Sequence[Span]:
    action = f"screen.mark({criterion.number}, {value})"
    if value == mark:
        return [Span(f"[{f'{value} {anchor}'.rstrip()}]", "*strong", action)]
    key = "key" if here else "dim"
    return [Span(f" {value}", key, action), Span(f" {anchor} " if anchor else " ", "text", action)]
