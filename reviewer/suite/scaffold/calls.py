"""Tools inferred from an agent's calls: names, and what their calls have in common. No value of a
call or an answer is used, since it may be about a person."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reviewer.suite.scaffold import FoundTools, NoTools, found_tool

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"),
    (dict, "object"), (type(None), "null"),
)  # fmt: skip


def tools_of(calls: Iterable[tuple[str, Mapping[str, Any]]]) -> FoundTools:
    """Return a tool for each name that was called, with the arguments of its calls: their types,
    and as required those that every call gave. Raises NoTools where nothing was called."""
    made: dict[str, list[Mapping[str, Any]]] = {}
    for name, arguments in calls:
        made.setdefault(name, []).append(arguments)
    if not made:
        raise NoTools(
            "", "holds no call of a tool", "name a trace with tool calls, or a list of the tools"
        )
    tools = tuple(found_tool("", name, "", inferred_schema(given)) for name, given in made.items())
    note = "descriptions and arguments are inferred from calls: put in those that the agent reads"
    return FoundTools(tools, (note,))


def inferred_schema(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema that the arguments of these calls have in common: only types, and as
    required what every call has."""
    names = dict.fromkeys(each for arguments in given for each in arguments)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {each: _schema([a[each] for a in given if each in a]) for each in names},
    }
    required = [each for each in names if all(each in arguments for arguments in given)]
    if required:
        schema["required"] = required
    return schema


def _schema(values: list[Any]) -> dict[str, Any]:
    kinds = {next((name for kind, name in _KINDS if isinstance(one, kind)), "") for one in values}
    kinds = kinds - {"integer"} if "number" in kinds else kinds
    if "" in kinds:
        return {}
    return {"type": sorted(kinds)[0] if len(kinds) == 1 else sorted(kinds)}
