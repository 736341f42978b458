"""What recorded calls changed: the state that reads show, followed through the writes. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from reviewer.importing.recorded.keys import Key, Keys, canonical
from reviewer.importing.recorded.story import Made
from reviewer.suite.json_values import merged, same

DONE = "done"
"""The member of the state that says which writes were made."""
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 60


class Slots:
    """The place of each call in the state: its tool, and a name made from its arguments."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, str]] = {}
        self._taken: set[tuple[str, str]] = set()

    def of(self, key: Key, arguments: dict[str, Any]) -> tuple[str, str]:
        if key not in self._known:
            tool = _UNFIT.sub("_", key[0])
            tool = f"{tool}_" if tool == DONE else tool
            values = [str(value) for value in arguments.values() if not isinstance(value, bool)]
            name = _UNFIT.sub("_", "-".join(values)).strip("_-")[:_LONGEST] or "all"
            made, number = (tool, name), 1
            while made in self._taken:
                number += 1
                made = tool, f"{name}_{number}"
            self._taken.add(made)
            self._known[key] = made
        return self._known[key]


def patch_of(before: Any, after: Any) -> Any:
    """Return the merge patch (RFC 7396) from one value to another."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    made: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        if name not in before:
            made[name] = value
        elif not same(before[name], value):
            made[name] = patch_of(before[name], value)
    return made


def can_be_set(before: Any, after: Any) -> bool:
    """Return whether a merge patch leads from one value to the other: no patch can set a null."""
    return same(after, merged(before, patch_of(before, after)))


def is_about(call: Made, arguments: dict[str, Any], known: Any, asked: Mapping[str, Any]) -> bool:
    """Return whether the answer of a write is exactly this object after the write: of the same
    shape, with the same id that the call names, and not one that was `asked` for under another
    id."""
    answer = call.answer
    if not isinstance(answer, dict) or not isinstance(known, dict):
        return False
    if any(name in answer and not same(value, answer[name]) for name, value in _members(asked)):
        return False
    shared = answer.keys() & known.keys()
    if 2 * len(shared) < max(len(answer), len(known)):
        return False
    return any(
        name in shared and same(value, known[name]) and same(value, answer[name])
        for name, value in arguments.items()
        if not isinstance(value, bool | dict | list)
    )


def _ids(value: Any) -> Iterator[Any]:
    """Yield the texts and whole numbers of a value that may be ids: an id is not as short as a
    flag."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, bool) or one is None or isinstance(one, float):
            continue
        elif len(str(one)) > 1:
            yield one


class Change(NamedTuple):
    """A write's effect on one object: its place, and the object before and after."""

    place: tuple[str, str]
    before: Any
    after: Any


class Followed:
    """The state as the reads and writes of one story show it, in order.

    `changes` are those of each write by the number of its event; `doubts` say where more than one
    write may have changed what a read shows. Writes are numbered from 0 in their order, so that no
    write has to look at unrelated places.
    """

    def __init__(
        self,
        initial: dict[tuple[str, str], Any],
        keys: Keys,
        asked: Mapping[tuple[str, str], Mapping[str, Any]],
    ) -> None:
        """Begin with an initial state. `asked` has the arguments of the reads that show each
        place."""
        self._keys = keys
        self._asked = asked
        self._writes: list[int] = []
        """The events of the writes."""
        self._named: dict[str, list[int]] = {}
        """Id → the writes that name it, in their arguments or in their answers."""
        self._state: dict[tuple[str, str], Any] = {}
        self._order: dict[tuple[str, str], int] = {}
        self._holding: dict[str | None, dict[tuple[str, Any], set[tuple[str, str]]]] = {}
        """Name of the id by which a read asks → member and value → the places whose object has
        both. Without a name: those whose object does not repeat what is asked for."""
        self._seen: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        """The content of a place since it was last read: the first write that may change it, the
        value."""
        self.changes: dict[int, dict[tuple[str, str], Change]] = {}
        self.doubts: list[tuple[tuple[str, str], list[int]]] = []
        self.unset: list[tuple[tuple[str, str], int]] = []
        self.made_by: dict[tuple[str, str], int] = {}
        """Places that no read showed before a write that may have created them → that write."""
        self.assumed: dict[tuple[str, str], Any] = {}
        """Places that were first read after unrelated writes."""
        for place, value in initial.items():
            self._hold(place, value)
            self._seen[place] = [(0, value)]

    def write(self, call: Made) -> None:
        arguments = self._keys.of(call)
        number = len(self._writes)
        self._writes.append(call.seq)
        self.changes.setdefault(call.seq, {})
        for one in {canonical(one) for one in _ids([arguments, call.answer])}:
            self._named.setdefault(one, []).append(number)
        for place in self._alike(arguments, call.answer):
            known = self._state[place]
            about = is_about(call, arguments, known, self._asked.get(place, {}))
            if about and not same(known, call.answer):
                self._set(call.seq, place, known, call.answer)
                self._seen[place].append((number + 1, call.answer))

    def read(self, place: tuple[str, str], call: Made) -> None:
        """Add what a read shows at a place of the state."""
        answer = call.answer
        about = [  # the writes that name an id of this read
            named for one in _ids(call.arguments) if (named := self._named.get(canonical(one)))
        ]
        if place not in self._state:
            if about:
                last = self._writes[max(named[-1] for named in about)]
                self.made_by[place] = last
                self._set(last, place, None, answer)
            else:
                self.assumed[place] = answer
                self._hold(place, answer)
        elif not same(self._state[place], answer):
            since = self._seen[place][0][0]
            writes = sorted({one for named in about for one in named[bisect_left(named, since) :]})
            writes = writes or list(range(since, len(self._writes)))
            if writes:
                if len(writes) > 1:
                    self.doubts.append((place, [self._writes[one] for one in writes]))
                before = self._held_before(place, writes[-1])
                self._set(self._writes[writes[-1]], place, before, answer)
        self._seen[place] = [(len(self._writes), self._state[place])]

    def _alike(self, arguments: dict[str, Any], answer: Any) -> list[tuple[str, str]]:
        """Return the places whose object may be the answer of a write: by the answer's id, else by
        the arguments."""
        found: set[tuple[str, str]] = set()
        for name, holding in self._holding.items():
            told = isinstance(answer, dict) and name in answer
            for member in _members({name: answer[name]} if told else arguments):
                found |= holding.get(member, set())
        return sorted(found, key=self._order.__getitem__)

    def _id_of(self, place: tuple[str, str], value: Any) -> str | None:
        """Return the first argument of a place's read that its object repeats."""
        for name, asked in _members(self._asked.get(place)):
            if isinstance(value, dict) and name in value and same(asked, value[name]):
                return name
        return None

    def _held_before(self, place: tuple[str, str], write: int) -> Any:
        values = self._seen[place]
        return values[bisect_right(values, write, key=lambda one: one[0]) - 1][1]

    def _set(self, seq: int, place: tuple[str, str], before: Any, after: Any) -> None:
        if not can_be_set(before, after):
            self.unset.append((place, seq))
        self.changes[seq][place] = Change(place, before, after)
        self._hold(place, after)

    def _hold(self, place: tuple[str, str], value: Any) -> None:
        before = self._state.get(place)
        for member in _members(before):
            self._holding[self._id_of(place, before)][member].discard(place)
        self._state[place] = value
        self._order.setdefault(place, len(self._order))
        holding = self._holding.setdefault(self._id_of(place, value), {})
        for member in _members(value):
            holding.setdefault(member, set()).add(place)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members of an object that can identify it, in a form in which equal ones are
    equal."""
    for name, held in value.items() if isinstance(value, dict) else ():
        if not isinstance(held, bool | dict | list):
            yield name, held
