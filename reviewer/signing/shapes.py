"""Reading a document as one of the shapes of `predicate` and `records`, strictly."""

import re
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from reviewer.signing.errors import StatementError, plain
from reviewer.signing.predicate import FieldError, Part

P = TypeVar("P", bound=Part)


def shaped(kind: type[P], body: dict[str, Any]) -> P:
    """Validate a document against a shape; StatementError names the first field that does not
    fit."""
    try:
        return msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        where, said = _fault(error, kind)
        raise StatementError(f"statement: {plain(where) or 'top'}: {plain(said)}") from None


_MEMBER = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)


def _fault(error: msgspec.ValidationError, kind: type[Part]) -> tuple[str, str]:
    """Return the place of the field that does not fit, as `predicate.gates.0.id`, and why."""
    said, there, path = str(error).rpartition(" - at `$")
    if not there:
        said, path = path, ""  # the whole document
    place = re.findall(r"[^.\[\]]+", path.removesuffix("`"))
    cause = error.__cause__
    if isinstance(cause, FieldError):
        place.append(cause.place)
        said = cause.why
    elif (found := _MEMBER.fullmatch(said)) is not None:
        place.append(found[2])
        said = "is missing" if found[1].startswith("missing") else "is not known here"
    elif said.startswith("Invalid enum value") and (words := _words(kind, place)):
        said = f"should be {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}"
    return ".".join(place), said[:1].lower() + said[1:]


def _words(kind: Any, place: list[str]) -> list[str]:
    """Return the values that the field at a place may have, where its type lists them."""
    for part in place:
        if get_origin(kind) is list:
            kind = get_args(kind)[0]
            continue
        kinds = {one.encode_name: one.type for one in msgspec.structs.fields(kind)}
        kind = kinds[part]
        if NoneType in get_args(kind):
            kind = next(one for one in get_args(kind) if one is not NoneType)
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
    return [repr(value) for value in get_args(kind)] if get_origin(kind) is Literal else []
