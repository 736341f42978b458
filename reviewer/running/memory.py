"""Results that the attempts of a run share: computed once for each JSON value, and looked up by its
content. Also copies of JSON values."""

import copy
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_MOST = 4096


class ByContent(Generic[T]):
    """A function of a JSON value that caches its results. An exception is raised again for the same
    value."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._made: dict[bytes, T] = {}

    def __call__(self, value: Any) -> T:
        try:
            # This is one text for one JSON value: 1, 1.0 and true differ, and so do members in
            # another order, or named by a number.
            content = sha256(repr(value).encode()).digest()
        except RecursionError:
            return self._make(value)
        if content in self._made:
            return self._made[content]
        made = self._make(value)
        if len(self._made) >= _MOST:
            self._made = {}
        self._made[content] = made
        return made


_PLAIN = frozenset({str, int, float, bool, type(None)})


def copied(value: Any) -> Any:
    """Return a copy of a JSON value: changes of one do not affect the other."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict:
        return {name: copied(part) for name, part in value.items()}
    if kind is list:
        return [copied(part) for part in value]
    return copy.deepcopy(value)
