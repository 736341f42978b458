"""Spans that are objects of their own, in an array or one a line: Phoenix's export and its data
frames, OpenTelemetry's console exporter, and what the JavaScript SDK keeps in memory.
"""

from typing import Any

from reviewer.importing.formats.otel.otlp import scope_name
from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.otel.span import (
    Attributes,
    Span,
    SpanEvent,
    hex_id,
    of_unknown_unit,
)
from reviewer.importing.formats.values import at_path, objects, text
from reviewer.importing.head import Head
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import EACH, Path, Pattern

_LISTS = ("data", "spans")
_SIGNS = {
    "span_kind",
    "attributes",
    "start_time",
    "startTime",
    "attributes.openinference.span.kind",
}


class OpenInferenceReader(SpanReader):
    name = "openinference"

    def sniff(self, head: Head) -> bool:
        value = head.first
        if isinstance(value, dict) and (name := _list_in(value)):
            value = value[name][0]
        return isinstance(value, dict) and bool(_ids(value)[0]) and bool(_SIGNS & value.keys())

    def roots(self, first: Any) -> tuple[Pattern, ...]:
        name = _list_in(first) if isinstance(first, dict) else ""
        return ((name, EACH),) if name else ((),)

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return () if path == () or (len(path) == 2 and path[0] in _LISTS) else None

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
    """Return the member that holds a list of spans, empty when the object is no such list."""
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
    """Return (whether it is an error, what is said of it)."""
    status = value.get("status")
    held = status if isinstance(status, dict) else value
    code = _either(held, "status_code", "code")
    said = _either(held, "status_message", "description", "message")
    return code in (2, "ERROR", "StatusCode.ERROR"), text(said)


def _attributes(value: dict[str, Any]) -> Attributes:
    given = value.get("attributes")
    if not isinstance(given, dict):  # a data frame has one column per attribute
        start = "attributes."
        given = {name[len(start) :]: one for name, one in value.items() if name.startswith(start)}
    found = _flat(given)
    kind = value.get("span_kind")
    if isinstance(kind, str) and kind != "UNKNOWN":
        found.setdefault("openinference.span.kind", kind)
    return found


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
