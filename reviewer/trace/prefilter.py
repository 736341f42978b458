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

from functools import lru_cache
from typing import Any

import msgspec
import re2

from reviewer.trace.record import Event, TraceRecord
from reviewer.trace.rules import Rules, sensitive_names

DEPTH = 8
"""Nesting the fast path accepts; deeper records are rare and go the slow way."""

_HEX = r"[0-9a-fA-F]"
_ESCAPE = rf"\\[bfnrt]|\\u{_HEX}{{4}}"
_BREAK = r"\\+(?:[nrt]|u000[9aAdD])"
_SPACE = rf"(?:[ \t\r\n]|{_BREAK})*"

# A space or dash between digits: raw, UTF-8, or escaped (`fold.plain_separators`).
_SEPARATOR = (
    r"(?:[ -]|\xc2\xa0|\xe2\x80[\x80-\x8a\x90-\x95\xaf]|\xe2\x81\x9f|\xe2\x88\x92|\xe3\x80\x80"
    r"|\\+u(?:00[aA]0|200[0-9aA]|201[0-5]|202[fF]|205[fF]|2212|3000))"
)
_WIDE = rf"(?:{_SEPARATOR}|[.\t\r\n]|{_BREAK}){{1,2}}"
_DOT = rf"(?:{_SEPARATOR}|\.)"
# No word before or behind, and no further digits beyond a dot or dash.
_LEFT = rf"(?:^[.\-]?|[^0-9A-Za-z_.\-]|[^0-9][.\-]|\\u{_HEX}{{4}}[.\-]|{_ESCAPE})"
_RIGHT = r"(?:[^0-9A-Za-z_.\-]|[.\-][^0-9]|[.\-]?$)"
_NO_WORD = rf"(?:^|[^0-9A-Za-z]|{_ESCAPE})"

_NOT_LOCAL = r"""\x00- \x7f@<>()\[\]{}"'`,;:\\/=|&?#"""
_LOCAL = rf"(?:[^\\][^{_NOT_LOCAL}]|\\[^{_NOT_LOCAL}bfnrt]|\\\\[bfnrt])"
_LABEL = r"[0-9A-Za-z_\-\x80-\xff\\]"

_VALUES = {
    "email": (
        rf"{_LOCAL}(?:@|%40){_LABEL}+\.{_LABEL}"
        rf"|(?:#0*(?:64|[xX]0*40)|commat);{_LABEL}"
    ),
    "card": (
        rf"(?:{_LEFT}|(?i:visa|mastercard|amex|discover|maestro|card))"
        rf"(?:4|5[0-8]|2[2-7]|3[04-9]|6)(?:{_SEPARATOR}?[0-9]){{11,18}}{_RIGHT}"
        rf"|{_LEFT}[2-6][0-9]{{3}}(?:{_WIDE}[0-9]{{4}}){{3}}"
        # a number that a reader makes a whole one
        rf"|(?:^|[:,\[ \t\r\n]|{_BREAK})-?"
        r"(?:[2-6][0-9]{12,}\.[0-9]|[0-9][0-9.]{9,}[eE]\+?[0-9]|[0-9]{13,}(?:\.[0-9]*)?[eE])"
    ),
    "iban": rf"{_NO_WORD}[A-Z]{{2}}[0-9]{{2}}(?:{_SEPARATOR}?[0-9A-Z]){{11}}",
    "phone": (
        rf"\+(?:(?:{_DOT}|[()]){{0,2}}[0-9]){{8}}"
        rf"|(?:\([2-9][0-9]{{2}}\){_DOT}?|{_LEFT}(?:1{_DOT})?[2-9][0-9]{{2}}{_DOT})"
        rf"[2-9][0-9]{{2}}{_DOT}[0-9]{{4}}"
    ),
    "ssn": rf"{_LEFT}[0-8][0-9]{{2}}{_SEPARATOR}[0-9]{{2}}{_SEPARATOR}[0-9]{{4}}",
    "secret": "|".join(
        (
            rf"{_NO_WORD}(?:sk-[A-Za-z0-9_-]{{16}}|gh[opsur]_[A-Za-z0-9]{{20}}|github_pat_|glpat-"
            r"|A[KS]IA[A-Z0-9]{16}|AIza|xox[abeprs]-|hf_[A-Za-z0-9]{20}|npm_[A-Za-z0-9]{20}"
            r"|[rs]k_(?:live|test)_)",
            r"eyJ[A-Za-z0-9_-]{5,}\.eyJ",
            r"PRIVATE KEY-",
            r"(?i:bearer) +[A-Za-z0-9._~+/=\\-]{20}",
            r""":\\*/\\*/[^\x00- "/?#@<>]*:[^\x00- "/?#@<>]*@""",
            r"""(?i:(?:api|secret)[_-]?key|access[_-]?token|client[_-]?secret)\\*["']? ?[=:] ?"""
            r"""\\*["']?[A-Za-z0-9_+/=\\-]{16}""",
            r"""(?i:authorization)\\*["']? ?[=:] ?\\*["']?(?i:basic) +[A-Za-z0-9+/\\]{4}""",
            r"""(?i:password|passwd|passphrase|pwd)\\*["']?(?:=|: ?)\\*["']?"""
            r"""[^\x00- "'&,;<>(){}\[\]$%*]{4}""",
        )
    ),
}


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


_DISGUISED = "|".join(
    (
        # ASCII spelled as an escape; <, > and & are what careful writers escape for HTML
        r"\\u00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7])",
        # full-width letters, digits and signs
        r"\xef\xbc[\x8b\x8d\x8e\x90-\x99\xa0-\xba\xbf]|\xef\xbd[\x81-\x9a]",
        r"\\u[fF][fF](?:0[bBdDeE]|1[0-9]|[2-5])",
        # characters nobody sees
        r"\xc2\xad|\xd8\x9c|\xe2\x80[\x8b\x8c\x8e\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
        r"|\xf3\xa0[\x80\x81]|\\u(?:00[aA][dD]|061[cC]|200[bBcCeEfF]|202[a-eA-E]|206"
        r"|[fF][eE][fF][fF]|[dD][bB]40)",
        # a member name that is not plain ASCII
        rf'(?:[\x80-\xff]|\\u{_HEX}{{4}}|\\[^"u\\])[^"\\]*\\*"{_SPACE}:',
    )
)
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
def compiled(rules: Rules) -> Any:
    """The re2 pattern for these rules; `.search(raw)` is None for a record to be trusted."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.dot_nl = True
    options.log_errors = False  # it would write to stderr when the budget below is spent
    # States are made as they are met: some 10 MB for ordinary traces. Beyond the budget (every
    # event with its members in another order) re2 goes on without them, linear but slow.
    options.max_mem = 64 << 20
    parts = [_VALUES[detector] for detector in rules.detectors]
    parts += [_sensitive_member(rules), _DISGUISED, _BEYOND_A_DOUBLE, _structure()]
    return re2.compile("|".join(part for part in parts if part).encode("latin-1"), options)
