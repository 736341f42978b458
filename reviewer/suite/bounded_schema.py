"""Check values against JSON Schemas in bounded steps, with the words of `jsonschema`.

The values are those of candidates and traces. Left to itself, `jsonschema` may take time that
doubles with each character of a text (`pattern`) or each level of a value (alternatives that refer
to themselves), or that grows with the square of a list (`uniqueItems`).
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from reviewer.suite.linear_patterns import OutOfSteps, Steps, Unbounded, compiled

MOST_STEPS = 4_000_000
"""Steps of one check, or of those that share them. One character of a text against one state of a
pattern is a step, and a million take about a second."""
_KEYWORD = 20
_SHORT = 20
"""Characters of a text that any pattern may be searched for in: the doubling ends early."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
_left = threading.local()


class TooLarge(ValueError):
    """A value takes more steps to check than a check may."""


def faults(validator: Any, value: Any, most: int = 1, steps: Steps | None = None) -> list[Any]:
    """Return the first violations of a schema, at most `most`; `steps` may be shared by several
    checks. Raises TooLarge, and what the validator raises for references that lead nowhere."""
    _left.steps = Steps(MOST_STEPS) if steps is None else steps
    try:
        return list(islice(validator.iter_errors(value), most))
    except (OutOfSteps, ArithmeticError) as error:
        raise TooLarge("too large to be checked against the schema") from error


def validator_of(schema: Any, **options: Any) -> Any:
    """Return a validator for the dialect that a schema names. Raises SchemaError for what is no
    schema, AttributeError or TypeError for what names none."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    return _bounded(kind)(schema, **options)


def fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value complies with a part of a schema. Raises what `faults` raises, and
    whatever `jsonschema` does for what is no schema."""
    from jsonschema import Draft202012Validator

    return not faults(_bounded(Draft202012Validator)(dict(schema)), value)


@lru_cache(maxsize=8)
def _bounded(kind: Any) -> Any:
    from jsonschema.validators import extend

    own = {name: _counted(function) for name, function in kind.VALIDATORS.items()}
    return extend(
        kind,
        {
            **own,
            "pattern": _counted(_pattern),
            "patternProperties": _counted(_pattern_properties),
            "additionalProperties": _additional_properties(own.get("additionalProperties")),
            "unevaluatedProperties": _unevaluated_properties(own.get("unevaluatedProperties")),
            "uniqueItems": _counted(_unique_items),
        },
    )


def _counted(keyword: Keyword) -> Keyword:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any] | None:
        _left.steps.take(_KEYWORD)
        return keyword(validator, value, instance, schema)

    return checked


def _found(pattern: str, text: str) -> bool:
    """Return whether a text contains a match of a pattern."""
    try:
        return compiled(pattern).search(text, _left.steps)
    except (Unbounded, RecursionError) as error:
        if len(text) > _SHORT:
            raise OutOfSteps from error
        return re.search(pattern, text) is not None


def _fault(text: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(text)


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "string") and not _found(pattern, instance):
        yield _fault(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if _found(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(plain: Keyword | None) -> Keyword:
    def checked(validator: Any, more: Any, instance: Any, schema: Any) -> Iterator[Any] | None:
        _left.steps.take(_KEYWORD)
        patterns: Mapping[str, Any] = schema.get("patternProperties") or {}
        if not patterns:
            return None if plain is None else plain(validator, more, instance, schema)
        return _additional(validator, more, instance, schema, patterns)

    return checked


def _additional(
    validator: Any, more: Any, instance: Any, schema: Any, patterns: Mapping[str, Any]
) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    listed = schema.get("properties", {})
    extra = [
        name
        for name in instance
        if name not in listed and not any(_found(pattern, name) for pattern in patterns)
    ]
    if validator.is_type(more, "object"):
        for name in extra:
            yield from validator.descend(instance[name], more, path=name)
    elif not more and extra:
        verb = "does" if len(extra) == 1 else "do"
        names = ", ".join(repr(name) for name in sorted(extra))
        yield _fault(
            f"{names} {verb} not match any of the regexes: "
            + ", ".join(repr(pattern) for pattern in sorted(patterns))
        )


def _unevaluated_properties(plain: Keyword | None) -> Keyword:
    """Of this keyword, `jsonschema` itself searches names for the patterns beside it: long names
    are left to nobody."""

    def checked(validator: Any, more: Any, instance: Any, schema: Any) -> Iterator[Any] | None:
        _left.steps.take(_KEYWORD)
        long = isinstance(instance, dict) and any(len(name) > _SHORT for name in instance)
        if long and "patternProperties" in json.dumps(validator.schema):
            raise OutOfSteps
        return None if plain is None else plain(validator, more, instance, schema)

    return checked


def _unique_items(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not wanted or not validator.is_type(instance, "array"):
        return
    seen: set[str] = set()
    for item in instance:
        text = json.dumps(_numbered(item), sort_keys=True)
        _left.steps.take(1 + len(text) // 8)
        if text in seen:
            yield _fault(f"{instance!r} has non-unique elements")
            return
        seen.add(text)


def _numbered(value: Any) -> Any:
    """Return a value with equal numbers written alike: JSON Schema has 1.0 equal 1, and not
    true."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _numbered(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_numbered(one) for one in value]
    return value
