"""The server of `listen`: what it takes, in which forms, and what it refuses with which status."""

import gzip
import http.client
import json
import os
import socket
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from doors import Door, compact
from hypothesis import given
from hypothesis import strategies as st
from span_files import agent, chat, request, span

from reviewer.desk.imports.listening import door as room
from reviewer.desk.imports.listening.listener import Listener
from reviewer.desk.imports.listening.wire import (
    JSON,
    MOST_BYTES,
    MOST_OBJECTS,
    MOST_SPANS,
    PROTOBUF,
    Kind,
    RefusedRequest,
    emitted,
    unpacked,
    written,
)
from reviewer.desk.place import at
from reviewer.importing.pipeline.scoring import ImportOptions

BODY = compact(request(chat(2, [("user", "hi")], [("assistant", "yo")], parent=1), agent(1)))


class Asked:
    """A listener behind its server, and requests to it."""

    def __init__(self, listener: Listener, server: room.Door) -> None:
        self.listener, self.server = listener, server

    def post(
        self, body: bytes | Iterator[bytes] = BODY, path: str = room.TRACES, **headers: str
    ) -> tuple[int, bytes, http.client.HTTPResponse]:
        port = self.server.server_port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        given = {"Content-Type": JSON, **{k.replace("_", "-"): v for k, v in headers.items()}}
        connection.request("POST", path, body, given)
        response = connection.getresponse()
        found = response.status, response.read(), response
        connection.close()
        return found

    def raw(self, *lines: str, body: bytes = b"") -> bytes:
        """What a request gets that no library would send."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        connection.connect()
        head = "\r\n".join((f"POST {room.TRACES} HTTP/1.1", *lines, "", "")).encode()
        connection.sock.sendall(head + body)
        found = connection.sock.recv(1 << 16)
        connection.close()
        return found


@pytest.fixture
def asked(door: Door, request: pytest.FixtureRequest) -> Iterator[Asked]:
    listener = Listener(at(door.root), ImportOptions())
    server = room.opened(0, listener.take, getattr(request, "param", ""))
    yield Asked(listener, server)
    server.shutdown()
    server.server_close()
    listener.close()


def test_spans_are_taken_and_answered_in_json(asked: Asked) -> None:
    status, body, response = asked.post()
    assert (status, body, response.headers["Content-Type"]) == (200, b"{}", JSON)
    assert asked.listener.taken == 2


def test_what_is_not_taken_is_counted_in_the_answer(asked: Asked) -> None:
    bad = compact(request({**span(1), "spanId": ""}, span(2)))
    status, body, _ = asked.post(bad)
    assert status == 200
    part = json.loads(body)["partialSuccess"]
    assert part == {"rejectedSpans": "1", "errorMessage": "missing:spanId"}


def test_compression_and_chunks_are_taken(asked: Asked) -> None:
    assert asked.post(gzip.compress(BODY), Content_Encoding="gzip")[0] == 200
    assert asked.post(zlib.compress(BODY), Content_Encoding="deflate")[0] == 200
    halves = iter((BODY[:40], BODY[40:]))
    assert asked.post(halves)[0] == 200
    assert asked.listener.taken == 6


def bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(64)), packer.flush()])


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (413, bomb(), {"Content_Encoding": "gzip"}),
        (400, b"no gzip", {"Content_Encoding": "gzip"}),
        (400, zlib.compress(BODY)[:-1], {"Content_Encoding": "deflate"}),
        (400, gzip.compress(BODY)[:-9], {"Content_Encoding": "gzip"}),
        (400, gzip.compress(BODY) + b"more", {"Content_Encoding": "gzip"}),
        (415, BODY, {"Content_Encoding": "br"}),
        (415, BODY, {"Content_Type": "text/plain"}),
        (400, b"{", {}),
        (400, b"[]", {}),
        (400, b'{"resource_spans": []}', {}),
        (400, b'{"resourceSpans": 7}', {}),
        (404, BODY, {"path": "/v2/traces"}),
        (403, BODY, {"Host": "evil.example"}),
        (403, BODY, {"Origin": "http://localhost:1"}),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name(
    asked: Asked, status: int, body: bytes, headers: dict[str, str]
) -> None:
    found, said, _ = asked.post(body, **headers)
    assert found == status
    assert json.loads(said)["message"]
    assert asked.listener.taken == 0
    assert asked.post()[0] == 200  # it goes on


def test_lengths_are_held_to(asked: Asked) -> None:
    own = ("Host: localhost", f"Content-Type: {JSON}")
    assert b" 411 " in asked.raw(*own).partition(b"\r\n")[0]
    assert b" 413 " in asked.raw(*own, f"Content-Length: {MOST_BYTES + 1}").partition(b"\r\n")[0]
    assert b" 400 " in asked.raw(*own, "Content-Length: -1").partition(b"\r\n")[0]
    chunked = (*own, "Transfer-Encoding: chunked")
    assert b" 413 " in asked.raw(*chunked, body=b"fffffff\r\n").partition(b"\r\n")[0]
    assert b" 400 " in asked.raw(*chunked, body=b"zz\r\n").partition(b"\r\n")[0]


def protobuf(number: int, *parts: bytes) -> bytes:
    """Submessages, all in the field of this number."""
    return b"".join(bytes([number << 3 | 2]) + length(len(part)) + part for part in parts)


def length(count: int) -> bytes:
    return bytes([count & 127 | 128]) + length(count >> 7) if count > 127 else bytes([count])


MANY = [b""] * (MOST_SPANS + 1)
UNKNOWN = b"\x7b\x08\x01\x7c"  # a group of an unknown field, which decoders pass over


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"resourceSpans":[{"scopeSpans":[{"spans":[%b]}]}]}' % b",".join([b"{}"] * len(MANY)),
         JSON),
        (b'{"resourceSpans":[{"scopeSpans":[%b]}]}' % b",".join([b"{}"] * len(MANY)), JSON),
        (b'{"resourceSpans":[%b]}' % b",".join([b"{}"] * MOST_OBJECTS), JSON),
        (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[%b]}]}]}]}'
         % b",".join([b"[]"] * MOST_OBJECTS), JSON),
        (protobuf(1, protobuf(2, protobuf(2, *MANY))), PROTOBUF),
        (UNKNOWN + protobuf(1, UNKNOWN + protobuf(2, UNKNOWN + protobuf(2, *MANY))), PROTOBUF),
        (protobuf(1, protobuf(2, *MANY)), PROTOBUF),
        (protobuf(1, *MANY), PROTOBUF),
    ],
)  # fmt: skip
def test_a_small_body_does_not_fill_the_memory(body: bytes, kind: Kind) -> None:
    """Two bytes of a body can be a span, which takes a hundred times as much."""
    with pytest.raises(RefusedRequest) as refused:
        emitted(body, kind)
    assert refused.value.status == 413


def test_spans_share_the_resource_they_came_with() -> None:
    """One of 8 MiB, copied for each of a hundred thousand spans, would take a terabyte."""
    spans = emitted(compact(request(*(span(n) for n in range(1, 4)))), JSON)
    assert len({id(one.resource) for one in spans}) == len({id(one.scope) for one in spans}) == 1


def test_one_agent_more_than_there_are_connections_is_told_to_try_again(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exporters send a request again that was answered with 503, and drop one without an
    answer."""
    monkeypatch.setattr(room, "MOST_CONNECTIONS", 1)
    address = "127.0.0.1", asked.server.server_port
    with socket.create_connection(address, 60) as idle:
        status, _, response = asked.post()
        assert (status, response.headers["Retry-After"]) == (503, "5")
        idle.shutdown(socket.SHUT_WR)
        assert idle.recv(1) == b"", "the server is done with it"
    assert asked.post()[0] == 200
    monkeypatch.setattr(room, "CROWDED", 0)
    assert asked.post()[2].headers["Connection"] == "close", "others may be waiting"


def test_a_client_that_sends_a_byte_now_and_then_is_left(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "WHOLE_S", 0.2)
    with socket.create_connection(("127.0.0.1", asked.server.server_port), 60) as slow:
        slow.sendall(b"POST /v1/traces HTTP/1.1\r\n")
        slow.settimeout(0.02)
        for _ in range(500):  # PATIENCE_S, were there no other limit
            try:
                slow.sendall(b"x")
                if slow.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it is still listened to")


@pytest.mark.parametrize("path", room.DROPPED)
def test_logs_and_metrics_are_dropped_and_counted(asked: Asked, path: str) -> None:
    assert asked.post(b"{}", path)[:2] == (200, b"{}")
    assert (asked.server.dropped, asked.listener.taken) == (1, 0)


@pytest.mark.parametrize("asked", ["s3cret"], indirect=True)
def test_a_token_is_wanted_where_there_is_one(asked: Asked) -> None:
    assert asked.post()[0] == 401
    assert asked.post(Authorization="Bearer other")[0] == 401
    assert asked.post(Authorization="Bearer s3cret")[0] == 200
    assert asked.listener.taken == 2


def test_a_disk_that_is_full_is_no_answer_of_success(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        status, _, response = asked.post()
    assert (status, response.headers["Retry-After"]) == (503, room.RETRY_S)
    assert asked.listener.taken == 0
    assert asked.post()[0] == 200
    assert asked.listener.taken == 2


# parsing ------------------------------------------------------------------------------------------


def outcome(read: Callable[[], object]) -> object:
    """What a reading gives, or the status with which it refuses."""
    try:
        return read()
    except RefusedRequest as error:
        return error.status


@given(st.binary(max_size=200), st.sampled_from([JSON, PROTOBUF]))
def test_any_bytes_give_spans_or_a_refusal(data: bytes, kind: Kind) -> None:
    if kind == PROTOBUF:
        pytest.importorskip("opentelemetry.proto")
    found = outcome(lambda: emitted(data, kind))
    assert found == 400 or isinstance(found, list)


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "identity", "br", ""]))
def test_any_compression_is_undone_or_refused(data: bytes, encoding: str) -> None:
    assert outcome(lambda: unpacked(data, encoding)) in (400, 415, data)
    assert unpacked(gzip.compress(data), "gzip") == data
    assert unpacked(zlib.compress(data), "deflate") == data


NAMES = st.text("abc.", min_size=1, max_size=5)
SPANS = st.lists(
    st.builds(
        lambda number, trace, attributes: span(number, trace=trace, **attributes),
        st.integers(1, 99),
        st.integers(1, 3),
        st.dictionaries(st.sampled_from("xyz"), st.text() | st.integers(0, 9) | st.booleans()),
    ),
    max_size=5,
)


@given(SPANS)
def test_what_is_written_is_read_again(spans: list[dict[str, Any]]) -> None:
    found = emitted(json.dumps(request(*spans), indent=1).encode(), JSON)
    line = written(found)
    assert line.count(b"\n") == 1
    assert emitted(line, JSON) == found
    assert [json.loads(one.raw) for one in found] == spans


@given(SPANS)
def test_protobuf_and_json_say_the_same(spans: list[dict[str, Any]]) -> None:
    trace_pb2 = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    from google.protobuf.json_format import ParseDict

    def with_base64(value: dict[str, Any]) -> dict[str, Any]:
        import base64

        ids = {n: base64.b64encode(bytes.fromhex(value[n])).decode() for n in ("traceId", "spanId")}
        return {**value, **ids}

    message = ParseDict(
        request(*map(with_base64, spans)), trace_pb2.ExportTraceServiceRequest()
    ).SerializeToString()
    plain = [json.loads(one.raw) for one in emitted(message, PROTOBUF)]
    wanted = [{name: value for name, value in one.items() if value != []} for one in spans]
    assert plain == wanted


def test_broken_protobuf_is_refused_in_protobuf(asked: Asked) -> None:
    pytest.importorskip("opentelemetry.proto")
    status, body, response = asked.post(b"\xff\xff\xff", Content_Type=PROTOBUF)
    assert (status, response.headers["Content-Type"]) == (400, PROTOBUF)
    assert b"not an ExportTraceServiceRequest" in body


def test_the_answer_to_protobuf_is_protobuf(asked: Asked) -> None:
    trace_pb2 = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    empty = trace_pb2.ExportTraceServiceRequest().SerializeToString()
    status, body, _ = asked.post(empty, Content_Type=PROTOBUF)
    assert (status, body) == (200, b"")
    bad = trace_pb2.ExportTraceServiceRequest()
    bad.resource_spans.add().scope_spans.add().spans.add(name="no ids")
    status, body, _ = asked.post(bad.SerializeToString(), Content_Type=PROTOBUF)
    answer = trace_pb2.ExportTraceServiceResponse.FromString(body)
    assert (status, answer.partial_success.rejected_spans) == (200, 1)


def test_spans_under_the_names_of_older_writers_are_taken() -> None:
    span = b'{"name":"x"}'
    for scopes, scope in (
        ("instrumentationLibrarySpans", "instrumentationLibrary"),
        ("scope_spans", "scope"),
    ):
        held = {scopes: [{scope: {"name": "l"}, "spans": [{"name": "x"}]}]}
        body = compact({"resourceSpans": [held]})
        (one,) = emitted(body, JSON)
        assert (one.raw, one.scope) == (span, b'{"name":"l"}')


def test_spans_under_the_number_of_older_writers_are_taken() -> None:
    scoped = b"\x12\x03\x2a\x01x"  # spans: a span with a name
    group = b"\xc2\x3e" + bytes([len(scoped)]) + scoped  # field 1000
    body = b"\x0a" + bytes([len(group)]) + group
    (one,) = emitted(body, PROTOBUF)
    assert json.loads(one.raw) == {"name": "x"}
    damaged = b"\x0a\x05\xc2\x3e\x02\x12\x09"
    with pytest.raises(RefusedRequest):
        emitted(damaged, PROTOBUF)
