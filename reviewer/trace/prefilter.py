"""One linear pass over the raw bytes of a record: may the fast path be trusted with it?

The pattern is a *superset* of the exact rule (`rules`, `detectors`, `fold`) as those see the record
after JSON decoding, opened strings included, and of what the typed decoder lets pass: numbers
beyond a double, repeated members of the record and its events, nesting deeper than DEPTH. So a
part here may only be looser than its twin. It is one google-re2 pattern because re2 runs any number
of alternatives in one pass of its automaton, in time linear in the input, without holding the GIL;
latin-1 mode makes a character of each byte, valid UTF-8 or not.

In raw bytes a character may be spelled `\\uXXXX`, with more backslashes in a string inside a
string. Escapes that hide ASCII make a record suspect at once, so the parts below need only expect
escapes of the separators and neighbours that `detectors` folds.
"""

from collections.abc import Callable
from functools import lru_cache

import msgspec
import re2

from reviewer.trace.prefilter_values import BREAK, DISGUISED_ASCII, VALUES, compiled, disguised
from reviewer.trace.record import Event, TraceRecord
from reviewer.trace.rules import Rules, sensitive_names

DEPTH = 8
"""Nesting the fast path accepts; deeper records are rare and go the slow way."""

_SPACE = rf"(?:[ \t\r\n]|{BREAK})*"


def _starts_unlike(word: str, then: str) -> str:
    """What follows when a text does not start with `word` (any case), or does and then `then`."""
    unlike = then
    for letter in reversed(word):
        either = letter.lower() + letter.upper()
        unlike = rf"(?:[^{either}]|[{either}]{unlike})"
    return unlike


def _sensitive_member(rules: Rules) -> str:
    """A sensitive name in any spelling, with a value that is not plainly empty or `[REDACTED…]`."""

    def spelled(name: str) -> str:
        return r"[_\- ]*".join(re2.escape(character) for character in name)

    names = "|".join(spelled(name) for name in sorted(sensitive_names(rules)) if name.isascii())
    held = r"[0-9A-Za-z_:.\- ]"

    def text(opening: str, content: str, behind_bracket: str) -> str:
        marker = _starts_unlike("redacted", rf"{held}*(?:[^0-9A-Za-z_:.\- \]]|\]{behind_bracket})")
        return rf'{opening}(?:[^"\\\[]|{content}|\[{marker})'

    value = "|".join(
        (
            r'[^n"\[{\\ \t\r\n]',
            rf"[\[{{]{_SPACE}(?:[^\]}} \t\r\n\\]|\\+[^nrt\\])",
            text('"', r"\\", '[^"]'),
            text(r'\\+"', r'\\[^"\\]|\\\\', r'(?:[^\\]|\\[^"])'),
        )
    )
    return rf'[".][_\- ]*(?i:{names})[_\-. ]*\\*"{_SPACE}:{_SPACE}(?:{value})' if names else ""


_BEYOND_A_DOUBLE = (
    r"[:,\[ \t\r\n]-?(?:[0-9]{200}|[0-9]+(?:\.[0-9]+)?[eE]\+?[0-9]{3}[0-9]*(?:[,\]} \t\r\n]|$))"
)

_STRING = r'"(?:[^"\\]|\\.)*"'


def _balanced(depth: int) -> str:
    """Any JSON text in which what opens also closes, at most `depth` deep."""
    inner = rf'(?:[^"\[\]{{}}]|{_STRING})*'
    for _ in range(depth):
        inner = rf'(?:[^"\[\]{{}}]|{_STRING}|[\[{{]{inner}[\]}}])*'
    return inner


def _deeper_than(depth: int) -> str:
    return "^" + "".join(rf"{_balanced(depth - level)}[\[{{]" for level in range(depth + 1))


def _member(name: str) -> str:
    return rf'"{name}"[ \t\r\n]*:'


def _repeated(struct: type[msgspec.Struct], depth: int) -> str:
    """Two members of one name in one object, whatever stands between them."""
    between = _balanced(depth)
    names = (_member(field.encode_name) for field in msgspec.structs.fields(struct))
    return "(?:" + "|".join(f"{name}{between}{name}" for name in names) + ")"


def _structure() -> str:
    record = rf"^[ \t\r\n]*\{{{_balanced(DEPTH - 1)}"
    events = rf"{_member('events')}[ \t\r\n]*\[{_balanced(DEPTH - 2)}\{{{_balanced(DEPTH - 3)}"
    return "|".join(
        (
            record + _repeated(TraceRecord, DEPTH - 1),
            record + events + _repeated(Event, DEPTH - 3),
            _deeper_than(DEPTH),
        )
    )


@lru_cache(maxsize=16)
def suspicious(rules: Rules) -> Callable[[bytes], bool]:
    """Return whether raw bytes are not to be trusted, by these rules."""
    parts = [VALUES[detector] for detector in rules.masking]
    parts += [_sensitive_member(rules), DISGUISED_ASCII, _BEYOND_A_DOUBLE, _structure()]
    search = compiled("|".join(part for part in parts if part)).search

    def suspect(raw: bytes) -> bool:
        return search(raw) is not None or disguised(raw)

    return suspect
