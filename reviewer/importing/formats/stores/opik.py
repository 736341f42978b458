"""Traces of Opik as `opik export` writes them: a trace with its spans, one per file, in an array or
one per line.

A trace's own span is the trace itself; spans are of type llm, tool, guardrail or general. Feedback
scores are verdicts of the source. `usage` has the provider's own words beside Opik's.
"""

from typing import Any

from reviewer.importing.draft import CUT, tokens, whole
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, present, text
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent, of_unknown_unit
from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.otel.tree import Kind, Tree
from reviewer.importing.formats.stores import (
    UNSTATED,
    any_row,
    caches_known,
    counted,
    exchanged,
    in_list,
    money,
    operation,
    score,
    settled,
)
from reviewer.importing.head import Head
from reviewer.importing.messages import tokens_of
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import Path, Pattern

_KINDS: dict[str, Kind] = {
    "llm": "model",
    "tool": "tool",
    "guardrail": "chain",
    "general": "chain",
}
_LISTS = ("traces",)
_NAMES = frozenset(("trace",))
"""A member that every export of a trace has."""


class OpikReader(SpanReader):
    name = "opik-traces"
    facts = FormatFacts(
        by="`trace` and `spans` with `project_name` or `downloaded_at`",
        times="yes",
        cost="each call once, where Opik priced it",
        tokens="leaf model calls, once",
        verdict="feedback scores, kept as evidence",
        attempt="where metadata says",
    )

    def sniff(self, head: Head) -> bool:
        return any_row(head, _LISTS, _NAMES, _is_export)

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        return ((),)

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return () if in_list(path, (), ()) else None

    def suite_id(self, path: Any) -> str:
        return "opik"

    def suite_of(self, tree: Tree) -> str:
        return "opik"

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:trace")
        trace, listed = mapping(value.get("trace")), value.get("spans")
        own = text(trace.get("id"))
        if not own:
            raise Rejected("missing:trace.id")
        if not isinstance(listed, list):
            raise Rejected("missing:spans")
        if len(objects(listed)) < len(listed):
            raise Rejected("type:spans")
        facts = _facts(trace)
        top = _span({**trace, "type": "trace", "trace_id": own}, facts)
        if (made := whole(trace.get("span_count"))) is not None and made > len(listed):
            top = top._replace(unread=(*top.unread, f"spans{CUT}"))
        return [top, *(_span(one, facts, own) for one in listed)]

    def whole(self, spans: list[Span]) -> list[Span]:
        return caches_known(settled(spans, "type"))


def _is_export(value: Any) -> bool:
    trace = at_path(value, "trace")
    return (
        isinstance(trace, dict)
        and isinstance(value.get("spans"), list)
        and "id" in trace
        and ("downloaded_at" in value or "project_name" in value or "project_id" in trace)
    )


def _facts(trace: dict[str, Any]) -> Attributes:
    return present(
        {
            "langfuse.session.id": text(trace.get("thread_id")) or None,
            "langfuse.trace.name": text(trace.get("name")) or None,
            "langfuse.trace.metadata": trace.get("metadata"),
        }
    )


def _span(row: dict[str, Any], facts: Attributes, above: str = "") -> Span:
    own = text(row.get("id"))
    if not own:
        raise Rejected("missing:spans.id")
    declared = text(row.get("type"))
    kind: Kind = "agent" if declared == "trace" else _KINDS.get(declared, "")
    kind = kind if declared else "chain"
    error, stamp = row.get("error_info"), row.get("start_time")
    metadata = mapping(row.get("metadata"))
    given, returned = (None if _omitted(row.get(name)) else row.get(name) for name in _SAID)
    unknown = declared not in _KINDS and declared not in ("", "trace")
    return Span(
        trace=text(row.get("trace_id")) or above or own,
        id=own,
        parent=text(row.get("parent_span_id")) or ("" if declared == "trace" else above),
        name=text(row.get("name")),
        start=of_unknown_unit(stamp),
        end=of_unknown_unit(row.get("end_time")),
        stamp=stamp if of_unknown_unit(stamp) is not None else None,
        error=bool(error),
        said=text(at_path(error, "message")) or text(at_path(error, "exception_type")),
        attributes={
            **{name: one for name, one in row.items() if name not in _TOLD and one is not None},
            **{f"metadata.{name}": one for name, one in metadata.items() if one is not None},
            **operation(kind),
            **({UNSTATED: True} if declared in ("", "general") else {}),
            **({"traceloop.span.kind": declared} if unknown else {}),
            **exchanged(kind, given, _returned(kind, returned)),
            **(_of_model(row) if kind == "model" else {}),
        },
        resource=facts,
        events=_scores(row),
        unread=tuple(
            f"{name}{CUT}"
            for name in _SAID
            if kind in ("model", "tool") and _omitted(row.get(name))
        ),
    )


_SAID = ("input", "output")


def _omitted(value: Any) -> bool:
    """Return whether Opik's client left out a value because of its size."""
    return isinstance(value, dict) and value.get("opik_truncated") is True


_TOLD = frozenset(
    (
        *("id", "trace_id", "parent_span_id", "name", "type", "start_time", "end_time", "input"),
        *("output", "metadata", "usage", "model", "provider", "error_info", "feedback_scores"),
        *("total_estimated_cost", "project_id", "project_name", "span_feedback_scores"),
        *("comments", "guardrails_validations", "span_count"),
    )
)


def _returned(kind: Kind, value: Any) -> Any:
    """Return a tool's output: a value that is not an object is stored under `output`."""
    if kind == "tool" and isinstance(value, dict) and value.keys() == {"output"}:
        return value["output"]
    return value


def _of_model(row: dict[str, Any]) -> Attributes:
    usage, answer = mapping(row.get("usage")), mapping(row.get("output"))
    ends = at_path(answer, "choices", 0, "finish_reason") or answer.get("stop_reason")
    found = {
        "gen_ai.request.model": text(row.get("model")),
        "gen_ai.response.id": text(answer.get("id")),
        "llm.finish_reason": text(ends),
        "gen_ai.usage.cost": money(row.get("total_estimated_cost")),
    }
    return {**{name: one for name, one in found.items() if one}, **counted(_counts(usage))}


def _counts(usage: dict[str, Any]) -> dict[str, int] | None:
    """Return tokens: Opik's own names, and the provider's details in flattened names."""
    inner = "original_usage."
    beside = ("cache_read_input_tokens", "cache_creation_input_tokens")
    held = {name.removeprefix(inner): one for name, one in usage.items() if name.startswith(inner)}
    if any(name in held for name in beside):  # Anthropic's: input without cached tokens
        return tokens_of(held)
    return tokens(
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_tokens=held.get("prompt_tokens_details.cached_tokens"),
        reasoning_tokens=held.get("completion_tokens_details.reasoning_tokens"),
    )


def _scores(row: dict[str, Any]) -> tuple[SpanEvent, ...]:
    """Return the scores of judges and people, their comments, and the checks of guardrails."""
    found = [
        score(
            one.get("name"),
            one.get("value"),
            one.get("reason"),
            one.get("source"),
            one.get("category_name"),
        )
        for one in objects(row.get("feedback_scores"))
    ]
    found += [score("comment", text(one.get("text"))) for one in objects(row.get("comments"))]
    for validation in objects(row.get("guardrails_validations")):
        found += [
            score(f"guardrail {text(one.get('name'))}", text(one.get("result")))
            for one in objects(validation.get("checks"))
        ]
    return tuple(one for one in found if one is not None)
