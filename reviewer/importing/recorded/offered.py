"""The tools that an agent was offered: as its trace defines them, else inferred from its calls."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reviewer.importing.archive import Archive, EntryProblem
from reviewer.importing.foreign_json import NotJson, parse
from reviewer.importing.pipeline.opening import kind_of, start_of
from reviewer.importing.pipeline.split import Unreadable
from reviewer.importing.reader import Broken
from reviewer.importing.recorded import NotUsable
from reviewer.importing.recorded.attempts import AttemptFile
from reviewer.importing.recorded.story import Made
from reviewer.importing.source import Source
from reviewer.suite.errors import name_problem, shown
from reviewer.suite.json_values import same
from reviewer.suite.scaffold.calls import inferred_schema
from reviewer.suite.simulator import no_object_schema
from reviewer.trace.safetext import visible_line

MOST_VALUES = 2_000_000
MOST_ENTRIES = 2_000
DEEPEST = 80
NESTED = 3
_MEND = "mend it in the file: each tool is offered as it stands there"
_SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "parametersJsonSchema"),
    *("parameters_json_schema", "args_schema", "params_json_schema"),
)


class Definition(NamedTuple):
    """A tool as it was offered. `inferred` says that its schema was made from the calls."""

    name: str
    description: str
    parameters: dict[str, Any]
    inferred: bool = False


def tools_of_file(path: Path) -> dict[str, Definition]:
    """Return the tools that a file defines, in any usual form. Raises NotUsable, also for a part
    that cannot be read and for a tool that could not be offered to a candidate: leaving it out
    would hide that the agent had it."""
    try:
        values = list(_values(path, broken=True))
        for number, value in enumerate(values, 1):
            if isinstance(value, Broken):
                why = ", ".join(value.codes)
                text = f"{path}: record {number} cannot be read: {visible_line(why)}"
                raise NotUsable(text, _MEND)
        found = _unique(definitions_in(values, str(path)), None, str(path))
    except OSError as error:
        raise NotUsable(f"{path}: cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise NotUsable(f"{path}: {error}") from None
    if not found:
        raise NotUsable(f"{path}: defines no tool", "--tools takes the tools as an API lists them")
    return found


def tools_of_trace(file: AttemptFile, called: Iterable[str]) -> dict[str, Definition]:
    """Return the tools that the file defines for an attempt: in a file of several whose part is not
    known, only those that it called. Raises NotUsable where two of one name differ and it was
    called."""
    names, attempt = frozenset(called), file.attempt
    try:
        if attempt.raw:
            own = [parse(attempt.raw)]
        else:
            own = list(_values(file.path, attempt.name.replace("/", "_epoch_")))
    except (Unreadable, OSError, NotJson):
        return {}  # definitions only help: the calls show what was called
    if len(own) == file.held:
        own = [own[attempt.number - 1]]
    found = _unique(definitions_in(own), names, str(file.path))
    if file.held == 1 or len(own) == 1:
        return found
    return {name: one for name, one in found.items() if name in names}


def _values(path: Path, stem: str = "", broken: bool = False) -> Iterator[Any]:
    """Yield the JSON values in a file; in an archive those of the entry with this stem, if any.
    `broken` also yields the parts that cannot be read."""
    if kind_of(start_of(path, 32)) == "zip":
        with Archive(path, salvage=True) as archive:
            names = [name for name in archive.names() if name.endswith(".json")]
            names = [name for name in names if Path(name).stem == stem] or names
            for name in names[:MOST_ENTRIES]:
                try:
                    yield parse(archive.read(name))
                except (EntryProblem, NotJson):
                    continue
        return
    for _, value in Source(path).records():
        if broken or not isinstance(value, Broken):
            yield value


def definitions_in(values: Iterable[Any], file: str = "") -> Iterator[Definition]:
    """Yield the tools defined anywhere in these values, also in texts of JSON. With a `file`, raise
    NotUsable for the definition of a tool that cannot be offered."""
    left = MOST_VALUES
    for value in values:
        waiting: list[tuple[Any, int, int]] = [(value, 0, 0)]
        while waiting and left:
            left -= 1
            one, depth, nested = waiting.pop()
            if isinstance(one, str) and nested < NESTED and '"name"' in one:
                if one.lstrip()[:1] in ("{", "["):
                    try:
                        held = parse(one.encode("utf-8", "surrogatepass"))
                    except NotJson:
                        continue
                    waiting.append((held, depth, nested + 1))
            elif isinstance(one, dict):
                found = _definition(one)
                if found is not None:
                    yield found
                elif file and (reason := _misfit(one)) is not None:
                    raise NotUsable(f"{file}: {reason}", _MEND)
                elif depth < DEEPEST:
                    waiting += [(held, depth + 1, nested) for held in reversed(one.values())]
            elif isinstance(one, list) and depth < DEEPEST:
                waiting += [(held, depth + 1, nested) for held in reversed(one)]


def _definition(value: dict[str, Any]) -> Definition | None:
    inner = value.get("function")
    wrapped = value.get("type") == "function" and isinstance(inner, dict)
    told: dict[str, Any] = inner if wrapped and isinstance(inner, dict) else value
    name = told.get("name")
    if not isinstance(name, str) or not name or name_problem(name) is not None:
        return None
    schema = next((told[key] for key in _SCHEMAS if isinstance(told.get(key), dict)), None)
    if schema is None:
        if not wrapped or "arguments" in told:
            return None
        schema = {"type": "object", "properties": {}}
    if schema.get("type") != "object" and "properties" not in schema:
        return None
    schema = {"type": "object", **schema}
    if no_object_schema(schema) is not None:
        return None
    description = told.get("description")
    return Definition(name, description if isinstance(description, str) else "", schema)


def _misfit(value: dict[str, Any]) -> str | None:
    """Return why an object in the form of a definition is invalid; None for any other object."""
    inner = value.get("function")
    wrapped = value.get("type") == "function" and isinstance(inner, dict)
    told: dict[str, Any] = inner if wrapped and isinstance(inner, dict) else value
    name, schemas = told.get("name"), [told[key] for key in _SCHEMAS if key in told]
    listed = wrapped or any(isinstance(one, dict) and "properties" in one for one in schemas)
    if not listed or "arguments" in told:
        return None
    if not isinstance(name, str) or not name:
        return "defines a tool without a name"
    if (reason := name_problem(name)) is not None:
        return f"the tool {shown(name)}: {reason}"
    schema = next((one for one in schemas if isinstance(one, dict)), None)
    why = None if schema is None else no_object_schema({"type": "object", **schema})
    return f"the parameters of {shown(name)}: {why or 'are no JSON Schema of an object'}"


def _unique(
    found: Iterable[Definition], matters: frozenset[str] | None, where: str
) -> dict[str, Definition]:
    """Return the definitions by name. Raises NotUsable for two of one name that differ."""
    unique: dict[str, Definition] = {}
    for one in found:
        other = unique.setdefault(one.name, one)
        differs = not same(other.parameters, one.parameters)
        if differs and (matters is None or one.name in matters):
            raise NotUsable(
                f"{where}: defines the tool {visible_line(one.name)} twice, with different schemas",
                "--tools FILE gives the tools as the agent was offered them",
            )
    return unique


def offered_tools(
    defined: Mapping[str, Definition], calls: Iterable[Made]
) -> dict[str, Definition]:
    """Return every tool that was defined or called; a schema that nothing defines is inferred from
    the arguments of the calls."""
    made: dict[str, list[dict[str, Any]]] = {}
    for call in calls:
        made.setdefault(call.tool, []).append(call.arguments)
    tools = dict(defined)
    for name, arguments in made.items():
        if name not in tools:
            tools[name] = inferred_tool(name, arguments)
    return tools


def inferred_tool(name: str, calls: Sequence[Mapping[str, Any]]) -> Definition:
    """Return a tool inferred from the arguments of its calls; it accepts others too."""
    schema = inferred_schema(calls)
    every = schema.get("required", [])
    schema |= {"required": every, "additionalProperties": True}
    return Definition(name, "", schema, True)
