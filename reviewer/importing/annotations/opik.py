"""Opik, by Comet: feedback scores with the source `ui`, from traces as `opik export` writes them or
the API returns them.

A score with the source `sdk` or `online_scoring` is a program's or a model's and never a person's.
Where several people gave one score, its own value is their mean: each person's value is read by
itself.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reviewer.importing.annotations import Annotation, Answer, BadRecord, LeftOut, Record
from reviewer.importing.annotations.documents import forms, objects_of, word

_LISTS = ("content", "traces", "data")


class _Score(NamedTuple):
    trace: str
    name: str
    author: str
    given: dict[str, Any]
    step: bool


def read(data: bytes) -> Iterator[Record]:
    """Yield a record for every value of a score."""
    for number, one in enumerate(_scores(data), 1):
        yield _record(number, one) if isinstance(one, _Score) else one._replace(row=number)


def _scores(data: bytes) -> Iterator[_Score | BadRecord]:
    for value in objects_of(data):
        if isinstance(value, BadRecord):
            yield value
            continue
        for trace in _traces(value):
            inner = trace.get("trace")
            spans = trace.get("spans")
            yield from _of(inner if isinstance(inner, dict) else trace)
            for span in spans if isinstance(spans, list) else []:
                yield from _of(span, step=True)


def _traces(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    held = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [value])
    yield from (one for one in held if isinstance(one, dict))


def _of(trace: Any, step: bool = False) -> Iterator[_Score | BadRecord]:
    """Yield what each person or program gave for each score of a trace or span."""
    held = trace.get("feedback_scores") if isinstance(trace, dict) else None
    for one in held if isinstance(held, list) else []:
        name = word(one.get("name")) if isinstance(one, dict) else ""
        if not name:
            yield BadRecord(0, "is no score: it has no `name`")
            continue
        key = word(trace.get("id"))
        authors = one.get("value_by_author")
        if isinstance(authors, dict) and authors:
            for author, given in authors.items():
                own = given if isinstance(given, dict) else {}
                yield _Score(key, name, word(own.get("author")) or word(author), own, step)
        else:
            author = word(one.get("last_updated_by")) or word(one.get("created_by"))
            yield _Score(key, name, author, one, step)


def _record(row: int, one: _Score) -> Record:
    given = one.given
    source = word(given.get("source"))
    if not source:
        return LeftOut(row, "has no source: nothing says whether a person gave it")
    if source != "ui":
        return LeftOut(row, f"was made by a program or a model (source {source[:40]})")
    if one.step or given.get("span_id") or word(given.get("span_type")):
        return LeftOut(row, "is about a step (span), not about the attempt")
    if not one.trace:
        return BadRecord(row, "the trace has no `id`")
    if not one.author:
        return LeftOut(row, "names no annotator (value_by_author, created_by)")
    said = forms([given.get("category_name"), given.get("value")])
    if not said:
        return LeftOut(row, "has no value")
    return Annotation(
        row=row,
        key="/".join(map(_part, (one.trace, one.name, one.author))),
        trace=one.trace,
        task="",
        model="",
        annotator=one.author,
        answers=(Answer(one.name, said),),
        note=word(given.get("reason")),
        made=word(given.get("created_at")),
        changed=word(given.get("last_updated_at")),
    )


def _part(text: str) -> str:
    """Return a part of a key, in which a slash is written so that it parts nothing."""
    return text.replace("%", "%25").replace("/", "%2F")
