"""A short text that a pattern accepts, for arguments of which no example is known."""

import re
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_LONGEST = 200
_CLASSES = {
    ops.CATEGORY_DIGIT: "1", ops.CATEGORY_WORD: "a", ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_DIGIT: "a", ops.CATEGORY_NOT_WORD: "-", ops.CATEGORY_NOT_SPACE: "a",
}  # fmt: skip
_ORDINARY = "a1A-_. /:@"


def text_for(pattern: str) -> str | None:
    """Return a text that contains a match of this pattern, with the fewest repetitions; None where
    that takes more than reading it from left to right (conditions on other places, references)."""
    try:
        text = _of(parser.parse(pattern))
        return text if len(text) <= _LONGEST and re.search(pattern, text) else None
    except (re.error, ValueError, KeyError, StopIteration, RecursionError, OverflowError):
        return None


def _of(parsed: Any) -> str:
    return "".join(_one(kind, told) for kind, told in parsed)


def _one(kind: Any, told: Any) -> str:
    if kind is ops.LITERAL:
        return chr(told)
    if kind is ops.NOT_LITERAL:
        return next(one for one in _ORDINARY if ord(one) != told)
    if kind is ops.ANY:
        return "a"
    if kind is ops.IN:
        return _in(told)
    if kind is ops.BRANCH:
        return _of(told[1][0])
    if kind is ops.SUBPATTERN:
        return _of(told[-1])
    if kind in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        least, _, part = told
        if least > _LONGEST:
            raise ValueError
        return _of(part) * int(least)
    if kind is ops.AT:
        return ""
    raise ValueError


def _in(members: Any) -> str:
    if members[0][0] is ops.NEGATE:
        return next(one for one in _ORDINARY if not any(_has(part, one) for part in members[1:]))
    kind, told = members[0]
    if kind is ops.CATEGORY:
        return _CLASSES[told]
    return chr(told[0] if kind is ops.RANGE else told)


def _has(member: Any, character: str) -> bool:
    kind, told = member
    if kind is ops.RANGE:
        return bool(told[0] <= ord(character) <= told[1])
    if kind is ops.CATEGORY:
        return _CLASSES[told] == character or (_CLASSES[told] == "a" and character.isalnum())
    return bool(told == ord(character))
