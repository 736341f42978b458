"""One spelling for text that only looks different, so that a disguise does not hide an identifier.

`fold` drops characters nobody sees and spells full-width letters, digits and signs in ASCII. It
leaves U+200D and the variation selectors alone: emoji are made of them, and the e-mail rule takes
any character outside ASCII for part of an address anyway. `prefilter` holds the byte patterns of
the same sets; a property test keeps it a superset.
"""

import unicodedata
from bisect import bisect_right
from typing import NamedTuple

from reviewer.trace.patterns import late

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


class Folded(NamedTuple):
    """Folded text, and before which of its characters one was dropped, in order (None: none)."""

    text: str
    dropped: list[int] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open span of the original text behind folded[start:end] (not empty)."""
        if self.dropped is None:
            return start, end
        last = end - 1
        return start + bisect_right(self.dropped, start), end + bisect_right(self.dropped, last)


def fold(text: str) -> Folded:
    """Invisible characters dropped, full-width forms spelled in ASCII."""
    if text.isascii():
        return Folded(text, None)
    # Character by character only where there is something to do: a long text takes its time.
    wide = text if _ANY_WIDE.search(text) is None else text.translate(_WIDE)
    dropped = [unseen.start() - n for n, unseen in enumerate(_DROPPED.finditer(wide))]
    return Folded(_DROPPED.sub("", wide), dropped) if dropped else Folded(wide, None)


def plain_separators(text: str) -> str:
    """Every kind of space as a space and of dash as a hyphen; the length does not change."""
    if text.isascii() or _ANY_SEPARATOR.search(text) is None:
        return text
    return text.translate(_SEPARATORS)


def fold_key(key: str) -> str:
    """A member name without its spelling: `Customer_E-Mail` is `customeremail`.

    NFKC, case folded, without `_`, `-` and white space; of a dotted name only the last part that
    is not empty (`http.request.header.authorization` is `authorization`).
    """
    if not key.isascii():
        key = unicodedata.normalize("NFKC", _DROPPED.sub("", key)).casefold()
    parts = _KEY_NOISE.sub("", key).casefold().split(".")
    return next((part for part in reversed(parts) if part), "")
