"""Other ways to write a value that is known, which would give it away unseen.

Only a known value can be searched for this way. In a text of which nothing is known, an encoded
identifier looks like any other key or digest.
"""

import re
import string
from codecs import encode
from functools import lru_cache

_FEWEST_BYTES = 4
_FEWEST_LETTERS = 6
"""Fewest bytes of a value that is searched for encoded, and characters of one that is searched for
backwards and in rot13: a shorter one occurs by chance."""
_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_BOTH = str.maketrans({"+": "+-", "/": "/_"})
_SPELLED = re.compile(r"(?<!\w)(?:\S(?: \S){3,}|\w([.,_\-/])\w(?:\1\w){2,})(?!\w)")


@lru_cache(maxsize=256)
def encoded(value: str) -> re.Pattern[str] | None:
    """Return a pattern of this value in base64, hexadecimal, percent-encoding, rot13 or backwards,
    whatever is encoded before or after it; None for a value that is too short."""
    data = value.encode("utf-8", "replace")
    if len(data) < _FEWEST_BYTES:
        return None
    forms = [_in_base64(data, before) for before in range(3)]
    forms += [f"(?i:{data.hex()}|{''.join(f'%{byte:02x}' for byte in data)})"]
    if len(value) >= _FEWEST_LETTERS:
        others = {value[::-1], encode(value, "rot13")} - {value}
        forms += [re.escape(one) for one in sorted(others)]
    return re.compile("|".join(forms))


def _in_base64(data: bytes, before: int) -> str:
    """Return a pattern of bytes in base64, behind so many others in a group of three. A character
    that stands for bits of its neighbors, too, is any that has the bits of these bytes."""
    bits = "?" * 8 * before + "".join(f"{byte:08b}" for byte in data)
    bits += "?" * (-len(bits) % 6)
    parts = [bits[place : place + 6] for place in range(0, len(bits), 6)]
    return "".join(_one_of(part) for part in parts if set(part) != {"?"})


@lru_cache(maxsize=512)
def _one_of(bits: str) -> str:
    """Return a class of the characters, of both alphabets, that have these bits of six."""
    fitting = re.compile(bits.replace("?", "."))
    signs = [sign for n, sign in enumerate(_ALPHABET) if fitting.fullmatch(f"{n:06b}")]
    return f"[{re.escape(''.join(signs).translate(_BOTH))}]"


def unspelled(text: str) -> str:
    """Return a text with the words joined that are spelled character by character."""
    return _SPELLED.sub(lambda found: found[0].replace(found[1] or " ", ""), text)
