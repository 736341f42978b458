"""Runs a Python candidate or toolkit in a process of its own. Standard library only.

`python_child.py candidate|toolkit FOLDER MODULE:NAME`: JSON lines on standard input and output,
which only this file uses: the guest's own output goes to standard error.
"""

import importlib
import inspect
import json
import os
import sys
import threading
from typing import Any

_LONGEST = 2000


class Channel:
    """This process's end of the pipe, on a descriptor that the guest does not use."""

    def __init__(self) -> None:
        self._input = os.fdopen(os.dup(0), "rb")
        self._output = os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message. Raise TypeError or ValueError for a value that JSON cannot represent;
        nothing is written then."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":"))
        self._output.write(line.encode("utf-8") + b"\n")
        self._output.flush()

    def read(self) -> Any:
        """Return the next message. Raise EOFError when there will be none."""
        line = self._input.readline()
        if not line:
            raise EOFError("the attempt is over")
        return json.loads(line)


class Call:
    """The function with which a candidate calls tools: `call("tool", name=value)`, or with a
    dict."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._made = 0
        self._usage: dict[str, int] | None = None
        self._total: dict[str, int] | None = None

    def __call__(
        self, tool: str, arguments: dict[str, Any] | None = None, /, **named: Any
    ) -> dict[str, Any]:
        """Call a tool and return its answer, {"status": …, "content": …}."""
        return self.many([(tool, {**(arguments or {}), **named})])[0]

    def many(self, calls: Any, /) -> list[dict[str, Any]]:
        """Make several calls at once, each `(tool, arguments)`; return the answers in their order.
        Raise TypeError, ValueError or RecursionError for arguments that JSON cannot represent, once
        the calls are recorded: they were attempted."""
        with self._lock:
            made, faulty = [], None
            for tool, arguments in calls:
                self._made += 1
                told = {"call_id": f"call_{self._made}", "tool": tool, "arguments": arguments}
                try:
                    json.dumps(arguments, allow_nan=False)
                except (TypeError, ValueError, RecursionError) as error:
                    faulty = faulty or error
                    told = {**told, "arguments": {}, "problem": _worded(error)}
                made.append(told)
            if not made:
                return []
            line: dict[str, Any] = {"type": "calls", "calls": made, "usage": self.taken()}
            if len(made) == 1:
                line = {"type": "call", **made[0], "usage": line["usage"]}
            self._channel.tell(line)
            answers = self._channel.read()["observations"]
        if faulty is not None:
            raise faulty
        return [{"status": a["status"], "content": a["content"]} for a in answers]

    def say(self, message: str, /) -> str | None:
        """Say something to the user and return the answer; None when the conversation is over."""
        with self._lock:
            self._channel.tell({"type": "say", "message": message, "usage": self.taken()})
            try:
                answer = self._channel.read()["message"]
            except EOFError:
                return None
        return str(answer)

    def used(self, **tokens: int) -> None:
        """Add tokens used since the last call, as `input_tokens=…, output_tokens=…`, and
        `cached_input_tokens=…` of the input. A stretch without any is not measured."""
        usage = self._usage or {}
        self._usage = {**usage, **{name: usage.get(name, 0) + n for name, n in tokens.items()}}

    def total(self, **tokens: int) -> None:
        """State the tokens of the whole attempt, once before the return: instead of `used`, for a
        framework that reports them at its end."""
        self._total = tokens

    def taken(self) -> dict[str, int] | None:
        usage, self._usage = self._usage, None
        return usage

    def whole(self) -> dict[str, Any]:
        """Return the member of the final line that states the tokens of the whole attempt."""
        return {} if self._total is None else {"total": self._total}


class AwaitedCall:
    """A Call for a candidate that is a coroutine. Calls are still made one after another."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.used, self.total = call.used, call.total

    async def __call__(
        self, tool: str, arguments: dict[str, Any] | None = None, /, **named: Any
    ) -> dict[str, Any]:
        return self._call(tool, arguments, **named)

    async def many(self, calls: Any, /) -> list[dict[str, Any]]:
        return self._call.many(calls)

    async def say(self, message: str, /) -> str | None:
        return self._call.say(message)


def candidate(channel: Channel, folder: str, entry: str) -> None:
    start = channel.read()
    target, call = _loaded(folder, entry), Call(channel)
    request, tools = start["user_request"], start["tools"]
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
        getattr(target, "__call__", None)  # noqa: B004 (an object may be called through a coroutine)
    ):
        import asyncio

        said = asyncio.run(target(request, tools, AwaitedCall(call)))
    else:
        said = target(request, tools, call)
    message, usage = said if isinstance(said, tuple) else (said, None)
    if not isinstance(message, str):
        raise TypeError(f"{entry} returned {type(message).__name__}, not the final message")
    if usage is not None:
        call.used(**{name: tokens for name, tokens in usage.items() if tokens is not None})
    channel.tell({"type": "final", "message": message, "usage": call.taken(), **call.whole()})


def toolkit(channel: Channel, folder: str, entry: str) -> None:
    start = channel.read()
    try:
        kind = _loaded(folder, entry)
    except BaseException as error:
        channel.tell({"type": "unloadable", "text": _worded(error)})
        return
    try:
        kit = kind(start["state"], start["options"])
        channel.tell({"type": "ready", "tools": kit.tools, "state": kit.state})
        while True:
            _answer(channel, kit)
    except EOFError:
        return
    except BaseException as error:
        channel.tell({"type": "broken", "text": _worded(error)})


def _answer(channel: Channel, kit: Any) -> None:
    asked = channel.read()
    try:
        status, content = "ok", kit.call(asked["tool"], asked["arguments"])
    except TimeoutError as error:
        status, content = "timeout", {"error": _worded(error)}
    except BaseException as error:
        status, content = "error", {"error": _worded(error)}
    channel.tell({"type": "answer", "status": status, "content": content, "state": kit.state})


def _loaded(folder: str, entry: str) -> Any:
    sys.path.insert(0, folder)
    module, _, name = entry.partition(":")
    return getattr(importlib.import_module(module), name)


def _worded(error: BaseException) -> str:
    try:
        text = str(error)[:_LONGEST]
    except BaseException:
        text = "(its message cannot be read)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    _role, _folder, _entry = sys.argv[1:]
    {"candidate": candidate, "toolkit": toolkit}[_role](Channel(), _folder, _entry)
