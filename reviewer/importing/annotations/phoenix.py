"""Phoenix, by Arize: annotations of traces with the kind HUMAN, as its API returns them
(`/v1/projects/…/trace_annotations`), or one per line or element.

An annotation of the kind LLM or CODE, or with another source than APP, is a model's or a program's
and never a person's: Phoenix's clients send HUMAN unless told otherwise, with the user of the key.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, objects_of, word

_NO_ATTEMPT = {
    "span_id": "is about a step (span), not about the attempt",
    "session_id": "is about a session, not about one trace",
}


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every annotation."""
    for number, given in enumerate(_annotations(data), 1):
        yield given if isinstance(given, BadRecord) else _record(number, given)


def _annotations(data: bytes) -> Iterator[Any]:
    for value in objects_of(data):
        if not isinstance(value, BadRecord) and isinstance(value.get("data"), list):
            yield from value["data"]  # the API's page
        else:
            yield value


def _record(row: int, given: Any) -> Record:
    if not isinstance(given, dict) or not (question := word(given.get("name"))):
        return BadRecord(row, "is no annotation: it has no `name`")
    kind = word(given.get("annotator_kind"))
    if not kind:
        return LeftOut(row, "has no annotator_kind: nothing says whether a person gave it")
    if kind != "HUMAN":
        return LeftOut(row, f"was made by a program or a model (annotator_kind {kind[:40]})")
    source = word(given.get("source"))
    if not source:
        return LeftOut(row, "has no source: nothing says whether a person gave it")
    if source != "APP":
        return LeftOut(row, f"was made by a program or a model (source {source[:40]})")
    for member, why in _NO_ATTEMPT.items():
        if given.get(member):
            return LeftOut(row, why)
    key, trace = word(given.get("id")), word(given.get("trace_id"))
    if not key or not trace:
        return BadRecord(row, f"`{'trace_id' if key else 'id'}` is missing")
    annotator = word(given.get("user_id"))
    if not annotator:
        return LeftOut(row, "names no annotator (user_id)")
    result = given.get("result")
    result = result if isinstance(result, dict) else {}
    said = forms([result.get("label"), result.get("score")])
    if not said:
        return LeftOut(row, "has no label and no score")
    return Annotation(
        row=row,
        key=key,
        trace=trace,
        task="",
        model="",
        annotator=annotator,
        answers=(Answer(question, said),),
        note=word(result.get("explanation")),
        made=word(given.get("created_at")),
        changed=word(given.get("updated_at")),
    )
