"""Disguises of identifiers: text in one spelling, and without characters put between an
identifier's own or in place of them.

`prefilter` holds the byte patterns of the same sets; a property test keeps it a superset.
"""

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from reviewer.trace import late

# One spelling for text that only looks different, so that a disguise hides no identifier.
#
# `fold` drops invisible characters and spells full-width letters, digits and signs in ASCII. It
# keeps U+200D and the variation selectors: emoji are made of them, and the e-mail rule
# takes any character outside ASCII for part of an address anyway. `prefilter` holds the byte
# patterns of the same sets; a property test keeps it a superset.


INVISIBLE = (
    "\u00ad\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f"
)

_DROPPED = late(f"[{INVISIBLE}]")
_WIDE = {
    code: chr(code - 0xFEE0)
    for code in (0xFF0B, 0xFF0D, 0xFF0E, *range(0xFF10, 0xFF1A), *range(0xFF20, 0xFF3B), 0xFF3F)
} | {code: chr(code - 0xFEE0) for code in range(0xFF41, 0xFF5B)}
_SEPARATORS = {
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-"),
}
_ANY_WIDE = late(f"[{''.join(map(chr, _WIDE))}]")
_ANY_SEPARATOR = late(f"[{''.join(map(chr, _SEPARATORS))}]")
_KEY_NOISE = late(r"[_\-\s]")


class FoldedText(NamedTuple):
    """Folded text, and the places in it before which a character was dropped, in order (None:
    none)."""

    text: str
    dropped: list[int] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the half-open span of the original text behind folded[start:end] (not empty)."""
        if self.dropped is None:
            return start, end
        last = end - 1
        return start + bisect_right(self.dropped, start), end + bisect_right(self.dropped, last)


def fold(text: str) -> FoldedText:
    """Return a text without its invisible characters, with full-width forms spelled in ASCII."""
    if text.isascii():
        return FoldedText(text, None)
    # Character by character only where there is something to do: a long text takes its time.
    wide = text if _ANY_WIDE.search(text) is None else text.translate(_WIDE)
    dropped = [unseen.start() - n for n, unseen in enumerate(_DROPPED.finditer(wide))]
    return FoldedText(_DROPPED.sub("", wide), dropped) if dropped else FoldedText(wide, None)


def plain_separators(text: str) -> str:
    """Return every kind of space as a space and of dash as a hyphen; the length does not change."""
    if text.isascii() or _ANY_SEPARATOR.search(text) is None:
        return text
    return text.translate(_SEPARATORS)


def fold_key(key: str) -> str:
    """Return a member name without its spelling: `Customer_E-Mail` is `customeremail`.

    NFKC, case folded, without `_`, `-` and white space; of a dotted name only the last part that
    is not empty (`http.request.header.authorization` is `authorization`).
    """
    if not key.isascii():
        key = unicodedata.normalize("NFKC", _DROPPED.sub("", key)).casefold()
    parts = _KEY_NOISE.sub("", key).casefold().split(".")
    return next((part for part in reversed(parts) if part), "")


# Text without characters that are put between those of an identifier or in place of them.
#
# `fold` undoes what every reader of text undoes. Here more is undone, which may join parts that
# do not belong together, so only the detector `disguised` uses it: digits and letters of other
# alphabets, percent-encoding, HTML entities and tags, codes that color a terminal, and, for
# numbers, markdown and underscores. `prefilter` holds the byte patterns of the same sets.


ESC = r"(?:[\x1b\x9b]|\\+(?:x1[bB]|u001[bB]|033|e))"
_ANSI = rf"(?:\x9b|{ESC}\[)[0-9;:?]*[A-Za-z]"
_PERCENT = r"%(?:25)*[2-7][0-9A-Fa-f]"
_ENTITY = r"&(?:amp;|\\+u0026)*(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,24});"
_TAG = (
    r"</?(?:[bius]|em|strong|span|code|tt|wbr|font|mark|small|sub|sup|del|ins)(?: [^<>]{0,60})?/?>"
)
_UNSEEN = f"[{INVISIBLE}\u200d\ufe00-\ufe0f]"


@lru_cache(maxsize=1)
def characters() -> dict[int, str]:
    """Return the characters outside ASCII that show an ASCII one: digits of every alphabet, and the
    letters and digits of mathematics."""
    found: dict[int, str] = {}
    for code in (*range(0x1D400, 0x1D800), *range(0xFF01, 0xFF5F)):
        plain = unicodedata.normalize("NFKC", chr(code))
        if plain.isascii() and plain.isalnum():
            found[code] = plain
    others = map(chr, range(0x80, min(sys.maxunicode, 0x1FFFF) + 1))
    found.update((ord(one), str(unicodedata.digit(one))) for one in filter(str.isdigit, others))
    for code in (0xFF0B, 0xFF0D, 0xFF0E, 0xFF20, 0xFF3F):
        found[code] = chr(code - 0xFEE0)
    return found


class OpenedText(NamedTuple):
    """Text without its disguises. `marks` holds, for each thing that was undone, in order: where
    what it shows begins and ends in `text`, and where it begins and ends in the original."""

    text: str
    marks: list[tuple[int, int, int, int]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the half-open span of the original behind a span of `text` that is not empty."""
        return self._at(start)[0], self._at(end - 1)[1]

    def _at(self, place: int) -> tuple[int, int]:
        """Return the half-open span of the original of the character at this place."""
        last = bisect_right(self.marks, place, key=_begins) - 1
        while last >= 0 and self.marks[last][0] == self.marks[last][1] > place:
            last -= 1
        if last < 0:
            return place, place + 1
        _, shown, begin, end = self.marks[last]
        if place < shown:
            return begin, end
        return place - shown + end, place - shown + end + 1


_begins = itemgetter(0)


def _any_of(signs: str) -> str:
    """Return a class of these characters and of all outside ASCII, written as a negation: a class
    that reaches up to the last character takes milliseconds to compile."""
    return "[^" + re.escape("".join(one for one in map(chr, range(128)) if one not in signs)) + "]"


_CODED = late(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]")
_MARKED = late(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]|[*`~]+|_+")
_BEFORE_CODED = late(_any_of("\x1b\\<%&"))
_BEFORE_MARKED = late(_any_of("\x1b\\<%&*`~_"))
"""The first characters of what `_CODED` and `_MARKED` match."""


def opened(text: str, numbers: bool) -> OpenedText | None:
    """Return the text as it was before it was disguised; None where nothing disguises it. For
    `numbers`, marks of markdown are dropped, too, and an underscore is a separator."""
    out: list[str] = []
    marks: list[tuple[int, int, int, int]] = []
    done = length = 0
    known = characters()
    for found in _found(text, numbers):
        shown = _shown(found, known)
        if shown is None:
            continue
        begin, end = found.span()
        out.append(text[done:begin])
        out.append(shown)
        length += begin - done
        marks.append((length, length + len(shown), begin, end))
        length += len(shown)
        done = end
    if not marks:
        return None
    out.append(text[done:])
    return OpenedText("".join(out), marks)


def _found(text: str, numbers: bool) -> Iterator[re.Match[str]]:
    """Yield every place where something may be undone. The first characters are searched for alone:
    that is many times faster than the alternatives at every character."""
    search, match = (
        (_BEFORE_MARKED.search, _MARKED.match)
        if numbers
        else (
            _BEFORE_CODED.search,
            _CODED.match,
        )
    )
    begin = search(text)
    while begin is not None:
        found = match(text, begin.start())
        if found is not None:
            yield found
        begin = search(text, begin.end() if found is None else found.end())


def _shown(found: re.Match[str], known: dict[int, str]) -> str | None:
    """Return the text that replaces a match: a character, nothing, or None where it stays."""
    text = found.group()
    first = text[0]
    if first == "%":
        return chr(int(text[-2:], 16)) if text[-2:] != "7f" else None
    if first == "&":
        from html import unescape  # its table of names takes a millisecond

        plain = unescape("&" + re.split(r"amp;|u0026", text[1:])[-1])
        return plain if len(plain) == 1 and plain != "&" else None
    if first == "_":
        return _underscore(found)
    if first in "*`~" or first == "<" or len(text) > 1:
        return ""
    code = ord(first)
    if code < 0x80 or code in known:
        return known.get(code)
    return "" if _INVISIBLE.match(first) else None


_INVISIBLE = late(_UNSEEN)


def _underscore(found: re.Match[str]) -> str:
    text, a, b = found.string, *found.span()
    between = text[a - 1 : a].isdigit() and text[b : b + 1].isdigit()
    return "-" if between else " "
