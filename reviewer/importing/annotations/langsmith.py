"""LangSmith: feedback that a person gave in its app, as the SDK's `list_feedback` returns it
(`model_dump_json`, a line or an element each), or as a member of an exported run.

Feedback of the source types api, model and auto_eval is a program's or a model's and never a
person's; a preference among runs of an experiment is neither blind nor given in both orders.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, objects_of, word


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every feedback."""
    for number, given in enumerate(_feedback(data), 1):
        yield given if isinstance(given, BadRecord) else _record(number, given)


def _feedback(data: bytes) -> Iterator[Any]:
    for value in objects_of(data):
        if isinstance(value, BadRecord):
            yield value
        elif "run_type" in value:
            held = value.get("feedback")
            yield from held if isinstance(held, list) else []
        else:
            yield value


def _record(row: int, given: Any) -> Record:
    if not isinstance(given, dict) or not (question := word(given.get("key"))):
        return BadRecord(row, "is no feedback: it has no `key`")
    source = given.get("feedback_source")
    source = source if isinstance(source, dict) else {}
    kind = word(source.get("type"))
    if not kind:
        return LeftOut(row, "has no feedback_source: nothing says whether a person gave it")
    if kind != "app":
        return LeftOut(row, f"was made by a program or a model (source {kind[:40]})")
    if given.get("comparative_experiment_id") or given.get("feedback_group_id"):
        return LeftOut(row, "is a preference among runs: neither blind nor in both orders")
    key, run, trace = (word(given.get(name)) for name in ("id", "run_id", "trace_id"))
    if not key:
        return BadRecord(row, "`id` is missing")
    if not run and not trace:
        return LeftOut(row, "is about a project, not about one run")
    if run and trace and run != trace:
        return LeftOut(row, "is about a step (run inside a trace), not about the attempt")
    annotator = word(source.get("user_id")) or word(source.get("user_name"))
    if not annotator:
        return LeftOut(row, "names no annotator (feedback_source.user_id)")
    said = forms([given.get("value"), given.get("score")])
    if not said:
        return LeftOut(row, "has no score and no value")
    return Annotation(
        row=row,
        key=key,
        trace=trace or run,
        task="",
        model="",
        annotator=annotator,
        answers=(Answer(question, said),),
        note=word(given.get("comment")),
        made=word(given.get("created_at")),
        changed=word(given.get("modified_at")),
    )
