"""The store of a sample as its events change it.

Every span reports its own changes at its end, so one change is reported once per enclosing span:
what a span reports is applied to the store as it was when that span began, and counts only when the
store then differs from the one known so far.
"""

from typing import Any

import msgspec

from reviewer.importing.formats.values import mapping

MOST_STATES = 4 << 20
"""Bytes of state snapshots kept of one attempt: a growing store is repeated at every step."""
MOST_WORK = 20_000_000
"""Members copied while following one store; each change copies what it goes through."""
TOO_MUCH = "state snapshots beyond 4 MiB were left out (the final state is kept)"
LOST = "a change of the store could not be followed: state snapshots end there"


class NoPatch(Exception):
    """A change that does not fit the value it is about, or one too many."""


class Stores:
    """Follows the store through the spans of one sample."""

    def __init__(self, start: Any) -> None:
        self.state: dict[str, Any] = mapping(start)
        self._begun: dict[str, dict[str, Any]] = {}
        self._steps: list[dict[str, Any]] = []
        self._left = MOST_STATES
        self._patch = _Patch()

    def begin(self, span: Any = None) -> None:
        """Begin a span (with an id) or a step (without)."""
        if isinstance(span, str):
            self._begun[span] = self.state
        else:
            self._steps.append(self.state)

    def end(self) -> None:
        """End the innermost step."""
        if self._steps:
            self._steps.pop()

    def change(self, span: Any, changes: list[Any]) -> bool:
        """Apply what a span says it changed; return whether the store differs now. Raises
        NoPatch."""
        before = self._before(span)
        after: Any = before
        for one in changes:
            after = self._patch.applied(after, one)
        if not isinstance(after, dict):
            raise NoPatch
        self._patch.spend(len(before) + len(after) + len(self.state))
        # Spans may overlap: what this one did not touch stays as the others left it.
        merged = dict(self.state)
        for name in dict.fromkeys((*before, *after)):
            if name not in after:
                merged.pop(name, None)
            elif name not in before or _differ(before[name], after[name]):
                merged[name] = after[name]
        news = _differ(merged, self.state)
        self.state = merged
        return news

    def affords(self) -> bool:
        """Return whether a snapshot of the store may be kept."""
        self._left -= len(msgspec.json.encode(self.state))
        return self._left >= 0

    def _before(self, span: Any) -> dict[str, Any]:
        if isinstance(span, str):
            return self._begun.get(span, self.state)
        return self._steps[-1] if self._steps else self.state


def _differ(one: Any, two: Any) -> bool:
    return one is not two and bool(one != two)


class _Patch:
    """JSON Patch operations on values that are shared: what changes is copied, the rest is not."""

    def __init__(self) -> None:
        self._work = MOST_WORK

    def spend(self, members: int) -> None:
        self._work -= members
        if self._work < 0:
            raise NoPatch

    def applied(self, value: Any, change: Any) -> Any:
        """Return `value` after one operation. Raises NoPatch."""
        named = mapping(change)
        kind, keys = named.get("op"), _keys(named.get("path"))
        if kind in ("add", "replace"):
            return self._put(value, keys, named.get("value"), kind == "add")
        if kind == "remove":
            return self._removed(value, keys)
        if kind in ("move", "copy"):
            source = _keys(named.get("from", named.get("from_")))
            moved = _at(value, source)
            rest = self._removed(value, source) if kind == "move" else value
            return self._put(rest, keys, moved, True)
        if kind == "test":
            return value
        raise NoPatch

    def _put(self, value: Any, keys: list[str], new: Any, insert: bool) -> Any:
        if not keys:
            return new
        key, rest = keys[0], keys[1:]
        copy = self._copy(value)
        if isinstance(copy, dict):
            copy[key] = self._put(_at(copy, [key]), rest, new, insert) if rest else new
        elif insert and not rest:
            copy.insert(len(copy) if key == "-" else _index(key, len(copy)), new)
        else:
            place = _index(key, len(copy) - 1)
            copy[place] = self._put(copy[place], rest, new, insert)
        return copy

    def _removed(self, value: Any, keys: list[str]) -> Any:
        if not keys:
            raise NoPatch
        copy = self._copy(value)
        place: Any = keys[0] if isinstance(copy, dict) else _index(keys[0], len(copy) - 1)
        if isinstance(copy, dict) and place not in copy:
            raise NoPatch
        if keys[1:]:
            copy[place] = self._removed(copy[place], keys[1:])
        else:
            del copy[place]
        return copy

    def _copy(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            raise NoPatch
        self.spend(1 + len(value))
        return value.copy()


def _keys(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or len(pointer) > 10_000:
        raise NoPatch
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list):
            value = value[_index(key, len(value) - 1)]
        else:
            raise NoPatch
    return value


def _index(key: str, most: int) -> int:
    if not key.isascii() or not key.isdecimal() or len(key) > 9 or int(key) > most:
        raise NoPatch
    return int(key)
