"""MLflow: feedback with the source HUMAN, from traces (`Trace.to_json`, rows of `search_traces`) or
by itself (`Feedback.to_dictionary`).

An assessment by code or a judge is never a person's, an overridden one no longer counts, and an
expectation states what should have been, not what was.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, loaded, objects_of, word

_NOBODY = ("", "default")
"""MLflow itself writes `default` for a source without a name."""


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every assessment. An assessment that overrides others has the id of the
    first: it is the same answer, changed."""
    held = list(_assessments(data))
    before = {
        word(one.get("assessment_id")): word(one.get("overrides"))
        for one in held
        if isinstance(one, dict)
    }
    for number, given in enumerate(held, 1):
        yield given if isinstance(given, BadRecord) else _record(number, given, before)


def _first(key: str, before: Mapping[str, str]) -> str:
    """Return the id of the assessment that was overridden first, whatever their order."""
    seen = {key}
    while (earlier := before.get(key, "")) and earlier not in seen:
        seen.add(earlier)
        key = earlier
    return key


def _assessments(data: bytes) -> Iterator[Any]:
    for value in objects_of(data):
        if isinstance(value, BadRecord) or "assessment_name" in value:
            yield value
        else:
            held, trace = _held(value)
            for given in held:
                yield {"trace_id": trace, **given} if isinstance(given, dict) else given


def _held(value: dict[str, Any]) -> tuple[list[Any], str]:
    """Return the assessments of a trace, and its id."""
    inner = loaded(value.get("trace"))
    trace = inner if isinstance(inner, dict) else value
    info = loaded(trace.get("info"))
    info = info if isinstance(info, dict) else trace
    for told in (value.get("assessments"), info.get("assessments")):
        held = loaded(told)
        if isinstance(held, list) and held:
            return held, word(info.get("trace_id")) or word(value.get("trace_id"))
    return [], ""


def _record(row: int, given: Any, before: Mapping[str, str]) -> Record:
    if not isinstance(given, dict) or not (question := word(given.get("assessment_name"))):
        return BadRecord(row, "is no assessment: it has no `assessment_name`")
    source = given.get("source")
    source = source if isinstance(source, dict) else {}
    kind = word(source.get("source_type"))
    if not kind:
        return LeftOut(row, "has no source_type: nothing says whether a person gave it")
    if kind != "HUMAN":
        return LeftOut(row, f"was made by a program or a model (source {kind[:40]})")
    feedback = given.get("feedback")
    if not isinstance(feedback, dict):
        return LeftOut(row, "is an expectation, not an answer")
    if given.get("span_id"):
        return LeftOut(row, "is about a step (span), not about the attempt")
    if given.get("valid") is False:
        return LeftOut(row, "was overridden by a later one")
    key, trace = word(given.get("assessment_id")), word(given.get("trace_id"))
    if not key or not trace:
        return BadRecord(row, f"`{'trace_id' if key else 'assessment_id'}` is missing")
    annotator = word(source.get("source_id"))
    if annotator in _NOBODY:
        return LeftOut(row, "names no annotator (source.source_id)")
    said = forms([feedback.get("value")])
    if not said:
        return LeftOut(row, "has no value of its own: a text, a number, true or false")
    return Annotation(
        row=row,
        key=_first(key, before),
        trace=trace,
        task="",
        model="",
        annotator=annotator,
        answers=(Answer(question, said),),
        note=word(given.get("rationale")),
        made=word(given.get("create_time")),
        changed=word(given.get("last_update_time")),
    )
