"""Text without what is put between or in the place of the characters of an identifier.

`fold` undoes what every reader of text undoes. Here more is undone, which may join what does not
belong together, so only the detector `disguised` looks at it: digits and letters of other
alphabets, percent-encoding, HTML entities and tags, codes that color a terminal, and, for numbers,
markdown and underscores. `prefilter` holds the byte patterns of the same sets.
"""

import html
import re
import sys
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from reviewer.trace.fold import INVISIBLE

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
    """Text without its disguises, and for each of its characters the half-open span of the
    original that it stands for."""

    text: str
    start: list[int]
    end: list[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        return self.start[start], self.end[end - 1]


_CODED = re.compile(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]")
_MARKED = re.compile(f"{_ANSI}|{_TAG}|{_UNSEEN}|{_PERCENT}|{_ENTITY}|[^\x00-\x7f]|[*`~]+|_+")
_SEPARATOR = {"_": "-"}


def opened(text: str, numbers: bool) -> Opened | None:
    """The text as it was before it was disguised; None where nothing disguises it. For `numbers`,
    marks of markdown are dropped, too, and an underscore is a separator."""
    out: list[str] = []
    start: list[int] = []
    end: list[int] = []
    done = 0
    changed = False
    known = characters()
    for found in (_MARKED if numbers else _CODED).finditer(text):
        shown = _shown(found, known)
        if shown is None:
            continue
        changed = True
        a, b = found.span()
        out.append(text[done:a])
        start += range(done, a)
        end += range(done + 1, a + 1)
        out.append(shown)
        start += [a] * len(shown)
        end += [b] * len(shown)
        done = b
    if not changed:
        return None
    out.append(text[done:])
    start += range(done, len(text))
    end += range(done + 1, len(text) + 1)
    return Opened("".join(out), start, end)


def _shown(found: re.Match[str], known: dict[int, str]) -> str | None:
    """What a match stands for: a character, nothing, or None where it stands for itself."""
    text = found.group()
    first = text[0]
    if first == "%":
        return chr(int(text[-2:], 16)) if text[-2:] != "7f" else None
    if first == "&":
        plain = html.unescape("&" + re.split(r"amp;|u0026", text[1:])[-1])
        return plain if len(plain) == 1 and plain != "&" else None
    if first == "_":
        return _underscore(found)
    if first in "*`~" or first == "<" or len(text) > 1:
        return ""
    code = ord(first)
    if code < 0x80 or code in known:
        return known.get(code)
    return "" if _INVISIBLE.match(first) else None


_INVISIBLE = re.compile(_UNSEEN)


def _underscore(found: re.Match[str]) -> str:
    text, a, b = found.string, *found.span()
    between = text[a - 1 : a].isdigit() and text[b : b + 1].isdigit()
    return "-" if between else " "
