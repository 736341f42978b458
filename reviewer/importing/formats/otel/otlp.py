"""OpenTelemetry's own JSON (OTLP), in a file or one export request per line; the same in Grafana
Tempo's form, under other names; and traces of Jaeger's user interface and query service.

OTLP is written by SDKs and collectors (ids in hex), by protobuf's JSON mapping (ids in base64,
enums by name, defaults left out), and by back ends that return it (Jaeger's second API). Tempo's
times are often JSON numbers, whose last digits were rounded. In Jaeger's own form times are
microseconds, attributes are tags, and the facts about a trace's processes are beside its spans.
"""

from collections.abc import Sequence
from functools import cache
from types import NoneType
from typing import Any, NamedTuple

from reviewer.importing.draft import whole
from reviewer.importing.facts import FormatFacts
from reviewer.importing.formats.base import at_path, mapping, objects, sequence, text
from reviewer.importing.formats.otel import Attributes, Span, SpanEvent, hex_id, nanos
from reviewer.importing.formats.otel.reader import SpanReader
from reviewer.importing.head import Head
from reviewer.importing.reader import Rejected
from reviewer.importing.walking import EACH, Path, Pattern

SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans")
_SCOPE = ("scope", "instrumentationLibrary")
_LEVELS = (("resourceSpans", "resource_spans", "batches"), SCOPES, ("spans",))
"""Lists within lists, the last of which contains spans."""


def below(*root: str) -> tuple[Pattern, ...]:
    """Return where spans are below a list of resources."""
    return tuple((*root, EACH, scopes, EACH, "spans", EACH) for scopes in SCOPES)


class OtlpReader(SpanReader):
    name = "otlp"
    facts = FormatFacts(
        by="`resourceSpans`",
        times="yes",
        tokens="leaf model calls, once",
        attempt="where metadata says",
        approvals="denials seen in messages",
    )

    def sniff(self, head: Head) -> bool:
        values = [head.first, *head.lines(5)]
        return any(_is_request(value) for value in values)

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        return (
            *below("resourceSpans"),
            *below("resource_spans"),
            *below("result", "resourceSpans"),
        )

    def holds(self, path: Path) -> Path | None:
        return path[:-1] if path[-1:] and path[-1] in ("resource", *_SCOPE) else None

    def holders(self, path: Path) -> tuple[Path, ...] | None:
        if len(path) < 6 or path[-2] != "spans":
            return None
        return path[:-4], path[:-2]

    def damaged(self, path: Path) -> bool:
        steps = path[1:] if path[:1] in (("result",), ("trace",)) else path
        return 0 < len(steps) < 2 * len(_LEVELS) and all(
            isinstance(step, int) if place % 2 else step in _LEVELS[place // 2]
            for place, step in enumerate(steps)
        )

    def spans(self, value: Any) -> list[Span]:
        return [span_of(value)]

    def holder(self, value: Any) -> Any:
        above = mapping(value)
        return _Holder(attributes(above.get("attributes")), scope_name(above))

    def under(self, span: Span, held: Sequence[Any]) -> Span:
        resource, scope = held
        return span._replace(
            resource=resource.attributes if resource else {}, scope=scope.name if scope else ""
        )


class _Holder(NamedTuple):
    """A resource or a scope."""

    attributes: Attributes
    name: str


def _is_request(value: Any) -> bool:
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    return isinstance(value, dict) and any(
        isinstance(value.get(name), list) for name in ("resourceSpans", "resource_spans")
    )


def trace_of(value: Any) -> str:
    """Return the id of a span's trace. Raises Rejected."""
    if not isinstance(value, dict):
        raise Rejected("type:span")
    trace = hex_id(_of(value, "traceId"))
    if not trace:
        raise Rejected("missing:traceId")
    return trace


def span_of(value: Any) -> Span:
    """Return one span, without its resource and its scope. Raises Rejected."""
    trace = trace_of(value)
    stamp = _of(value, "startTimeUnixNano")
    start, status = nanos(stamp), mapping(value.get("status"))
    named = value.get("attributes")
    if not isinstance(named, (list, dict, NoneType)):
        raise Rejected("type:attributes")
    read = attributes(named)
    # An attribute without its name may be the one that makes a span a call.
    if isinstance(named, list) and len(read) < len(named) and not all(map(_named, named)):
        raise Rejected("type:attributes")
    return Span(
        trace=trace,
        id=hex_id(_of(value, "spanId")),
        parent=hex_id(_of(value, "parentSpanId")),
        name=text(value.get("name")),
        start=start,
        end=nanos(_of(value, "endTimeUnixNano")),
        stamp=stamp if start else None,
        error=status.get("code") in (2, "2", "STATUS_CODE_ERROR"),
        said=text(status.get("message")),
        attributes=read,
        events=_events(value.get("events")),
        resource={},
        unread=tuple(name for name in _DROPPED if whole(_of(value, name))),
        entered=value.get("kind") in _ENTERED,
    )


_DROPPED = ("droppedAttributesCount", "droppedEventsCount")
"""How many of a span's attributes and events an SDK dropped because of a limit."""
_ENTERED = (2, "2", "SPAN_KIND_SERVER", 5, "5", "SPAN_KIND_CONSUMER")


def _of(value: dict[str, Any], name: str) -> Any:
    """Return a member by its JSON name, or by its name in the protocol's definition."""
    found = value.get(name)
    if found is None:
        found = value.get(_snake(name))
    return found


@cache
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def scope_name(scope: Any) -> str:
    """Return name and version of the library that recorded a span."""
    if not isinstance(scope, dict):
        return ""
    return f"{text(scope.get('name'))} {text(scope.get('version'))}".strip()


def _events(values: Any) -> tuple[SpanEvent, ...]:
    return tuple(
        SpanEvent(text(one.get("name")), attributes(one.get("attributes")))
        for one in objects(values)
    )


def attributes(values: Any) -> Attributes:
    """Return key and typed value pairs as a mapping; a mapping is returned unchanged. A value of
    another shape is left out."""
    if isinstance(values, dict):
        return {name: value for name, value in values.items() if isinstance(name, str)}
    found: Attributes = {}
    for one in values if isinstance(values, list) else ():
        if type(one) is dict and type(name := one.get("key")) is str:
            value = one.get("value")
            if type(value) is not dict:
                found[name] = value
            elif len(value) == 1 and "stringValue" in value:  # the usual case
                found[name] = value["stringValue"]
            else:
                found[name] = _plain(value)
    return found


def _named(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("key"), str)


def _plain(value: dict[str, Any]) -> Any:
    """Return a typed value as plain JSON."""
    for name, inner in value.items():
        if (read := _TYPES.get(name)) is not None:
            return read(inner)
    return None


def _same(value: Any) -> Any:
    return value


def _whole(value: Any) -> Any:
    digits = isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 20
    return int(value) if digits else value


def _array(value: Any) -> Any:
    found = sequence(at_path(value, "values"))
    return [_plain(one) if isinstance(one, dict) else one for one in found]


def _members(value: Any) -> Any:
    return attributes(at_path(value, "values"))


_READ = {
    "stringValue": _same,
    "boolValue": _same,
    "doubleValue": _same,
    "bytesValue": _same,
    "intValue": _whole,
    "arrayValue": _array,
    "kvlistValue": _members,
}
_TYPES = {spelled: read for name, read in _READ.items() for spelled in (name, _snake(name))}


class TempoReader(OtlpReader):
    name = "tempo"
    facts = FormatFacts(
        by="`batches`",
        times="yes",
        tokens="leaf model calls, once",
        attempt="where metadata says",
        approvals="denials seen in messages",
    )

    def sniff(self, head: Head) -> bool:
        value = head.first
        if not isinstance(value, dict):
            return False
        inner = value.get("trace")
        if isinstance(inner, dict) and isinstance(inner.get("resourceSpans"), list):
            return True
        return _has_batches(value) or _has_batches(inner)

    def roots(self, head: Head) -> tuple[Pattern, ...]:
        return (*below("batches"), *below("trace", "resourceSpans"), *below("trace", "batches"))


def _has_batches(value: Any) -> bool:
    first = at_path(value, "batches", 0)
    return isinstance(first, dict) and any(name in first for name in ("resource", *SCOPES))


# Jaeger -------------------------------------------------------------------------------------------


class JaegerReader(SpanReader):
    name = "jaeger"
    facts = FormatFacts(
        by="`data[].spans[]`",
        times="yes",
        tokens="leaf model calls, once",
        attempt="where metadata says",
        approvals="denials seen in messages",
    )

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

    def roots(self, head: Head) -> tuple[Pattern, ...]:
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
                entered=tags.get("span.kind") in ("server", "consumer"),
            )
        ]

    def under(self, span: Span, held: Sequence[Any]) -> Span:
        return span._replace(resource=_process(span.resource.get(_PROCESS), held[0]))


_PROCESS = "processID"
"""The placeholder of a resource until the processes are known: they come after the spans."""


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
