"""The server of `reviewer listen`: OTLP over HTTP on this machine's loopback address, and nothing
else.

No other machine reaches it, and no web page: `Host` must be an address of this machine, `Origin`
must be missing, and no header allows a browser to read an answer.
"""

import hmac
import threading
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
"""Seconds to wait for the rest of a request."""
RETRY_S = "5"
MOST_CONNECTIONS = 64
_MOST_LINE = 1 << 10
_BLOCK = 1 << 16

Take = Callable[[list[Emitted]], tuple[int, str]]
"""Stores spans durably, and returns how many were rejected, and why. Raises RefusedRequest."""


class Door(ThreadingHTTPServer):
    """The server; `take` gets the spans of every request, from several threads."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], take: Take, token: str = "") -> None:
        self.take, self.token = take, token
        self.dropped = 0
        """Requests with other signals, which were dropped."""
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnects in the middle."""


class _Handler(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_S
    server_version, sys_version = "reviewer", ""

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
            body = unpacked(self._body(), self.headers.get("Content-Encoding"))
            self._answer(200, kind, accepted(kind, *self.server.take(emitted(body, kind))))
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
