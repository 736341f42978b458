"""Labels as they travel and join: files of JSON lines, uids, which one counts, merging.

Labels are only ever added. A revision or an undo is a new label that names the old one, so joining
two stores is the union of their labels.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from reviewer.contract.canonical import canonical_bytes, sha256_hex
from reviewer.contract.errors import ContractError, Problem, shown
from reviewer.contract.strict_json import load_object
from reviewer.review.label_rules import instant, label_problems
from reviewer.review.model import Label, LabelKey

SCHEMA = "reviewer/label@1"
MAX_LINE = 256 * 1024
MAX_PROBLEMS = 100


def uid_of(label: Label) -> str:
    """The uid that the label's content gives it, whatever uid it bears."""
    content = _plain(label)
    del content["uid"], content["traces"]
    return sha256_hex(canonical_bytes(content, "label"))


def seal(label: Label) -> Label:
    """The label with its uid, held to what a file of labels is held to.

    ContractError naming the member at fault.
    """
    return read_label(canonical_bytes({**_plain(label), "uid": None}, "label"), "label")


def label_line(label: Label) -> bytes:
    """The label as one line of a file: RFC 8785 bytes and a newline."""
    return canonical_bytes(_plain(label), "label") + b"\n"


def label_file(labels: Iterable[Label]) -> bytes:
    """A whole file, by time: the same labels give the same bytes."""
    return b"".join(label_line(label) for label in merge(labels, ()))


def read_labels(data: bytes, file: str = "labels.jsonl") -> tuple[Label, ...]:
    """The labels of a file of JSON lines, by time, each once. Empty lines are passed over.

    A uid may be absent and is then computed. ContractError with every problem (the first hundred),
    each as `file:line`: unknown members with the near word, wrong types, repeated members, NaN,
    what contradicts itself, an item that is not that of its messages, a uid that is not that of
    the content. Nothing of such a file is returned.
    """
    labels: list[Label] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            labels.append(read_label(line, f"{file}:{number}"))
        except ContractError as error:
            problems += error.problems
    if len(problems) > MAX_PROBLEMS:
        more = f"and {len(problems) - MAX_PROBLEMS:,} further problems"
        problems[MAX_PROBLEMS:] = [Problem(file, "$", more)]
    if problems:
        raise ContractError.of(problems)
    return merge(labels, ())


def stored_label(body: bytes) -> Label:
    """A label whose bytes (a line, with or without its newline) are known to have been read before:
    nothing is checked but types. ContractError when they are no label."""
    try:
        return msgspec.json.decode(body, type=Label)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ContractError("stored label", "$", str(error)) from None


def merge(a: Iterable[Label], b: Iterable[Label]) -> tuple[Label, ...]:
    """All labels of both, each once, by time and uid. Order and repetition change nothing.

    Traces of the same label are joined. ContractError for a label whose uid is not that of its
    content: joining by uid would let it stand in another's place.
    """
    joined: dict[str, Label] = {}
    traces: dict[str, set[str]] = {}
    for label in (*a, *b):
        if label.uid != uid_of(label):
            raise _forged(label, "label")
        joined.setdefault(label.uid, label)
        traces.setdefault(label.uid, set()).update(label.traces)
    whole = (
        msgspec.structs.replace(label, traces=tuple(sorted(traces[uid])))
        for uid, label in joined.items()
    )
    return tuple(sorted(whole, key=_age))


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
        found[key] = max(ends, key=_age)
    return found


def counting(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The labels that say something: the latest of each key, neither withdrawn nor skipped, by
    time."""
    said = [x for x in latest(labels).values() if not x.withdrawn and x.skipped is None]
    return tuple(sorted(said, key=_age))


def done(labels: Iterable[Label], reviewer: str, role: str = "rater") -> tuple[Label, ...]:
    """What one person need not be shown again, answered or skipped, by time."""
    mine = latest(x for x in labels if (x.reviewer, x.role) == (reviewer, role)).values()
    return tuple(sorted((x for x in mine if not x.withdrawn), key=_age))


def read_label(line: bytes, place: str) -> Label:
    """The label of one line; `place` is what errors call it, such as `labels.jsonl:7`.

    ContractError with every problem, as `read_labels` has them.
    """
    from pydantic import ValidationError

    from reviewer.contract.explain import as_problems, shape_faults
    from reviewer.review.label_shape import LabelShape

    raw = load_object(line, place, max_bytes=MAX_LINE)
    try:
        LabelShape.model_validate(raw)
    except ValidationError as error:
        raise ContractError.of(as_problems(place, shape_faults(LabelShape, error))) from None
    said = {name: value for name, value in raw.items() if name != "schema"}
    label = msgspec.convert({**said, "uid": said.get("uid") or ""}, Label)
    problems = [Problem(place, where, why) for where, why in label_problems(label)]
    if problems:
        raise ContractError.of(problems)
    if label.uid and label.uid != uid_of(label):
        raise _forged(label, place)
    return msgspec.structs.replace(label, uid=uid_of(label))


def _forged(label: Label, place: str) -> ContractError:
    reason = f"`{shown(label.uid)}` is not the uid of this content, which is {uid_of(label)}"
    return ContractError(place, "$.uid", f"{reason}; the label was changed after it was made")


def _plain(label: Label) -> dict[str, Any]:
    return {"schema": SCHEMA, **msgspec.to_builtins(label)}


def _age(label: Label) -> tuple[tuple[str, str], str]:
    return instant(label.at), label.uid
