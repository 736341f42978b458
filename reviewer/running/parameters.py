"""A call's arguments against the tool's JSON Schema, before the world sees them.

A schema stands whole in the suite: it may refer to its own parts (`#/…`), and nothing is ever
fetched for it.
"""

import json
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from reviewer.running.model import ToolSpec, Unrunnable
from reviewer.trace.safetext import cap, visible_line

MAX_DEPTH = 48
"""Objects and lists inside one another; beyond it a record would be nested too deep to be read."""

_FAULTS = 3
_LONGEST = 300


class Parameters:
    """The parameter schemas of the tools that a candidate is given.

    Raises Unrunnable naming `file` and the tool for a schema that cannot be used.
    """

    def __init__(self, specs: Iterable[ToolSpec], file: str) -> None:
        self._file = file
        self._validators = {spec.name: self._validator(spec) for spec in specs}

    def problem(self, tool: str, arguments: dict[str, Any]) -> str | None:
        """Why a tool of these cannot be called with `arguments`, as an API would say it; None
        when it can."""
        if (reason := _unfit(arguments)) is not None:
            return f"invalid arguments: {reason}"
        from referencing.exceptions import Unresolvable

        try:
            faults = list(islice(self._validators[tool].iter_errors(arguments), _FAULTS))
        except Unresolvable as error:
            raise self._refused(tool, f"refers to `{error.ref}`, which it does not hold") from None
        except RecursionError:
            raise self._refused(tool, "refers to itself without end") from None
        if not faults:
            return None
        return "invalid arguments: " + "; ".join(_worded(fault) for fault in faults)

    def _validator(self, spec: ToolSpec) -> Any:
        for reference in _references(spec.parameters):
            if not reference.startswith("#"):
                reason = f"refers to `{reference}`: copy what it names into `$defs`"
                raise self._refused(spec.name, reason)
        try:
            return _compiled(json.dumps(spec.parameters))
        except ValueError as error:
            raise self._refused(spec.name, str(error)) from None

    def _refused(self, tool: str, reason: str) -> Unrunnable:
        where = f"{self._file}: the parameters of {visible_line(tool)}"
        return Unrunnable(f"{where}: {cap(visible_line(reason), _LONGEST)}")


@lru_cache(maxsize=512)
def _compiled(schema: str) -> Any:
    """A validator that fetches nothing. ValueError for what is no JSON Schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    value = json.loads(schema)
    try:
        kind = validator_for(value, default=Draft202012Validator)
        kind.check_schema(value)
    except SchemaError as error:
        raise ValueError(f"no JSON Schema: {error.json_path}: {error.message}") from None
    except (AttributeError, TypeError):
        raise ValueError("no JSON Schema: $.$schema must be text") from None
    return kind(value, registry=Registry())


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for name, value in part.items():
                if name in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(value, str):
                    yield value
                else:
                    waiting.append(value)
        elif isinstance(part, list):
            waiting += part


def _unfit(arguments: dict[str, Any]) -> str | None:
    """Why these are no arguments that JSON could carry, whatever the schema says."""
    level: list[Any] = [arguments]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, float) and not math.isfinite(value):
                return "a number is not finite"
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
        if not below:
            return None
        level = below
    return f"nested more than {MAX_DEPTH} deep"


def _worded(fault: Any) -> str:
    where = fault.json_path.removeprefix("$").removeprefix(".")
    text = f"{where}: {fault.message}" if where else fault.message
    return cap(visible_line(text), _LONGEST)
