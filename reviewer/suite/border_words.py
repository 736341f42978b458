"""The words for an error of shape: the member that an unknown one resembles, the possible values of
a missing one. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from reviewer.suite.errors import NEAR, likeness, shown

Location = tuple[str | int, ...]

_SIBLING_BONUS = 0.02
_MOST_SIBLINGS = 12
"""Known members that a message about an unknown one lists."""


def unknown_reason(where: Location, words: Sequence[Location]) -> str:
    """Return why a member unknown to the shape is refused: with the one it resembles, or all
    possible ones."""
    if near := _nearest(where, words):
        hint = f" (did you mean `{near}`?)"
    else:
        known = _siblings(where, words)
        hint = f"; known here: {', '.join(known)}" if known else ""
    return f"unknown key `{shown(str(where[-1]))}`{hint}"


def _siblings(where: Location, words: Sequence[Location]) -> list[str]:
    """Return the known members of the part that contains an unknown one; [] if they are too many to
    read in a message, or the part has names of its own."""
    parent = tuple(part for part in where[:-1] if isinstance(part, str))
    known = [str(word[-1]) for word in words if word[:-1] == parent]
    known = [name for name in dict.fromkeys(known) if not name.startswith("$")]
    return known if len(known) <= _MOST_SIBLINGS else []


def choices(model: type[BaseModel], where: Location) -> str:
    """Return the values that a missing member may have, if the shape lists them."""
    inside: list[type[BaseModel]] = [model]
    kind: Any = None
    for part in where:
        fields = [
            field
            for each in inside
            for name, field in each.model_fields.items()
            if (field.alias or name) == part
        ]
        if fields:
            kind = fields[0].annotation
            inside = list(_models_in(kind))
    given = [repr(value) for value in get_args(kind)] if get_origin(kind) is Literal else []
    if not given:
        return ""
    return f": should be {' or '.join([', '.join(given[:-1]), given[-1]] if given[1:] else given)}"


_OBJECT = frozenset({"model_type", "dict_type", "model_attributes_type"})
"""Errors whose words name Python's types, not JSON's."""


_LIST = frozenset({"list_type", "tuple_type", "set_type", "frozen_set_type"})


def type_reason(kind: str, message: str) -> str:
    """Return an error of pydantic in terms of JSON."""
    if kind in _OBJECT:
        return "should be an object"
    if kind in _LIST:
        return "should be a list, in [ ]"
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _nearest(where: Location, words: Sequence[Location]) -> str | None:
    """Return the known member most like the unknown one at `where`, as the path there, or None.

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


def _forms(word: Location) -> list[str]:
    leaf = str(word[-1])
    if len(word) < 2:
        return [leaf]
    part = str(word[-2])
    return [leaf, part + leaf, leaf + part]


def members(
    model: type[BaseModel], parent: tuple[str, ...], seen: tuple[type[BaseModel], ...]
) -> Iterator[Location]:
    """Yield the path of every member the shape knows, list positions left out."""
    if model in seen:
        return
    for name, field in model.model_fields.items():
        path = (*parent, field.alias or name)
        yield path
        for inner in _models_in(field.annotation):
            yield from members(inner, path, (*seen, model))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
