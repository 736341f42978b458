"""Search texts for regular expressions in bounded steps.

`re` backtracks: for some patterns the time doubles with each character of the text. A suite's
schemas have patterns that somebody wrote or took over, and the texts are a candidate's. Here, all
ways through a pattern are followed together, character by character, so that the steps are at most
the length of the text times the size of the pattern.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MOST_STATES = 20_000
"""Most states of a pattern: `(a{100}){1000}` has a hundred thousand."""

_WITHIN_NOTHING = bool(re.search(r"\B", ""))
"""Whether an empty text has a place within it, which depends on the version of Python."""
_WORD = re.compile(r"\w").match
_ASCII_WORD = re.compile(r"\w", re.ASCII).match


class Unbounded(ValueError):
    """A pattern that cannot be searched for in bounded steps. The text says why."""


class OutOfSteps(Exception):
    """A search took more steps than it may."""


class Steps:
    """The steps that are left. Raises OutOfSteps when they are used up."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, count: int = 1) -> None:
        self._left -= count
        if self._left < 0:
            raise OutOfSteps


Test = Callable[[str], bool]


class _Look(NamedTuple):
    """A condition on the text around a place. `width` is how far back the search begins."""

    program: "_Program"
    wanted: bool
    width: int


class _State:
    """A state: `test` is of the next character, or `at` or `look` of the place; without any of
    them, the search goes on at once with all of `next`."""

    __slots__ = ("at", "look", "next", "test")

    def __init__(self) -> None:
        self.test: Test | None = None
        self.at: tuple[Any, int] | None = None
        self.look: _Look | None = None
        self.next: list[_State] = []


class _Program(NamedTuple):
    first: _State
    last: _State


class Pattern:
    """A compiled pattern. Raises Unbounded, and re.error for what is no pattern."""

    def __init__(self, text: str) -> None:
        parsed = parser.parse(text)
        self._states = 0
        self._program = self._sequence(parsed, parsed.state.flags)

    def search(self, text: str, steps: Steps) -> bool:
        """Return whether the text contains a match, as `re.search` finds one. Raises OutOfSteps."""
        return _run(self._program, text, 0, steps, anywhere=True)

    def _state(self) -> _State:
        self._states += 1
        if self._states > MOST_STATES:
            raise Unbounded("it repeats too much")
        return _State()

    def _sequence(self, parts: Iterable[tuple[Any, Any]], flags: int) -> _Program:
        first = last = self._state()
        for op, value in parts:
            one = self._part(op, value, flags)
            last.next.append(one.first)
            last = one.last
        return _Program(first, last)

    def _part(self, op: Any, value: Any, flags: int) -> _Program:
        if op is ops.SUBPATTERN:
            _, added, removed, inner = value
            return self._sequence(inner, (flags | added) & ~removed)
        if op is ops.BRANCH:
            return self._either([self._sequence(one, flags) for one in value[1]])
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            least, most, parts = value
            return self._repeated(least, most, parts, flags)
        one = self._state()
        if op is ops.AT:
            one.at = value, flags
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            way, inner = value
            width = inner.getwidth()[0] if way < 0 else 0
            one.look = _Look(self._sequence(inner, flags), op is ops.ASSERT, width)
        else:
            one.test = _test(op, value, flags)
        end = self._state()
        one.next.append(end)
        return _Program(one, end)

    def _either(self, programs: list[_Program]) -> _Program:
        first, last = self._state(), self._state()
        for one in programs:
            first.next.append(one.first)
            one.last.next.append(last)
        return _Program(first, last)

    def _repeated(self, least: int, most: Any, parts: Any, flags: int) -> _Program:
        first = last = self._state()
        for _ in range(least):
            one = self._sequence(parts, flags)
            last.next.append(one.first)
            last = one.last
        end = self._state()
        last.next.append(end)
        if most is ops.MAXREPEAT:
            one = self._sequence(parts, flags)
            last.next.append(one.first)
            one.last.next += [one.first, end]
            return _Program(first, end)
        for _ in range(most - least):
            one = self._sequence(parts, flags)
            last.next.append(one.first)
            last = one.last
            last.next.append(end)
        return _Program(first, end)


@lru_cache(maxsize=1024)
def compiled(text: str) -> Pattern:
    """Return a pattern. Raises Unbounded, and re.error for what is no pattern."""
    return Pattern(text)


def _test(op: Any, value: Any, flags: int) -> Test:
    """Return the test of one character."""
    folds = bool(flags & re.IGNORECASE)
    if op is ops.ANY:
        return (lambda c: True) if flags & re.DOTALL else (lambda c: c != "\n")
    if op is ops.FAILURE:  # `(?!)` matches nowhere
        return lambda c: False
    if op is ops.LITERAL:
        return _folded(lambda c: ord(c) == value, folds)
    if op is ops.NOT_LITERAL:
        same = _folded(lambda c: ord(c) == value, folds)
        return lambda c: not same(c)
    if op is ops.IN:
        negated = value[0][0] is ops.NEGATE
        tests = [_item(o, v, flags) for o, v in value[negated:]]
        within = _folded(lambda c: any(test(c) for test in tests), folds)
        return (lambda c: not within(c)) if negated else within
    raise Unbounded(f"it uses {str(op).lower().replace('_', ' ')}")


def _item(op: Any, value: Any, flags: int) -> Test:
    if op is ops.LITERAL:
        return lambda c: ord(c) == value
    if op is ops.RANGE:
        low, high = value
        return lambda c: low <= ord(c) <= high
    classes = {
        ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
        ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    match = re.compile(classes[value], flags & re.ASCII).match
    return lambda c: match(c) is not None


def _folded(test: Test, folds: bool) -> Test:
    if not folds:
        return test
    return lambda c: any(test(one) for one in {c, *c.lower(), *c.upper()} if len(one) == 1)


def _run(program: _Program, text: str, start: int, steps: Steps, anywhere: bool) -> bool:
    now: list[_State] = []
    for at in range(start, len(text) + 1):
        seeds = [*now, program.first] if anywhere or at == start else now
        here = list(_reached(seeds, text, at, steps))
        if program.last in here:
            return True
        if at == len(text) or not (here or anywhere):
            return False
        char = text[at]
        steps.take(1 + len(here))
        now = [to for one in here if one.test is not None and one.test(char) for to in one.next]
    return False


def _reached(seeds: list[_State], text: str, at: int, steps: Steps) -> Iterator[_State]:
    """Yield the states that are reached at a place without another character."""
    seen: set[int] = set()
    waiting = seeds[::-1]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        steps.take()
        if one.test is not None or not one.next:
            yield one
        elif _holds(one, text, at, steps):
            waiting += one.next


def _holds(state: _State, text: str, at: int, steps: Steps) -> bool:
    if state.look is not None:
        look = state.look
        begins = at - look.width
        return look.wanted == (begins >= 0 and _run(look.program, text, begins, steps, False))
    return state.at is None or _is_at(*state.at, text, at)


def _is_at(kind: Any, flags: int, text: str, at: int) -> bool:
    if kind is ops.AT_BEGINNING_STRING:
        return at == 0
    if kind is ops.AT_BEGINNING:
        return at == 0 or bool(flags & re.MULTILINE and text[at - 1] == "\n")
    if kind is ops.AT_END_STRING:
        return at == len(text)
    if kind is ops.AT_END:
        if at == len(text) or (at == len(text) - 1 and text[at] == "\n"):
            return True
        return bool(flags & re.MULTILINE and text[at] == "\n")
    if not text:
        return kind is not ops.AT_BOUNDARY and _WITHIN_NOTHING
    word = _ASCII_WORD if flags & re.ASCII else _WORD
    sides = [bool(at and word(text[at - 1])), bool(at < len(text) and word(text[at]))]
    return (sides[0] != sides[1]) == (kind is ops.AT_BOUNDARY)
