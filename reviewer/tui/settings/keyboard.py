"""Keys as bindings name them and as people write them, and which of them stand for which verb now.
No terminal library is imported here."""

import re
import unicodedata
from collections.abc import Mapping

from reviewer.tui.settings.verbs import ANSWERS, MOTIONS, SHOWN, defaults

_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_NAMED = re.compile(r"(f([1-9]|1\d|2[0-4])|space|insert)\Z")
_MODIFIED = re.compile(
    r"(?:ctrl|alt|shift|ctrl\+shift)\+(?:[a-z]|f\d{1,2}|space|up|down|left|right)\Z"
)
_BY_SIGN = {shown: name for name, shown in SHOWN.items() if len(shown) == 1 and shown.isascii()}


def key_name(written: str) -> str | None:
    """The name of a key as bindings spell it: a character, `space`, `f5`, `ctrl+n`; else None."""
    if len(written) == 1:
        if written.isalnum():
            return written
        if written in _BY_SIGN:
            return _BY_SIGN[written]
        if written == " " or not written.isprintable() or unicodedata.combining(written):
            return None
        name = unicodedata.name(written, "").lower().replace(" ", "_").replace("-", "_")
        return _NAMES.get(name, name) or None
    if _NAMED.match(written) or _MODIFIED.match(written) or written in SHOWN:
        return written
    return None


def written(key: str) -> str:
    """A key as it is printed: `/` for `slash`, `Enter`, `ctrl+o`, `shift+←`."""
    if key in SHOWN:
        return SHOWN[key]
    if "+" in key:
        *modifiers, last = key.split("+")
        return "+".join((*modifiers, SHOWN.get(last, last)))
    if len(key) > 1 and key_name(sign := _sign(key)) == key:
        return sign
    return key


def _sign(name: str) -> str:
    back = {short: long for long, short in _NAMES.items()}
    try:
        return unicodedata.lookup(back.get(name, name).replace("_", " "))
    except KeyError:
        return ""


_TOKEN = re.compile(r"Enter|Esc|Del|tab|space|Pg(?:Up|Dn)|(?:ctrl|shift|alt)\+\S+|\^\w|\S|\s+")


class Keyboard:
    """Which keys stand for which verbs: the defaults, and what the settings put in their place."""

    def __init__(self, remapped: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.remapped = dict(remapped or {})
        self._keys = defaults() | self.remapped
        self._by_sign = {
            sign: verb
            for verb, keys in defaults().items()
            if verb not in ANSWERS
            for key in keys
            for sign in (written(key), key.replace("ctrl+", "^"))
        }

    def keys(self, verb: str) -> tuple[str, ...]:
        """The keys of a verb, as bindings spell them, without arrows and the like."""
        return self._keys[verb]

    def key(self, verb: str) -> str:
        """The key of a verb as it is printed: its first."""
        return written(self._keys[verb][0])

    def keymap(self) -> dict[str, str]:
        """What Textual replaces: binding id → keys."""
        return {
            verb: ",".join((*keys, *(MOTIONS[verb].fixed if verb in MOTIONS else ())))
            for verb, keys in self.remapped.items()
        }

    def said(self, keys: str) -> str:
        """The keys of a hint (`n`, `jk`, `[]`, `< >`, `1-9`) as they are now."""
        if not self.remapped or re.fullmatch(r"\d-\d", keys):
            return keys
        return "".join(
            self.key(verb) if (verb := self._by_sign.get(token, "")) in self.remapped else token
            for token in _TOKEN.findall(keys)
        )
