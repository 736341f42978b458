"""Names of a source's tools that an import declares to be tools of the suite."""

from collections.abc import Iterator
from typing import NamedTuple

from reviewer.suite.errors import shown
from reviewer.suite.model import Episode, Suite
from reviewer.suite.tool_names import ToolNames


class ToolMap(NamedTuple):
    """`names` are (theirs, ours); `digest` is the sha256 of the file that says so."""

    digest: str = ""
    names: tuple[tuple[str, str], ...] = ()


NO_MAP = ToolMap()


def listed_tools(episode: Episode) -> Iterator[str]:
    """Every tool that an episode's contract names, some more than once."""
    tools, expected = episode.tools, episode.expected
    for some in (tools.allowed or (), tools.required, tools.forbidden, tools.approvals):
        yield from some
    for write in episode.writes:
        yield write.tool
        yield from write.verified_by
    yield from expected.arguments
    yield from (step.tool for step in expected.trajectory)


def map_problems(suite: Suite, names: tuple[tuple[str, str], ...]) -> list[str]:
    """Why a suite cannot be filled under these names: what no episode allows gets no other name,
    and no name of another tool becomes an allowed one."""
    allowed: set[str] = set()
    forbidden: set[str] = set()
    everything: set[str] = set()
    for episode in suite.episodes:
        here = set(listed_tools(episode))
        everything |= here
        forbidden |= set(episode.tools.forbidden)
        allowed |= here.difference(episode.tools.forbidden)
    compared = ToolNames(everything)
    found = []
    for theirs, ours in names:
        kin = compared.kin(theirs)
        if ours not in allowed:
            why = "is forbidden" if ours in forbidden else "is no tool that an episode allows"
            found.append(f"{shown(theirs)}: `{shown(ours)}` {why}")
        elif theirs in everything:
            found.append(f"{shown(theirs)}: an episode lists it, so it is what it lists")
        elif ours not in kin.same | kin.like:
            found.append(f"{shown(theirs)}: is no spelling of `{shown(ours)}`")
        elif other := sorted((kin.same & forbidden) - {ours}):
            found.append(
                f"{shown(theirs)}: is a spelling of `{shown(other[0])}`, which is forbidden"
            )
    return found
