"""The server of `reviewer listen`: OTLP over HTTP on this machine's loopback address, and nothing
else.

No other machine reaches it, and no web page: `Host` must be an address of this machine, `Origin`
must be missing, and no header allows a browser to read an answer.
"""

import contextlib
import hmac
import io
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any

from reviewer.desk.imports.listening.wire import (
    JSON,
    MOST_BYTES,
    Emitted,
    Kind,
    RefusedRequest,
    accepted,
    emitted,
    kind_of,
    refused,
    unpacked,
)

TRACES = "/v1/traces"
DROPPED = ("/v1/logs", "/v1/metrics")
"""Signals other than traces: a 404 for each would fill an agent's log."""
PATIENCE_S = 10.0
"""Seconds to wait for more of a request."""
WHOLE_S = 60.0
"""Seconds that a whole request may take: a client that sends a byte now and then keeps others
out."""
RETRY_S = "5"
MOST_CONNECTIONS = 64
CROWDED = MOST_CONNECTIONS // 2
"""Connections above which each is closed after its answer, so that more agents get their turn than
keep one open."""
MOST_TURNED_AWAY = 256
BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_LINGER_S = 1.0
_MOST_LINE = 1 << 10
_BLOCK = 1 << 16

Take = Callable[[list[Emitted]], tuple[int, str]]
"""Stores spans durably, and returns how many were rejected, and why. Raises RefusedRequest."""


class Door(ThreadingHTTPServer):
    """The server; `take` gets the spans of every request, from several threads."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], take: Take, token: str = "") -> None:
        self.take, self.token = take, token
        self.dropped = 0
        """Requests with other signals, which were dropped."""
        self.reading = threading.Lock()
        """Held while a request is decoded: some take hundreds of megabytes."""
        self._open, self._away = set[Any](), set[Any]()
        super().__init__(address, _Handler)

    @property
    def crowded(self) -> bool:
        """Return whether agents may be waiting for a connection to be closed."""
        return len(self._open) > CROWDED

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._open) < MOST_CONNECTIONS:
            self._open.add(request)
            super().process_request(request, client_address)
        elif len(self._away) < MOST_TURNED_AWAY:
            self._away.add(request)
            threading.Thread(target=self._turn_away, args=(request,), daemon=True).start()
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        self._away.discard(request)
        super().shutdown_request(request)

    def _turn_away(self, request: socket.socket) -> None:
        """Tell a client to try again: exporters drop the spans of a request that gets no answer."""
        until = time.monotonic() + _LINGER_S
        with contextlib.suppress(OSError):
            request.settimeout(_LINGER_S)
            request.sendall(BUSY % RETRY_S.encode())
            request.shutdown(socket.SHUT_WR)
            # Closed with bytes unread, the connection would be reset and the answer lost.
            while time.monotonic() < until and request.recv(_BLOCK):
                pass
        self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnects in the middle."""


class _Patient(io.RawIOBase):
    """Reads from a connection until `until`, and waits for each part no longer than
    `PATIENCE_S`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self.until = connection, 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(min(PATIENCE_S, left))
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_S
    server_version, sys_version = "reviewer", ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._incoming = _Patient(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        self._incoming.until = time.monotonic() + WHOLE_S
        super().handle_one_request()

    def do_POST(self) -> None:
        kind: Kind = JSON
        try:
            self._admit()
            if self.path in DROPPED:
                self._dropped()
                return
            if self.path != TRACES:
                raise RefusedRequest(404, f"only POST {TRACES} is answered here")
            kind = kind_of(self.headers.get("Content-Type"))
            packed = self._body()
            with self.server.reading:
                body = unpacked(packed, self.headers.get("Content-Encoding"))
                told = self.server.take(emitted(body, kind))
            self.close_connection = self.close_connection or self.server.crowded
            self._answer(200, kind, accepted(kind, *told))
        except RefusedRequest as error:
            # Unread bytes of the body would be taken for the next request.
            self.close_connection = True
            self._answer(error.status, kind, refused(kind, error.why))
        except (TimeoutError, ConnectionError):
            self.close_connection = True

    def _admit(self) -> None:
        """Raise RefusedRequest for a request from a web page or under another host's name, and for
        one without the token."""
        name = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host") or ""
        if not _is_here(name.strip("[]")) or self.headers.get("Origin") is not None:
            raise RefusedRequest(403, "only programs on this machine are answered")
        given = self.headers.get("Authorization") or ""
        wanted = f"Bearer {self.server.token}"
        if self.server.token and not hmac.compare_digest(given.encode(), wanted.encode()):
            raise RefusedRequest(401, "Authorization: Bearer TOKEN")

    def _dropped(self) -> None:
        self.server.dropped += 1
        kind = kind_of(self.headers.get("Content-Type"))
        self._body()
        self._answer(200, kind, b"{}" if kind == JSON else b"")

    def _body(self) -> bytes:
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            return self._chunks()
        length = self.headers.get("Content-Length")
        if length is None:
            raise RefusedRequest(411, "Content-Length is missing")
        if not length.isascii() or not length.isdecimal() or len(length) > 18:
            raise RefusedRequest(400, "Content-Length is not a number")
        if int(length) > MOST_BYTES:
            raise RefusedRequest(413, f"over {MOST_BYTES >> 20} MiB")
        return self._read(int(length))

    def _chunks(self) -> bytes:
        found = bytearray()
        while True:
            line = self.rfile.readline(_MOST_LINE)
            try:
                size = int(line.partition(b";")[0].strip(), 16)
            except ValueError:
                raise RefusedRequest(400, "a chunk without its size") from None
            if size < 0 or len(found) + size > MOST_BYTES:
                raise RefusedRequest(413, f"over {MOST_BYTES >> 20} MiB")
            found += self._read(size)
            if not size:
                while self.rfile.readline(_MOST_LINE).strip():
                    pass  # trailers
                return bytes(found)
            self.rfile.readline(_MOST_LINE)

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            block = self.rfile.read(min(size - len(found), _BLOCK))
            if not block:
                raise RefusedRequest(400, "the body ends before its length")
            found += block
        return bytes(found)

    def _answer(self, status: int, kind: Kind, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 503:
            self.send_header("Retry-After", RETRY_S)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the listener reports the results of requests."""


def _is_here(name: str) -> bool:
    """Return whether a host name is this machine's own. A web page whose name was made to resolve
    to this machine uses another name."""
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def opened(port: int, take: Take, token: str = "") -> Door:
    """Return a server at this port of 127.0.0.1 (0: any free port), which answers in its own
    threads until `shutdown`. Raises OSError."""
    door = Door(("127.0.0.1", port), take, token)
    threading.Thread(target=door.serve_forever, name="listen", daemon=True).start()
    return door
