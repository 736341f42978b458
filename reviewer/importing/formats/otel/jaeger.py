"""Traces as Jaeger's user interface and its query service hand them out.

Times are microseconds, attributes are tags, and what a trace's processes say is beside its spans.
"""

from collections.abc import Sequence
from typing import Any

from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.formats.otel.span import Attributes, Span, SpanEvent, hex_id, nanos
from reviewer.importing.formats.values import mapping, objects, text
from reviewer.importing.head import Head
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import EACH, Path, Pattern


class JaegerReader(SpanReader):
    name = "jaeger"

    def sniff(self, head: Head) -> bool:
        value = head.first
        if not isinstance(value, dict):
            return False
        if isinstance(data := value.get("data"), list):
            value = data[0] if data else None
        if not isinstance(value, dict) or not isinstance(spans := value.get("spans"), list):
            return False
        first = spans[0] if spans else None
        return "processes" in value or (isinstance(first, dict) and "operationName" in first)

    def roots(self, first: Any) -> tuple[Pattern, ...]:
        return ("data", EACH, "spans", EACH), ("spans", EACH)

    def holds(self, path: Path) -> Path | None:
        return path[:-1] if path[-1:] == ("processes",) else None

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        return (path[:-2],) if len(path) > 1 and path[-2] == "spans" else None

    def spans(self, value: Any) -> list[Span]:
        if not isinstance(value, dict):
            raise Rejected("type:span")
        trace = hex_id(value.get("traceID"))
        if not trace:
            raise Rejected("missing:traceID")
        tags = _tags(value.get("tags"))
        stamp, lasted = value.get("startTime"), value.get("duration")
        start = nanos(stamp, 1000)
        end = None
        if start is not None and type(lasted) is int and 0 <= lasted < 1 << 50:
            end = start + lasted * 1000
        return [
            Span(
                trace=trace,
                id=hex_id(value.get("spanID")),
                parent=_parent(value),
                name=text(value.get("operationName")),
                start=start,
                end=end,
                stamp=stamp if start is not None else None,
                error=tags.get("error") in (True, "true")
                or tags.get("otel.status_code") == "ERROR",
                said=text(tags.get("otel.status_description")),
                attributes=tags,
                events=_logs(value.get("logs")),
                resource={_PROCESS: value.get("processID")},
                scope=_scope(tags),
            )
        ]

    def under(self, span: Span, held: Sequence[Any]) -> Span:
        return span._replace(resource=_process(span.resource.get(_PROCESS), held[0]))


_PROCESS = "processID"
"""Stands in the place of a resource until the processes are known: they come behind the spans."""


def _tags(values: Any) -> Attributes:
    return {
        one["key"]: one.get("value") for one in objects(values) if isinstance(one.get("key"), str)
    }


def _parent(value: dict[str, Any]) -> str:
    for one in objects(value.get("references")):
        if one.get("refType") == "CHILD_OF":
            return hex_id(one.get("spanID"))
    return hex_id(value.get("parentSpanID"))


def _logs(values: Any) -> tuple[SpanEvent, ...]:
    fields = [_tags(one.get("fields")) for one in objects(values)]
    return tuple(SpanEvent(text(one.get("event")), one) for one in fields)


def _process(number: Any, processes: Any) -> Attributes:
    found = mapping(processes).get(number) if isinstance(number, str) else None
    if not isinstance(found, dict):
        return {}
    return {**_tags(found.get("tags")), "service.name": found.get("serviceName")}


def _scope(tags: Attributes) -> str:
    return f"{text(tags.get('otel.scope.name'))} {text(tags.get('otel.scope.version'))}".strip()
