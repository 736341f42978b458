"""JSON values that stand in a text: alone, one below the other, behind a word, in a fence.

A tool's answer is often a text that holds JSON, and a text that holds it twice encoded is itself a
JSON string. Whatever starts like a value is read from there; what stops being JSON is tried again
one bracket further in, so that of an answer cut off in the middle its whole parts are still seen.
"""

import json
import re
from typing import Any, NamedTuple

from reviewer.trace.patterns import late
from reviewer.trace.strictjson import MAX_DEPTH, first_too_deep, read_value

_BLANK = " \t\r\n\ufeff"
_SPACE = r"[ \t\r\n]*"
# An array or object that is not empty; a quote only where escaped JSON follows it, as `"{\"a\"…`.
_BEGIN = late(
    rf'\[{_SPACE}[\[{{"\-0-9tfnNI]|\{{{_SPACE}"|"(?=(?:[\[{{ \t]|\\[nrt])*+\\+")', re.ASCII
)
_WINDOW = 512
_LONGEST_WORD = 16
_PATIENCE = 16
"""How often each character may be read in vain before failed parts are skipped: time is linear."""


class Embedded(NamedTuple):
    """A value and the half-open span of the text it was read from."""

    start: int
    end: int
    value: Any


class _Failed(NamedTuple):
    """Where a text stops being JSON, and whether more of it might have been."""

    at: int
    cut: bool


def embedded(text: str) -> list[Embedded]:
    """Every value at most MAX_DEPTH deep, from left to right, none within another."""
    whole = len(text) - len(text.lstrip(_BLANK))
    if text.startswith('"', whole):
        read = _read(text, whole)
        if not isinstance(read, _Failed) and not text[read.end :].strip(_BLANK):
            return [read]
    found: list[Embedded] = []
    budget = _PATIENCE * len(text)
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        start = begin.start()
        # A look at the next characters first: to fail within the whole text costs all of it.
        read = _read(text[start : start + _WINDOW], 0)
        if not isinstance(read, _Failed):
            read = Embedded(start, start + read.end, read.value)
        elif not read.cut or start + _WINDOW >= len(text):
            read = _Failed(start + read.at, False)
            budget -= read.at - start
        elif budget > 0:
            read = _read(text, start)
            budget -= len(text) if isinstance(read, _Failed) else 0
        else:
            read = _Failed(start + _WINDOW, False)
        if not isinstance(read, _Failed):
            deep = first_too_deep(text[start : read.end])
            if deep is None:
                found.append(read)
                at = read.end
                continue
            budget -= read.end - start
            read = _Failed(start + deep, False)
        at = start + 1 if budget > 0 else read.at
    return found


def _read(text: str, start: int) -> Embedded | _Failed:
    try:
        value, end = read_value(text, start)
    except json.JSONDecodeError as error:
        unfinished = error.pos >= len(text) - _LONGEST_WORD or error.msg.startswith("Unterminated")
        return _Failed(max(error.pos, start + 1), unfinished)
    except RecursionError:
        return _Failed(start + MAX_DEPTH, False)
    return Embedded(start, end, value)
