"""Langfuse: scores with the source ANNOTATION, from an export of the scores table (CSV, JSON, JSON
lines), an answer of the scores API, or a trace export with its scores.

A score with the source API or EVAL is a program's or a model's and never a person's.
"""

from collections.abc import Iterator
from typing import Any

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, objects_of, word
from reviewer.importing.annotations.tables import table

_COLUMNS = ("id", "traceId", "source", "name", "value")
_READ = (
    *_COLUMNS,
    *("dataType", "stringValue", "comment", "observationId", "sessionId", "datasetRunId"),
    *("timestamp", "createdAt", "updatedAt", "authorUserId", "authorUserName"),
)
_NO_ATTEMPT = {
    "observationId": "is about a step (observation), not about the attempt",
    "sessionId": "is about a session, not about one trace",
    "datasetRunId": "is about a dataset run, not about one trace",
}
_TRUTH = {"true": "1", "false": "0"}
_UNREAD = ("TEXT", "CORRECTION")


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every score."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        for number, given in enumerate(_scores(data), 1):
            yield given if isinstance(given, BadRecord) else _record(number, given)
        return
    for row in table(data, _COLUMNS, _READ)[1]:
        yield row if isinstance(row, BadRecord) else _record(row.number, row.cells)


def _scores(data: bytes) -> Iterator[Any]:
    """Yield every score in a document, from any of the places where such documents keep them."""
    for value in objects_of(data):
        if isinstance(value, BadRecord):
            yield value
        elif isinstance(value.get("data"), list):  # the API's page
            yield from value["data"]
        elif isinstance(trace := value.get("trace", value), dict) and "scores" in trace:
            scores = trace["scores"]
            yield from scores if isinstance(scores, list) else [scores]
        elif "observations" not in value:
            yield value


def _record(row: int, given: Any) -> Record:
    if not isinstance(given, dict):
        return BadRecord(row, "is no score")
    source = word(given.get("source"))
    if not source:
        return BadRecord(row, "`source` is missing: nothing says whether a person made it")
    if source != "ANNOTATION":
        return LeftOut(row, f"was made by a program or a model (source {source[:40]})")
    about = _of_subject(given.get("subject"))
    for member, why in _NO_ATTEMPT.items():
        if given.get(member) or about.get(member):
            return LeftOut(row, why)
    given = {**given, **about}
    kind, key, trace = (word(given.get(name)) for name in ("dataType", "id", "traceId"))
    if kind in _UNREAD:
        return LeftOut(row, f"is a {kind.lower()}, not an answer")
    lacking = [name for name, text in (("id", key), ("traceId", trace)) if not text]
    if lacking or not (question := word(given.get("name"))):
        return BadRecord(row, f"`{lacking[0] if lacking else 'name'}` is missing")
    annotator = word(given.get("authorUserId")) or word(given.get("authorUserName"))
    if not annotator:
        return LeftOut(row, "names no annotator (authorUserId, authorUserName)")
    said = _said(kind, given)
    if not said:
        return LeftOut(row, "has no value")
    if kind == "BOOLEAN" and len({_TRUTH.get(form.lower(), form) for form in said}) > 1:
        return BadRecord(row, "`value` and `stringValue` contradict each other")
    return Annotation(
        row=row,
        key=key,
        trace=trace,
        task="",
        model="",
        annotator=annotator,
        answers=(Answer(question, said),),
        note=word(given.get("comment")),
        made=_time(given.get("timestamp")) or _time(given.get("createdAt")),
        changed=_time(given.get("updatedAt")),
    )


def _said(kind: str, given: dict[str, Any]) -> tuple[str, ...]:
    """Return the forms of the value. For a category only the text: its number is a place in the
    score's own configuration, or 0 without one."""
    text, value = given.get("stringValue"), given.get("value")
    if kind == "CATEGORICAL":
        return forms([text if word(text) else value])
    return forms([text, value])


def _of_subject(subject: Any) -> dict[str, Any]:
    """Return the ids of the subject of a score, as the API's third version states it."""
    if not isinstance(subject, dict):
        return {}
    kind, key = word(subject.get("kind") or subject.get("type")).lower(), subject.get("id")
    names = {"trace": "traceId", "session": "sessionId", "observation": "observationId"}
    return {names.get(kind, "datasetRunId"): key}


def _time(value: Any) -> str:
    return word(value).strip('"')
