"""Labels as they travel and join, and which one counts.

Labels are only ever added. A revision or an undo is a new label that names the old one.
"""

from collections.abc import Iterable

from reviewer.review.label_rules import label_problems
from reviewer.review.lines import Lines, age
from reviewer.review.model import Label, LabelKey

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
