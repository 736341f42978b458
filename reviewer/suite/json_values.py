"""Paths into JSON values, their equality, and patches: shared by contracts and simulated worlds.

Equality is JSON's: 1 equals 1.0, true equals neither, objects ignore member order. A path leads to
a value or to nothing, and nothing here ever raises.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from reviewer.trace import late

Path = tuple[str | int, ...]
"""Members (text) and indexes (numbers, from 0), outermost first."""

_INDEXED = late(r"([^\[\]]*)((?:\[[0-9]{1,9}\])+)")
_INDEX = late(r"[0-9]+")


class Nothing:
    """A value that does not exist; equal to no JSON value. `why` says it in words."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


MISSING: Final = Nothing("nothing")
UNREADABLE: Final = Nothing("nothing readable")


def path_of(text: str) -> Path:
    """Return the steps of a dotted path: `items[0].sku` is ("items", 0, "sku").

    Never raises: a part that is not a member with indexes is taken as a member of exactly that
    name.
    """
    steps: list[str | int] = []
    for part in text.split("."):
        indexed = _INDEXED.fullmatch(part)
        if indexed is None:
            steps.append(part)
            continue
        if indexed[1]:
            steps.append(indexed[1])
        steps.extend(int(index) for index in _INDEX.findall(indexed[2]))
    return tuple(steps)


def at(value: Any, path: Path) -> Any:
    """Return the value at a path, or MISSING."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return MISSING
            value = value[step]
        else:
            if not isinstance(value, dict) or step not in value:
                return MISSING
            value = value[step]
    return value


_NUMBER = (int, float)  # written as a union, it would be created again at each call


def same(wanted: Any, found: Any) -> bool:
    """Return JSON equality of a contract's value with a trace's, to the depth of the contract's."""
    if isinstance(wanted, str):
        return isinstance(found, str) and wanted == found
    if wanted is None or isinstance(wanted, bool):
        return wanted is found
    if isinstance(wanted, _NUMBER):
        return isinstance(found, _NUMBER) and not isinstance(found, bool) and wanted == found
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and wanted.keys() == found.keys()
            and all(same(value, found[key]) for key, value in wanted.items())
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(wanted) == len(found)
            and all(same(left, right) for left, right in zip(wanted, found, strict=True))
        )
    return False


def agrees(wanted: Any, found: Any) -> bool:
    """Return whether the result of `at` is what is required: the same value, or, where MISSING is
    required, no value."""
    return found is MISSING if wanted is MISSING else same(wanted, found)


def all_at(state: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a state has each of these values, by dotted path."""
    return all(same(value, at(state, path_of(path))) for path, value in wanted.items())


def merged(target: Any, patch: Any) -> Any:
    """Return `target` with `patch` applied (RFC 7396), as a new value; neither is changed.

    A null in the patch removes the member; an object is merged into the existing one (into nothing,
    when that is not an object); anything else replaces it. Parts that are not patched are shared
    with the originals.
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), part)
    return result


def alters(target: Any, patch: Any) -> bool:
    """Return whether `merged(target, patch)` differs from `target`, by the patch alone."""
    if not isinstance(patch, dict):
        return not same(target, patch)
    if not isinstance(target, dict):
        return True
    return any(
        name in target if part is None else name not in target or alters(target[name], part)
        for name, part in patch.items()
    )


def frozen(value: Any) -> Any:
    """Return a JSON value in a hashable form; forms of equal values are equal."""
    if isinstance(value, dict):
        return frozenset((name, frozen(held)) for name, held in value.items())
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


JSON_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: type(value) is int or (isinstance(value, float) and value % 1 == 0),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
"""Type in a JSON Schema → whether a value is of it."""
