"""Tools from a Python module's typed functions, by its syntax tree: none of its code is
imported."""

import ast
import json
import re
from typing import Any

from reviewer.suite.errors import shown
from reviewer.suite.scaffold import FoundTool, FoundTools, NoTools, found_tool

_MARKS = frozenset({"tool", "function_tool", "ai_function", "tool_plain", "beta_tool"})
"""Names of decorators by which frameworks mark their tools."""
_GIVEN = frozenset({"self", "cls", "ctx", "context", "run_context", "config", "tool_context"})
"""Parameters that a framework fills, not the agent."""
_SIMPLE: dict[str, dict[str, Any]] = {
    "str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"},
    "Decimal": {"type": "number"}, "bool": {"type": "boolean"}, "None": {"type": "null"},
    "dict": {"type": "object"}, "list": {"type": "array"}, "tuple": {"type": "array"},
    "set": {"type": "array"}, "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"}, "Any": {}, "UUID": {"type": "string"},
}  # fmt: skip
_LISTS = frozenset({"list", "List", "Sequence", "Iterable", "tuple", "Tuple", "set", "Set"})
_DICTS = frozenset({"dict", "Dict", "Mapping"})
_ENUMS = frozenset({"Enum", "StrEnum", "IntEnum"})
_RECORDS = frozenset({"BaseModel", "TypedDict", "NamedTuple", "Struct", "dataclass"})
_SECTION = re.compile(r"\n[ \t]*(?:Args|Arguments|Parameters):[ \t]*\n(.*?)(?:\n[ \t]*\n|\Z)", re.S)
_ARGUMENT = re.compile(r"^[ \t]*(\w+)[ \t]*(?:\([^)\n]*\))?:[ \t]*(.+)$", re.M)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def tools_of(source: str, file: str) -> FoundTools:
    """Return a tool for each function that is marked as one, else for each public function whose
    parameters all have types. Raises NoTools."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else file
        raise NoTools(where, "is not Python that can be parsed") from None
    functions = [each for each in tree.body if isinstance(each, _Function)]
    marked = [
        each for each in functions if any(_mark(one) in _MARKS for one in each.decorator_list)
    ]
    public = [each for each in functions if not each.name.startswith("_")]
    notes: list[str] = []
    tools = []
    types = _Types(tree)
    for each in marked or public:
        where = f"line {each.lineno}"
        if (reason := _untyped(each)) is not None:
            notes.append(f"{where}: {each.name} is left out: {reason}")
            continue
        tools.append(_tool(where, each, types))
        if types.unknown:
            named = ", ".join(f"`{shown(one)}`" for one in types.unknown)
            notes.append(f"{where}: {each.name}: not a known type, so any value fits: {named}")
            types.unknown.clear()
    if not tools:
        raise NoTools(
            file,
            "has no function that can be a tool" + (f" ({notes[0]})" if notes else ""),
            "give every parameter of its functions a type",
        )
    return FoundTools(tuple(tools), tuple(notes))


def _mark(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _parameters(function: _Function) -> list[tuple[ast.arg, ast.expr | None]]:
    """Return each parameter that an agent fills, with its default."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    padded: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    pairs = [*zip(plain, [*padded, *given.defaults], strict=True)]
    pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return [(one, default) for one, default in pairs if one.arg not in _GIVEN]


def _untyped(function: _Function) -> str | None:
    if function.args.vararg or function.args.kwarg:
        return "it takes *args or **kwargs"
    for one, _ in _parameters(function):
        if one.annotation is None:
            return f"`{shown(one.arg)}` has no type"
    return None


def _tool(where: str, function: _Function, types: "_Types") -> FoundTool:
    text = ast.get_docstring(function) or ""
    section = _SECTION.search(f"\n{text}\n")
    told = {name: said.strip() for name, said in _ARGUMENT.findall(section[1])} if section else {}
    properties: dict[str, Any] = {}
    required = []
    for one, default in _parameters(function):
        assert one.annotation is not None  # `_untyped` has checked this
        schema = types.schema(one.annotation)
        if one.arg in told:
            schema = {**schema, "description": told[one.arg]}
        if default is None:
            required.append(one.arg)
        elif (value := types.default(default)) is not None:
            schema = {**schema, "default": value}
        properties[one.arg] = schema
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    parameters["additionalProperties"] = False
    return found_tool(where, function.name, " ".join(text.split("\n\n")[0].split()), parameters)


class _Types:
    """The JSON Schemas of annotations, including the module's own enumerations and records.
    `unknown` has the annotations without a known schema: they accept any value."""

    def __init__(self, tree: ast.Module) -> None:
        self._classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
        self._open: set[str] = set()
        self.unknown: dict[str, None] = {}

    def schema(self, node: ast.expr) -> dict[str, Any]:
        if isinstance(node, ast.Constant):
            if node.value is None:
                return {"type": "null"}
            return self._quoted(node.value) if isinstance(node.value, str) else self._any(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _either([self.schema(node.left), self.schema(node.right)])
        if isinstance(node, ast.Subscript):
            return self._generic(node)
        name = _mark(node)
        if name in self._classes and name not in self._open:
            self._open.add(name)
            found = self._own(self._classes[name])
            self._open.discard(name)
            if found is not None:
                return found
        return dict(_SIMPLE[name]) if name in _SIMPLE else self._any(node)

    def default(self, node: ast.expr) -> Any:
        """Return a default that JSON can represent, else None."""
        owner = self._classes.get(_mark(node.value)) if isinstance(node, ast.Attribute) else None
        if owner is not None and isinstance(node, ast.Attribute):
            return _members(owner).get(node.attr)
        return _literal(node)

    def _any(self, node: ast.expr) -> dict[str, Any]:
        self.unknown[ast.unparse(node)] = None
        return {}

    def _own(self, node: ast.ClassDef) -> dict[str, Any] | None:
        bases = {_mark(one) for one in node.bases}
        if bases & _ENUMS:
            values = list(_members(node).values())
            return {"enum": values} if values and _is_json(values) else None
        if not bases & _RECORDS and not any(_mark(one) in _RECORDS for one in node.decorator_list):
            return None
        total = not any(
            one.arg == "total" and getattr(one.value, "value", True) is False
            for one in node.keywords
        )
        properties: dict[str, Any] = {}
        required = []
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                properties[one.target.id] = self.schema(one.annotation)
                if one.value is None and total:
                    required.append(one.target.id)
        told: dict[str, Any] = {"type": "object", "properties": properties}
        return {**told, "required": required} if required else told

    def _quoted(self, text: str) -> dict[str, Any]:
        try:
            return self.schema(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, RecursionError):
            self.unknown[text] = None
            return {}

    def _generic(self, node: ast.Subscript) -> dict[str, Any]:
        name, inner = _mark(node.value), node.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if name == "Literal":
            values = [part.value for part in parts if isinstance(part, ast.Constant)]
            known = len(values) == len(parts) and _is_json(values)
            return {"enum": values} if known else self._any(node)
        if name == "Annotated":
            constants = [part.value for part in parts[1:] if isinstance(part, ast.Constant)]
            texts = [text for text in constants if isinstance(text, str)]
            return {**self.schema(parts[0]), **({"description": texts[0]} if texts else {})}
        if name == "Optional":
            return _either([self.schema(parts[0]), {"type": "null"}])
        if name == "Union":
            return _either([self.schema(part) for part in parts])
        if name in _LISTS:
            items = self.schema(parts[0])
            return {"type": "array", **({"items": items} if items else {})}
        return {"type": "object"} if name in _DICTS else self._any(node)


def _members(node: ast.ClassDef) -> dict[str, Any]:
    """Return the values of an enumeration that JSON can represent."""
    return {
        one.targets[0].id: value
        for one in node.body
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        if (value := _literal(one.value)) is not None
    }


def _either(parts: list[dict[str, Any]]) -> dict[str, Any]:
    flat = [inner for part in parts for inner in part.get("anyOf", [part])]
    if not all(flat):
        return {}
    kinds = [part.get("type") for part in flat]
    if all(set(part) == {"type"} for part in flat) and all(isinstance(one, str) for one in kinds):
        return {"type": kinds}
    return {"anyOf": flat}


def _literal(node: ast.expr) -> Any:
    """Return a default that JSON can say, else None."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if _is_json(value) else None


def _is_json(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False
