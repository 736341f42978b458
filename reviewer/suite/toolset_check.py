"""What toolset.json and the episodes beside it may not say of each other. Pure."""

from collections.abc import Iterator, Mapping

from reviewer.suite.container import container_problems, unmeasured_in_container
from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.model import Episode
from reviewer.suite.server import server_problems, unmeasured
from reviewer.suite.tool_names import spelled_alike
from reviewer.suite.toolset import Toolset, equipped, simulated
from reviewer.suite.user_check import OTHER_NAME
from reviewer.suite.values import TOOLSET_FILE


def toolset_problems(
    toolset: Toolset | None, episodes: Mapping[str, Episode], files: Mapping[str, bytes]
) -> Iterator[Problem]:
    """Yield every problem between the toolset, the episodes (by path) and the locked files (path:
    content); without a toolset, what only one could make good."""
    names = _known(toolset, episodes)
    if toolset is not None and toolset.server is not None:
        listed = {tool.name for tool in toolset.tools}
        yield from server_problems(toolset.server, listed, files, TOOLSET_FILE)
    if toolset is not None and toolset.container is not None:
        offered = {tool.name: tool.parameters for tool in toolset.tools}
        yield from container_problems(toolset.container, offered, TOOLSET_FILE)
    for path, episode in episodes.items():
        found = _world(episode) if toolset is None else _beside(toolset, episode)
        for where, reason in (*found, *_absent(episode, names), *_user_tools(episode, names)):
            yield Problem(path, where, reason)


def _known(toolset: Toolset | None, episodes: Mapping[str, Episode]) -> set[str] | None:
    """Return the names of all tools that some episode may offer; None when only a toolkit knows."""
    if toolset is not None:
        return {tool.name for tool in toolset.tools}
    if any((episode.simulator or {}).get("toolkit") for episode in episodes.values()):
        return None
    return {name for episode in episodes.values() for name in simulated(episode)}


def _world(episode: Episode) -> Iterator[tuple[str, str]]:
    simulator = episode.simulator
    if simulator is not None and not simulator.get("tools") and not simulator.get("toolkit"):
        yield "$.simulator", "must have either tools or a toolkit"


def _absent(episode: Episode, names: set[str] | None) -> Iterator[tuple[str, str]]:
    for i, tool in enumerate(sorted(episode.tools.not_offered)):
        if names is not None and tool not in names:
            reason = f"`{shown(tool)}` is not a tool of this suite"
            yield json_path(("tools", "absent", i)), reason


def _user_tools(episode: Episode, names: set[str] | None) -> Iterator[tuple[str, str]]:
    """Yield the tools of the user that agents are offered."""
    own = simulated(episode)  # reported where the episode is checked
    for tool in episode.user_tools:
        alike = spelled_alike(tool, (names or set()) - own.keys())
        if alike is not None:
            reason = f"is offered to agents of this suite (`{shown(alike)}`): {OTHER_NAME}"
            yield json_path(("user", "tools", tool)), reason


def _beside(toolset: Toolset, episode: Episode) -> Iterator[tuple[str, str]]:
    listed = {tool.name: tool for tool in toolset.tools}
    own = simulated(episode)
    behind = next((name for name in ("server", "container") if getattr(toolset, name)), None)
    if behind is not None:
        for member in ("tools", "toolkit", "options"):
            if (episode.simulator or {}).get(member):
                reason = f"toolset.json has a {behind} behind its tools: remove this"
                yield f"$.simulator.{member}", reason
        if toolset.server is not None and toolset.server.get("state") is None:
            yield from unmeasured(episode)
        if toolset.container is not None:
            verified = toolset.container.get("verifier") is not None
            yield from unmeasured_in_container(episode, verified)
        return
    if own and toolset.toolkit is not None:
        yield "$.simulator.tools", "toolset.json has a toolkit behind its tools: remove these"
        return
    for name, told in own.items():
        tool = listed.get(name)
        if tool is None:
            reason = "is not in toolset.json, which lists every tool that is offered"
            yield json_path(("simulator", "tools", name)), reason
            continue
        for member, value in (("description", tool.description), ("parameters", tool.parameters)):
            if member in told and told[member] != value:
                reason = (
                    "differs from toolset.json, whose text is offered to agents: leave it out here"
                )
                yield json_path(("simulator", "tools", name, member)), reason
    made = simulated(equipped(episode, toolset))
    if not made:
        return
    for name in listed:
        if name not in made and name not in episode.tools.not_offered:
            reason = f"has no `{shown(name)}`, which toolset.json offers without a simulator"
            yield "$.simulator.tools", reason
