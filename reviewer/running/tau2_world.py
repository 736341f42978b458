"""The world of a tau2-bench domain, as a suite's toolkit: the domain's own tools on its database.

`reviewer suite from-tau2 --checkout` copies this file into the suite's `toolkits/`, beside the
modules and the database of one domain (`tau2/domains/NAME/`). It is whole by itself: of the
benchmark it needs those modules alone. What they import of the rest (the base of toolkits and
databases, the log) is stood in for here, so that neither tau2 nor what it depends on is installed.
"""

import hashlib
import importlib
import inspect
import json
import re
import sys
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

HERE = Path(__file__).resolve().parent
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


class ToolType(str, Enum):  # noqa: UP042 (as the benchmark has it)
    """What a tool of the benchmark does."""

    READ = "read"
    WRITE = "write"
    THINK = "think"
    GENERIC = "generic"


def is_tool(tool_type: ToolType = ToolType.READ, mutates_state: bool | None = None) -> Any:
    """Mark a method as a tool, as the benchmark's decorator does."""

    def marked(function: Any) -> Any:
        function.tau2_tool = tool_type
        return function

    return marked


class Strict(BaseModel):
    """The base of the benchmark's models and databases."""

    model_config = ConfigDict(extra="forbid")


class DB(Strict):
    """The base of a domain's database."""


class ToolKitBase:
    """The base of a domain's tools."""

    def __init__(self, db: Any = None) -> None:
        self.db = db


class _Log:
    def __getattr__(self, name: str) -> Any:
        return lambda *words, **named: None


def _stand_in() -> None:
    """Put what a domain's modules import of the rest of the benchmark in its place."""
    parts: dict[str, dict[str, Any]] = {
        "loguru": {"logger": _Log()},
        "tau2.environment": {},
        "tau2.environment.db": {"DB": DB},
        "tau2.environment.toolkit": {
            "ToolKitBase": ToolKitBase, "ToolType": ToolType, "is_tool": is_tool,
            "is_discoverable_tool": is_tool,
        },
        "tau2.utils": {"DATA_DIR": HERE},
        "tau2.utils.utils": {"DATA_DIR": HERE},
        "tau2.utils.pydantic_utils": {"BaseModelNoExtra": Strict},
    }  # fmt: skip
    for name, members in parts.items():
        module = ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module


class Domain:
    """The one domain that is beside this file."""

    def __init__(self) -> None:
        _stand_in()
        (folder,) = [each.parent for each in (HERE / "tau2" / "domains").glob("*/tools.py")]
        name = f"tau2.domains.{folder.name}"
        database = _own(importlib.import_module(f"{name}.data_model"), DB)
        self._tools = _own(importlib.import_module(f"{name}.tools"), ToolKitBase)
        self._start = database.model_validate(json.loads((folder / "db.json").read_bytes()))
        self.begin()
        self.start = _dumped(self.kit.db)
        self.digest = _digest(self.start)

    def begin(self) -> None:
        """Begin again with the database as it is in db.json."""
        self.kit = self._tools(self._start.model_copy(deep=True))

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools as an agent is told them."""
        return {name: _described(method) for name, method in self._methods().items()}

    def writes(self, tool: str) -> bool:
        return self._methods()[tool].tau2_tool is ToolType.WRITE

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return _plain(self._methods()[tool](**arguments))

    def _methods(self) -> dict[str, Any]:
        names = [
            name
            for kind in reversed(type(self.kit).__mro__)
            for name, value in vars(kind).items()
            if hasattr(value, "tau2_tool")
        ]
        return {name: getattr(self.kit, name) for name in names}


class World:
    """One attempt. `state` names the database by its digest, which is the benchmark's own, and says
    what has changed since the start, as a JSON Merge Patch."""

    def __init__(self, state: dict[str, Any], options: dict[str, Any]) -> None:
        self._domain = Domain()
        self.tools = self._domain.tools()
        self.state: dict[str, Any] = {"database": self._domain.digest, "changes": {}}

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return self._domain.call(tool, arguments)
        finally:
            if self._domain.writes(tool):
                now = _dumped(self._domain.kit.db)
                changes = _changes(self._domain.start, now)
                self.state = {"database": _digest(now), "changes": changes}


class Replay:
    """What the making of a suite asks: where calls lead, from the start."""

    def __init__(self, state: dict[str, Any], options: dict[str, Any]) -> None:
        self._domain = Domain()
        told = {"description": "Makes calls.", "parameters": {"type": "object"}}
        self.tools = {**self._domain.tools(), "replay": told}
        self.state: dict[str, Any] = {}

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        self._domain.begin()
        failed = []
        for name, given in arguments["calls"]:
            try:
                self._domain.call(name, given)
            except Exception as error:  # as the benchmark, which goes on
                failed.append(f"{name}: {error}")
        return {"database": _digest(_dumped(self._domain.kit.db)), "failed": failed}


def _own(module: ModuleType, base: type) -> Any:
    """Return the one class of a module that is derived from a base."""
    (found,) = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base)
        and value is not base and value.__module__ == module.__name__
    ]  # fmt: skip
    return found


def _dumped(database: Any) -> Any:
    return database.model_dump()


def _digest(value: Any) -> str:
    told = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def _plain(answer: Any) -> Any:
    """Return an answer as JSON, as the benchmark's agents read it."""

    def part(value: Any) -> Any:
        if isinstance(value, BaseModel):
            return value.model_dump()
        if isinstance(value, list | tuple):
            return [part(each) for each in value]
        if isinstance(value, dict):
            return {name: part(each) for name, each in value.items()}
        return value

    return json.loads(json.dumps(part(answer), default=str))


def _changes(before: Any, after: Any) -> dict[str, Any]:
    """Return what changed, as a JSON Merge Patch; only changed members are looked into."""
    found: dict[str, Any] = {str(name): None for name in before.keys() - after.keys()}
    for name, value in after.items():
        if name not in before or before[name] != value:
            both = isinstance(value, dict) and isinstance(before.get(name), dict)
            found[str(name)] = _changes(before[name], value) if both else _plain(value)
    return found


def _described(method: Any) -> dict[str, Any]:
    """Return a tool's description and the JSON Schema of its arguments, out of its docstring and
    its signature."""
    words: list[str] = []
    told: dict[str, str] = {}
    section, last = "", ""
    for line in inspect.cleandoc(method.__doc__ or "").splitlines():
        if (begun := _SECTION.match(line)) is not None:
            section = begun[1]
        elif not section:
            words.append(line)
        elif section.startswith("Arg"):
            named = _PARAMETER.match(line.strip())
            if named is not None and len(line) - len(line.lstrip()) <= 4:
                last = named[1]
                told[last] = named[2]
            elif last:
                told[last] = f"{told[last]} {line.strip()}".strip()
    members: dict[str, Any] = {}
    for name, parameter in inspect.signature(method).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        kind = Any if parameter.annotation is parameter.empty else parameter.annotation
        members[name] = (kind, Field(default, description=told.get(name)))
    schema = create_model("parameters", **members).model_json_schema()
    return {
        "description": "\n".join(words).strip() or method.__name__,
        "parameters": {"properties": {}, **schema, "type": "object"},
    }
