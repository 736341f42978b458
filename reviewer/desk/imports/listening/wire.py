"""Export requests of OTLP over HTTP: the spans in a body, and the body of an answer. Pure,
except for the generated classes of `opentelemetry-proto` (extra: listen), which are imported
when needed."""

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

MOST_BYTES = 16 << 20
"""Most bytes of one request, decompressed."""
MOST_SPANS = 50_000
"""Most spans of one request; SDKs send 512 at a time."""
MOST_OBJECTS = 1_500_000
"""Most objects and lists of one request: 16 MiB of empty ones would need gigabytes of memory."""
Kind = Literal["application/x-protobuf", "application/json"]
PROTOBUF: Kind = "application/x-protobuf"
JSON: Kind = "application/json"
EMPTY = b"{}"
_WINDOWS = {"gzip": 31, "deflate": 15}
"""Compression → zlib's window for it. The exporters of OpenTelemetry's SDKs offer these two."""
_IDS = ("traceId", "spanId", "parentSpanId")


class RefusedRequest(Exception):
    """A refused request: the status of the answer, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Emitted(NamedTuple):
    """One span as it was received, with its resource and scope: each an object in OTLP's JSON, on
    one line."""

    raw: bytes
    resource: bytes = EMPTY
    scope: bytes = EMPTY


def kind_of(content_type: str | None) -> Kind:
    """Return the encoding of a body, by its Content-Type. Raises RefusedRequest (415)."""
    name = (content_type or "").partition(";")[0].strip().lower()
    for kind in (PROTOBUF, JSON):
        if name == kind:
            return kind
    raise RefusedRequest(415, f"Content-Type: {PROTOBUF} or {JSON}")


def unpacked(body: bytes, encoding: str | None) -> bytes:
    """Decompress a body. Raises RefusedRequest: 413 for a body that is too large, 415 for an
    unknown compression, 400 for a damaged one."""
    name = (encoding or "identity").strip().lower()
    if name in _WINDOWS:
        opened = zlib.decompressobj(_WINDOWS[name])
        try:
            found = opened.decompress(body, MOST_BYTES)
        except zlib.error:
            raise RefusedRequest(400, f"the body is not {name}") from None
        if opened.unconsumed_tail or (len(found) == MOST_BYTES and not opened.eof):
            raise RefusedRequest(413, f"over {MOST_BYTES >> 20} MiB, unpacked")
        if not opened.eof or opened.unused_data:
            raise RefusedRequest(400, f"the body is not one complete {name} stream")
        return found
    if name != "identity":
        raise RefusedRequest(415, "Content-Encoding: gzip, deflate, or none")
    return body


def emitted(body: bytes, kind: Kind) -> list[Emitted]:
    """Return the spans of an export request. Raises RefusedRequest (400)."""
    return list(_of_protobuf(body) if kind == PROTOBUF else _of_json(body))


# Protobuf -----------------------------------------------------------------------------------------

_OLD_SCOPES = 1000
"""The number of `instrumentation_library_spans`, which OTLP had before 0.15: the same as
`scope_spans` under another name."""


def _of_protobuf(body: bytes) -> Iterator[Emitted]:
    for scopes in (2, _OLD_SCOPES):
        _few(_count(memoryview(body), (1, scopes, 2)))
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except (DecodeError, RecursionError):
        raise RefusedRequest(400, "the body is not an ExportTraceServiceRequest") from None

    def plain(message: Any) -> dict[str, Any]:
        found: dict[str, Any] = MessageToDict(message, use_integers_for_enums=True)
        return found

    def named_as_before(group: Any) -> Iterator[Any]:
        for field in UnknownFieldSet(group):
            if field.field_number == _OLD_SCOPES:
                try:
                    yield ScopeSpans.FromString(field.data)
                except (DecodeError, RecursionError, TypeError):
                    raise RefusedRequest(400, "instrumentation_library_spans are damaged") from None

    for group in request.resource_spans:
        resource = _line(plain(group.resource))
        for scoped in (*group.scope_spans, *named_as_before(group)):
            scope = _line(plain(scoped.scope))
            for span in scoped.spans:
                yield Emitted(_line(_with_hex(plain(span))), resource, scope)


def _few(count: int) -> None:
    if count > MOST_SPANS:
        raise RefusedRequest(413, f"over {MOST_SPANS:,} spans, resources or scopes in one request")


def _count(message: memoryview, path: tuple[int, ...]) -> int:
    """Return how many submessages a message has along a path of field numbers, without decoding
    them: decoded, an empty one takes a hundred times its two bytes. Stops at the limit. What
    it finds in bytes that are not protobuf does not matter: the decoder refuses them."""
    at, found = 0, 0
    while at < len(message) and found <= MOST_SPANS:
        tag, at = _varint(message, at)
        size = {1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 in (0, 2):
            value, at = _varint(message, at)
            size = value if tag & 7 == 2 else 0
        if tag == path[0] << 3 | 2:
            found += 1
            if len(path) > 1:
                found += _count(message[at : at + size], path[1:])
        at += size
    return found


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Return the number at this place, and where it ends; an endless one ends the message."""
    found = 0
    for place in range(10):
        if at + place >= len(message):
            break
        byte = message[at + place]
        found |= (byte & 127) << (7 * place)
        if byte < 128:
            return found, at + place + 1
    return 0, len(message)


def _with_hex(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span with its ids in hex, as OTLP's JSON has them (protobuf's own JSON has
    base64)."""
    for one in (span, *span.get("links", ())):
        for name in _IDS:
            if name in one:
                one[name] = base64.b64decode(one[name]).hex()
    return span


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


# JSON ---------------------------------------------------------------------------------------------


class _Scoped(msgspec.Struct, rename="camel"):
    scope: msgspec.Raw = msgspec.Raw(EMPTY)
    instrumentation_library: msgspec.Raw = msgspec.Raw(EMPTY)
    spans: list[msgspec.Raw] = []


class _Group(msgspec.Struct, rename="camel"):
    resource: msgspec.Raw = msgspec.Raw(EMPTY)
    scope_spans: list[_Scoped] = []
    instrumentation_library_spans: list[_Scoped] = []
    """The name of `scope_spans` before OTLP 0.15."""
    named_as_defined: list[_Scoped] = msgspec.field(default_factory=list, name="scope_spans")

    def scoped(self) -> Iterator[_Scoped]:
        """Yield its spans by scope, whatever name the writer gave them."""
        yield from self.scope_spans
        yield from self.instrumentation_library_spans
        yield from self.named_as_defined


class _Request(msgspec.Struct, rename="camel"):
    resource_spans: list[_Group] | None = None


def _of_json(body: bytes) -> Iterator[Emitted]:
    """Yield the spans of a JSON body as the bytes received, so that decoding loses nothing of
    them."""
    if body.count(b"{") + body.count(b"[") > MOST_OBJECTS:
        raise RefusedRequest(413, f"over {MOST_OBJECTS:,} objects and lists")
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.DecodeError, RecursionError):
        raise RefusedRequest(400, "the body is not an export request in OTLP's JSON") from None
    groups = request.resource_spans
    if groups is None:
        if body.strip() != EMPTY:
            raise RefusedRequest(400, "the body has no resourceSpans")
        return
    _few(sum(1 + len(each.spans) for group in groups for each in group.scoped()))
    for group in groups:
        resource = _one_line(group.resource)  # shared by its spans: it may be large, and they many
        for scoped in group.scoped():
            scope = _one_line(scoped.scope)
            if scope == EMPTY:
                scope = _one_line(scoped.instrumentation_library)
            for span in scoped.spans:
                yield Emitted(_one_line(span), resource, scope)


def _one_line(raw: msgspec.Raw) -> bytes:
    return bytes(raw).replace(b"\n", b" ").replace(b"\r", b" ")  # inside a text both are escaped


# Together -----------------------------------------------------------------------------------------


def written(spans: list[Emitted]) -> bytes:
    """Return spans as one export request in OTLP's JSON, on one line; a resource or scope that
    consecutive spans share is written once."""
    parts: list[bytes] = []
    above: tuple[bytes, bytes] | None = None
    for one in spans:
        if (one.resource, one.scope) == above:
            parts.append(b"," + one.raw)
            continue
        if above is not None:
            parts.append(b"]}]},")
        above = one.resource, one.scope
        parts.append(b'{"resource":%b,"scopeSpans":[{"scope":%b,"spans":[' % above)
        parts.append(one.raw)
    end = b"]}]}" if above is not None else b""
    return b'{"resourceSpans":[' + b"".join(parts) + end + b"]}\n"


# Answers ------------------------------------------------------------------------------------------


def accepted(kind: Kind, rejected: int = 0, why: str = "") -> bytes:
    """Return the answer to an accepted request, with how many of its spans were rejected."""
    if kind == JSON:
        part = {"rejectedSpans": str(rejected), "errorMessage": why}
        return _line({"partialSuccess": part} if rejected else {})
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = why
    return bytes(response.SerializeToString())


def refused(kind: Kind, why: str) -> bytes:
    """Return the answer to a refused request: a google.rpc.Status with a message."""
    if kind == JSON:
        return _line({"message": why})
    text = why.encode()[:120]
    return b"\x12" + bytes([len(text)]) + text  # field 2, a text of under 128 bytes
