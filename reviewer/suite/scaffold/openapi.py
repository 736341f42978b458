"""Tools from an OpenAPI 3 document: one for each operation.

Members of path, query and body are one object of arguments. A reference is replaced by its target;
one into another file is refused, and a circular one accepts any value. A document that becomes too
large by that is refused: references to references double with each level.
"""

import re
from collections.abc import Iterator
from typing import Any

from reviewer.suite.errors import shown
from reviewer.suite.json_values import MISSING
from reviewer.suite.scaffold import FoundTool, FoundTools, NoTools, found_tool, place
from reviewer.suite.strict_json import MAX_INT

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
_READING = frozenset({"get", "head", "options", "trace"})
_DEEPEST = 40
MOST_VALUES = 100_000
"""Values of a document's schemas, each counted wherever it is referred to."""
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\b|\*/\*")
_WAY_OUT = "rename one of them in the document: the agent gives all arguments as one object"


def is_openapi(raw: Any) -> bool:
    """Return whether a document says that it is an OpenAPI (or Swagger) description."""
    return isinstance(raw, dict) and ("openapi" in raw or "swagger" in raw)


def tools_of(raw: dict[str, Any]) -> FoundTools:
    """Return a tool for each operation. Raises NoTools, naming the place."""
    version = raw.get("openapi")
    if not isinstance(version, str) or not version.startswith("3."):
        named = "openapi" if "openapi" in raw else "swagger"
        said = shown(str(raw.get(named)))
        raise NoTools(
            place(named),
            f"OpenAPI {said} is not read: 3.0 and 3.1 are",
            "convert it to OpenAPI 3, for example with swagger2openapi",
        )
    document = _Document(raw)
    tools = tuple(document.tools())
    if not tools:
        raise NoTools("$.paths", "has no operation")
    places: dict[str, str] = {}
    for tool in tools:  # one of them may read and the other write
        if tool.name in places:
            said = f"is called `{shown(tool.name)}`, as the one at {places[tool.name]}"
            raise NoTools(tool.place, said, "give each operation an operationId of its own")
        places[tool.name] = tool.place
    return FoundTools(tools, tuple(dict.fromkeys(document.notes)))


class _Document:
    """One document being read."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self._inlined_values = 0
        self.notes: list[str] = []

    def tools(self) -> Iterator[FoundTool]:
        paths = self._raw.get("paths")
        for path, item in (paths if isinstance(paths, dict) else {}).items():
            where = place("paths", path)
            shared = self.resolved(item, where)
            for method in _METHODS:
                if isinstance(shared, dict) and isinstance(shared.get(method), dict):
                    yield self._operation(f"{where}.{method}", path, method, shared)

    def _operation(self, where: str, path: str, method: str, item: dict[str, Any]) -> FoundTool:
        told = item[method]
        name = told.get("operationId")
        if not name:
            name = re.sub(r"[^A-Za-z0-9]+", "_", f"{method}_{path}").strip("_")
            self.notes.append(f"{where}: has no operationId: called {name}")
        description = told.get("summary") or told.get("description")
        arguments = _Arguments(where)
        both = {"parameters": item, f"{method}.parameters": told}
        named: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {}
        base = where.rpartition(".")[0]
        for at, holder in both.items():
            listed = holder.get("parameters")
            for number, each in enumerate(listed if isinstance(listed, list) else []):
                spot = f"{base}.{at}[{number}]"
                one = self.resolved(each, spot)
                if isinstance(one, dict) and isinstance(one.get("name"), str):
                    named[one["name"], str(one.get("in"))] = (spot, one)
        for (called, kind), (spot, one) in named.items():
            if kind not in ("path", "query"):
                self.notes.append(f"{spot}: {kind} parameter {shown(called)} is left out")
                continue
            schema = dict(self.inlined(one.get("schema") or {}, spot))
            if isinstance(one.get("description"), str):
                schema.setdefault("description", one["description"])
            arguments.add(called, schema, bool(one.get("required")) or kind == "path", spot)
        self._body(arguments, told.get("requestBody"), f"{where}.requestBody")
        answer = self._answer(told.get("responses"), f"{where}.responses")
        parameters = arguments.schema()
        return found_tool(where, name, description, parameters, method not in _READING, answer)

    def _body(self, arguments: "_Arguments", body: Any, where: str) -> None:
        body = self.resolved(body, where)
        content = body.get("content") if isinstance(body, dict) else None
        media = _json_of(content)
        if media is None:
            if isinstance(content, dict) and content:
                self.notes.append(f"{where}: a body that is not JSON is left out")
            return
        schema = self.inlined(media.get("schema") or {}, where)
        properties = schema.get("properties")
        required = bool(body.get("required"))
        if not isinstance(properties, dict):
            arguments.add("body", schema, required, where)
            return
        wanted = schema.get("required")
        if wanted and not required:
            self.notes.append(
                f"{where}: is not `required: true`: a call may omit all of its members, also those "
                "that the body requires"
            )
        for name, part in properties.items():
            needed = required and isinstance(wanted, list) and name in wanted
            arguments.add(name, part, needed, f"{where}.{name}")

    def _answer(self, responses: Any, where: str) -> Any:
        for code, response in (responses if isinstance(responses, dict) else {}).items():
            if not str(code).startswith("2"):
                continue
            told = self.resolved(response, f"{where}.{code}")
            content = told.get("content") if isinstance(told, dict) else None
            if not content:
                return "" if str(code) == "204" else MISSING
            media = _json_of(content)
            if media is not None:
                return self._example(media, f"{where}.{code}")
        return MISSING

    def _example(self, media: dict[str, Any], where: str) -> Any:
        if "example" in media:
            return media["example"]
        examples = media.get("examples")
        for each in examples.values() if isinstance(examples, dict) else ():
            one = self.resolved(each, where)
            if isinstance(one, dict) and "value" in one:
                return one["value"]
        schema = self.resolved(media.get("schema") or {}, where)
        if isinstance(schema, dict):
            if "example" in schema:
                return schema["example"]
            if isinstance(schema.get("examples"), list) and schema["examples"]:
                return schema["examples"][0]
        return MISSING

    def resolved(self, value: Any, where: str, seen: tuple[str, ...] = ()) -> Any:
        """Return the target of a reference; any other value unchanged."""
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            reference = value["$ref"]
            if reference in seen or len(seen) > _DEEPEST:
                raise NoTools(where, f"`{shown(reference, 200)}` refers to itself")
            seen = (*seen, reference)
            value = self._target(reference, where)
        return value

    def _target(self, reference: str, where: str) -> Any:
        if not reference.startswith("#/"):
            raise NoTools(
                where,
                f"`{shown(reference, 200)}` is in another file, which is not opened",
                "bundle the document into one file, for example with redocly bundle",
            )
        value: Any = self._raw
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(value, dict) or name not in value:
                raise NoTools(where, f"`{shown(reference, 200)}` is not in the document")
            value = value[name]
        return value

    def inlined(self, schema: Any, where: str, open_: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return a schema with its references replaced; `open_` are those on the way here."""
        found = self._inlined(schema, where, open_)
        return found if isinstance(found, dict) else {}

    def _inlined(self, value: Any, where: str, open_: tuple[str, ...]) -> Any:
        self._inlined_values += 1
        if self._inlined_values > MOST_VALUES:
            raise NoTools(
                where,
                f"over {MOST_VALUES:,} values with every reference in place of its target",
                "give a document of only the operations that the agent calls, with flat schemas",
            )
        if isinstance(value, list):
            return [self._inlined(each, where, open_) for each in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            if reference in open_ or len(open_) > _DEEPEST:
                self.notes.append(f"{where}: {shown(reference, 200)} holds itself: any value there")
                return {}
            beside = {name: part for name, part in value.items() if name != "$ref"}
            target = self._inlined(self._target(reference, where), where, (*open_, reference))
            value = {**target, **beside} if isinstance(target, dict) else beside
        parts = value.get("allOf")
        if isinstance(parts, list) and parts:
            return self._joined(value, parts, where, open_)
        return {name: self._inlined(part, where, open_) for name, part in value.items()}

    def _joined(
        self, value: dict[str, Any], parts: list[Any], where: str, open_: tuple[str, ...]
    ) -> Any:
        """Return an object with the members of each part of its `allOf`."""
        each = [self._inlined(part, where, open_) for part in parts]
        own = {name: part for name, part in value.items() if name != "allOf"}
        rest = self.inlined(own, where, open_)
        if not all(isinstance(one, dict) and "properties" in one for one in each):
            return {**rest, "allOf": each}
        properties: dict[str, Any] = {}
        required: list[str] = []
        for one in (*each, rest):
            properties |= one.get("properties") or {}
            required += [name for name in one.get("required") or () if name not in required]
        return {**rest, "type": "object", "properties": properties, "required": required}


class _Arguments:
    """The arguments of one operation, in the order of the document."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self._spots: dict[str, str] = {}

    def add(self, name: str, schema: Any, required: bool, spot: str) -> None:
        if name in self._spots:
            said = f"`{shown(name)}` is an argument twice, here and at {self._spots[name]}"
            raise NoTools(spot, said, _WAY_OUT)
        self._spots[name] = spot
        self._properties[name] = _plain(schema)
        if required:
            self._required.append(name)

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "object", "properties": self._properties}
        if self._required:
            found["required"] = self._required
        return {**found, "additionalProperties": False}


def _plain(schema: Any) -> Any:
    """Return a schema without members that OpenAPI 3.0 has and JSON Schema has not, and without
    limits that a file of a suite cannot state."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left = {
        name: _plain(part)
        for name, part in schema.items()
        if name not in ("nullable", "discriminator", "xml", "externalDocs", "example")
        and not (isinstance(part, int) and abs(part) > MAX_INT)
    }
    if schema.get("nullable") is True and isinstance(left.get("type"), str):
        left["type"] = [left["type"], "null"]
    return left


def _json_of(content: Any) -> dict[str, Any] | None:
    """Return the JSON form of a body or an answer."""
    for kind, media in (content if isinstance(content, dict) else {}).items():
        if _JSON.match(str(kind)) and isinstance(media, dict):
            return media
    return None
