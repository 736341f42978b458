"""The facts of a stored trace's suite about its episode: the request, the user, and the world in
which the trace was made, if that world answers as the trace does. Pure."""

import copy
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from msgspec.structs import replace

from reviewer.importing.recorded.asked import reproduced
from reviewer.importing.recorded.masks import Masks
from reviewer.importing.recorded.offered import Definition
from reviewer.importing.recorded.story import Said, Story
from reviewer.importing.recorded.world import Builder, World
from reviewer.suite.model import Episode

_ANY: dict[str, Any] = {"type": "object"}


class Known(NamedTuple):
    """The episode of a trace, with its contract as it was when the trace was judged, and its
    toolset. `sure` says that this toolset is certainly the trace's."""

    episode: Episode
    sure: bool


def definitions_of(known: Known | None) -> dict[str, Definition]:
    """Return the simulated tools of a known episode."""
    tools = {} if known is None else (known.episode.simulator or {}).get("tools") or {}
    return {
        name: Definition(name, told.get("description", ""), told.get("parameters", _ANY))
        for name, told in tools.items()
    }


def scripted_user(known: Known | None) -> dict[str, Any] | None:
    """Return the user of a known episode, None unless it is scripted: a proof can play no other."""
    user = None if known is None else known.episode.user
    return user if isinstance(user, dict) and user.get("kind") == "scripted" else None


def words_of(known: Known | None) -> list[Any]:
    """Return all texts of a known episode that an episode made from its trace may repeat."""
    if known is None:
        return []
    one = known.episode
    return [one.user_request, one.initial_state, scripted_user(known), one.simulator]


def with_request(story: Story, known: Known | None) -> Story:
    """Return the story with the request first, which a run does not record as a message."""
    asked = "" if known is None else known.episode.user_request
    first = next((one.text for one in story.said if one.by_user), None)
    if not asked or first == asked:
        return story
    return story._replace(steps=(Said(0, True, asked), *story.steps))


def among(known: Known | None, names: Set[str]) -> Known | None:
    """Return the known episode with only these of its simulated tools."""
    tools = None if known is None else (known.episode.simulator or {}).get("tools")
    if known is None or not tools:
        return known
    kept = {name: told for name, told in tools.items() if name in names}
    simulator = {**(known.episode.simulator or {}), "tools": kept}
    return known._replace(episode=replace(known.episode, simulator=simulator))


def _described(tool: Definition) -> dict[str, Any]:
    return {"description": tool.description, "parameters": tool.parameters}


def world_of(
    known: Known | None,
    builder: Builder,
    offered: Mapping[str, Definition],
    masks: Masks,
    story: Story,
) -> World | None:
    """Return the world of a known episode; None where it is not simulated, or does not answer every
    recorded call as the trace does."""
    if known is None or not known.sure:
        return None
    simulator = known.episode.simulator or {}
    told: dict[str, Any] = masks.masked(copy.deepcopy(simulator.get("tools") or {}))
    if not told or any(simulator.get(kind) for kind in ("toolkit", "server", "container")):
        return None
    tools = {
        name: {**behavior, **_described(offered[name])} if name in offered else behavior
        for name, behavior in told.items()
    }
    state = masks.masked(copy.deepcopy(known.episode.initial_state))
    if not reproduced({"initial_state": state, "simulator": {"tools": tools}}, story):
        return None
    builder.changing = {name: bool(tool.get("effects")) for name, tool in tools.items()}
    needs = builder.needs_in(offered)
    faults = sum(len(fault["calls"]) for tool in tools.values() for fault in tool.get("faults", ()))
    return World(
        state, tools, builder.open, [], builder.notes, needs, faults, [],
        simulator.get("final_state"),
    )  # fmt: skip
