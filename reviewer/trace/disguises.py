"""Text without what is put between or in the place of the characters of an identifier.

`fold` undoes what every reader of text undoes. Here more is undone, which may join what does not
belong together, so only the detector `disguised` looks at it: digits and letters of other
alphabets, percent-encoding, HTML entities and tags, codes that color a terminal, and, for numbers,
markdown and underscores. `prefilter` holds the byte patterns of the same sets.
"""

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from reviewer.trace.fold import INVISIBLE
from reviewer.trace.patterns import late

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
    """Characters outside ASCII that show an ASCII one: digits of every alphabet, and the letters
    and digits of mathematics."""
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


class Opened(NamedTuple):
    """Text without its disguises. `marks` holds, for each thing that was undone, in order: where
    what it shows begins and ends in `text`, and where it begins and ends in the original."""

    text: str
    marks: list[tuple[int, int, int, int]]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span of the original that a span of `text`, not empty, stands for."""
        return self._at(start)[0], self._at(end - 1)[1]

    def _at(self, place: int) -> tuple[int, int]:
        """The half-open span of the original of the character at this place."""
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
    """A class of these characters and of all outside ASCII, said by what is not in it: a class that
    reaches up to the last character takes milliseconds to compile."""
    return "[^" + re.escape("".join(one for one in map(chr, range(128)) if one not in signs)) + "]"


_CODED = late(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]")
_MARKED = late(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]|[*`~]+|_+")
_BEFORE_CODED = late(_any_of("\x1b\\<%&"))
_BEFORE_MARKED = late(_any_of("\x1b\\<%&*`~_"))
"""How what `_CODED` and `_MARKED` match begins."""


def opened(text: str, numbers: bool) -> Opened | None:
    """The text as it was before it was disguised; None where nothing disguises it. For `numbers`,
    marks of markdown are dropped, too, and an underscore is a separator."""
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
    return Opened("".join(out), marks)


def _found(text: str, numbers: bool) -> Iterator[re.Match[str]]:
    """Every place where something may be undone. The first characters are searched for alone: that
    is many times faster than the alternatives at every character."""
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
    """Return what a match stands for: a character, nothing, or None where it stands for itself."""
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
