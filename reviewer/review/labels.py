# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""Labels: which ones are refused, how they are exchanged and merged, and which of them counts.

Labels are only ever added. A revision or an undo is a new label that names the old one.
"""

from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import Annotated, ClassVar, Literal, NamedTuple

from msgspec import UNSET, UnsetType

from reviewer.importing.annotations import Tool
from reviewer.review.items import ItemRecord, LabelKind, item_name
from reviewer.review.lines import Lines, age
from reviewer.suite.errors import json_path, shown
from reviewer.suite.fields import (
    UNIQUE,
    Count,
    File,
    Id,
    Limits,
    Name,
    Names,
    Positive,
    Sha256,
    StoredName,
    Text,
)
from reviewer.suite.rubric import Criterion, Rubric, levels_of
from reviewer.suite.value import Value

Side = Literal["left", "right"]
Answer = Literal["left", "right", "tie", "both_bad"]
Role = Literal["rater", "adjudicator"]
Stratum = Literal["high", "normal", "low"]
Reason = Literal[
    "safety",
    "gate_disagreement",
    "iteration_limit",
    "blocked_output",
    "thumbs_down",
    "judge_flips",
    "lost_episode",
    "low_efficiency",
    "uncertain",
    "random",
    "quota",
    "high_cost",
    "new_tools",
    "refusal",
    "repeated_calls",
]


class LabelKey(Value, frozen=True):
    """The members that identify a question and its rater; of all labels with one key, one counts.
    `annotation` is the id of an annotation in its tool: several annotations of one person about one
    attempt count separately."""

    item: str
    showing: int
    reviewer: str
    role: Role
    annotation: str = ""


class Origin(Value, frozen=True, kw_only=True):
    """The source of an attempt's label: an annotation of another tool. Its author was not blind,
    and no order was exchanged."""

    tool: Annotated[Tool, "The tool whose file it was taken from."]
    annotation: Annotated[
        StoredName, "The annotation's id in that tool, or the digest of a row without an id."
    ]
    attempt: Annotated[StoredName, "What that tool calls the attempt."]
    said: Annotated[
        dict[Id, Annotated[str, Limits(max_length=4096)]],
        "criterion → question and answer in the tool's own words.",
    ]
    changed: Annotated[
        str, Limits(max_length=64), "When it was last changed there. Empty: not told."
    ] = ""
    file: Annotated[Sha256, "Digest of the file that was taken in."]
    row: Annotated[Positive, "The number of its record in that file, from 1."]


class Label(ItemRecord, frozen=True, kw_only=True):
    """One person's answer to one showing of one item. `at` is RFC 3339 in UTC, ending in Z."""

    SCHEMA: ClassVar[str] = "reviewer/label@1"
    ORDER: ClassVar[str] = "schema uid item kind"

    kind: Annotated[
        LabelKind,
        "`pair`: two messages of one episode. `message`: one. `attempt`: one attempt, by an "
        "annotation of another tool.",
    ]
    showing: Annotated[int, Limits(ge=1, le=2), "Of a pair: 1, or 2 with the sides exchanged."] = 1
    left: Annotated[Sha256 | None, "Of a pair: digest of the message on the left."] = None
    right: Annotated[Sha256 | None, "Of a pair: digest of the message on the right."] = None
    message: Annotated[Sha256 | None, "Of a message: its digest."] = None
    answer: Annotated[Answer | None, "Of a pair: which side is better."] = None
    marks: Annotated[
        dict[Id, Annotated[int, Limits(ge=1, le=9)]], "Of a message: criterion → level."
    ] = {}
    decided: Annotated[dict[Id, Side], "Of a pair: criterion → the side it spoke for."] = {}
    skipped: Annotated[Name | None, "Why there is no answer."] = None
    withdrawn: Annotated[bool, "Whether it takes back the label that `revises` names."] = False
    flag: Annotated[bool, "A mark to come back to."] = False
    note: Annotated[str, Limits(max_length=4000), "Free text."] = ""
    reviewer: Annotated[Name, "Who said it."]
    role: Annotated[Role, "`rater`, or `adjudicator`: a third person, whose label settles."] = (
        "rater"
    )
    rubric_id: Annotated[Id, "The rubric's id."]
    rubric_version: Annotated[Text, "The rubric's version."]
    rubric_digest: Annotated[Sha256, "sha256 of rubric.json, as the suite's lock has it."]
    at: Annotated[Text, "When, in UTC."]
    duration_ms: Annotated[Count | None, "Milliseconds it took. Null: not measured."] = None
    revises: Annotated[Sha256 | None, "The uid of the label that this one replaces."] = None
    stratum: Annotated[Stratum | None, "How urgent the item was in the queue."] = None
    reasons: Annotated[tuple[Reason, ...], UNIQUE, "Why the item was in the queue."] = ()
    pi: Annotated[
        Annotated[float, Limits(gt=0, le=1)] | None,
        "The item's chance of coming into the random part. Null: it is outside it.",
    ] = None
    traces: Annotated[
        Names, "The traces that the item was built from: context, outside the uid."
    ] = ()
    # The members below are UNSET in other labels, so that earlier labels keep their uids.
    evidence_opened: Annotated[
        bool | UnsetType,
        File(bool, None),
        "Whether the person opened what was done (calls, results, end state) while this showing, "
        "or one that it revises, was on the screen. Absent: not recorded.",
    ] = UNSET
    record: Annotated[
        Sha256 | UnsetType,
        File(Sha256, None),
        "Of an attempt: the digest of its record. Absent of other labels.",
    ] = UNSET
    origin: Annotated[
        Origin | UnsetType,
        File(Origin, None),
        "Of an attempt: the annotation it was taken from. Absent of others.",
    ] = UNSET

    @property
    def key(self) -> LabelKey:
        return LabelKey(
            item=self.item,
            showing=self.showing,
            reviewer=self.reviewer,
            role=self.role,
            annotation="" if self.origin is UNSET else self.origin.annotation,
        )

    @property
    def winner(self) -> str | None:
        """Return the digest of the message that won, `tie` or `both_bad`, in either order; None
        without an answer."""
        if self.answer in ("left", "right"):
            return self.side(self.answer)
        return self.answer

    def side(self, side: Side) -> str | None:
        """Return the digest of the message on that side."""
        return self.left if side == "left" else self.right


Problems = Iterator[tuple[str, str]]
"""The (JSON path, reason) of each problem."""


def label_problems(label: Label) -> list[tuple[str, str]]:
    """Return the reasons to refuse this label under any rubric; [] for a valid one."""
    return [*_context(label), *_answer(label)]


def rubric_problems(label: Label, rubric: Rubric) -> list[tuple[str, str]]:
    """Return the reasons why this label does not fit `rubric`: another rubric, a criterion or a
    level it does not have, a criterion left out. A message needs a mark for every criterion, a pair
    a side for each `required` one, an attempt a mark for each question of its tool; a skipped or
    withdrawn label needs none."""
    if (label.rubric_id, label.rubric_version) != (rubric.rubric_id, rubric.version):
        reason = (
            f"{shown(label.rubric_id)} {shown(label.rubric_version)}, not "
            f"{shown(rubric.rubric_id)} {shown(rubric.version)}"
        )
        return [("$.rubric_version", f"was made under {reason}")]
    return list(_against(label, {c.criterion_id: c for c in rubric.criteria}))


def _against(label: Label, criteria: dict[str, Criterion]) -> Problems:
    for name, given in (("marks", label.marks), ("decided", label.decided)):
        for criterion_id in sorted(given.keys() - criteria.keys()):
            yield json_path((name, criterion_id)), "is no criterion of the rubric"
    for criterion_id, level in sorted(label.marks.items()):
        criterion = criteria.get(criterion_id)
        if criterion is not None and level not in levels_of(criterion):
            most = levels_of(criterion)[-1]
            yield json_path(("marks", criterion_id)), f"is {level}; the levels are 1 to {most}"
    if label.skipped is not None or label.withdrawn or label.kind == "attempt":
        return
    pair = label.kind == "pair"
    answered = label.decided.keys() if pair else label.marks.keys()
    for criterion_id, criterion in criteria.items():
        if criterion_id not in answered and (criterion.required or not pair):
            yield json_path(("decided" if pair else "marks", criterion_id)), "is missing"


def _context(label: Label) -> Problems:
    """Check that these messages make the item."""
    if label.kind == "attempt":
        yield from _attempt_context(label)
        return
    for name in ("record", "origin"):
        if getattr(label, name) is not UNSET:
            yield f"$.{name}", "belongs to a label of kind attempt"
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


def _attempt_context(label: Label) -> Problems:
    """Check that the item is the attempt of this record, from one annotation."""
    for name in ("left", "right", "message"):
        if getattr(label, name) is not None:
            yield f"$.{name}", "belongs to a label of a message or a pair"
    if label.showing != 1:
        yield "$.showing", "is 2, but only pairs are shown in two orders"
    if label.evidence_opened is not UNSET:
        yield "$.evidence_opened", "belongs to a label of a message or a pair"
    if label.role != "rater":
        yield "$.role", "is adjudicator, and an annotation of another tool settles nothing"
    if label.pi is not None or label.stratum is not None or label.reasons:
        yield "$.pi", "an attempt is in no queue: pi, stratum and reasons belong to other labels"
    if label.skipped is not None:
        yield "$.skipped", "belongs to a label of a message or a pair"
    if label.origin is UNSET:
        yield "$.origin", "is missing: an attempt is labeled by an annotation of another tool"
    elif not label.withdrawn and label.origin.said.keys() != label.marks.keys():
        yield "$.origin.said", "does not tell every mark, and nothing else, in the tool's words"
    if label.record is UNSET:
        yield "$.record", "is missing: an attempt is named by its record"
        return
    name = item_name("attempt", label.suite_digest, label.episode_id, [label.record])
    if label.item != name:
        yield "$.item", f"is not the item of this record, which is {name}"


def _answer(label: Label) -> Problems:
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
        yield "$.skipped", "cannot be combined with withdrawn"
    if label.withdrawn and label.revises is None:
        yield "$.revises", "is missing: withdrawn takes back a label, name its uid"
    if silent and (said or label.decided):
        yield "$", "is skipped or withdrawn, and answers all the same"
    if not silent and not said:
        where, what = ("$.answer", "an answer") if pair else ("$.marks", "a mark")
        yield where, f"is missing: give {what}, or the reason to skip"


LABELS = Lines("label", Label, label_problems)

uid_of, seal, merge = LABELS.uid_of, LABELS.seal, LABELS.merge
label_line, label_file, stored_label = LABELS.line, LABELS.file, LABELS.stored
read_label, read_labels = LABELS.read, LABELS.read_file


def latest(labels: Iterable[Label]) -> dict[LabelKey, Label]:
    """Return the label that counts of each item, showing, reviewer and role, withdrawn ones
    included.

    It is the end of its chain of revisions; of several ends the newest, then the one with the
    greatest uid.
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
    """Return the labels with an answer: the latest of each key, neither withdrawn nor skipped, by
    time."""
    said = [x for x in latest(labels).values() if not x.withdrawn and x.skipped is None]
    return tuple(sorted(said, key=age))


def done(labels: Iterable[Label], reviewer: str, role: str = "rater") -> tuple[Label, ...]:
    """Return the labels of items that one person has answered or skipped, by time."""
    mine = latest(x for x in labels if (x.reviewer, x.role) == (reviewer, role)).values()
    return tuple(sorted((x for x in mine if not x.withdrawn), key=age))


class Done(NamedTuple):
    """The result of `done` for `labels` (`made`), and the keys of all labels of this person and
    role: enough to add a label without reading the others again."""

    labels: Sequence[Label]
    reviewer: str
    role: Role
    made: tuple[Label, ...]
    keys: frozenset[LabelKey]

    @classmethod
    def of(cls, labels: Sequence[Label], reviewer: str, role: Role) -> "Done":
        made = done(labels, reviewer, role)
        keys = {x.key for x in labels if (x.reviewer, x.role) == (reviewer, role)}
        return cls(labels, reviewer, role, made, frozenset(keys))

    def grown(self, labels: Sequence[Label]) -> "Done":
        """Return the result for `labels`, quickly if they begin with the earlier ones."""
        before = len(self.labels)
        if labels is self.labels:
            return self
        if len(labels) < before or not all(map(is_, self.labels, labels)):
            return self.of(labels, self.reviewer, self.role)
        made, keys = self.made, self.keys
        for label in labels[before:]:
            if (label.reviewer, label.role) != (self.reviewer, self.role):
                continue
            late = made and age(label) < age(made[-1])
            if late or label.withdrawn or label.revises is not None or label.key in keys:
                return self.of(labels, self.reviewer, self.role)
            made, keys = (*made, label), keys | {label.key}
        return self._replace(labels=labels, made=made, keys=keys)
