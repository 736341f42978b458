"""What is no HTTP at all, sent to `reviewer serve`: refused in a line, and the page still works."""

import base64
import logging
import os
import socket
import struct

import pytest
from doors import Door
from served import PATIENCE, Served, served

from reviewer.web.complaints import Complaints

HEAD = b"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
JOIN = (
    HEAD.replace(b"{path}", b"{path}ws") + b"Origin: http://127.0.0.1:{port}\r\n"
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
)
GARBAGE = {
    "noise": bytes(range(256)) * 8,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
    "no method": b"/ HTTP/1.1\r\n\r\n",
    "an odd method": b"G\x00T / HTTP/1.1\r\n\r\n",
    "an odd version": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    "a long line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "a huge header": HEAD + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
    "many headers": HEAD + b"".join(b"X%d: y\r\n" % n for n in range(40_000)) + b"\r\n",
    "a header without a colon": HEAD + b"nonsense\r\n\r\n",
    "a header with a zero": HEAD + b"X: a\x00b\r\n\r\n",
    "a folded header": HEAD + b"X: a\r\n b\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "length and chunks": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a bad chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n",
    "a huge chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    "an unknown coding": HEAD + b"Transfer-Encoding: bogus\r\n\r\n",
    "a broken encoding": HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
    "half a request": b"GET /",
    "half a header": HEAD + b"X: ",
    "half a body": HEAD + b"Content-Length: 100\r\n\r\nhalf",
    "an odd expectation": HEAD + b"Expect: nothing\r\n\r\n",
    "an absolute target": b"GET http://[::1 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    "a tunnel": b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a socket without a key": JOIN + b"Sec-WebSocket-Version: 13\r\n\r\n",
    "a socket with an odd key": JOIN + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
    "a socket of another version": JOIN
    + b"Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    "another upgrade": HEAD + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
}
KEY = base64.b64encode(b"0123456789abcdef")
JOINED = JOIN + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY + b"\r\n\r\n"
FRAMES = {
    "unmasked": b"\x81\x05hello",
    "reserved bits": b"\xf1\x80\x00\x00\x00\x00",
    "an unknown kind": b"\x83\x80\x00\x00\x00\x00",
    "a long control frame": b"\x89\xfe\x01\x00" + b"\x00" * 260,
    "a length beyond any": b"\x82\xff" + struct.pack(">Q", 2**62) + b"\x00" * 4,
    "text that is none": b"\x81\x82\x00\x00\x00\x00\xff\xfe",
    "an odd close": b"\x88\x82\x00\x00\x00\x00\x00\x01",
    "half a frame": b"\x81\xfe\x10",
    "going on with nothing": b"\x80\x80\x00\x00\x00\x00",
}


def send(page: Served, data: bytes) -> bytes:
    """What came back for these bytes, the connection then closed from this side."""
    where = {b"{path}": page.path.encode(), b"{port}": str(page.port).encode()}
    for name, value in where.items():
        data = data.replace(name, value)
    with socket.create_connection((page.host, page.port), timeout=PATIENCE) as connection:
        found = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                found += piece
        except ConnectionError:  # it closed first: there is nothing to read on for
            pass
        return found


def told_by(full: Door, sent: dict[str, bytes]) -> list[str]:
    """What the terminal was told while these were sent. Each time, the page is still served."""
    with served(full) as page:
        for name, data in sent.items():
            answer = send(page, data)
            assert b"Traceback" not in answer, name
            assert b"site-packages" not in answer, name
            assert page.get(page.path).code == 200, name
        page.until_programs(0)
        code, out, err = page.end()
    assert (code, out) == (0, "")
    return err.splitlines()


def test_what_is_no_http_is_refused_in_a_line(full: Door) -> None:
    lines = told_by(full, GARBAGE)
    assert not [line for line in lines if "Traceback" in line or line.startswith(" ")]
    refused = [line for line in lines if "a request was refused" in line]
    assert 0 < len(refused) < len(GARBAGE)
    assert len(refused) == len(set(refused))
    assert len(lines) - len(refused) == 2, "where it is, and that it is no longer"


def test_nonsense_within_a_websocket_ends_that_page_alone(full: Door) -> None:
    lines = told_by(full, {name: JOINED + data for name, data in FRAMES.items()})
    assert not [line for line in lines if "Traceback" in line or line.startswith(" ")]


@pytest.mark.parametrize("seed", range(3))
def test_noise_of_any_kind_is_refused_in_a_line(full: Door, seed: int) -> None:
    noise = {str(n): os.urandom(1 + 37 * n) for n in range(30)}
    noise |= {f"line {n}": b"GET / HTTP/1.1\r\n" + os.urandom(37 * n) for n in range(30)}
    lines = told_by(full, noise)
    assert not [line for line in lines if "Traceback" in line or line.startswith(" ")]


def test_each_kind_of_error_is_told_once() -> None:
    said: list[str] = []
    logger = logging.Logger("a server")
    logger.addHandler(Complaints(said.append))
    for error in (ValueError("\x1b[2J"), ValueError("again"), KeyError("other")):
        logger.error("went wrong", exc_info=error)
    logger.warning("no error")
    logger.info("nothing to say")
    assert [line.partition("(")[2].partition(")")[0] for line in said] == [
        "ValueError",
        "KeyError",
        "no details",
    ]
    assert "\x1b" not in "".join(said)
