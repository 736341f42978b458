"""Spans that are objects of their own, as observability tools export them: Langfuse; Phoenix and
its data frames, OpenTelemetry's console exporter, and what the JavaScript SDK keeps in memory.

Langfuse exports a trace with its observations, by itself, in an array, or one per line. Input,
output and metadata are often JSON inside a text, even twice. Langfuse computes prices, so here
spans have a cost. `latency` is seconds in some exports and milliseconds in others: it is never
read, times are.
"""

from typing import Any

from reviewer.importing.facts import FormatFacts
from reviewer.importing.foreign_json import parse_text
from reviewer.importing.formats.base import at_path, mapping, objects, present, text
from reviewer.importing.formats.otel import (
    Attributes,
    Span,
    SpanEvent,
    hex_id,
    of_unknown_unit,
)
from reviewer.importing.formats.otel.episode import safe
from reviewer.importing.formats.otel.messages import MOST_STEPS
from reviewer.importing.formats.otel.otlp import scope_name
from reviewer.importing.formats.otel.outcome import ROOT, SCORES
from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.otel.tree import Tree
from reviewer.importing.head import Head
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import EACH, Path, Pattern

# Langfuse -----------------------------------------------------------------------------------------

_OWN = ("projectId", "htmlPath", "sessionId", "scores")


class LangfuseReader(SpanReader):
    name = "langfuse"
    facts = FormatFacts(
        by="`trace` and `observations`",
        times="yes",
        cost="each call once",
        tokens="leaf model calls, once",
        verdict="scores, kept as evidence",
        attempt="where metadata says",
    )

    def sniff(self, head: Head) -> bool:
        value = head.first
        if not isinstance(value, dict) or not isinstance(value.get("observations"), list):
            return False
        if isinstance(value.get("trace"), dict) or any(name in value for name in _OWN):
            return True
        first = next(iter(value["observations"]), None)
        return isinstance(first, dict) and "type" in first and "traceId" in first

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        return ((),)

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return ()

    def suite_id(self, path: Any) -> str:
        return "langfuse"

    def suite_of(self, tree: Tree) -> str:
        facts = tree.all[0].resource
        name = safe(text(facts.get("langfuse.project")) or text(facts.get("langfuse.trace.name")))
        return f"langfuse-{name}" if name else "langfuse"

    def spans(self, value: Any) -> list[Span]:
        trace, own, observations = _parts(value)
        facts = _facts(trace, value)
        return [_span(one, own, facts, _observed(one)) for one in observations]

    def outlines(self, value: Any) -> list[Span]:
        trace, own, observations = _parts(value)
        facts = _facts(trace, value)
        return [_span(one, own, facts, {}) for one in observations]


def _parts(value: Any) -> tuple[dict[str, Any], str, list[dict[str, Any]]]:
    """Return a trace, its id and its observations; the trace itself where it has none. Raises
    Rejected."""
    if not isinstance(value, dict):
        raise Rejected("type:trace")
    inner = value.get("trace")
    trace = inner if isinstance(inner, dict) else value
    own = text(trace.get("id"))
    if not own:
        raise Rejected("missing:trace.id")
    observations = value.get("observations")
    if not isinstance(observations, list):
        raise Rejected("missing:observations")
    found = objects(observations)
    return trace, own, found or [{**trace, "type": "SPAN", "startTime": trace.get("timestamp")}]


def _facts(trace: dict[str, Any], value: dict[str, Any]) -> Attributes:
    """Return the facts about the trace as a whole, which every span gets."""
    scores = trace.get("scores") or value.get("scores")
    found = {
        ROOT: trace.get("id"),
        "langfuse.session.id": trace.get("sessionId"),
        "langfuse.project": trace.get("projectId"),
        "langfuse.release": trace.get("release") or trace.get("version"),
        "langfuse.trace.name": trace.get("name"),
        "langfuse.trace.metadata": _opened(trace.get("metadata")),
        SCORES: scores,
        "langfuse.trace.input": trace.get("input"),
        "langfuse.trace.output": trace.get("output"),
    }
    return present(found)


def _opened(value: Any) -> Any:
    """Return a value, decoded if it is written as JSON text, also as JSON text within JSON text."""
    for _ in range(3):
        if not isinstance(value, str):
            break
        parsed = parse_text(value)
        if parsed is None:
            break
        value = parsed
    return value


def _span(value: dict[str, Any], trace: str, facts: Attributes, observed: Attributes) -> Span:
    metadata = mapping(_opened(value.get("metadata")))
    given, about = metadata.get("attributes"), metadata.get("resourceAttributes")
    attributes: Attributes = {**mapping(given)}
    attributes.update({f"metadata.{name}": one for name, one in metadata.items()
                       if name not in ("attributes", "resourceAttributes", "scope")})  # fmt: skip
    attributes.update(observed)
    stamp = value.get("startTime")
    start = of_unknown_unit(stamp)
    return Span(
        trace=trace,
        id=text(value.get("id")),
        parent=text(value.get("parentObservationId")),
        name=text(value.get("name")),
        start=start,
        end=of_unknown_unit(value.get("endTime")),
        stamp=stamp if start is not None else None,
        error=value.get("level") == "ERROR",
        said=text(value.get("statusMessage")),
        attributes=attributes,
        resource={**about, **facts} if isinstance(about, dict) else facts,
        scope=scope_name(metadata.get("scope")),
    )


def _observed(value: dict[str, Any]) -> Attributes:
    """Return an observation's own members, under the names that Langfuse's SDK uses in
    attributes."""
    priced = at_path(value, "costDetails", "total")
    found = {
        "langfuse.observation.type": value.get("type"),
        "langfuse.observation.input": _opened(value.get("input")),
        "langfuse.observation.output": _opened(value.get("output")),
        "langfuse.observation.model.name": value.get("model"),
        "langfuse.observation.usage_details": value.get("usageDetails") or value.get("usage"),
        "langfuse.observation.total_cost": (
            value.get("totalCost") or value.get("calculatedTotalCost") or priced
        ),
    }
    return present(found)


# OpenInference ------------------------------------------------------------------------------------

_LISTS = ("data", "spans")
_SIGNS = {
    "span_kind", "attributes", "start_time", "startTime", "attributes.openinference.span.kind",
}  # fmt: skip


class OpenInferenceReader(SpanReader):
    name = "openinference"
    facts = FormatFacts(
        by="spans with `context` or `spanContext`",
        times="yes",
        tokens="leaf model calls, once",
        attempt="where metadata says",
        approvals="denials seen in messages",
    )

    def sniff(self, head: Head) -> bool:
        value = head.first
        if isinstance(value, dict) and (name := _list_in(value)):
            value = value[name][0]
        return isinstance(value, dict) and bool(_ids(value)[0]) and bool(_SIGNS & value.keys())

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        first = head.first
        name = _list_in(first) if isinstance(first, dict) else ""
        return ((name, EACH),) if name else ((),)

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return () if path == () or (len(path) == 2 and path[0] in _LISTS) else None

    def goes_on(self, path: Path) -> bool:
        return path == ("next_cursor",)

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:span")
        trace, own, parent = _ids(value)
        if not trace:
            raise Rejected("missing:trace_id")
        stamp = _either(value, "start_time", "startTime")
        start = of_unknown_unit(stamp)
        error, said = _status(value)
        return [
            Span(
                trace=trace,
                id=own,
                parent=parent,
                name=text(value.get("name")),
                start=start,
                end=of_unknown_unit(_either(value, "end_time", "endTime")),
                stamp=None if start is None else str(start) if isinstance(stamp, list) else stamp,
                error=error,
                said=said,
                attributes=_attributes(value),
                events=_events(value.get("events")),
                resource=_flat(at_path(value, "resource", "attributes")),
                scope=scope_name(_either(value, "instrumentationScope", "instrumentationLibrary")),
            )
        ]


def _list_in(value: dict[str, Any]) -> str:
    """Return the member that contains a list of spans, empty when the object has no such list."""
    for name in _LISTS:
        if isinstance(at_path(value, name, 0), dict):
            return name
    return ""


def _either(value: dict[str, Any], *names: str) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)


def _ids(value: dict[str, Any]) -> tuple[str, str, str]:
    """Return (trace, span, parent)."""
    context = _either(value, "context", "spanContext", "_spanContext")
    held = context if isinstance(context, dict) else value
    prefix = "" if held is context else "context."
    parent = at_path(value, "parentSpanContext", "spanId")
    return (
        hex_id(_either(held, f"{prefix}trace_id", f"{prefix}traceId")),
        hex_id(_either(held, f"{prefix}span_id", f"{prefix}spanId")),
        hex_id(_either(value, "parent_id", "parentSpanId", "parentId") or parent),
    )


def _status(value: dict[str, Any]) -> tuple[bool, str]:
    """Return (whether it is an error, its text)."""
    status = value.get("status")
    held = status if isinstance(status, dict) else value
    code = _either(held, "status_code", "code")
    said = _either(held, "status_message", "description", "message")
    return code in (2, "ERROR", "StatusCode.ERROR"), text(said)


def _attributes(value: dict[str, Any]) -> Attributes:
    given = value.get("attributes")
    if not isinstance(given, dict):  # a data frame has one column per attribute
        start = "attributes."
        named = ((name[len(start) :], one) for name, one in value.items() if name.startswith(start))
        given = {name: _nested(one) if isinstance(one, list) else one for name, one in named}
    found = _flat(given)
    kind = value.get("span_kind")
    if isinstance(kind, str) and kind != "UNKNOWN":
        found.setdefault("openinference.span.kind", kind)
    return found


def _nested(value: Any, depth: int = 0) -> Any:
    """Return a list from a data frame with objects in place of dotted names (`message.role`)."""
    if isinstance(value, list) and depth < 8:
        return [_nested(one, depth + 1) for one in value]
    if not isinstance(value, dict) or not any("." in name for name in value):
        return value
    root: dict[str, Any] = {}
    for name, one in value.items():
        *above, last = name.split(".", MOST_STEPS)
        node = root
        for step in above:
            inner = node.setdefault(step, {})
            if not isinstance(inner, dict):
                return value  # a name both of a value and of an object: unchanged
            node = inner
        if last in node:
            return value
        node[last] = _nested(one, depth + 1)
    return root


def _flat(value: Any, prefix: str = "", depth: int = 0) -> Attributes:
    """Return nested attributes under dotted names as well; each object also stays whole."""
    found: Attributes = {}
    for name, one in value.items() if isinstance(value, dict) else ():
        if one is None:
            continue
        found[prefix + name] = one
        if isinstance(one, dict) and depth < 8:
            found.update(_flat(one, f"{prefix}{name}.", depth + 1))
    return found


def _events(values: Any) -> tuple[SpanEvent, ...]:
    return tuple(_event(one) for one in objects(values))


def _event(value: dict[str, Any]) -> SpanEvent:
    found = _flat(value.get("attributes"))
    if isinstance(message := value.get("message"), str):
        found.setdefault("exception.message", message)
    return SpanEvent(text(value.get("name")), found)
