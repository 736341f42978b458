"""Candidates that are agents with an MCP client: they are started by their command, and find the
tools of the episode on a server whose address they get.

The server runs beside the agent, in its sandbox (`mcp_child`), and decides nothing: every call
comes here as a line and goes to the broker like those of any other candidate.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reviewer.running.candidates.manifest import UsageNames, manifest_file, usage_of
from reviewer.running.candidates.program import (
    ChildCandidate,
    HarnessLines,
    argv_of,
    check_common,
    order_for,
)
from reviewer.running.model import Brief, CandidateFault, Task, Turn, Unrunnable
from reviewer.running.prices import Usage
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, shown
from reviewer.suite.folder import CANDIDATES
from reviewer.suite.strict_json import loads

HARNESS = Path(__file__).parents[1] / "mcp_child.py"
RELAY = Path(__file__).parents[1] / "mcp_relay.py"

_PLACEHOLDERS = {
    "stdio": ("request", "mcp_config", "mcp_command"),
    "http": ("request", "mcp_config", "mcp_url"),
}
"""Not the token: any process of this machine can read a command line."""
_HELD = re.compile(r"\{(request|mcp_\w+)\}")
_LONGEST_ARGUMENT = 120_000
_LONGEST_NAME = 55
_NAMES = UsageNames("input", "output", "details")


class McpCandidate(ChildCandidate):
    """The manifest's `runner.command`, which speaks MCP. Raises Unrunnable as `check_mcp` does, and
    where its transport needs a network that the run does not grant."""

    LATE = "its agent neither called a tool nor ended within {:g} s (`timeout_s` of the manifest)"

    def __init__(self, task: Task) -> None:
        folder = Path(task.folder)
        check_mcp(task.candidate, folder)
        self._file = manifest_file(task.candidate, folder)
        self._agent = argv_of(task.candidate, folder)
        self._transport = task.candidate.runner.get("transport") or "stdio"
        if self._transport == "http" and not task.network:
            raise Unrunnable(
                f"{self._file}: $.runner.transport: http needs the network, which this run does "
                "not grant: reviewer run --network, or write stdio"
            )
        argv = (sys.executable, "-I", "-S", "-B", str(HARNESS))
        opened = ((folder / CANDIDATES).resolve(), HARNESS, RELAY)
        order = order_for(task, argv, opened)._replace(program=self._agent[0])
        self._wire = WireLines(task.candidate.runner.get("output") or {})
        super().__init__(task, order, self._wire)

    def opening(self, brief: Brief) -> dict[str, Any]:
        self._wire.names = wire_names((tool.name for tool in brief.tools), self._file)
        wire = {name: other for other, name in self._wire.names.items()}
        in_argument = any("{request}" in word for word in self._agent)
        if in_argument and (
            "\0" in brief.user_request or len(brief.user_request.encode()) > _LONGEST_ARGUMENT
        ):
            raise Unrunnable(
                f"{self._file}: $.runner.command: this request cannot be an argument: leave out "
                "`{request}`, and the agent reads it on its standard input"
            )
        return {
            "type": "start",
            "user_request": brief.user_request,
            "tools": [
                {
                    "name": wire[tool.name],
                    "description": tool.description,
                    "inputSchema": {"type": "object", **tool.parameters},
                }
                for tool in brief.tools
            ],
            "argv": self._agent,
            "stdin": not in_argument,
            "transport": self._transport,
            "relay": str(RELAY),
        }


def check_mcp(candidate: Candidate, folder: Path) -> None:
    """Raise Unrunnable unless the program exists and can be pointed at its server."""
    check_common(candidate, folder)
    argv_of(candidate, folder)
    runner, file = candidate.runner, manifest_file(candidate, folder)
    transport = runner.get("transport") or "stdio"
    if transport == "http" and not runner.get("network"):
        raise Unrunnable(
            f'{file}: $.runner.transport: http needs `"network": true`, or write stdio, which '
            "needs none"
        )
    known = _PLACEHOLDERS[transport]
    for word in runner["command"]:
        for name in _HELD.findall(word):
            if name == "mcp_token":
                raise Unrunnable(
                    f"{file}: $.runner.command: `{{mcp_token}}` would show the token to other "
                    "programs of this machine: the agent finds it in the file {mcp_config} and in "
                    "REVIEWER_MCP_TOKEN"
                )
            if name not in known:
                told = ", ".join(f"{{{each}}}" for each in known)
                raise Unrunnable(
                    f"{file}: $.runner.command: `{{{shown(name)}}}` is not known with the "
                    f"transport {transport}; known: {told}"
                )


def wire_names(tools: Iterable[str], file: str) -> dict[str, str]:
    """Return name over MCP → name in the suite: clients require letters, digits, `_` and `-`, and
    prefix the server's name. Raise Unrunnable for two tools that would have one name."""
    found: dict[str, str] = {}
    for tool in tools:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:_LONGEST_NAME]
        if name in found:
            raise Unrunnable(
                f"{file}: $.runner.kind: the tools `{shown(found[name])}` and `{shown(tool)}` "
                f"would both be `{name}` over MCP: rename one in the suite"
            )
        found[name] = tool
    return found


class WireLines(HarnessLines):
    """Reads the lines of `mcp_child`. The final one contains the agent's output, which is read as
    `output` of the manifest says. `names` are those of `wire_names`."""

    PLACE = "call {} over MCP"

    def __init__(self, output: Mapping[str, Any]) -> None:
        super().__init__()
        self._output = output
        self.names: dict[str, str] = {}
        self._read = 0

    def read(self, line: bytes) -> Turn:
        self._read += 1
        if line.startswith((b'{"type":"fault"', b'{"type":"unstarted"')):
            self._end(line)
        turn = super().read(line)
        if not turn.last:
            self._refuse("$.type", "must be `call` or `final`: no user answers over MCP")
        if turn.calls:
            names = self.names
            calls = (call._replace(tool=names.get(call.tool, call.tool)) for call in turn.calls)
            return turn._replace(calls=tuple(calls))
        message, total = printed(turn.message or "", self._output)
        return turn._replace(message=message, total=total)

    def _end(self, line: bytes) -> None:
        """Raise the error that the line states. A line without one comes from the agent, and is
        refused like any other."""
        try:
            said = loads(line, "")
        except ContractError:
            return
        text = said.get("message")
        if isinstance(text, str) and said["type"] == "unstarted" and self._read == 1:
            raise Unrunnable(f"its agent cannot be started: {shown(text, 200)}")
        if isinstance(text, str) and said["type"] == "fault":
            raise CandidateFault(text)


def printed(text: str, output: Mapping[str, Any]) -> tuple[str, Usage | None]:
    """Return the final message in an agent's output, and the tokens of the attempt, None where it
    does not state them. Raise CandidateFault for text that is not as `output` says."""
    form = output.get("form") or "text"
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise CandidateFault("its agent ended and printed no final message on its standard output")
    if form == "text":
        return text.strip(), None
    if form == "line":
        return lines[-1].strip(), None
    if form == "jsonl":
        values = [_json(line, f"line {i} of its output") for i, line in enumerate(lines, 1)]
    else:
        values = [_json(text, "its output")]
    place = output["message"]
    told = [found for value in values if (found := _at(value, place)) is not None]
    if not told or not isinstance(told[-1], str) or not told[-1].strip():
        where = "`output.message` of the manifest"
        raise CandidateFault(f"its output has no text at {place}, which {where} names")
    counts = {
        "input": _sum(values, output.get("input_tokens") or ()),
        "output": _sum(values, output.get("output_tokens") or ()),
    }
    if counts == {"input": None, "output": None}:
        return told[-1], None
    details: dict[str, Any] = {}
    if output.get("cached_input_tokens"):
        cached = _sum(values, output["cached_input_tokens"])
        if cached is None:  # the cost of the input is then unknown
            return told[-1], None
        details = {"details": {"cached_tokens": cached}}
    return told[-1], usage_of({**counts, **details}, _NAMES)


def _json(text: str, where: str) -> Any:
    try:
        return loads(text.encode(errors="replace"), "")
    except ContractError as error:
        raise CandidateFault(f"{where}: {error.path}: {error.reason}") from None


def _sum(values: list[Any], places: Iterable[str]) -> int | None:
    """Return the sum of the counts at these places; None when one is missing, is not a count, or is
    stated in several lines, where it is unknown whether they add up."""
    counts = []
    for place in places:
        told = [found for value in values if (found := _at(value, place)) is not None]
        if len(told) != 1 or type(told[0]) is not int or told[0] < 0:
            return None
        counts.append(told[0])
    return sum(counts) if counts else None


def _at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
