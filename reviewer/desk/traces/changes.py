"""Two states side by side, in words: one line a path, however deep."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from reviewer.trace.jsontree import step

MOST = 2000
"""Lines of one comparison: a state that was replaced whole differs everywhere."""
SHORT = 120


class Place(NamedTuple):
    """One place of a state: its path in words, and as a JSON pointer into the state it is in."""

    path: str
    pointer: str

    def member(self, name: str) -> "Place":
        return Place(f"{self.path}.{name}" if self.path else name, self.pointer + step(name))

    def element(self, number: int) -> "Place":
        return Place(f"{self.path}[{number}]", self.pointer + step(number))


class Change(NamedTuple):
    """One difference. `pointer` names it in the later state; of what is gone, in the earlier."""

    sign: str
    pointer: str
    words: str

    @property
    def line(self) -> str:
        return f"{self.sign} {self.words}"


def differences(before: Any, after: Any) -> list[Change]:
    """What became of `before`: members of objects and elements of lists are compared each."""
    found: list[Change] = []
    for change in _walk(before, after, Place("", "")):
        if len(found) == MOST:
            found.append(Change("…", "", f"more than {MOST:,} changes"))
            break
        found.append(change)
    return found


def changes(before: Any, after: Any) -> list[str]:
    """The same, a line a path: `+ added path  value`, `- removed path  value`, `~ changed path
    old → new`."""
    return [change.line for change in differences(before, after)]


def _walk(before: Any, after: Any, here: Place) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            there = here.member(str(key))
            if key not in before:
                yield _added(there, after[key])
            elif key not in after:
                yield _removed(there, before[key])
            else:
                yield from _walk(before[key], after[key], there)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _elements(before, after, here)
    elif _text(before) != _text(after):
        words = f"changed {here.path or 'state'}  {_short(before)} → {_short(after)}"
        yield Change("~", here.pointer, words)


def _elements(before: list[Any], after: list[Any], here: Place) -> Iterator[Change]:
    """Elements by place, after what begins and ends both alike: an element put in at the front is
    one addition."""
    if before == after and _text(before) == _text(after):
        return
    texts = [_text(each) for each in before], [_text(each) for each in after]
    shorter = min(map(len, texts))
    head = next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter)
    rest = shorter - head
    tail = next((n for n in range(rest) if texts[0][-1 - n] != texts[1][-1 - n]), rest)
    gone, came = before[head : len(before) - tail], after[head : len(after) - tail]
    both = min(len(gone), len(came))
    for n in range(both):
        yield from _walk(gone[n], came[n], here.element(head + n))
    for n in range(both, len(gone)):
        yield _removed(here.element(head + n), gone[n])
    for n in range(both, len(came)):
        yield _added(here.element(head + n), came[n])


def _added(there: Place, value: Any) -> Change:
    return Change("+", there.pointer, f"added {there.path}  {_short(value)}")


def _removed(there: Place, value: Any) -> Change:
    return Change("-", there.pointer, f"removed {there.path}  {_short(value)}")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"
