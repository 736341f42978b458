"""Arguments that a contract, or a simulated tool, names and that no call of the tool has. Pure.

A tool whose parameters are closed (`"additionalProperties": false`) is never called with another
argument, and no tool with a value of another type: the broker refuses such a call. An expectation
of one could not be met, and an effect that requires one never happens. A tool whose parameters are
open, or do not say, may have any argument.
"""

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from reviewer.suite.blanks import is_blank
from reviewer.suite.errors import NEAR, Problem, json_path, likeness, shown
from reviewer.suite.json_values import JSON_TYPES, MISSING, Path, path_of
from reviewer.suite.model import Episode
from reviewer.suite.strict_json import type_name
from reviewer.suite.toolset import WORLDS, Toolset, simulated
from reviewer.suite.values import TOOLSET_FILE

_Named = Iterator[tuple[tuple[str | int, ...], str, Path, Any, str]]
"""A place, the tool, the argument (a path in its arguments), its value (or MISSING), and the
consequence of one that no call has."""
_MASKED = "[REDACTED"
_UNMET = "no attempt could pass"
_UNPROVEN = "no write could be proven"
_SILENT = "no call can get this answer"
_IDLE = "no call has this effect"


def argument_problems(
    episodes: Mapping[str, Episode], toolset: Toolset | None
) -> Iterator[Problem]:
    """Yield a problem for each argument that these episodes (by path) or toolset.json name and that
    no call of its tool has. The rules in `approvals` are checked by `approval_problems`."""
    listed = {} if toolset is None else {one.name: one.parameters for one in toolset.tools}
    behind = toolset is not None and any(getattr(toolset, world) for world in WORLDS)
    tools_of_all = () if toolset is None else toolset.tools
    run = {one.name for one in tools_of_all if behind or one.simulator is not None}
    for path, episode in episodes.items():
        own = simulated(episode)
        users = episode.user_tools
        schemas = {name: told.get("parameters") for name, told in (own | users).items()} | listed
        for root, tools in (("simulator", own), ("user", users)):
            for name, told in tools.items():
                named = _of_tool((root, "tools", name), name, told)
                yield from _problems(path, named, schemas, {name})
        called = run | own.keys() | users.keys()
        yield from _problems(path, _of_contract(episode, schemas), schemas, called)
    for i, tool in enumerate(tools_of_all):
        named = _of_tool(("tools", i, "simulator"), tool.name, tool.simulator or {})
        yield from _problems(TOOLSET_FILE, named, listed, run)


def _problems(
    file: str, named: _Named, schemas: Mapping[str, Any], called: Set[str]
) -> Iterator[Problem]:
    """Values count only for tools whose calls are `called` here: a record of elsewhere may have
    them in another type."""
    for place, tool, argument, value, then in named:
        schema = schemas.get(tool)
        why = missing_argument(schema, argument)
        if why is None and tool in called:
            why = _mistyped(schema, argument, value)
        if why is not None:
            yield Problem(file, json_path(place), f"`{shown(tool)}` {why}: {then}")


def _mistyped(schema: Any, argument: Path, value: Any) -> str | None:
    """Return why no call has this value for an argument, by the type in its schema. A masked value
    stands for one of any type."""
    for name in argument:
        properties = schema.get("properties") if isinstance(schema, dict) else None
        schema = properties.get(name) if isinstance(properties, dict) else None
    kind = schema.get("type") if isinstance(schema, dict) else None
    fits = JSON_TYPES.get(kind) if isinstance(kind, str) else None
    masked = isinstance(value, str) and _MASKED in value
    if fits is None or value is MISSING or is_blank(value) or masked or fits(value):
        return None
    name = shown(".".join(map(str, argument)))
    return f"takes {_article(str(kind))} as `{name}`, not {type_name(value)}"


def _article(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"


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
        for text, value in _given(wanted).items():
            yield ("expected", "arguments", tool, text), tool, path_of(text), value, _UNMET
    if expected.trajectory_match not in (None, "subset"):
        for i, call in enumerate(expected.trajectory):
            for name, value in _given(call.arguments).items():
                where = ("expected", "trajectory", i, "arguments", name)
                yield where, call.tool, (name,), value, _UNMET
    for i, write in enumerate(episode.writes):
        for mine, its in (write.on or {}).items():
            place = ("writes", i, "on", mine)
            yield place, write.tool, path_of(mine), MISSING, _UNPROVEN
            proofs = write.verified_by
            if all(missing_argument(schemas.get(one), path_of(its)) for one in proofs):
                yield place, proofs[0], path_of(its), MISSING, _UNPROVEN


def _given(arguments: Any) -> dict[str, Any]:
    """Return the named arguments with their values; none for a blank."""
    return {} if not isinstance(arguments, dict) or is_blank(arguments) else arguments


def _of_tool(place: tuple[str | int, ...], tool: str, told: Mapping[str, Any]) -> _Named:
    ways = told.get("responses")
    cases = ways.get("match") if isinstance(ways, dict) else None
    for i, case in enumerate(cases or ()):
        for name, value in _given(case.get("arguments")).items():
            where = (*place, "responses", "match", i, "arguments", name)
            yield where, tool, (name,), value, _SILENT
    for i, effect in enumerate(told.get("effects") or ()):
        for name, value in _given(effect.get("arguments")).items():
            yield (*place, "effects", i, "arguments", name), tool, (name,), value, _IDLE
