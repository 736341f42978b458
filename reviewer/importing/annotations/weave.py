"""Weave, by W&B: annotations (`wandb.annotation.…`) and reactions (`wandb.reaction.1`) that people
gave, from calls that were exported with their feedback (`include_feedback`).

Feedback by a scorer (`wandb.runnable.…`) and feedback of a custom type is a program's. A record of
feedback by itself names only a call, and nothing says to which trace the call belongs.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, objects_of, word

_ANNOTATION, _REACTION, _NOTE = "wandb.annotation.", "wandb.reaction.1", "wandb.note.1"
_STEP = "is about a step (call inside a trace), not about the attempt"
_ALONE = "names a call and not its trace: export the calls with their feedback"


class _Given(NamedTuple):
    """Feedback, the trace that it is about, and why it is about none."""

    feedback: Any
    trace: str
    why: str = ""


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every feedback."""
    for number, one in enumerate(_feedback(data), 1):
        yield _record(number, one) if isinstance(one, _Given) else one


def _feedback(data: bytes) -> Iterator[_Given | BadRecord]:
    for value in objects_of(data):
        if isinstance(value, BadRecord):
            yield value
            continue
        calls = value.get("calls")
        for call in calls if isinstance(calls, list) else [value]:
            yield from _of(call)


def _of(call: Any) -> Iterator[_Given]:
    if isinstance(call, dict) and "feedback_type" in call:
        yield _Given(call, "", _ALONE)
        return
    held = call
    for name in ("summary", "weave", "feedback"):
        held = held.get(name) if isinstance(held, dict) else None
    trace, inner = (word(call.get("trace_id")), call.get("parent_id")) if held else ("", None)
    for one in held if isinstance(held, list) else []:
        yield _Given(one, trace, _STEP if inner else "")


def _record(row: int, one: _Given) -> Record:
    given = one.feedback
    if not isinstance(given, dict) or not (kind := word(given.get("feedback_type"))):
        return BadRecord(row, "is no feedback: it has no `feedback_type`")
    payload = given.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    if kind == _NOTE:
        return LeftOut(row, "is a note, not an answer")
    if kind == _REACTION:
        question, answer = "reaction", payload.get("emoji")
    elif kind.startswith(_ANNOTATION):
        question, answer = kind.removeprefix(_ANNOTATION), payload.get("value")
    else:
        return LeftOut(row, f"was made by a program or a model (feedback_type {kind[:40]})")
    if one.why:
        return LeftOut(row, one.why)
    key = word(given.get("id"))
    lacking = "id" if not key else "trace_id" if not one.trace else ""
    if lacking or not question:
        return BadRecord(row, f"`{lacking or 'feedback_type'}` is missing")
    annotator = word(given.get("wb_user_id")) or word(given.get("creator"))
    if not annotator:
        return LeftOut(row, "names no annotator (wb_user_id, creator)")
    said = forms([answer])
    if not said:
        return LeftOut(row, "has no value of its own: a text, a number, true or false")
    return Annotation(
        row=row,
        key=key,
        trace=one.trace,
        task="",
        model="",
        annotator=annotator,
        answers=(Answer(question, said),),
        made=word(given.get("created_at")),
    )
