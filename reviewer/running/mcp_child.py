"""Runs an agent that speaks MCP, and serves it the tools of one attempt. Standard library only.

JSON lines on standard input and output, as for every program of a candidate: each `tools/call` is a
line to reviewer, in the order of arrival, and the agent's own output is in the last one. Nothing
here decides on a call. The agent connects through pipes in its folder (`mcp_relay.py`), or over
HTTP on loopback with a token.
"""

import contextlib
import ctypes
import hmac
import json
import math
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

LONGEST_MESSAGE = 8 * 1024**2
MOST_OUTPUT = 4 * 1024**2
MOST_CONNECTIONS = 1000
MOST_DEPTH = 60
"""Levels of a call's arguments; a line to reviewer has two around them."""
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_TAIL = 2000
_DRAIN_S = 5.0
_DUMPABLE = 4
_NAME = re.compile(rb"[0-9a-f]{16}\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT = 2**53 - 1
_PLACEHOLDER = re.compile(r"\{(request|mcp_config|mcp_command|mcp_url)\}")
_UNKNOWN_METHOD, _BAD_PARAMS = -32601, -32602


class Fault(Exception):
    """The agent broke its side of the protocol: the attempt ends."""


class Channel:
    """This process's end of the pipes to reviewer. Calls go through one after another, and the last
    line is the last thing that this process does."""

    def __init__(self) -> None:
        self._input = os.fdopen(os.dup(0), "rb")
        self._output = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        self._lock = threading.Lock()
        self._made = 0

    def read(self) -> Any:
        line = self._input.readline()
        if not line:
            os._exit(0)
        return json.loads(line)

    def call(self, tool: Any, arguments: Any) -> dict[str, Any]:
        """Return the observation of a call."""
        with self._lock:
            self._made += 1
            call_id = f"call_{self._made}"
            told: dict[str, Any] = {"arguments": arguments}
            if problem := unwritable(arguments):
                told = {"arguments": {}, "problem": problem}
            self._tell({"type": "call", "call_id": call_id, "tool": tool, **told})
            observation: dict[str, Any] = self.read()["observations"][0]
        return observation

    def busy(self) -> bool:
        """Return whether a call is in progress."""
        return self._lock.locked()

    def end(self, **line: Any) -> NoReturn:
        """Send the last line, once the call in progress is answered, and exit."""
        with self._lock:
            self._tell(line)
            os._exit(0)

    def _tell(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n"
        self._output.write(line.encode("utf-8", "surrogatepass"))
        self._output.flush()


class Served:
    """The part of MCP that an agent with tools needs. `reached` is set by its first message."""

    def __init__(self, channel: Channel, tools: list[dict[str, Any]]) -> None:
        self._channel, self._tools = channel, tools
        self.reached = False

    def answer(self, data: bytes, where: str) -> Any:
        """Return the answer to a message (a batch has a list), None where it has none. Raise Fault
        for an invalid message."""
        said = parsed(data, where)
        self.reached = True
        if not isinstance(said, list):
            return self._one(said, where)
        if not said:
            raise Fault(f"{where}: an empty batch")
        return [told for each in said if (told := self._one(each, where)) is not None] or None

    def _one(self, said: Any, where: str) -> dict[str, Any] | None:
        if not isinstance(said, dict) or said.get("jsonrpc") != "2.0":
            raise Fault(f"{where}: is no message of JSON-RPC 2.0")
        method, number = said.get("method"), said.get("id")
        if method is None:
            return None  # an answer, although nothing was asked
        if not isinstance(method, str):
            raise Fault(f"{where}: $.method: must be a text")
        if number is not None and not (isinstance(number, str) or type(number) is int):
            raise Fault(f"{where}: $.id: must be a text or a whole number")
        params = said.get("params")
        if params is not None and not isinstance(params, dict):
            raise Fault(f"{where}: $.params: must be an object")
        told = self._told(method, params or {}) if number is not None or _acts(method) else None
        return None if number is None or told is None else {"jsonrpc": "2.0", "id": number, **told}

    def _told(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/call":
            return {"result": self._call(params)}
        if method == "tools/list":
            return {"result": {"tools": self._tools}}
        if method == "ping":
            return {"result": {}}
        if method != "initialize":
            return _error(_UNKNOWN_METHOD, f"{method[:100]} is not served: only tools are")
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            return _error(_BAD_PARAMS, f"protocolVersion must be one of {', '.join(VERSIONS)}")
        return {
            "result": {
                "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "episode", "version": "1"},
            }
        }

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        arguments = params.get("arguments")
        seen = self._channel.call(params.get("name"), {} if arguments is None else arguments)
        content, failed = seen["content"], seen["status"] != "ok"
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        if isinstance(content, dict) and not failed:
            result["structuredContent"] = content
        return result


def _acts(method: str) -> bool:
    """Return whether a message matters although no answer is wanted: an attempted call does."""
    return method == "tools/call"


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _worded(error: Exception) -> str:
    """Return the text of a fault. An error that is none ends the attempt as well, since the message
    on which it came may have been a call."""
    if isinstance(error, Fault):
        return str(error)
    return f"a message of its agent cannot be handled ({type(error).__name__})"


def parsed(data: bytes, where: str) -> Any:
    """Return the value of a message. Raise Fault for one that is not JSON, or is ambiguous."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            raise ValueError("a member twice")
        return found

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a number")

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise Fault(f"{where}: is not JSON: {why}") from None


def cut_off(data: bytes) -> bool:
    """Return whether an unfinished message is none yet: its client gave up, or was ended, while it
    sent. A whole one counts, however its connection ended."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return True
    return False


def unwritable(arguments: Any) -> str:
    """Return why reviewer could not read these arguments; "" when it can. Their call was attempted,
    whatever they are."""
    level = [arguments]
    for _ in range(MOST_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += [*value, *value.values()]
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str) and _SURROGATE.search(value):
                return "half of a surrogate pair is not text"
            elif isinstance(value, float) and not math.isfinite(value):
                return "a number is not finite"
            elif isinstance(value, int) and abs(value) > _EXACT:
                return f"an integer is beyond {_EXACT} (2^53-1)"
        if not below:
            return ""
        level = below
    return f"nested more than {MOST_DEPTH} deep"


def close_to_others() -> None:
    """Prevent other processes from reading this one's pipes and memory: the agent has its user id,
    and could write lines to reviewer in its name."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)


class Attempt:
    """The running agent, and the connections to its tools."""

    def __init__(self) -> None:
        close_to_others()
        self._channel = Channel()
        self._order = self._channel.read()
        self._served = Served(self._channel, self._order["tools"])
        self._threads: list[threading.Thread] = []
        self._output, self._errors = b"", b""
        self._folder = os.path.join(os.environ["HOME"], "mcp")
        self._port = 0

    def run(self) -> NoReturn:
        os.mkdir(self._folder, 0o700)
        values = self._http() if self._order["transport"] == "http" else self._stdio()
        values["mcp_config"] = self._config(values)
        request = self._order["user_request"]
        argv = [
            _PLACEHOLDER.sub(lambda held: {**values, "request": request}[held[1]], word)
            for word in self._order["argv"]
        ]
        environment = {f"REVIEWER_{name.upper()}": value for name, value in values.items()}
        try:
            agent = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE if self._order["stdin"] else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **environment},
            )
        except OSError as error:
            self._channel.end(type="unstarted", message=str(error.strerror))
        reading = [self._spawn(self._read, agent.stdout), self._spawn(self._tail, agent.stderr)]
        if agent.stdin is not None:
            self._spawn(_write, agent.stdin, request.encode())
        status = agent.wait()
        if self._port:
            knock(self._port)
        self._drain(self._sending)
        self._drain(lambda: any(thread.is_alive() for thread in reading))
        if status:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            self.fault(f"its agent ended by {how} before its final message")
        if not self._served.reached:
            self.fault(
                "its agent ended and never connected to its MCP server: give it {mcp_config}, or "
                "what else of `command` names the server"
            )
        self._channel.end(type="final", message=self._output.decode("utf-8", "replace"))

    def _drain(self, more: Callable[[], bool]) -> None:
        """Wait for messages that the agent sent before it ended: all its calls, however long they
        take. Processes that it left running may keep a pipe open forever."""
        until = time.monotonic() + _DRAIN_S
        while more() and time.monotonic() < until:
            if self._channel.busy():
                until = time.monotonic() + _DRAIN_S
            time.sleep(0.005)

    def _sending(self) -> bool:
        """Return whether a message may still come: by an open connection, or by a relay, which
        lives until its connection is open."""
        if any(thread.ident is None or thread.is_alive() for thread in self._threads):
            return True
        return relays(self._folder) or any(thread.is_alive() for thread in self._threads)

    def fault(self, text: str) -> NoReturn:
        tail = self._errors.decode("utf-8", "replace").strip().splitlines()[-3:]
        said = " / ".join(line.strip() for line in tail)
        self._channel.end(type="fault", message=f"{text}: {said}" if said else text)

    def _spawn(self, act: Any, *arguments: Any, sends: bool = False) -> threading.Thread:
        def guarded() -> None:
            try:
                act(*arguments)
            except OSError:
                return
            except Exception as error:
                self.fault(_worded(error))

        thread = threading.Thread(target=guarded, daemon=True)
        if sends:
            self._threads.append(thread)
        thread.start()
        return thread

    def _read(self, stream: Any) -> None:
        while data := stream.read1(65536):
            self._output += data
            if len(self._output) > MOST_OUTPUT:
                raise Fault(f"its agent printed more than {MOST_OUTPUT // 1024**2} MiB")

    def _tail(self, stream: Any) -> None:
        while data := stream.read1(65536):
            os.write(2, data)  # counted by reviewer
            self._errors = (self._errors + data)[-_TAIL:]

    def _config(self, values: dict[str, str]) -> str:
        """Write the form of configuration that most clients read, and return its path."""
        if "mcp_url" in values:
            header = {"Authorization": f"Bearer {values['mcp_token']}"}
            server: dict[str, Any] = {"type": "http", "url": values["mcp_url"], "headers": header}
        else:
            program, *arguments = self._relay()
            server = {"type": "stdio", "command": program, "args": arguments}
        path = os.path.join(self._folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {"ep": server}}, file, indent=1)
        return path

    def _relay(self) -> list[str]:
        return [sys.executable, "-I", "-S", "-B", self._order["relay"], self._folder]

    def _stdio(self) -> dict[str, str]:
        door = os.path.join(self._folder, "door")
        os.mkfifo(door, 0o600)
        # Opened also for writing, so that reading never ends.
        self._spawn(self._open_door, os.fdopen(os.open(door, os.O_RDWR), "rb", buffering=0))
        command = os.path.join(self._folder, "relay")
        with open(command, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.join(self._relay())}\n")
        os.chmod(command, 0o700)
        return {"mcp_command": command}

    def _open_door(self, door: Any) -> None:
        for number in range(1, MOST_CONNECTIONS + 1):
            name = door.read(17)
            if not _NAME.fullmatch(name):
                raise Fault("its agent wrote to the relay's socket, which only the relay may use")
            path = os.path.join(self._folder, name[:-1].decode())
            self._spawn(self._connection, path, f"MCP connection {number}", sends=True)
        raise Fault(f"its agent made more than {MOST_CONNECTIONS} connections")

    def _connection(self, path: str, connection: str) -> None:
        with open(f"{path}.up", "rb") as up, open(f"{path}.down", "wb", buffering=0) as down:
            number = 0
            while data := up.readline(LONGEST_MESSAGE + 1):
                number += 1
                where = f"{connection}, message {number}"
                if len(data) > LONGEST_MESSAGE:
                    raise Fault(too_long(where))
                if not data.strip() or (not data.endswith(b"\n") and cut_off(data)):
                    continue
                told = self._served.answer(data, where)
                if told is not None:
                    # Nobody may be reading, and what was sent meanwhile counts all the same.
                    with contextlib.suppress(OSError):
                        _send(down, json.dumps(told).encode() + b"\n")

    def _http(self) -> dict[str, str]:
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        token, attempt = os.urandom(24).hex(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            asked = 0

            def do_POST(self) -> None:
                problem = self._problem()
                if problem is not None:
                    self.close_connection = True
                    self._reply(*problem)
                    return
                Handler.asked += 1
                where = f"MCP over HTTP, message {Handler.asked}"
                try:
                    size = int(self.headers["Content-Length"])
                    if not 0 <= size <= LONGEST_MESSAGE:
                        raise Fault(too_long(where))
                    data = self.rfile.read(size)
                    if len(data) < size and cut_off(data):
                        self.close_connection = True
                        return
                    told = attempt._served.answer(data, where)
                    answer = b"" if told is None else json.dumps(told).encode()
                except OSError:
                    raise
                except Exception as error:
                    attempt.fault(_worded(error))
                self._reply(202 if told is None else 200, answer)

            def _problem(self) -> tuple[int, bytes] | None:
                host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
                loopback = (f"127.0.0.1:{port}", f"localhost:{port}")
                given = self.headers.get("Authorization", "").encode("utf-8", "replace")
                if not hmac.compare_digest(given, f"Bearer {token}".encode()):
                    return 401, b"the token is missing or wrong"
                if host not in loopback or origin not in (None, *(f"http://{h}" for h in loopback)):
                    return 403, b"asked under another name than loopback's"
                if self.path != "/mcp":
                    return 404, b"the server is at /mcp"
                if not (self.headers.get("Content-Length") or "").isdecimal():
                    return 411, b"Content-Length is missing"
                return None

            def _refused(self) -> None:
                self._reply(405, b"only POST is served")

            do_GET = do_DELETE = _refused

            def _reply(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                kind = "application/json" if status == 200 else "text/plain"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            def process_request(self, request: Any, client_address: Any) -> None:
                attempt._spawn(self.process_request_thread, request, client_address, sends=True)

        server = Server(("127.0.0.1", 0), Handler)
        port = self._port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return {"mcp_url": f"http://127.0.0.1:{port}/mcp", "mcp_token": token}


def knock(port: int) -> None:
    """Return once the server has accepted every connection that was made before."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), _DRAIN_S) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        connection.recv(1)


def relays(folder: str, proc: str = "/proc") -> bool:
    """Return whether a relay of this folder is alive, or a process that may become one. Only Linux
    tells."""
    if sys.platform != "linux":
        return False
    words = (folder.encode(), os.path.join(folder, "relay").encode())
    for name in os.listdir(proc):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"{proc}/{name}/cmdline", "rb") as file:
                    line = file.read()
                if any(word in words for word in line.split(b"\0")):
                    return True
                # In the middle of an exec a process has a program and no words yet. Threads of the
                # kernel and processes that have ended have no program.
                if not line and os.readlink(f"{proc}/{name}/exe"):
                    return True
    return False


def too_long(where: str) -> str:
    return f"{where}: is longer than {LONGEST_MESSAGE // 1024**2} MiB"


def _send(down: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[down.write(rest) :]


def _write(stream: Any, data: bytes) -> None:
    with stream:
        stream.write(data)


if __name__ == "__main__":
    Attempt().run()
