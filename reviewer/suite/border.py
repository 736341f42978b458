"""The strict reading of files that people write: pydantic models derived from the file shapes.

A shape is a msgspec struct (`model`, `rubric`, `candidate`, `script`, `toolset`, and those of
`reviewer.review`). From its annotations come the model that refuses invalid files, with every fault
named, and the published JSON Schema. Imported only where a file is read for the first time:
importing pydantic costs a command a tenth of a second.
"""

import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)

from reviewer.suite.border_words import Location, choices, members, type_reason, unknown_reason
from reviewer.suite.candidate import Candidate
from reviewer.suite.errors import ContractError, Problem, json_path
from reviewer.suite.fields import COMPUTED, FROM_STRUCT, Check, Extra, File, Limits, Short
from reviewer.suite.model import Episode, Policy, Suite
from reviewer.suite.power import Power
from reviewer.suite.release import Release
from reviewer.suite.rubric import JudgePrompt, Rubric
from reviewer.suite.script import Script
from reviewer.suite.strict_json import load_object
from reviewer.suite.toolset import Toolset
from reviewer.suite.value import Value

FILES: Mapping[str, type[msgspec.Struct]] = {
    "suite": Suite,
    "episode": Episode,
    "rubric": Rubric,
    "judge": JudgePrompt,
    "candidate": Candidate,
    "policy": Policy,
    "script": Script,
    "power": Power,
    "toolset": Toolset,
}
"""The kinds of file of a suite, and `policy`, which is a part of one."""

_EDITED = frozenset({*FILES.values(), Release} - {Policy})
_EDITOR = (
    "Where an editor finds this schema: an address, or a path. The schema is not read, and nothing "
    "is judged by it; it is part of the file, and so of its digest."
)

_PUBLISHED = {
    "JudgePrompt": "JudgeShape",
    "JudgeQuestion": "AskedShape",
    "LabelPolicy": "LabelsShape",
    "RegressionPolicy": "RegressionShape",
    "ApprovalPolicy": "ApprovalsShape",
    "RedactionRules": "RedactionShape",
}
"""Published titles that are not the struct's name and `Shape`."""

_models: dict[type[msgspec.Struct], type["Shape"]] = {}
_lock = threading.RLock()


class Shape(BaseModel):
    """Base of every derived model: exact types, no unknown members, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ShapeFault(NamedTuple):
    """One error of shape: where, why, and whether it is an unknown or a missing member."""

    where: Location
    reason: str
    unknown: bool
    missing: bool = False


def shape_of(struct: type[msgspec.Struct]) -> type[Shape]:
    """Return the strict model of the file shape that `struct` defines."""
    with _lock:
        if struct not in _models:
            _models[struct] = _derived(struct)
        return _models[struct]


def json_schema(kind: str, files: Mapping[str, type[msgspec.Struct]] = FILES) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one kind of file. KeyError naming the known kinds for
    another."""
    if kind not in files:
        raise KeyError(f"no schema of `{kind}`; known: {', '.join(sorted(files))}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"reviewer/{kind}@1",
        **shape_of(files[kind]).model_json_schema(),
    }


def faults_of(raw: Any, struct: type[msgspec.Struct]) -> list[ShapeFault]:
    """Return every fault of shape in `raw`, in the order of the file."""
    model = shape_of(struct)
    try:
        model.model_validate(raw)
    except ValidationError as error:
        return _faults(model, error)
    return []


def read_shape(
    data: bytes, file: str, struct: type[msgspec.Struct], **limits: int
) -> dict[str, Any]:
    """Return one file of the given shape, as plain data. ContractError with every fault of shape.

    `limits` may have `max_bytes`.
    """
    raw = load_object(data, file, **limits)
    if faults := faults_of(raw, struct):
        raise ContractError.of(as_problems(file, faults))
    return raw


def as_problems(file: str, faults: Sequence[ShapeFault]) -> list[Problem]:
    return [Problem(file, json_path(fault.where), fault.reason) for fault in faults]


def without(value: Any, places: Sequence[Location]) -> Any:
    """Return a copy of `value` without the members at `places`; None when the whole value is at
    fault."""
    if () in places:
        return None
    roots = {place[0] for place in places if len(place) == 1}
    deeper = [place for place in places if len(place) > 1 and place[0] not in roots]

    def inside(key: str | int, part: Any) -> Any:
        rest = [place[1:] for place in deeper if place[0] == key]
        return without(part, rest) if rest else part

    if isinstance(value, dict):
        return {k: inside(k, v) for k, v in value.items() if k not in roots}
    if isinstance(value, list):
        return [inside(i, v) for i, v in enumerate(value) if i not in roots]
    return value


def _derived(struct: type[msgspec.Struct]) -> type[Shape]:
    members: dict[str, Any] = {}
    schema = getattr(struct, "SCHEMA", None)
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    order = getattr(struct, "ORDER", "").split()
    for name in dict.fromkeys((*order, "schema", *fields)):
        if name == "schema":
            if schema is not None:
                kind = f"The kind and version of the file: always `{schema}`."
                members["schema_"] = (Literal[schema], Field(alias="schema", description=kind))
            if struct in _EDITED:
                editor = Field(default=None, alias="$schema", description=_EDITOR)
                members["editor_schema"] = (str | None, editor)
            continue
        field = fields[name]
        marks = get_args(field.type)[1:] if get_origin(field.type) is Annotated else ()
        if COMPUTED in marks:
            continue
        type_, default = _in_file(field, marks)
        text = next((mark for mark in marks if isinstance(mark, str)), None)
        members[field.name] = (type_, Field(default=default, description=text))
    checks: dict[str, Any] = {}
    if issubclass(struct, Value) and struct.problem is not Value.problem:
        checks["_whole"] = model_validator(mode="after")(_whole(struct))
    name = _PUBLISHED.get(struct.__name__, f"{struct.__name__}Shape")
    model: type[Shape] = create_model(
        name, __base__=Shape, __doc__=struct.__doc__, __validators__=checks, **members
    )
    return model


def _whole(struct: type[Value]) -> Callable[[Any], Any]:
    problem: Callable[[Any, set[str]], str | None] = struct.problem

    def check(model: Shape) -> Shape:
        if (reason := problem(model, model.model_fields_set)) is not None:
            raise ValueError(reason)
        return model

    return check


def _in_file(field: msgspec.structs.FieldInfo, marks: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the member's type and its default (`...` without one) in the file."""
    default: Any = ...
    if field.default is not msgspec.NODEFAULT:
        default = field.default
    elif field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    kind = field.type
    for mark in marks:
        if isinstance(mark, File):
            kind = mark.type
            default = default if mark.default is FROM_STRUCT else mark.default
    return _converted(kind), _plain(default)


def _plain(default: Any) -> Any:
    if isinstance(default, msgspec.Struct):
        return shape_of(type(default))()
    return list(default) if isinstance(default, tuple) else default


def _converted(kind: Any) -> Any:
    """Return the pydantic annotation for a struct's: tuples are lists, structs are models."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        marks = [mark for given in args[1:] for mark in _marks(given)]
        inner = _converted(args[0])
        return Annotated[(inner, *marks)] if marks else inner
    if origin in (Union, types.UnionType):
        parts = [_converted(part) for part in args if part is not msgspec.UnsetType]
        return reduce(or_, parts)
    if origin is tuple:
        return list[_converted(args[0])]  # type: ignore[misc]
    if origin is dict:
        return dict[_converted(args[0]), _converted(args[1])]  # type: ignore[misc]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return shape_of(kind)
    return kind


def _marks(mark: Any) -> Iterator[Any]:
    if isinstance(mark, Limits):
        given = {k: v for k, v in msgspec.structs.asdict(mark).items() if v is not None}
        yield Field(**given)
    elif isinstance(mark, Check):
        yield AfterValidator(_passes(mark.problem))
        if mark.schema is not None:
            yield WithJsonSchema(mark.schema)
        if mark.extra is not None:
            yield Field(json_schema_extra=mark.extra)
    elif isinstance(mark, Extra):
        yield Field(json_schema_extra=mark.schema)
    elif isinstance(mark, Short):
        yield BeforeValidator(mark.expand, json_schema_input_type=_converted(mark.written))


def _passes(problem: Callable[[Any], str | None]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if (reason := problem(value)) is not None:
            raise ValueError(reason)
        return value

    return check


def _faults(model: type[BaseModel], error: ValidationError) -> list[ShapeFault]:
    words = list(members(model, (), ()))
    faults = []
    for item in error.errors(include_url=False, include_input=False):
        where = tuple(part for part in item["loc"] if part != "[key]")
        unknown, missing = item["type"] == "extra_forbidden", item["type"] == "missing"
        if unknown:
            reason = unknown_reason(where, words)
        elif missing:
            reason = f"is missing{choices(model, where)}"
        else:
            reason = type_reason(item["type"], item["msg"])
        faults.append(ShapeFault(where, reason, unknown, missing))
    return faults
