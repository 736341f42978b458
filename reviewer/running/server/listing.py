"""The tools that a server lists, checked against the protocol and the frozen toolset."""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from reviewer.running.model import ToolSpec
from reviewer.running.server.rpc import RAISE_LIMIT, Broken
from reviewer.suite.errors import json_path, name_problem, shown
from reviewer.suite.json_values import Path, same
from reviewer.suite.strict_json import type_name
from reviewer.suite.values import TOOLSET_FILE

MOST_TOOLS = 2_000
MOST_PAGES = 100

_METHOD = "tools/list"
_WAY_OUT = "put the server back, or freeze a suite with the tools that it has now"


class Listed(NamedTuple):
    """A tool as the server lists it."""

    name: str
    parameters: dict[str, Any]
    output: dict[str, Any] | None
    description: str


Listing = Mapping[str, Listed]
Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def listed(ask: Ask, seconds: float) -> Listing:
    """Return name → tool that a server lists, over all pages; a further one is not requested after
    `seconds`. Raises Broken, and any exception of `ask`."""
    until = time.monotonic() + seconds
    found: dict[str, Listed] = {}
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        page = await ask(_METHOD, params)
        tools = page.get("tools")
        if not isinstance(tools, list):
            _refuse("$.result.tools", f"must be a list, not {type_name(tools)}")
        for i, value in enumerate(tools):
            tool = _tool(value, ("result", "tools", i))
            if tool.name in found:
                _refuse(json_path(("result", "tools", i, "name")), f"lists {_named(tool)} twice")
            found[tool.name] = tool
        if len(found) > MOST_TOOLS:
            raise Broken(f"{_METHOD}: lists more than {MOST_TOOLS:,} tools")
        cursor = page.get("nextCursor")
        if cursor is None:
            return found
        if not isinstance(cursor, str) or cursor in cursors:
            _refuse("$.result.nextCursor", "must be a text that was not given before")
        if time.monotonic() > until:
            raise Broken(f"{_METHOD}: its pages take more than {seconds:g} s; {RAISE_LIMIT}")
        cursors.add(cursor)
        params = {"cursor": cursor}
    raise Broken(f"{_METHOD}: has more than {MOST_PAGES} pages")


def check_offered(listing: Listing, specs: Iterable[ToolSpec]) -> None:
    """Raise Broken unless the server has every tool of the toolset, with the parameters frozen
    there."""
    for spec in specs:
        tool = listing.get(spec.name)
        if tool is None:
            names = ", ".join(shown(name, 60) for name in sorted(listing)[:10]) or "none"
            told = f"does not list `{shown(spec.name)}` of {TOOLSET_FILE} (it lists {names})"
            raise Broken(f"{_METHOD}: {told}; {_WAY_OUT}")
        place = first_difference(spec.parameters, tool.parameters)
        if place is not None:
            told = f"`{shown(spec.name)}` has another schema than {TOOLSET_FILE} froze"
            where = json_path(("inputSchema", *place))
            raise Broken(f"{_METHOD}: {told}: {where} differs; {_WAY_OUT}")


def check_same(first: Listing, last: Listing) -> None:
    """Raise Broken unless a server's tools at the end equal those at the beginning."""
    for name in sorted(first.keys() | last.keys()):
        if first.get(name) != last.get(name):
            raise Broken(f"{_METHOD}: `{shown(name)}` changed after the attempt began")


def first_difference(wanted: Any, found: Any, place: Path = ()) -> Path | None:
    """Return the path of the first place where two JSON values differ, None where none does."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name in sorted(wanted.keys() | found.keys()):
            if name not in wanted or name not in found:
                return (*place, name)
            below = first_difference(wanted[name], found[name], (*place, name))
            if below is not None:
                return below
        return None
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for i, (left, right) in enumerate(zip(wanted, found, strict=True)):
            below = first_difference(left, right, (*place, i))
            if below is not None:
                return below
        return None
    return None if same(wanted, found) else place


def _tool(value: Any, place: Path) -> Listed:
    if not isinstance(value, dict):
        _refuse(json_path(place), f"must be an object, not {type_name(value)}")
    name, parameters = value.get("name"), value.get("inputSchema")
    output, description = value.get("outputSchema"), value.get("description")
    if not isinstance(name, str):
        _refuse(json_path((*place, "name")), f"must be a text, not {type_name(name)}")
    if (reason := name_problem(name)) is not None:
        _refuse(json_path((*place, "name")), reason)
    for member, schema in (("inputSchema", parameters), ("outputSchema", output)):
        if schema is None and member == "outputSchema":
            continue
        if not isinstance(schema, dict) or schema.get("type") != "object":
            reason = 'must be a JSON Schema of an object ("type": "object")'
            _refuse(json_path((*place, member)), reason)
    if description is not None and not isinstance(description, str):
        _refuse(json_path((*place, "description")), "must be a text")
    assert isinstance(parameters, dict)  # checked above
    return Listed(name, parameters, output, description or "")


def _named(tool: Listed) -> str:
    return f"`{shown(tool.name)}`"


def _refuse(where: str, reason: str) -> NoReturn:
    raise Broken(f"{_METHOD}: {where} {reason}")
