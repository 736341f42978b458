"""The shape of toolset.json: every tool of the agent's real environment, in the order in which each
attempt is offered them."""

from collections.abc import Set
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from reviewer.suite.container import Container
from reviewer.suite.fields import Check, EntryPoint, File, Limits, Name, Text, repeated
from reviewer.suite.model import Episode
from reviewer.suite.server import Server
from reviewer.suite.simulator import ToolBehavior, no_object_schema
from reviewer.suite.value import Value, learned


class ToolsetTool(Value, frozen=True, kw_only=True):
    """One tool as the environment describes it, independent of who may call it."""

    name: Annotated[Name, "The name by which the agent calls the tool."]
    description: Annotated[
        Text,
        "The description of the tool that the agent reads: what the tool does, and nothing of who "
        "may call it.",
    ]
    parameters: Annotated[
        dict[str, Any], Check(no_object_schema), "JSON Schema of the tool's arguments."
    ]
    simulator: Annotated[
        dict[str, Any] | None,
        File(ToolBehavior | None),
        "How the simulated tool behaves in episodes that do not say otherwise. Null: it can be "
        "called only in episodes that simulate it, or is behind the toolkit or the server.",
    ] = None


def _one_of_each(tools: list[ToolsetTool]) -> str | None:
    return repeated([tool.name for tool in tools])


class Toolset(Value, frozen=True, kw_only=True):
    """toolset.json: all of it is offered to every attempt of the suite, less what an episode names
    in `tools.absent`."""

    SCHEMA: ClassVar[str] = "reviewer/toolset@1"

    tools: Annotated[
        tuple[ToolsetTool, ...],
        Limits(min_length=1),
        Check(_one_of_each),
        "Every tool of the environment, in the order in which they are offered.",
    ]
    toolkit: Annotated[
        EntryPoint | None,
        "A Python class behind all of these tools, as `module:Class`. Null: they are simulated.",
    ] = None
    server: Annotated[
        dict[str, Any] | None,
        File(Server | None, None),
        "An MCP server behind all of these tools, started for each attempt. Null: they are "
        "simulated.",
    ] = None
    container: Annotated[
        dict[str, Any] | None,
        File(Container | None, None),
        "A container behind all of these tools, started for each attempt. Null: they are "
        "simulated.",
    ] = None

    def problem(self, given: Set[str]) -> str | None:
        worlds = [name for name in WORLDS if getattr(self, name) is not None]
        if len(worlds) > 1:
            return f"must have one of {', '.join(WORLDS)}, not {' and '.join(worlds)}"
        if worlds and any(tool.simulator is not None for tool in self.tools):
            return f"has a {worlds[0]}, so its tools cannot have simulators"
        return None


learned(Toolset)

WORLDS = ("toolkit", "server", "container")
"""What may be behind all tools of a toolset, in place of their simulators."""


def simulated(episode: Episode) -> dict[str, dict[str, Any]]:
    """Return the tools that an episode simulates itself."""
    return (episode.simulator or {}).get("tools") or {}


def equipped(episode: Episode, toolset: Toolset | None) -> Episode:
    """Return the episode with the toolset behind it: its simulator has every tool of toolset.json
    that it has not itself, or what is behind all tools of the toolset."""
    if toolset is None:
        return episode
    own: dict[str, Any] = dict(episode.simulator or {})
    for name in ("server", "container"):
        if (world := getattr(toolset, name)) is not None:
            return replace(episode, simulator={**own, name: world})
    if own.get("toolkit"):
        return episode
    if toolset.toolkit is not None:
        if own.get("tools"):
            return episode
        return replace(episode, simulator={**own, "toolkit": toolset.toolkit})
    mine = simulated(episode)
    tools = {
        each.name: {
            **(mine.get(each.name) or each.simulator or {}),
            "description": each.description,
            "parameters": each.parameters,
        }
        for each in toolset.tools
        if each.name in mine or each.simulator is not None
    }
    return replace(episode, simulator={**own, "tools": tools}) if tools else episode
