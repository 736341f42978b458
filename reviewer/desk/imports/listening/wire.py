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
Kind = Literal["application/x-protobuf", "application/json"]
PROTOBUF: Kind = "application/x-protobuf"
JSON: Kind = "application/json"
EMPTY = b"{}"
_GZIP = 31  # zlib's window of gzip streams
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
    if name == "gzip":
        opened = zlib.decompressobj(_GZIP)
        try:
            found = opened.decompress(body, MOST_BYTES)
        except zlib.error:
            raise RefusedRequest(400, "the body is not gzip") from None
        if opened.unconsumed_tail or (len(found) == MOST_BYTES and not opened.eof):
            raise RefusedRequest(413, f"over {MOST_BYTES >> 20} MiB, unpacked")
        if not opened.eof or opened.unused_data:
            raise RefusedRequest(400, "the body is not one complete gzip stream")
        return found
    if name != "identity":
        raise RefusedRequest(415, "Content-Encoding: gzip, or none")
    return body


def emitted(body: bytes, kind: Kind) -> list[Emitted]:
    """Return the spans of an export request. Raises RefusedRequest (400)."""
    return list(_of_protobuf(body) if kind == PROTOBUF else _of_json(body))


# Protobuf -----------------------------------------------------------------------------------------


def _of_protobuf(body: bytes) -> Iterator[Emitted]:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
    except (DecodeError, RecursionError):
        raise RefusedRequest(400, "the body is not an ExportTraceServiceRequest") from None

    def plain(message: Any) -> dict[str, Any]:
        found: dict[str, Any] = MessageToDict(message, use_integers_for_enums=True)
        return found

    for group in request.resource_spans:
        resource = _line(plain(group.resource))
        for scoped in group.scope_spans:
            scope = _line(plain(scoped.scope))
            for span in scoped.spans:
                yield Emitted(_line(_with_hex(plain(span))), resource, scope)


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


class _Scoped(msgspec.Struct):
    scope: msgspec.Raw = msgspec.Raw(EMPTY)
    spans: list[msgspec.Raw] = []


class _Group(msgspec.Struct, rename="camel"):
    resource: msgspec.Raw = msgspec.Raw(EMPTY)
    scope_spans: list[_Scoped] = []


class _Request(msgspec.Struct, rename="camel"):
    resource_spans: list[_Group] | None = None


def _of_json(body: bytes) -> Iterator[Emitted]:
    """Yield the spans of a JSON body as the bytes received, so that decoding loses nothing of
    them."""
    try:
        request = msgspec.json.decode(body, type=_Request)
    except (msgspec.DecodeError, RecursionError):
        raise RefusedRequest(400, "the body is not an export request in OTLP's JSON") from None
    if request.resource_spans is None:
        if body.strip() != EMPTY:
            raise RefusedRequest(400, "the body has no resourceSpans")
        return
    for group in request.resource_spans:
        for scoped in group.scope_spans:
            for span in scoped.spans:
                yield Emitted(*map(_one_line, (span, group.resource, scoped.scope)))


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
