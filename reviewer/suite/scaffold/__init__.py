"""A first suite made from the tools of an agent. Pure: from parsed listings to the files of a
draft.

`listings`, `openapi` and `python_source` read tools as their owners describe them, and `calls` from
an agent's calls; `contracts` writes three episodes around them, `words` proposes which tools read
and which write. An unknown answer is a blank, which a freeze refuses.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reviewer.suite.errors import json_path, name_problem, shown
from reviewer.suite.json_values import MISSING
from reviewer.suite.simulator import no_object_schema


class FoundTool(NamedTuple):
    """One tool as a source describes it. `writes` is the source's statement, None when it makes
    none; `answer` is an example of its answer, MISSING without one; `place` is where it is."""

    name: str
    description: str
    parameters: dict[str, Any]
    writes: bool | None = None
    answer: Any = MISSING
    place: str = ""


class FoundTools(NamedTuple):
    """The tools of one source, and notes on what was left out."""

    tools: tuple[FoundTool, ...]
    notes: tuple[str, ...] = ()


class NoTools(ValueError):
    """A source gives no tools. `where` is the place in it, `way_out` what can be done."""

    def __init__(self, where: str, reason: str, way_out: str = "") -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.way_out = way_out


def found_tool(
    where: str,
    name: Any,
    description: Any,
    parameters: Any,
    writes: bool | None = None,
    answer: Any = MISSING,
) -> FoundTool:
    """Return a tool, if its name and its parameters can be in toolset.json. Raises NoTools."""
    if not isinstance(name, str) or not name:
        raise NoTools(where, "has no name")
    if (reason := name_problem(name)) is not None:
        raise NoTools(where, f"`{shown(name)}`: {reason}")
    if parameters is None:
        parameters = {"type": "object", "properties": {}}
    if not isinstance(parameters, dict):
        raise NoTools(where, f"`{shown(name)}`: its parameters are no JSON Schema object")
    if "type" not in parameters:
        parameters = {"type": "object", **parameters}
    if (reason := no_object_schema(parameters)) is not None:
        raise NoTools(where, f"`{shown(name)}`: its parameters: {reason}")
    text = description.strip() if isinstance(description, str) else ""
    return FoundTool(name, text, parameters, writes, answer, where)


def pooled(sources: Mapping[str, Iterable[FoundTool]]) -> list[FoundTool]:
    """Return the tools of several sources (name → tools), each once. Raises NoTools for two tools
    of one name that take different arguments."""
    found: dict[str, tuple[str, FoundTool]] = {}
    for source, tools in sources.items():
        for tool in tools:
            where = f"{source}: {tool.place}" if tool.place else source
            earlier = found.setdefault(tool.name, (where, tool))
            if earlier[1].parameters != tool.parameters:
                raise NoTools(
                    where,
                    f"`{shown(tool.name)}` has different arguments than at {earlier[0]}",
                    "rename one of them, or leave one out: an agent calls a tool by its name",
                )
            if earlier[1].answer is MISSING and tool.answer is not MISSING:
                found[tool.name] = (earlier[0], earlier[1]._replace(answer=tool.answer))
    return [tool for _, tool in found.values()]


def place(*path: str | int) -> str:
    """Return a place in a source in the form for messages."""
    return json_path(path)
