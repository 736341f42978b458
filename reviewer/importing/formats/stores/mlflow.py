"""Traces of MLflow: `Trace.to_json()` one by one, in an array, one per line or in `traces`, the
records of `search_traces`, which contain the same as JSON text, and the spans alone, as MLflow
stores them among a trace's artifacts (`traces.json`). MLflow 2 wrote other names.

Attributes are JSON texts within JSON, and ids are base64 or hex. The tokens of a trace are in its
metadata as a sum, and on the model's spans; assessments are verdicts of people, judges and code.
"""

from typing import Any

from reviewer.importing.draft import tokens
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, present, text
from reviewer.importing.formats.otel import (
    Attributes,
    Span,
    SpanEvent,
    hex_id,
    nanos,
    plain,
)
from reviewer.importing.formats.otel.outcome import SCORES
from reviewer.importing.formats.otel.tree import Kind, kind_of
from reviewer.importing.formats.stores import (
    UNSTATED,
    aggregated,
    caches_known,
    counted,
    exchanged,
    money,
    operation,
    settled,
)
from reviewer.importing.formats.stores.reader import StoreReader
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Rejected

_KINDS: dict[str, Kind] = {
    "AGENT": "agent",
    **dict.fromkeys(("LLM", "CHAT_MODEL"), "model"),
    "TOOL": "tool",
    "EVALUATOR": "judge",
    **dict.fromkeys(("CHAIN", "WORKFLOW", "TASK", "GUARDRAIL", "RETRIEVER", "MEMORY"), "chain"),
    **dict.fromkeys(("EMBEDDING", "RERANKER", "PARSER"), ""),
}
_UNSTATED = ("", "UNKNOWN")
_TYPE = "mlflow.spanType"
_ERRORS = ("STATUS_CODE_ERROR", "ERROR", "2", 2)


class MlflowReader(StoreReader):
    name = "mlflow-trace"
    facts = FormatFacts(
        by="`info` with a trace id, and `data`; records of `search_traces`; `spans` of MLflow's",
        times="yes",
        cost="each call once, where MLflow priced it",
        tokens="leaf model calls, once; else the trace's sum",
        verdict="assessments, kept as evidence",
        attempt="where metadata says",
    )
    store = "mlflow"
    lists = ("traces",)
    names = frozenset(("info", "trace_id", "request_id", "spans"))
    own = ("info", "trace", "spans")

    def is_row(self, value: Any) -> bool:
        return _is_trace(value) or _is_record(value) or _are_spans(value)

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:trace")
        info, rows = _parts(value)
        facts = _facts(info)
        return [_span(row, info, facts) for row in rows]

    def whole(self, spans: list[Span]) -> list[Span]:
        return caches_known(settled(spans, _TYPE))


def _is_trace(value: Any) -> bool:
    info = at_path(value, "info")
    names = ("trace_metadata", "request_metadata", "trace_location", "experiment_id", "tags")
    return (
        isinstance(info, dict)
        and ("trace_id" in info or "request_id" in info)
        and any(name in info for name in names)
        and "data" in value
    )


_COLUMNS = frozenset(
    (
        *("request_preview", "trace_metadata", "request_metadata", "execution_duration"),
        *("execution_time_ms", "client_request_id"),
    )
)


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and ("trace_id" in value or "request_id" in value)
        and ("trace" in value or "spans" in value)
        and not _COLUMNS.isdisjoint(value)
    )


_OWN = "mlflow.traceRequestId"


def _are_spans(value: Any) -> bool:
    """Return whether this contains only the spans of a trace."""
    spans = value.get("spans") if isinstance(value, dict) and len(value) == 1 else None
    first = plain(at_path(spans, 0)) if isinstance(spans, list) else None
    return _OWN in mapping(plain(at_path(first, "attributes")))


def _parts(value: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the facts about a trace as a whole, and its spans. Raises Rejected."""
    if "info" not in value:
        inner = plain(value.get("trace"))
        if isinstance(inner, dict) and "info" in inner:
            value = inner
        else:
            value = {"info": value, "data": {"spans": plain(value.get("spans"))}}
    info = mapping(value.get("info"))
    if _are_spans(info):
        first = mapping(plain(at_path(info, "spans", 0)))
        info = {"trace_id": plain(mapping(plain(first.get("attributes")))[_OWN])}
    listed = at_path(plain(value.get("data")), "spans")
    if not (text(info.get("trace_id")) or text(info.get("request_id"))):
        raise Rejected("missing:info.trace_id")
    if not isinstance(listed, list):
        raise Rejected("missing:data.spans")
    rows = [plain(one) for one in listed]
    if not all(isinstance(one, dict) for one in rows):
        raise Rejected("type:data.spans")
    if not rows:
        raise Rejected("empty:data.spans")
    return info, rows


def _facts(info: dict[str, Any]) -> Attributes:
    """Return the trace's facts that every span gets: its session, its names, its assessments."""
    metadata = mapping(plain(info.get("trace_metadata") or info.get("request_metadata")))
    tags = mapping(plain(info.get("tags")))
    found = {
        "langfuse.session.id": metadata.get("mlflow.trace.session") or None,
        "langfuse.trace.name": tags.get("mlflow.traceName"),
        "langfuse.trace.metadata": {**tags, **metadata},
        SCORES: [_score(one) for one in objects(plain(info.get("assessments")))] or None,
    }
    return present(found)


def _score(given: dict[str, Any]) -> dict[str, Any]:
    """Return an assessment: feedback with its source, or a person's expectation."""
    feedback = mapping(given.get("feedback"))
    expected = mapping(given.get("expectation"))
    value = feedback.get("value", expected.get("value"))
    name = text(given.get("assessment_name") or given.get("name"))
    source = mapping(given.get("source"))
    found = {
        "name": name if feedback else f"expected {name}",
        "source": " ".join(
            one for one in (text(source.get("source_type")), text(source.get("source_id"))) if one
        ),
        "comment": text(given.get("rationale")) or None,
        "value" if isinstance(value, (int, float)) and not isinstance(value, bool)
        else "stringValue": str(value).lower() if isinstance(value, bool) else value,
    }  # fmt: skip
    return present(found)


_SUM = "mlflow.trace.tokenUsage"


def _span(row: dict[str, Any], info: dict[str, Any], facts: Attributes) -> Span:
    held = {name: plain(one) for name, one in mapping(plain(row.get("attributes"))).items()}
    given = held.pop("mlflow.spanInputs", None)
    back = held.pop("mlflow.spanOutputs", None)
    held.pop("mlflow.spanFunctionName", None)  # the traced function in the program
    declared = text(held.pop(_TYPE, row.get("span_type"))).upper()
    parent = hex_id(row.get("parent_span_id") or row.get("parent_id"))
    status, context = row.get("status"), mapping(row.get("context"))
    stamp = row.get("start_time_unix_nano", row.get("start_time"))
    span = Span(
        trace=text(info.get("trace_id")) or text(info.get("request_id")),
        id=hex_id(row.get("span_id") or context.get("span_id")),
        parent=parent,
        name=text(row.get("name")),
        start=nanos(stamp),
        end=nanos(row.get("end_time_unix_nano", row.get("end_time"))),
        stamp=str(stamp) if nanos(stamp) is not None else None,
        error=(at_path(status, "code") or row.get("status_code") or status) in _ERRORS,
        said=text(at_path(status, "message") or row.get("status_message")),
        attributes=held,
        resource=facts,
        events=tuple(
            SpanEvent(text(one.get("name")), mapping(plain(one.get("attributes"))))
            for one in objects(row.get("events"))
        ),
        row=row,
    )
    kind, stated = _kind(declared, span)
    if not parent:
        sums = mapping(plain(mapping(facts.get("langfuse.trace.metadata")).get(_SUM)))
        held.update(aggregated(_tokens(sums)))
    held.update({**stated, **exchanged(kind, given, back)})
    if kind == "model":
        held.update(_of_model(held, back))
    return span


def _kind(declared: str, span: Span) -> tuple[Kind, Attributes]:
    """Return the kind of a span, and the attributes that state it."""
    if declared in _KINDS:
        return _KINDS[declared], operation(_KINDS[declared])
    if declared not in _UNSTATED:
        return "", {"traceloop.span.kind": declared}
    if kind := kind_of(span):  # spans that arrived as OpenTelemetry's keep their own words
        return kind, {}
    return "chain", {**operation("chain"), UNSTATED: True}


def _tokens(value: Any) -> dict[str, int] | None:
    """Return counts in MLflow's form, for any provider: input including cached tokens."""
    held = mapping(value)
    return tokens(
        input_tokens=held.get("input_tokens"),
        output_tokens=held.get("output_tokens"),
        cached_tokens=held.get("cache_read_input_tokens"),
        cache_write_tokens=held.get("cache_creation_input_tokens"),
    )


def _of_model(held: Attributes, back: Any) -> Attributes:
    """Return the model of a call, its tokens and its cost, and why it stopped."""
    answer = mapping(back)
    counts = _tokens(held.get("mlflow.chat.tokenUsage")) or tokens_of(answer.get("usage"))
    more = tokens_of(answer.get("usage")) or {}
    detailed = ("cached_tokens", "reasoning_tokens")
    inner: dict[str, int] = {name: more[name] for name in detailed if name in more}
    found = {
        "gen_ai.request.model": text(held.get("mlflow.llm.model")) or text(answer.get("model")),
        "gen_ai.response.model": text(answer.get("model")),
        "gen_ai.response.id": text(answer.get("id")),
        "llm.finish_reason": text(
            at_path(answer, "choices", 0, "finish_reason") or answer.get("stop_reason")
        ),
        "gen_ai.usage.cost": money(at_path(held, "mlflow.llm.cost", "total_cost")),
    }
    told = {name: one for name, one in found.items() if one}
    told.update(counted({**inner, **(counts or {})}))
    return told
