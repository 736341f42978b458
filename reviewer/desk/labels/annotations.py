"""Annotations of other tools, taken in as labels of attempts.

Each is bound to the attempt of this store that its tool names, and kept in its words beside the
level that the caller's map gives it. Annotations that cannot be bound or are not mapped are counted
by reason, never guessed. Taking in a file again adds nothing; an annotation that was changed in its
tool revises the label made from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from reviewer.db.connection import Connection, close_writer
from reviewer.db.schema import open_writer
from reviewer.desk.errors import DeskError
from reviewer.desk.imports.importing import clock
from reviewer.desk.imports.record_files import TakeResult, keep_lines
from reviewer.desk.labels.attempts import Attempt, Attempts
from reviewer.desk.labels.book import Book
from reviewer.desk.labels.files import KIND
from reviewer.desk.labels.sheet import RubricSuite, suite_with_rubric
from reviewer.desk.place import Workspace
from reviewer.exit_codes import ExitCode
from reviewer.importing.annotations import (
    Annotation,
    BadFile,
    BadRecord,
    LeftOut,
    Record,
    Tool,
    reader_of,
)
from reviewer.review.annotations import (
    FORM,
    Mapped,
    QuestionMap,
    contradicts,
    form_of,
    mapped,
    question_maps,
    utc,
    with_earlier,
)
from reviewer.review.items import item_name
from reviewer.review.labels import Label, Origin, label_line, latest, seal
from reviewer.suite.errors import ContractError, Problem, name_problem, shown
from reviewer.suite.model import RedactionRules
from reviewer.trace.redaction import redactor_of

MOST_NOTE = 4000
_FIRST = 3
_QUESTIONS, _ANSWERS = 12, 8


class AnnotationOrder(NamedTuple):
    """What to take in: `maps` are texts in the form of `FORM`, `candidates` MODEL=CANDIDATE (or one
    candidate, where a tool names no model), `episodes` the tool's name of an episode → its id in
    the suite."""

    tool: Tool
    suite_id: str
    maps: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    episodes: tuple[tuple[str, str], ...] = ()


class Aside(NamedTuple):
    """Records, or answers, that gave no label for one reason, and the first of their rows."""

    why: str
    times: int
    rows: tuple[int, ...]


class AnnotationsTaken(NamedTuple):
    """The result of taking in a file. `labels` counts added ones, of which `revised` replace
    earlier ones; `aside` is not measured."""

    labels: TakeResult
    revised: int
    attempts: int
    annotators: tuple[str, ...]
    aside: tuple[Aside, ...]


class _Asides:
    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}

    def add(self, row: int, why: str) -> None:
        self._rows.setdefault(why, []).append(row)  # a row may hold several answers

    def all(self) -> tuple[Aside, ...]:
        found = [
            Aside(why, len(rows), tuple(dict.fromkeys(rows))[:_FIRST])
            for why, rows in self._rows.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.times, one.why)))


def import_annotations(
    workspace: Workspace, order: AnnotationOrder, data: bytes, file: str
) -> AnnotationsTaken:
    """Take in one file of annotations, as one durable transaction. A record that cannot be read
    costs only itself. Raises DeskError for a file that is not from the tool and for an order that
    does not fit the suite's rubric, StoreError when nothing can be written."""
    name = redactor_of(RedactionRules()).masked(file)
    try:
        records = list(reader_of(order.tool)(data))
    except BadFile as error:
        raise DeskError(f"{name} {error}", error.way, exit_code=ExitCode.INVALID) from None
    if not records:
        raise DeskError(
            f"{name} has no annotations", "export it again with its scores or feedback",
            exit_code=ExitCode.INVALID,
        )  # fmt: skip
    connection = open_writer(workspace.store)
    try:
        ruled = suite_with_rubric(workspace, connection, order.suite_id)
        masked = redactor_of(ruled.suite.redaction).masked
        maps = _maps(order, ruled, records, masked)
        taking = _Taking(connection, order, ruled, maps, sha256(data).hexdigest(), name)
        for record in records:
            taking.take(record)
        return taking.kept(workspace)
    finally:
        close_writer(connection, workspace.store)


def _maps(
    order: AnnotationOrder,
    ruled: RubricSuite,
    records: Sequence[Record],
    masked: Callable[[str], str],
) -> dict[str, QuestionMap]:
    if not order.maps:
        raise DeskError(
            f"--map is missing: it says what each answer means under {ruled.rubric.rubric_id}",
            f"--map {FORM}, one for each value",
            *asked_in(records, masked),
            exit_code=ExitCode.USAGE,
        )
    try:
        return question_maps(order.maps, ruled.rubric)
    except ValueError as error:
        raise DeskError(
            f"--map: {error}", "such as --map success=solved:yes=2", exit_code=ExitCode.USAGE
        ) from None


def asked_in(records: Iterable[Record], masked: Callable[[str], str]) -> list[str]:
    """Return the questions of a file, each with its answers and how often they are given."""
    asked: dict[str, dict[str, int]] = {}
    for record in records:
        for answer in record.answers if isinstance(record, Annotation) else ():
            counts = asked.setdefault(answer.question, {})
            words = " / ".join(map(form_of, answer.said))
            counts[words] = counts.get(words, 0) + 1
    lines = []
    for question in list(asked)[:_QUESTIONS]:
        counts = asked[question]
        most = sorted(counts, key=lambda words: (-counts[words], words))
        told = [f"`{shown(masked(words))}` {counts[words]}" for words in most[:_ANSWERS]]
        told += [f"{len(most) - _ANSWERS} more"] if len(most) > _ANSWERS else []
        lines.append(f"the file asks `{shown(masked(question))}`: {', '.join(told)}")
    if len(asked) > _QUESTIONS:
        lines.append(f"and {len(asked) - _QUESTIONS} more questions")
    return lines


class _Taking:
    """One file that is being taken in."""

    def __init__(
        self,
        connection: Connection,
        order: AnnotationOrder,
        ruled: RubricSuite,
        maps: Mapping[str, QuestionMap],
        digest: str,
        name: str,
    ) -> None:
        self._connection, self._order, self._ruled = connection, order, ruled
        self._maps, self._digest, self._name = maps, digest, name
        self._masked = redactor_of(ruled.suite.redaction).masked
        self._attempts = Attempts(
            connection, order.suite_id, order.candidates, order.episodes, self._masked
        )
        labels = Book().of(connection, ruled.suite.digest)
        self._known = {
            (label.origin.tool, label.origin.annotation): label
            for label in sorted(latest(labels).values(), key=lambda one: one.at)
            if isinstance(label.origin, Origin) and not label.withdrawn
        }
        self._now = clock()
        self._fresh: list[tuple[str, Label]] = []
        self._asides, self._problems = _Asides(), list[Problem]()
        self._revised = self._again = 0

    def take(self, record: Record) -> None:
        """Make a label from a record, or record why there is none."""
        if isinstance(record, LeftOut):
            self._asides.add(record.row, self._masked(record.why))
        elif isinstance(record, BadRecord):
            self._refuse(record.row, f"{record.why}: {record.way}")
        else:
            self._annotation(record)

    def kept(self, workspace: Workspace) -> AnnotationsTaken:
        """Write the labels as one transaction; return the result."""
        lines = [(place, label_line(label)) for place, label in self._fresh]
        taken = keep_lines(KIND, workspace, self._connection, lines)
        fresh = [label for _, label in self._fresh]
        return AnnotationsTaken(
            labels=taken._replace(
                known=taken.known + self._again,
                refused=taken.refused + len(self._problems),
                problems=(*self._problems, *taken.problems),
            ),
            revised=self._revised,
            attempts=len({label.item for label in fresh}),
            annotators=tuple(sorted({label.reviewer for label in fresh})),
            aside=self._asides.all(),
        )

    def _annotation(self, one: Annotation) -> None:
        found = self._attempts.of(one)
        if isinstance(found, str):
            self._asides.add(one.row, found)
            return
        now = mapped(((answer.question, answer.said) for answer in one.answers), self._maps)
        for why in now.not_measured:
            self._asides.add(one.row, self._masked(why))
        if not now.marks:
            return
        key = self._order.tool, self._key(one, found)
        before = self._known.get(key)
        if before is not None and not self._later(one, before):
            self._asides.add(one.row, "is older than what was taken from it before")
            return
        label = self._label(one, found, now, before)
        if isinstance(label, str):
            self._refuse(one.row, label)
            return
        if before is not None and (_same(before, label) or _renamed(before, label)):
            self._again += 1
            return
        try:
            sealed = seal(label)
        except ContractError as error:
            self._refuse(one.row, "; ".join(f"{p.path} {p.reason}" for p in error.problems))
            return
        self._revised += sealed.revises is not None
        self._known[key] = sealed
        self._fresh.append((f"{self._name}: row {one.row}", sealed))

    def _later(self, one: Annotation, before: Label) -> bool:
        """Return whether this annotation is at least as new as the one taken in before."""
        changed = utc(one.changed)
        was = before.origin.changed if isinstance(before.origin, Origin) else ""
        return not (changed and was) or changed >= was

    def _label(
        self, one: Annotation, found: Attempt, now: Mapped, before: Label | None
    ) -> Label | str:
        """Return the label, not yet sealed, or why the annotation is refused."""
        changed = utc(one.changed) or ""
        key = self._key(one, found)
        record, said = found.record, {name: self._masked(text) for name, text in now.said.items()}
        now = msgspec.structs.replace(now, said=said)
        note = self._masked(one.note)[:MOST_NOTE]
        reviewer, revises = self._annotator(one.annotator), None
        if before is not None and isinstance(before.origin, Origin):
            told, was = before.origin.said, before.origin.changed
            if contradicts(now, before.marks, told) and not _newer(changed, was):
                where = "in this file" if before.origin.file == self._digest else "before"
                return (
                    f"annotation {shown(key, 40)} has another value {where}, and no time shows "
                    "which is later: export it with the time of its last change"
                )
            if before.reviewer == reviewer:  # what another person said stays theirs
                now, note = with_earlier(now, before.marks, told), note or before.note
                revises = before.uid
            if not isinstance(before.record, str) or before.record not in found.records:
                return f"annotation {shown(key, 40)} was imported for another attempt before"
            record = before.record
        suite, rubric = self._ruled.suite, self._ruled.rubric
        return Label(
            item=item_name("attempt", suite.digest, found.episode_id, [record]),
            kind="attempt",
            suite_id=suite.suite_id,
            suite_digest=suite.digest,
            episode_id=found.episode_id,
            marks=now.marks,
            note=note,
            reviewer=reviewer,
            rubric_id=rubric.rubric_id,
            rubric_version=rubric.version,
            rubric_digest=self._ruled.rubric_digest,
            at=changed or utc(one.made) or self._now,
            revises=revises,
            traces=(found.trace_id,),
            record=record,
            origin=Origin(
                tool=self._order.tool,
                annotation=key,
                attempt=self._masked(one.attempt)[:4096],
                said=now.said,
                changed=changed,
                file=self._digest,
                row=one.row,
            ),
        )

    def _key(self, one: Annotation, found: Attempt) -> str:
        """Return the annotation's id. For a row without an id, return a digest of who stated what
        about which attempt of which candidate, so that equal rows are one annotation and different
        rows stay separate."""
        if one.key:
            masked = self._masked(one.key)
            return one.key[:4096] if masked == one.key else _digest("masked", one.key)
        answers = (part for answer in one.answers for part in (answer.question, *answer.said))
        return _digest("row", found.candidate_id, one.annotator, one.attempt, *answers)

    def _annotator(self, name: str) -> str:
        """Return the annotator's name prefixed with the tool's, so that nobody is confused with a
        person of this workspace; a digest where the name is an identifier."""
        known = f"{self._order.tool}:{name}"
        if self._masked(name) == name and self._masked(known) == known and not name_problem(known):
            return known
        return f"{self._order.tool}:{_digest('annotator', name)[:22]}"

    def _refuse(self, row: int, why: str) -> None:
        self._problems.append(Problem(f"{self._name}: row {row}", "$", self._masked(why)))


def _digest(kind: str, *parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "replace")
    return f"{kind}-{sha256(data).hexdigest()[:32]}"


def _newer(changed: str, was: str) -> bool:
    """Return whether both times are known and the first is later."""
    return bool(was) and changed > was


def _renamed(before: Label, label: Label) -> bool:
    """Return whether only the person's name differs, and no time shows a change."""
    was, now = before.origin, label.origin
    later = was and now and _newer(now.changed, was.changed)
    return label.reviewer != before.reviewer and not later


def _same(one: Label, other: Label) -> bool:
    """Return whether two labels of one annotation say the same about the same attempt."""
    return (one.item, one.marks, one.note) == (other.item, other.marks, other.note)
