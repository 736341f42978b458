"""One linear pass over the raw bytes of a record: may the fast path be trusted with it?

The pattern is a *superset* of the exact rule (`rules`, `detectors`, `fold`) as those see the record
after JSON decoding, opened strings included, and of what the typed decoder lets pass: numbers
beyond a double, repeated members of the record and its events, nesting deeper than DEPTH. So a part
here may only be looser than its exact counterpart. It is one google-re2 pattern because re2 runs
any number of alternatives in one pass of its automaton, in time linear in the input, without
holding the GIL; latin-1 mode makes a character of each byte, valid UTF-8 or not.

In raw bytes a character may be spelled `\\uXXXX`, with more backslashes in a string inside a
string. Escapes that hide ASCII make a record suspect at once, so the parts below need only expect
escapes of the separators and neighbours that `detectors` folds.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
import re2

from reviewer.trace.disguises import characters
from reviewer.trace.record import Event, TraceRecord
from reviewer.trace.rules import Rules, sensitive_names
from reviewer.trace.tokens import FORMS, INNER, MARK

# Byte patterns of what `detectors` find, looser than the exact ones: see `prefilter`.
#
# A detector looks at a text only where its pattern here matches the text as compact JSON, so what
# must hold is that a pattern which matches that also matches every other spelling of it.


HEX = r"[0-9a-fA-F]"
ESCAPE = rf"\\[bfnrt]|\\u{HEX}{{4}}"
BREAK = r"\\+(?:[nrt]|u000[9aAdD])"
_SPACE = rf"(?:[ \t\r\n]|{BREAK})*"
_SPACES = rf"(?:[ \t\r\n]|{BREAK})+"

# A space or dash between digits: raw, UTF-8, or escaped (`fold.plain_separators`).
_SEPARATOR = (
    r"(?:[ -]|\xc2\xa0|\xe2\x80[\x80-\x8a\x90-\x95\xaf]|\xe2\x81\x9f|\xe2\x88\x92|\xe3\x80\x80"
    r"|\\+u(?:00[aA]0|200[0-9aA]|201[0-5]|202[fF]|205[fF]|2212|3000))"
)
_WIDE = rf"(?:{_SEPARATOR}|[.\t\r\n]|{BREAK}){{1,2}}"
_DOT = rf"(?:{_SEPARATOR}|\.)"
# The end of a code that colors a terminal, and of a percent-encoded character.
_CODE_END = r"\[[0-9;:?]*[A-Za-z]|%[2-7][0-9A-Fa-f]"
# No word before or behind, and no further digits beyond a dot or dash.
_LEFT = rf"(?:^[.\-]?|[^0-9A-Za-z_.\-]|[^0-9][.\-]|\\u{HEX}{{4}}[.\-]|{ESCAPE})"
_RIGHT = r"(?:[^0-9A-Za-z_.\-]|[.\-][^0-9]|[.\-]?$)"
_NO_WORD = rf"(?:^|[^0-9A-Za-z]|{ESCAPE}|{_CODE_END})"

_NOT_LOCAL = r"""\x00- \x7f@<>()\[\]{}"'`,;:\\/=|&?#"""
_LOCAL = rf"(?:[^\\][^{_NOT_LOCAL}]|\\[^{_NOT_LOCAL}bfnrt]|\\\\[bfnrt])"
_LABEL = r"[0-9A-Za-z_\-\x80-\xff\\]"

# disguises ---------------------------------------------------------------------------------------
_ESC = r"(?:\x1b|\\+(?:x1[bB]|u00[19][bB]|033|e)|\xc2\x9b)"
_ANSI = rf"{_ESC}\[?[0-9;:?]*[A-Za-z]"
_TAG = r"(?:<|\\+u003[cC])/?[a-z]{1,6}(?: [^<>]{0,60})?/?(?:>|\\+u003[eE])"
_AND = r"(?:&|\\+u0026)(?:amp;)*"
_UNRESERVED = r"%(?:25)*(?:2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe])"
_GAP = (
    rf"(?:{_ANSI}|%(?:25)*2[089BbDdEe]|{_AND}#?[0-9A-Za-z]{{2,24}};|{_TAG}"
    r"|\xe2\x80\x8d|\xef\xb8[\x80-\x8f]|\\+u200[dD]|\\+u[fF][eE]0[0-9a-fA-F])"
)
_MARKS = r"[*_`~]"
_DIGITS = rf"(?:{_MARKS}*(?:{_SEPARATOR}|[.()])?{_MARKS}*[0-9])"


def _bytes_of(codes: list[int]) -> str:
    """Return a byte pattern of these characters in UTF-8, and as JSON escapes."""
    heads: dict[bytes, list[int]] = {}
    escaped: dict[str, list[str]] = {}
    for code in codes:
        raw = chr(code).encode()
        heads.setdefault(raw[:-1], []).append(raw[-1])
        units = chr(code).encode("utf-16-be").hex()
        shown = "".join(rf"\\+u{units[i : i + 4]}" for i in range(0, len(units), 4))
        escaped.setdefault(shown[:-1], []).append(shown[-1])
    parts = [
        "".join(rf"\x{byte:02x}" for byte in head)
        + "["
        + "".join(rf"\x{b:02x}" for b in last)
        + "]"
        for head, last in heads.items()
    ]
    parts += [
        f"(?i:{head})[{''.join(last)}{''.join(last).upper()}]" for head, last in escaped.items()
    ]
    return f"(?:{'|'.join(parts)})"


def _shown_otherwise() -> str:
    """Return a pattern of digits and letters of other alphabets where they may be part of an
    identifier."""
    known = characters()
    digits = _bytes_of([code for code, shown in known.items() if shown.isdigit()])
    letters = _bytes_of(
        [c for c, shown in known.items() if not shown.isdigit() and 0x1D400 <= c <= 0x1D7FF]
    )
    either = rf"(?:[0-9]|{digits})"
    few = rf"(?:{_SEPARATOR}|[.()_*`~])?"
    return "|".join(
        (
            letters,
            # of eight digits or more the first such one; and an address
            rf"{digits}(?:{few}{either}){{5}}|(?:[0-9]{few}){{3}}{digits}",
            rf"{digits}{either}{{0,2}}(?:\.{either}{{1,3}}){{2}}",
            rf"(?:[0-9]{{1,3}}\.){{2}}{either}{{0,2}}{digits}",
        )
    )


def _disguise() -> str:
    """Return the pattern of disguises, used only for bytes that have a sign of one."""
    return f"{_shown_otherwise()}|{_disguise_in_ascii()}"


def _disguise_in_ascii() -> str:
    """Return the part of `_disguise` that ASCII without escapes may hold."""
    return "|".join(
        (
            # a character that nobody needs to encode
            _UNRESERVED,
            r"#(?:0*(?:3[23567]|4[0-9]|5[0-9]|61|63|6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-6])"
            r"|[xX]0*(?:2[013-58-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F]));",
            rf"{_AND}(?:plus|commat|period|lpar|rpar|num|lowbar|hyphen|dash|equals|colon|sol|dollar);",
            rf"%(?:25)*2[bB8](?:[0-9]|{_GAP})",
            # something between digits
            rf"[0-9+()]{_SEPARATOR}?[().]?(?:{_GAP}{_SEPARATOR}?{_MARKS}*)+[.()]?[0-9]",
            rf"[0-9]{_MARKS}*{_SEPARATOR}?{_MARKS}*[*`~]{_MARKS}*{_SEPARATOR}?{_DIGITS}{{5}}",
            rf"{_DIGITS}{{4}}{_SEPARATOR}?{_MARKS}*[*`~]{_MARKS}*{_SEPARATOR}?[0-9]",
            rf"\+{_MARKS}*[*`~]{_MARKS}*[0-9(]",
            # a code right in front of a number
            rf"(?:{_ANSI}|%[2-7][0-9A-Fa-f])[+(]?[0-9A-Z]",
            # something between letters
            rf"[0-9A-Za-z@._-](?:{_ANSI})+[0-9A-Za-z@_-]",
            rf"(?:[0-9A-Za-z][*`~]+|[0-9A-Za-z]{_TAG}|{_ANSI}|;)(?:@|%40)(?:[*`~]|{_TAG}|{_LABEL})",
            rf"{_LOCAL}(?:@|%40)(?:[*`~]+|{_TAG}|{_ANSI}|{_AND}|%)",
            rf"{_LOCAL}(?:@|%40){_LABEL}+(?:[*`~]+|{_TAG}|{_ANSI}|{_AND}|%)",
            r"%(?:25)*(?:2[FfBb6]|3[AaDdFf]|24|40|22)(?:[A-Za-z0-9+/_.-]|%){6}",
        )
    )


UNDERSCORES = "|".join(
    (
        rf"_\(?[0-9](?:[_*`~]?(?:{_SEPARATOR}|[.()_]){{0,2}}[0-9]){{8}}",
        rf"(?:[0-9](?:{_SEPARATOR}|[.()_]){{0,2}}){{7}}[0-9]_",
        r"_\+\(?[0-9]|_[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|\.[0-9]{1,3}\.[0-9]{1,3}_",
        rf"_[A-Z]{{2}}[0-9]{{2}}(?:{_SEPARATOR}?[0-9A-Z]){{11}}",
    )
)
"""Numbers beside an underscore, which is in every text: not worth a pass of its own."""

# secrets -----------------------------------------------------------------------------------------
_VALUE = r"[^\x00- \"'`,<>(){}\[\]|\\]"
# Not how long it may be: re2 writes counted repeats out, and a wider pattern is read in less time.
_TO_DIGIT = rf"(?:{_VALUE}|\\+/)*[0-9]|[A-Za-z+/=\\]{{16}}"
# `order_token`, of which traces are full, is left out at once.
_NAMES = (
    r"(?i:(?:^|[^_]|[^r]_|[^e]r_|[^d]er_)token|secret|passw(?:or)?d|passphrase|passcode|pwd"
    r"|credentials?|contrase(?:..?|\\+u00[fF]1)a|jwt"
    r"|[A-Za-z_. -]key(?:s|_base)?[0-9]?|[^A-Za-z]pass|npass|[^A-Za-z]pw|npw|_auth|sessid"
    r"|jsessionid)"
)
_Q = r"\\*[\"'`]"
_COLON = rf"(?:{_Q})?[ \t]{{0,2}}[:=][ \t]{{0,4}}(?:{_Q})?"
_SECRET_HEADERS = (
    r"(?i:authorization|x-[a-z-]{0,30}(?:key|token|auth|secret|signature)|api-?key"
    r"|auth-pw|(?:private|job|deploy)-token|subscription-key|functions-key)"
)
_COMMANDS = (
    r"(?:mysql|mysqldump|mysqladmin|mariadb|mongo|mongosh|mongodump|mongorestore|sshpass|docker"
    r"|podman|helm|htpasswd|skopeo|buildah|crane|ibmcloud|redis-cli|memcached|ldap[a-z]+|sqlcmd|bcp"
    r"|isql|openssl|keytool|gpg|az|oc|cf)"
)


def _token_forms() -> str:
    """Return the prefix of every form with the first characters that follow it."""
    forms = []
    for prefix, tail in FORMS:
        first = re.match(r"(?:\(\?[=!](?:[^()]|\([^()]*\))*\))*(\[[^\]]+\])\{([0-9]+)", tail)
        least = f"{first.group(1)}{{{min(int(first.group(2)), 12)}}}" if first is not None else ""
        prefix = re.sub(r"\(\?<[=!].*?\)", "", prefix)
        forms.append(prefix.replace("/", r"\\*/") + least.replace("/", r"/\\"))
    return rf"{_NO_WORD}(?:{'|'.join(forms)})"


# From 1 to 255: what numbers objects and kinds of images has larger parts.
_SOME = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]?)"

VALUES = {
    "email": (
        rf"{_LOCAL}(?:@|%40){_LABEL}+\.{_LABEL}"
        rf"|(?:#0*(?:64|[xX]0*40)|commat);{_LABEL}"
    ),
    "card": (
        rf"(?:{_LEFT}|(?i:visa|mastercard|amex|discover|maestro|card))"
        rf"(?:4|5[0-8]|2[2-7]|3[04-9]|6)(?:{_SEPARATOR}?[0-9]){{11,18}}{_RIGHT}"
        rf"|{_LEFT}[2-6][0-9]{{3}}(?:{_WIDE}[0-9]{{4}}){{3}}"
        # a number that a reader makes a whole one
        rf"|(?:^|[:,\[ \t\r\n]|{BREAK})-?"
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
    "token": "|".join(
        (
            _token_forms(),
            rf"(?:{ESCAPE})(?:sk-[A-Za-z0-9_-]{{20}}|AIza[A-Za-z0-9_-]{{30}}"
            r"|hf_[A-Za-z0-9]{30}|npm_[A-Za-z0-9]{30}|github_pat_)",
            *(glance for _, glance in INNER),
            MARK,
            r"BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY|PuTTY-User-Key-File",
            rf"{_NO_WORD}e(?:y[A-Z]|w[0o])[A-Za-z0-9_-]{{7,}}\.[A-Za-z0-9_-]",
        )
    ),
    "credential": "|".join(
        (
            rf"{_NAMES}(?:{_Q}|[\])]{{1,2}})?{_SPACE}(?:=>|:=|==?|:){_SPACE}(?:{_Q})?"
            rf"(?:(?i:bearer|basic|token|apikey) +)?(?:{_TO_DIGIT})",
            rf"(?:{_NAMES}|(?i:key)) (?:is|was|will be|set to|equals)[:=]? {{0,2}}[*_]{{0,2}}"
            rf"(?:{_Q})?(?:{_TO_DIGIT})",
            rf"-(?:[A-Za-z0-9-]{{1,24}})?{_NAMES}[ \t]+(?:{_Q})?(?:{_TO_DIGIT})",
            rf"{_NAMES}(?:>|\\+u003[eE]){_SPACE}(?:{_TO_DIGIT})",
            rf"{_NAMES}{_Q}{_SPACES}(?i:value)=",
            rf"(?i:passphrase)(?:{_Q})?{_SPACE}(?:=>|:=|==?|:){_SPACE}{_Q}",
            r"(?:[?&;]|u0026)(?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature"
            r"|key|code|hmac|auth|authkey|st|sas)=[A-Za-z0-9%+/\\=_.~-]{16}",
            r":\\*/\\*/[A-Za-z0-9_%.~-]{16,}:?@[A-Za-z0-9]",
            rf"(?i:cookie2?){_COLON}[^\x00-\x1f\"'\\<>{{}}=]+=",
            rf"{_SECRET_HEADERS}{_COLON}[^\x00-\x1f\"'\\<>{{}}]*"
            r"(?:[0-9]|[A-Za-z+/=\\]{16})",
            r" (?:-u|-U|--user|--proxy-user|--auth|-a)(?:=|[ \t]*)\\*[\"']?[^\x00- \"'\\|;:%]+[:%]",
            rf"{_COMMANDS}(?:[ ](?:[^\x00-\x1f|;\\]|\\+[^nr\\])*)?[ ]"
            r"(?:-[pawPkb]|-pass|-storepass|-keypass)",
            rf"login{_SPACES}[^\x00- \\\"]+{_SPACES}(?:account|password){_SPACES}",
            r":(?:543[0-9]|6432|\*):[A-Za-z0-9_*.-]+:[A-Za-z0-9_*.@-]+:[^\x00- \"'\\:]{4}",
            rf"(?i:auth|basic)(?:{_Q})?[ \t]{{0,4}}[:=][ \t]{{0,4}}(?:{_Q})?[A-Za-z0-9+/\\]{{8}}",
            rf'(?i:auth)\\*"{_SPACE}:{_SPACE}\\*"[A-Za-z0-9+/\\]{{8}}',
        )
    ),
    # With two zeros in the middle four numbers are a version, or this machine.
    "ip": "|".join(
        (
            rf"(?:^|[^0-9A-Za-z.]|{ESCAPE}|{_CODE_END})(?:{_SOME}|0)"
            rf"\.(?:{_SOME}\.(?:{_SOME}|0)|0\.{_SOME})\.[0-9]",
            rf"(?:^|[^0-9A-Za-z:.]|{ESCAPE}|{_CODE_END})[23][0-9A-Fa-f]{{3}}:[0-9A-Fa-f:]{{2}}",
        )
    ),
    "disguised": UNDERSCORES,
}

# Characters that hide from the parts above, except from `disguised`.
DISGUISED_ASCII = "|".join(
    (
        # ASCII spelled as an escape; <, > and & are what careful writers escape for HTML
        r"\\u00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7])",
        # full-width letters, digits and signs
        r"\xef\xbc[\x8b\x8d\x8e\x90-\x99\xa0-\xba\xbf]|\xef\xbd[\x81-\x9a]",
        r"\\u[fF][fF](?:0[bBdDeE]|1[0-9]|[2-5])",
        # invisible characters
        r"\xc2\xad|\xd8\x9c|\xe2\x80[\x8b\x8c\x8e\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
        r"|\xf3\xa0[\x80\x81]|\\u(?:00[aA][dD]|061[cC]|200[bBcCeEfF]|202[a-eA-E]|206"
        r"|[fF][eE][fF][fF]|[dD][bB]40)",
        # a member name that is not plain ASCII
        rf'(?:[\x80-\xff]|\\u{HEX}{{4}}|\\[^"u\\])[^"\\]*\\*"{_SPACE}:',
    )
)


def options() -> Any:
    """Return the options with which every pattern over raw bytes is compiled."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.never_capture = True
    chosen.dot_nl = True
    chosen.log_errors = False  # it would write to stderr when the budget below is used up
    # States are made on demand: some 10 MB for ordinary traces. Beyond the budget (every
    # event with its members in another order) re2 goes on without them, linear but slow.
    chosen.max_mem = 64 << 20
    return chosen


def compiled(pattern: str) -> Any:
    """Return the re2 pattern for raw bytes."""
    return re2.compile(pattern.encode("latin-1"), options())


@lru_cache(maxsize=4)
def _search(pattern: Callable[[], str]) -> Any:
    """Return the search of a pattern that is made and compiled when it is first used."""
    return compiled(pattern()).search


def _escape_sign() -> str:
    return r"\\(?:u|x1|033|e)"


def _behind_code() -> str:
    return rf"(?:{_ANSI}|%[2-7][0-9A-Fa-f])[0-9A-Za-z$+(]"


def disguised(raw: bytes) -> bool:
    """Return whether anything but an underscore may disguise an identifier in these bytes. Most
    have none of the signs, which are found quickly."""
    ascii_alone = raw.isascii()
    signs = (
        (b"\\" in raw and _search(_escape_sign)(raw) is not None)
        or b"%" in raw
        or b"*" in raw
        or b"`" in raw
        or b"<" in raw
        or b"&" in raw
        or b"~" in raw
        or not ascii_alone
    )
    if not signs:
        return False
    # Other alphabets take 15 ms to compile, which most files need not wait for.
    plain = ascii_alone and b"\\u" not in raw
    return _search(_disguise_in_ascii if plain else _disguise)(raw) is not None


@lru_cache(maxsize=1)
def _patterns() -> Any:
    together = re2.Set.SearchSet(options())
    for pattern in VALUES.values():
        together.Add(pattern.encode("latin-1"))
    together.Compile()
    return together.Match


_ALL = frozenset(VALUES)
_NAMED = tuple(VALUES)


def may_hold(text: str) -> frozenset[str]:
    """Return the detectors that may find something in a folded text."""
    try:
        raw = msgspec.json.encode(text)
    except (UnicodeEncodeError, ValueError):  # half of a surrogate pair
        return _ALL
    may = frozenset(_NAMED[place] for place in _patterns()(raw) or ())
    if "disguised" in may:
        return may
    # Behind a code there are characters that the others would take for the end of a word.
    if disguised(raw) or (may and _search(_behind_code)(raw) is not None):
        return may | {"disguised"}
    return may


DEPTH = 8
"""Nesting that the fast path accepts; deeper records are rare and take the slow path."""


def _starts_unlike(word: str, then: str) -> str:
    """Return what follows when a text does not start with `word` (any case), or does and then
    `then`."""
    unlike = then
    for letter in reversed(word):
        either = letter.lower() + letter.upper()
        unlike = rf"(?:[^{either}]|[{either}]{unlike})"
    return unlike


def _sensitive_member(rules: Rules) -> str:
    """Return a sensitive name in any spelling, with a value that is not plainly empty or
    `[REDACTED…]`."""

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
    """Return any JSON text in which what opens also closes, at most `depth` deep."""
    inner = rf'(?:[^"\[\]{{}}]|{_STRING})*'
    for _ in range(depth):
        inner = rf'(?:[^"\[\]{{}}]|{_STRING}|[\[{{]{inner}[\]}}])*'
    return inner


def _deeper_than(depth: int) -> str:
    return "^" + "".join(rf"{_balanced(depth - level)}[\[{{]" for level in range(depth + 1))


def _member(name: str) -> str:
    return rf'"{name}"[ \t\r\n]*:'


def _repeated(struct: type[msgspec.Struct], depth: int) -> str:
    """Return a pattern of two members with one name in one object, whatever is between them."""
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
    search = compiled("|".join((_identifiers(rules), _BEYOND_A_DOUBLE, _structure()))).search

    def suspect(raw: bytes) -> bool:
        return search(raw) is not None or disguised(raw)

    return suspect


def _identifiers(rules: Rules) -> str:
    parts = [VALUES[detector] for detector in rules.masking]
    parts += [_sensitive_member(rules), DISGUISED_ASCII]
    return "|".join(part for part in parts if part)


@lru_cache(maxsize=16)
def suspicious_written(rules: Rules) -> Callable[[bytes], bool]:
    """Return, as `suspicious`, whether bytes are not to be trusted that our encoder wrote of a
    decoded value: no name is repeated in them, and no number is beyond a double.

    Its automaton is made in half the time, since its states need not follow the members of a
    record; one that reads many records is no faster."""
    search = compiled(_identifiers(rules)).search

    def suspect(raw: bytes) -> bool:
        return search(raw) is not None or _is_deep(raw) or disguised(raw)

    return suspect


def _is_deep(raw: bytes) -> bool:
    """Return whether these bytes nest deeper than DEPTH."""
    if raw.count(b"{") + raw.count(b"[") <= DEPTH:
        return False
    return _search(_too_deep)(raw) is not None


def _too_deep() -> str:
    return _deeper_than(DEPTH)
