"""The initial program of a new candidate, for each kind that is a program. Each explains how an
attempt goes, with a tool of the suite in its example."""

import json
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any, NamedTuple


class ExampleCall(NamedTuple):
    """A call that an example program makes."""

    tool: str
    arguments: Mapping[str, Any]


_VALUES: Mapping[str, Any] = {
    "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}
}  # fmt: skip


def example_of(toolset: Mapping[str, Any]) -> ExampleCall:
    """Return a call of the first tool of a toolset, with its required arguments."""
    tools = toolset.get("tools")
    first = tools[0] if isinstance(tools, list) and tools else None
    if not isinstance(first, dict) or not isinstance(first.get("name"), str):
        return ExampleCall("look", {"at": "..."})
    schema = first.get("parameters")
    schema = schema if isinstance(schema, dict) else {}
    properties, required = schema.get("properties"), schema.get("required")
    properties = properties if isinstance(properties, dict) else {}
    names = [name for name in required if isinstance(name, str)] if required else [*properties][:1]
    return ExampleCall(first["name"], {name: _value(properties.get(name)) for name in names})


def _value(schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return _VALUES.get(kind, "...") if isinstance(kind, str) else "..."


def python(function: str, example: ExampleCall) -> str:
    """Return the module of a Python candidate, whose entry is `function`."""
    return _PYTHON % (function, _escaped(f"call({in_python(example)})"))


def command(example: ExampleCall) -> str:
    """Return the program of a candidate that speaks JSON lines."""
    tool, arguments = json.dumps(example.tool), json.dumps(dict(example.arguments))
    return _COMMAND % (_escaped(tool), _escaped(arguments), _escaped(tool))


def in_python(example: ExampleCall) -> str:
    """Return the Python text between the parentheses of `call(…)` for a call."""
    given = example.arguments
    if all(name.isidentifier() and not iskeyword(name) for name in given):
        named = [f"{name}={_value_in(value)}" for name, value in given.items()]
        return ", ".join([json.dumps(example.tool), *named])
    return f"{json.dumps(example.tool)}, {dict(given)!r}"


def _value_in(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _escaped(text: str) -> str:
    """Return a text as a docstring can contain it."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


_PYTHON = '''\
"""A first agent, which answers every request with one sentence: put your own in its place."""


def %s(request: str, tools: list, call) -> str:
    """Return the final message of one attempt. `request` is what the user asks for, `tools` are
    what may be called: name, description and parameters (JSON Schema) of each.

        %s
            makes a call and gives {"status": ..., "content": ...}. A status is ok, error, timeout
            or denied; what went wrong is in content["error"], and nothing is raised
        call.many([(name, arguments), ...])
            makes several calls in one turn, and gives their answers
        call.say("Which one is it?")
            says something to the user and gives the answer; None when the talk is over
        call.used(input_tokens=812, output_tokens=96)
            tells what the model used since the last call, before the next call or the return. The
            cost is these tokens at the `prices` of the manifest; without them it is not measured
    """
    return "I cannot do that yet."
'''

_COMMAND = '''\
"""A first agent, which answers every request with one sentence: put your own in its place.

It reads and writes JSON, one object a line. An attempt, with < for what is read and > for what is
written:

< {"type": "start", "user_request": "...", "tools": [{"name": ..., "parameters": {...}}, ...]}
> {"type": "call", "call_id": "1", "tool": %s, "arguments": %s}
< {"type": "observations", "observations": [{"call_id": "1", "tool": %s,
      "status": "ok", "content": ...}]}
> {"type": "say", "message": "Which one is it?"}
< {"type": "user", "message": "The last one."}
> {"type": "final", "message": "...", "usage": {"input_tokens": 812, "output_tokens": 96}}

A status is ok, error, timeout or denied. The input ends when the talk with the user is over. A line
may have `usage`, the tokens used since the line before: the cost is these at the `prices` of the
manifest; without them it is not measured.
"""

import json
import sys


def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None


def tell(line):
    print(json.dumps(line), flush=True)


start = read()
tell({"type": "final", "message": "I cannot do that yet."})
'''

MCP = '''\
"""Finds the tools of its attempt over MCP, and answers with one sentence: put the agent in its
place. A framework with an MCP client is pointed at the same configuration."""

import json
import subprocess
import sys

request = sys.stdin.read()
with open(sys.argv[1], encoding="utf-8") as file:
    server = json.load(file)["mcpServers"]["ep"]
desk = subprocess.Popen(
    [server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)


def ask(method, params):
    said = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    desk.stdin.write(json.dumps(said).encode() + b"\\n")
    desk.stdin.flush()
    return json.loads(desk.stdout.readline())["result"]


client = {"name": "agent", "version": "1"}
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
tools = ask("tools/list", {})["tools"]
# ask("tools/call", {"name": NAME, "arguments": {}}) gives {"content": ..., "isError": ...}
print("I cannot do that yet.")
'''
