"""Arguments that a contract, or a simulated tool, names and that the tool does not have. Pure.

A tool whose parameters are closed (`"additionalProperties": false`) is never called with another
argument: the broker refuses such a call. An expectation of one could not be met, and an effect that
requires one never happens. A tool whose parameters are open, or do not say, may have any argument.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reviewer.suite.blanks import is_blank
from reviewer.suite.errors import NEAR, Problem, json_path, likeness, shown
from reviewer.suite.json_values import Path, path_of
from reviewer.suite.model import Episode
from reviewer.suite.toolset import Toolset, simulated
from reviewer.suite.values import TOOLSET_FILE

_Named = Iterator[tuple[tuple[str | int, ...], str, Path, str]]
"""A place, the tool, the argument (a path in its arguments), and the consequence of a missing
one."""
_UNMET = "no attempt could pass"
_UNPROVEN = "no write could be proven"
_SILENT = "no call can get this answer"
_IDLE = "no call has this effect"


def argument_problems(
    episodes: Mapping[str, Episode], toolset: Toolset | None
) -> Iterator[Problem]:
    """Yield a problem for each argument that these episodes (by path) or toolset.json name and that
    its tool does not have. The rules in `approvals` are checked by `approval_problems`."""
    listed = {} if toolset is None else {one.name: one.parameters for one in toolset.tools}
    for path, episode in episodes.items():
        own = simulated(episode)
        users = episode.user_tools
        schemas = {name: told.get("parameters") for name, told in (own | users).items()} | listed
        for root, tools in (("simulator", own), ("user", users)):
            for name, told in tools.items():
                yield from _problems(path, _of_tool((root, "tools", name), name, told), schemas)
        yield from _problems(path, _of_contract(episode, schemas), schemas)
    for i, tool in enumerate(() if toolset is None else toolset.tools):
        named = _of_tool(("tools", i, "simulator"), tool.name, tool.simulator or {})
        yield from _problems(TOOLSET_FILE, named, listed)


def _problems(file: str, named: _Named, schemas: Mapping[str, Any]) -> Iterator[Problem]:
    for place, tool, argument, then in named:
        if (why := missing_argument(schemas.get(tool), argument)) is not None:
            yield Problem(file, json_path(place), f"`{shown(tool)}` {why}: {then}")


def missing_argument(schema: Any, argument: Path) -> str | None:
    """Return why no call has this argument, a path in its arguments, with the name that was most
    likely meant; None where a call may have it."""
    for at, name in enumerate(argument):
        if not isinstance(schema, dict) or not isinstance(name, str):
            return None
        properties = schema.get("properties") or {}
        if not isinstance(properties, dict):
            return None
        if name in properties:
            schema = properties[name]
            continue
        if schema.get("additionalProperties") is not False or _patterned(schema, name):
            return None
        near = max(properties, key=lambda known: likeness(name, known), default="")
        hint = f" (did you mean `{shown(near)}`?)" if near and likeness(name, near) >= NEAR else ""
        inside = ".".join(map(str, argument[:at]))
        where = f" in `{shown(inside)}`" if inside else ""
        return f"has no argument `{shown(name)}`{where}{hint}"
    return None


def _patterned(schema: Mapping[str, Any], name: str) -> bool:
    """Return whether `patternProperties` may match a name; an invalid pattern matches any."""
    try:
        return any(re.search(one, name) for one in schema.get("patternProperties") or ())
    except (re.error, TypeError):
        return True


def _of_contract(episode: Episode, schemas: Mapping[str, Any]) -> _Named:
    expected = episode.expected
    for tool, wanted in expected.arguments.items():
        for text in _names(wanted):
            yield ("expected", "arguments", tool, text), tool, path_of(text), _UNMET
    if expected.trajectory_match not in (None, "subset"):
        for i, call in enumerate(expected.trajectory):
            for name in _names(call.arguments):
                where = ("expected", "trajectory", i, "arguments", name)
                yield where, call.tool, (name,), _UNMET
    for i, write in enumerate(episode.writes):
        for mine, its in (write.on or {}).items():
            place = ("writes", i, "on", mine)
            yield place, write.tool, path_of(mine), _UNPROVEN
            proofs = write.verified_by
            if all(missing_argument(schemas.get(one), path_of(its)) for one in proofs):
                yield place, proofs[0], path_of(its), _UNPROVEN


def _names(arguments: Any) -> Iterable[str]:
    """Return the named arguments; none for a blank."""
    return () if not isinstance(arguments, dict) or is_blank(arguments) else arguments


def _of_tool(place: tuple[str | int, ...], tool: str, told: Mapping[str, Any]) -> _Named:
    ways = told.get("responses")
    cases = ways.get("match") if isinstance(ways, dict) else None
    for i, case in enumerate(cases or ()):
        for name in _names(case.get("arguments")):
            yield (*place, "responses", "match", i, "arguments", name), tool, (name,), _SILENT
    for i, effect in enumerate(told.get("effects") or ()):
        for name in _names(effect.get("arguments")):
            yield (*place, "effects", i, "arguments", name), tool, (name,), _IDLE
