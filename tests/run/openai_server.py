"""A provider that misbehaves on demand: each request gets the next answer of a script, byte by
byte as written, and everything that came over the wire is kept."""

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reviewer.running.candidates.openai import OpenAIChat
from reviewer.running.candidates.openai_http import Pace
from reviewer.running.model import (
    Brief,
    CandidateFault,
    Infrastructure,
    Slot,
    Task,
    ToolSpec,
    Turn,
    Unrunnable,
)
from reviewer.suite.candidate import Candidate
from reviewer.suite.model import Episode, RedactionRules

KEY = "sk-live-Zq7rT2mWx9"
KEY_ENV = "OPENAI_TEST_KEY"
REQUEST = "My lamp arrived broken."
LOOKUP = ToolSpec(
    "lookup_order",
    "Reads an order.",
    {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
)
BRIEF = Brief(REQUEST, (LOOKUP,))


class Hang(NamedTuple):
    """An answer that never comes, or never comes to its end."""

    beginning: bytes = b""


class Request(NamedTuple):
    raw: bytes
    head: str
    body: dict[str, Any]

    @property
    def path(self) -> str:
        return self.head.split(" ")[1]

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


class Server:
    """`script` holds the answers in order; the last is given again and again."""

    def __init__(self, script: Iterable[bytes | Hang]) -> None:
        self._script = list(script)
        self._open: set[asyncio.Task[Any]] = set()
        self.requests: list[Request] = []
        self.connections = 0
        self.gone_away = asyncio.Event()
        self.hanging = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while await self._answered(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        text = head.decode("latin-1").rstrip("\r\n")
        request = Request(head, text, {})
        body = await reader.readexactly(int(request.headers["content-length"]))
        self.requests.append(Request(head + body, text, json.loads(body)))
        answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(answer, Hang):
            writer.write(answer.beginning)
            self.hanging.set()
            await reader.read()
            self.gone_away.set()
            return False
        writer.write(answer)
        await writer.drain()
        return b"connection: close" not in answer.partition(b"\r\n\r\n")[0].lower()

    async def left(self) -> None:
        """Waits until no connection is open; TimeoutError when one stays."""
        async with asyncio.timeout(60):
            await asyncio.gather(*self._open)

    async def end(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


@contextlib.asynccontextmanager
async def serving(*script: bytes | Hang) -> AsyncIterator[Server]:
    server = Server(script)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.end()


def answer(
    body: Any,
    status: int = 200,
    headers: str = "",
    *,
    reason: str = "OK",
    length: int | None = None,
) -> bytes:
    """An HTTP answer; a body that is not bytes is written as JSON. `headers` end with CRLF. A
    `length` that is not the body's closes the connection after it."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    if length is not None:
        headers += "Connection: close\r\n"
    size = len(data) if length is None else length
    return (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n{headers}"
        f"Content-Length: {size}\r\n\r\n"
    ).encode() + data


def error(message: str, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "some_error", "code": code}}


def chat(
    content: Any = "Done.",
    calls: list[Any] | None = None,
    *,
    finish: str = "stop",
    usage: Any = None,
    **more: Any,
) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more}
    if calls is not None:
        message["tool_calls"] = calls
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": usage,
    }


def chat_call(
    arguments: Any, call_id: Any = "call_a", tool: str = "lookup_order"
) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}


def responses(*output: Any, usage: Any = None, **more: Any) -> dict[str, Any]:
    body = {"id": "resp_1", "object": "response", "status": "completed", "error": None}
    return {**body, "output": list(output), "usage": usage, **more}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}


def item_call(
    arguments: Any, call_id: Any = "call_a", tool: str = "lookup_order"
) -> dict[str, Any]:
    named = {"name": tool, "arguments": arguments}
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, **named}


class Patience:
    """Time that passes only by sleeping, and a jitter that always draws the same."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.time = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def pace(self, **limits: Any) -> Pace:
        return Pace(
            sleep=self.sleep,
            draw=lambda: 0.0,
            now=lambda: self.time,
            wall=lambda: 1_767_225_600.0,  # 2026-01-01T00:00:00Z
            **limits,
        )

    @property
    def waited(self) -> float:
        return math.fsum(self.slept)


def task_for(server: Server | str, kind: str = "openai-chat", **manifest: Any) -> Task:
    """A task for a candidate at this server; `manifest` replaces members of the candidate, its
    `runner` and the task's `folder`."""
    url = server if isinstance(server, str) else server.url
    runner = {"kind": kind, "base_url": url, "api_key_env": KEY_ENV, "timeout_s": 5.0}
    runner |= manifest.pop("runner", {})
    folder = str(manifest.pop("folder", Path.cwd()))
    members = {"model": "support-large", **manifest}
    return Task(
        slot=Slot("suite", "agent", "lamp-7", 3),
        episode=Episode(episode_id="lamp-7", user_request=REQUEST),
        candidate=Candidate(candidate_id="agent", digest="0" * 64, runner=runner, **members),
        redaction=RedactionRules(),
        folder=folder,
    )


def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is set, and no proxy of this machine stands between."""
    monkeypatch.setenv(KEY_ENV, KEY)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def asked(server: Server, patience: Patience, limits: Any = None, **manifest: Any) -> Turn:
    """The first turn of a chat candidate; `limits` are those of its pace."""
    adapter = OpenAIChat(task_for(server, **manifest), patience.pace(**limits or {}))
    try:
        return await adapter.begin(BRIEF)
    finally:
        await adapter.close()


async def ending(
    script: Sequence[bytes | Hang], limits: Any = None, **manifest: Any
) -> tuple[Exception, Server, Patience]:
    """How a request ended that must not succeed."""
    patience = Patience()
    async with serving(*script) as server:
        with pytest.raises((Infrastructure, Unrunnable, CandidateFault)) as caught:
            await asked(server, patience, limits, **manifest)
    return caught.value, server, patience
