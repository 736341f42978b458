# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""The shape of a suite's MCP server, which is the world behind its tools, and what of it
contradicts the files and the episodes beside it. Pure."""

import re
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET

from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.fields import Limits, Name, Text
from reviewer.suite.value import Value

if TYPE_CHECKING:
    from reviewer.suite.model import Episode

SERVER = "server"
"""The folder of the suite, under its lock, in which the server's own files are."""
FILES = f"{SERVER}/files"
"""What is copied into the folder in which each server starts."""
INITIAL_STATE = "{initial_state}"
"""In the command: the path of a file with the initial state of the episode."""

_PLACE = re.compile(r"\{[a-z_]+\}")

Seconds = Annotated[float, Limits(gt=0, le=600)]


class StateSource(Value, frozen=True):
    """Where the server tells its state: exactly one of a tool that only reads, with `arguments`,
    and a resource."""

    tool: Annotated[
        Name | None,
        "The tool that answers with the state, an object. It is not in toolset.json, so that no "
        "agent is offered it.",
    ] = None
    arguments: Annotated[dict[str, Any], "What the tool is called with."] = {}
    resource: Annotated[
        Text | None, "The URI of the resource whose text is the state, as JSON."
    ] = None

    def problem(self, given: Set[str]) -> str | None:
        if (self.tool is None) == (self.resource is None):
            return "must have exactly one of tool, resource"
        if self.resource is not None and self.arguments:
            return "arguments belong to tool"
        return None


class Server(Value, frozen=True, kw_only=True):
    """An MCP server behind all tools of the toolset: started for each attempt, over standard
    input and output, in the sandbox of candidates."""

    command: Annotated[
        tuple[str, ...],
        Limits(min_length=1),
        "The program and its arguments. A word that begins with `./` is a path below the suite's "
        "`server/`; `{initial_state}` is replaced by the path of a file with the episode's.",
    ]
    state: Annotated[
        StateSource | None,
        "Where it tells its state, which is read after every call. Null: no state is measured.",
    ] = None
    network: Annotated[
        bool, "Whether it may reach the network, in a run that grants it (`--network`)."
    ] = False
    start_s: Annotated[Seconds, "Seconds that it may take until it lists its tools."] = 60.0
    call_s: Annotated[Seconds, "Seconds that it may take to answer."] = 60.0


def server_problems(
    server: Mapping[str, Any], tools: Set[str], files: Mapping[str, bytes], file: str
) -> Iterator[Problem]:
    """Yield what is wrong with a server beside the `tools` that are offered and the locked files
    (path: content)."""
    for i, word in enumerate(server["command"]):
        where = json_path(("server", "command", i))
        if "\0" in word or (i == 0 and not word):
            yield Problem(file, where, "names no program" if i == 0 else "holds a null character")
        elif word.startswith("./") and not _is_there(word, files):
            reason = f"there is no {SERVER}/{shown(word[2:], 200)} in the suite"
            yield Problem(file, where, reason)
        for place in _PLACE.findall(word):
            if place != INITIAL_STATE:
                reason = f"`{shown(place)}` is not known; known: {INITIAL_STATE}"
                yield Problem(file, where, reason)
    tool = (server.get("state") or {}).get("tool")
    if tool is not None and tool in tools:
        reason = (
            f"`{shown(tool)}` is in `tools` and therefore offered to agents: name a tool that "
            "only reads the state"
        )
        yield Problem(file, "$.server.state.tool", reason)


def _is_there(word: str, files: Mapping[str, bytes]) -> bool:
    parts = [part for part in word.split("/") if part not in ("", ".")]
    path = "/".join((SERVER, *parts))
    return ".." not in parts and any(each == path or each.startswith(f"{path}/") for each in files)


def unmeasured(episode: "Episode") -> Iterator[tuple[str, str]]:
    """Yield what an episode asks of a state, where its server tells none."""
    reason = "the server reports no state, so it is not measured: name `server.state`, or "
    expected = episode.expected
    if episode.initial_state:
        yield "$.initial_state", reason + "leave the initial state out"
    if expected.final_state is not UNSET:
        yield "$.expected.final_state", reason + "expect none"
    for name in ("state", "absent"):
        if getattr(expected, name):
            yield f"$.expected.{name}", reason + "expect none"
    if (episode.simulator or {}).get("final_state") is not None:
        yield "$.simulator.final_state", reason + "leave it out"
    for i, turn in enumerate((episode.user or {}).get("turns") or ()):
        if (turn.get("when") or {}).get("state"):
            yield json_path(("user", "turns", i, "when", "state")), reason + "wait for a call"
