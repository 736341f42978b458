"""Labels: what one may not mean, how they travel and join, and which one counts.

Labels are only ever added. A revision or an undo is a new label that names the old one.
"""

from collections.abc import Iterable, Iterator

from reviewer.review.items import item_name
from reviewer.review.lines import Lines, age, instant
from reviewer.review.model import Label, LabelKey
from reviewer.suite.errors import json_path, shown
from reviewer.suite.rubric import Criterion, Rubric

# What a label may not mean, once its shape is right. Pure; each problem is (JSON path, reason).


Found = Iterator[tuple[str, str]]


def label_problems(label: Label) -> list[tuple[str, str]]:
    """Why this label is refused, whatever the rubric; [] when it is one."""
    return [*_time(label), *_context(label), *_said(label)]


def rubric_problems(label: Label, rubric: Rubric) -> list[tuple[str, str]]:
    """Why this label is none of `rubric`: another rubric, a criterion or a level it does not have,
    a criterion left out. A message needs a mark for every criterion, a pair a side for each
    `required` one; what is skipped or withdrawn needs none."""
    if (label.rubric_id, label.rubric_version) != (rubric.rubric_id, rubric.version):
        reason = (
            f"{shown(label.rubric_id)} {shown(label.rubric_version)}, not "
            f"{shown(rubric.rubric_id)} {shown(rubric.version)}"
        )
        return [("$.rubric_version", f"was made under {reason}")]
    return list(_against(label, {c.criterion_id: c for c in rubric.criteria}))


def levels_of(criterion: Criterion) -> range:
    """The levels that may be given: of scale `five` also those without an anchor."""
    return range(1, 6 if criterion.scale == "five" else len(criterion.levels) + 1)


def _against(label: Label, criteria: dict[str, Criterion]) -> Found:
    for name, given in (("marks", label.marks), ("decided", label.decided)):
        for criterion_id in sorted(given.keys() - criteria.keys()):
            yield json_path((name, criterion_id)), "is no criterion of the rubric"
    for criterion_id, level in sorted(label.marks.items()):
        criterion = criteria.get(criterion_id)
        if criterion is not None and level not in levels_of(criterion):
            most = levels_of(criterion)[-1]
            yield json_path(("marks", criterion_id)), f"is {level}; the levels are 1 to {most}"
    if label.skipped is not None or label.withdrawn:
        return
    pair = label.kind == "pair"
    answered = label.decided.keys() if pair else label.marks.keys()
    for criterion_id, criterion in criteria.items():
        if criterion_id not in answered and (criterion.required or not pair):
            yield json_path(("decided" if pair else "marks", criterion_id)), "is missing"


def _time(label: Label) -> Found:
    try:
        instant(label.at)
    except ValueError as error:
        yield "$.at", str(error)


def _context(label: Label) -> Found:
    """The item must be the one that these messages make."""
    if label.kind == "pair":
        sides = [side for side in (label.left, label.right) if side is not None]
        if len(sides) < 2:
            yield (
                ("$.left" if label.left is None else "$.right"),
                "is missing: a pair has two sides",
            )
            return
        if sides[0] == sides[1]:
            yield "$.right", "is the left message again; identical messages make no pair"
            return
        if label.message is not None:
            yield "$.message", "belongs to a label of kind message"
    else:
        for name in ("left", "right"):
            if getattr(label, name) is not None:
                yield f"$.{name}", "belongs to a label of kind pair"
        if label.showing != 1:
            yield "$.showing", "is 2, but only pairs are shown in two orders"
        if label.message is None:
            yield "$.message", "is missing"
            return
        sides = [label.message]
    name = item_name(label.kind, label.suite_digest, label.episode_id, sides)
    if label.item != name:
        yield "$.item", f"is not the item of these messages, which is {name}"


def _said(label: Label) -> Found:
    pair = label.kind == "pair"
    if pair and label.marks:
        yield "$.marks", "belong to a label of kind message"
    if not pair and label.answer is not None:
        yield "$.answer", "belongs to a label of kind pair"
    if not pair and label.decided:
        yield "$.decided", "belongs to a label of kind pair"
    said = label.answer is not None or bool(label.marks)
    silent = label.withdrawn or label.skipped is not None
    if label.withdrawn and label.skipped is not None:
        yield "$.skipped", "cannot stand with withdrawn"
    if label.withdrawn and label.revises is None:
        yield "$.revises", "is missing: withdrawn takes back a label, name its uid"
    if silent and (said or label.decided):
        yield "$", "is skipped or withdrawn, and answers all the same"
    if not silent and not said:
        where, what = ("$.answer", "an answer") if pair else ("$.marks", "a mark")
        yield where, f"is missing: give {what}, or the reason to skip"


# Labels as they travel and join, and which one counts.
#
# Labels are only ever added. A revision or an undo is a new label that names the old one.


LABELS = Lines("label", Label, label_problems)

uid_of, seal, merge = LABELS.uid_of, LABELS.seal, LABELS.merge
label_line, label_file, stored_label = LABELS.line, LABELS.file, LABELS.stored
read_label, read_labels = LABELS.read, LABELS.read_file


def latest(labels: Iterable[Label]) -> dict[LabelKey, Label]:
    """Of each item, showing, reviewer and role the label that counts, withdrawn ones included.

    It is the end of its chain of revisions; of several ends the youngest, then the greatest uid.
    """
    groups: dict[LabelKey, dict[str, Label]] = {}
    for label in labels:
        groups.setdefault(label.key, {})[label.uid] = label
    found = {}
    for key, group in groups.items():
        revised = {label.revises for label in group.values()}
        ends = [label for uid, label in group.items() if uid not in revised]
        found[key] = max(ends, key=age)
    return found


def counting(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels that say something: the latest of each key, neither withdrawn nor skipped, by
    time."""
    said = [x for x in latest(labels).values() if not x.withdrawn and x.skipped is None]
    return tuple(sorted(said, key=age))


def done(labels: Iterable[Label], reviewer: str, role: str = "rater") -> tuple[Label, ...]:
    """What one person need not be shown again, answered or skipped, by time."""
    mine = latest(x for x in labels if (x.reviewer, x.role) == (reviewer, role)).values()
    return tuple(sorted((x for x in mine if not x.withdrawn), key=age))
