"""From pydantic's errors to problems a person can act on, with the near word for a typo."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from reviewer.suite.errors import Problem, json_path, shown
from reviewer.suite.near import NEAR, likeness

Location = tuple[str | int, ...]

_SIBLING_BONUS = 0.02


class ShapeFault(NamedTuple):
    """One error of shape: where, why, and whether it is an unknown member."""

    where: Location
    reason: str
    unknown: bool


def shape_faults(model: type[BaseModel], error: ValidationError) -> list[ShapeFault]:
    """Every error of `error` in the order of the file, worded."""
    words = known_members(model)
    faults = []
    for item in error.errors(include_url=False, include_input=False):
        where = tuple(part for part in item["loc"] if part != "[key]")
        unknown = item["type"] == "extra_forbidden"
        reason = _unknown(where, words) if unknown else _reason(item["type"], item["msg"])
        faults.append(ShapeFault(where, reason, unknown))
    return faults


def as_problems(file: str, faults: Sequence[ShapeFault]) -> list[Problem]:
    return [Problem(file, json_path(fault.where), fault.reason) for fault in faults]


def known_members(model: type[BaseModel]) -> list[Location]:
    """Path of every member the shape knows, list positions left out."""
    return list(_members(model, (), ()))


def nearest(where: Location, words: Sequence[Location]) -> str | None:
    """The known member most like the unknown one at `where`, as the way there; None if none is.

    Spelling is compared without case and separators, alone and together with the name of the part
    it belongs to, so that `forbiddenTools` and `forbidden_tools` both find `tools.forbidden`.
    """
    written = str(where[-1])
    parent = tuple(part for part in where[:-1] if isinstance(part, str))
    if parent not in {tuple(word) for word in words}:
        parent = parent[:-1]  # the last name was a free one, such as that of a simulated tool
    best, rank = None, (0.0, 0)
    for word in words:
        score = max(likeness(written, form) for form in _forms(word))
        sibling = word[:-1] == parent
        here = (score + _SIBLING_BONUS * sibling, -len(word))
        if score >= NEAR and here > rank:
            best, rank = str(word[-1]) if sibling else ".".join(map(str, word)), here
    return best


def without(value: Any, places: Sequence[Location]) -> Any:
    """A copy of `value` without the members at `places`; None when the whole is at fault."""
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


def _unknown(where: Location, words: Sequence[Location]) -> str:
    near = nearest(where, words)
    hint = f" (did you mean `{near}`?)" if near else ""
    return f"unknown key `{shown(str(where[-1]))}`{hint}"


def _reason(kind: str, message: str) -> str:
    if kind == "missing":
        return "is missing"
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _forms(word: Location) -> list[str]:
    leaf = str(word[-1])
    if len(word) < 2:
        return [leaf]
    part = str(word[-2])
    return [leaf, part + leaf, leaf + part]


def _members(
    model: type[BaseModel], parent: tuple[str, ...], seen: tuple[type[BaseModel], ...]
) -> Iterator[Location]:
    if model in seen:
        return
    for name, field in model.model_fields.items():
        path = (*parent, field.alias or name)
        yield path
        for inner in _models_in(field.annotation):
            yield from _members(inner, path, (*seen, model))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
