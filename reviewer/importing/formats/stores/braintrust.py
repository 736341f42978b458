"""Rows of Braintrust's logs and experiments: one per line, in an array, or as its API returns them
(`events`, `data`).

A root span's rows are one attempt. One span may be several rows: a row with `_is_merge` adds to the
earlier one of its id. Scores are verdicts of the source.
"""

from typing import Any

from reviewer.importing.draft import tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, present, sequence, text
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent, of_unknown_unit
from reviewer.importing.formats.otel.tree import Kind, kind_of
from reviewer.importing.formats.stores import (
    UNSTATED,
    caches_known,
    counted,
    exchanged,
    merged,
    money,
    operation,
    score,
    settled,
)
from reviewer.importing.formats.stores.reader import StoreReader
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import Path

_KINDS: dict[str, Kind] = {
    "task": "agent",
    "llm": "model",
    "tool": "tool",
    "score": "judge",
    "eval": "chain",
    "function": "chain",
    **dict.fromkeys(("automation", "facet", "preprocessor", "classifier"), "judge"),
}
_TYPE = "span_attributes.type"


class BraintrustReader(StoreReader):
    name = "braintrust-logs"
    facts = FormatFacts(
        by="`span_id` and `root_span_id` with `span_attributes`",
        times="yes",
        cost="each call once, where Braintrust estimated it",
        tokens="leaf model calls, once",
        verdict="scores, kept as evidence",
        attempt="where metadata says",
    )
    in_rows = True
    store = "braintrust"
    lists = ("events", "data", "rows")
    names = frozenset(("span_id", "span_attributes"))
    own = ("id", "span_id")

    def is_row(self, value: Any) -> bool:
        return _is_row(value)

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:row")
        if not _is_feedback(value):
            return [_span(value)]
        if value.get("scores"):
            raise Rejected("missing:span_id")
        return []

    def goes_on(self, path: Path) -> bool:
        return path == ("cursor",)

    def whole(self, spans: list[Span]) -> list[Span]:
        return _scored_once(caches_known(settled(merged(spans, _joined, _span), _TYPE)))


def _is_row(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "span_id" in value and "root_span_id" in value:
        return bool({"span_attributes", "span_parents", "metrics"} & value.keys())
    return "id" in value and "span_attributes" in value and "metrics" in value


def _is_feedback(row: dict[str, Any]) -> bool:
    """Return whether a row only adds feedback on a span, which it does not name."""
    later = row.get("_is_merge") is True or "comment" in row
    return later and "span_id" not in row and row.keys() <= _SAID_LATER


_SAID_LATER = frozenset(
    (
        *("id", "_is_merge", "scores", "expected", "tags", "comment", "source", "metadata"),
        *(
            "project_id",
            "log_id",
            "experiment_id",
            "org_id",
            "created",
            "_xact_id",
            "_audit_source",
        ),
        *("_audit_metadata", "_object_delete", "origin"),
    )
)


def _joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows of one span joined, in file order: a merge row adds to the members so far,
    any other replaces them."""
    found: dict[str, Any] = {}
    for row in rows:
        found = _deep(found, row) if row.get("_is_merge") or not found else dict(row)
    return found


_DEEP = 8


def _deep(one: dict[str, Any], other: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    found = dict(one)
    for name, value in other.items():
        held = found.get(name)
        if isinstance(held, dict) and isinstance(value, dict) and depth < _DEEP:
            found[name] = _deep(held, value, depth + 1)
        elif value is not None or name not in found:
            found[name] = value
    return found


def _span(row: dict[str, Any]) -> Span:
    own = text(row.get("span_id")) or text(row.get("id"))
    if not own:
        raise Rejected("missing:span_id")
    about, metrics = mapping(row.get("span_attributes")), mapping(row.get("metrics"))
    metadata = mapping(row.get("metadata"))
    declared = text(about.get("type"))
    kind = _KINDS.get(declared, "chain" if not declared else "")
    given, back, error = row.get("input"), row.get("output"), row.get("error")
    stamp = metrics.get("start") or row.get("created")
    name = text(about.get("name")) or text(metadata.get("name"))
    parents = sequence(row.get("span_parents"))
    return Span(
        trace=text(row.get("root_span_id")) or own,
        id=own,
        parent=text(parents[0]) if parents else text(row.get("parent_id")),
        name=name,
        start=of_unknown_unit(stamp),
        end=of_unknown_unit(metrics.get("end")),
        stamp=stamp if of_unknown_unit(stamp) is not None else None,
        error=bool(error),
        said=_said(error),
        attributes={
            **{one: held for one, held in row.items() if one not in _TOLD and held is not None},
            **{f"metadata.{one}": held for one, held in metadata.items() if held is not None},
            **_facts(row, metadata),
            **operation(kind),
            **({"traceloop.span.kind": declared} if declared and declared not in _KINDS else {}),
            **({UNSTATED: True} if not declared or declared == "function" else {}),
            **exchanged(kind, given, back),
            **(_of_model(metrics, metadata, back) if kind == "model" else {}),
            **(_of_tool(name, metadata) if kind == "tool" else {}),
        },
        resource={},
        events=_scores(row),
        row=row,
    )


_TOLD = frozenset(
    (
        *("id", "span_id", "root_span_id", "span_parents", "span_attributes", "metrics", "input"),
        *("output", "error", "metadata", "created", "project_id", "log_id", "org_id", "context"),
        *("scores", "expected", "_is_merge", "_xact_id", "_pagination_key", "experiment_id"),
        "classifications",
        # the data set row behind the request
        *("origin", "dataset_record_id"),
    )
)


def _said(error: Any) -> str:
    """Return the error: the last line of a traceback states it."""
    if isinstance(error, dict):
        return text(error.get("message")) or str(error)
    return text(error) or (str(error) if error else "")


_THREADS = (
    *("session_id", "conversation_id", "thread_id", "sessionId", "conversationId", "threadId"),
)


def _facts(row: dict[str, Any], metadata: dict[str, Any]) -> Attributes:
    thread = next((one for name in _THREADS if (one := text(metadata.get(name)))), None)
    example = text(at_path(row, "origin", "id")) or text(row.get("dataset_record_id")) or None
    return present(
        {"session.id": thread, "metadata.episode_id": metadata.get("episode_id", example)}
    )


def _of_model(metrics: dict[str, Any], metadata: dict[str, Any], back: Any) -> Attributes:
    counts = tokens(
        input_tokens=metrics.get("prompt_tokens"),
        output_tokens=metrics.get("completion_tokens"),
        cached_tokens=metrics.get("prompt_cached_tokens"),
        cache_write_tokens=metrics.get("prompt_cache_creation_tokens"),
        reasoning_tokens=metrics.get("completion_reasoning_tokens"),
    )
    first = back[0] if isinstance(back, list) and back else back
    ends = at_path(first, "finish_reason") or at_path(first, "stop_reason")
    found = {
        "gen_ai.request.model": text(metadata.get("model")),
        "llm.finish_reason": text(ends),
        "gen_ai.usage.cost": money(metrics.get("estimated_cost")) or money(metrics.get("cost")),
    }
    return {**{name: one for name, one in found.items() if one}, **counted(counts)}


def _of_tool(name: str, metadata: dict[str, Any]) -> Attributes:
    own = text(metadata.get("tool_call_id")) or text(metadata.get("call_id"))
    return {"gen_ai.tool.name": name, **({"gen_ai.tool.call.id": own} if own else {})}


def _scores(row: dict[str, Any]) -> tuple[SpanEvent, ...]:
    found = [score(name, value) for name, value in mapping(row.get("scores")).items()]
    for name, chosen in mapping(row.get("classifications")).items():
        found += [
            score(name, text(one.get("label")) or text(one.get("id"))) for one in objects(chosen)
        ]
    return tuple(one for one in found if one is not None)


def _scored_once(spans: list[Span]) -> list[Span]:
    """Return the spans, where a scorer's own span has only the scores that the scored span does not
    repeat: the SDK writes a score only to the scorer's."""
    judges = {id(span) for span in spans if kind_of(span) == "judge"}
    told = [event for span in spans if id(span) not in judges for event in span.events]
    return [
        span._replace(events=tuple(one for one in span.events if one not in told))
        if id(span) in judges and span.events
        else span
        for span in spans
    ]
