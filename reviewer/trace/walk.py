"""The exact redaction rule applied to a parsed value: find every identifier, or mask it.

Values are walked by member name and by text; JSON within a string (`embedded`) is opened, up to
NESTED times. Containers more than DEEPEST deep are not looked into but count as one hit, so no
value, however hostile, exhausts the stack.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from reviewer.trace.assignments import is_credential
from reviewer.trace.detectors import SHORTEST, Span, is_card, spans
from reviewer.trace.embedded import Embedded, embedded
from reviewer.trace.fold import fold_key
from reviewer.trace.paths import item, member
from reviewer.trace.rules import carries_value
from reviewer.trace.strictjson import MAX_DEPTH, has_repeats, members

_KEPT_CLEAN, _KEPT_TEXT = 128, 8192
"""How long a text may be, in characters, of which is kept that it is clean, or how it is masked."""
NESTED = 3
DEEPEST = 2 * MAX_DEPTH


class Hit(NamedTuple):
    """One place that holds an identifier. `masked` shows its form, never the value."""

    path: str
    kind: str
    masked: str
    by_key: bool = False


class _Name(NamedTuple):
    """What the rules say of a member name: how it is shown, its own hits, its sensitive kind."""

    shown: str
    hits: tuple[tuple[str, str], ...]
    kind: str | None


class Walker:
    """`names` maps folded sensitive names to kinds; `clean(value)` may vouch for a part, which is
    then not walked: it must never vouch for one with a hit. It may overlook repeated members:
    opened text that has some is given to `exact`, a walker for which nobody vouches (default:
    this one).
    """

    def __init__(
        self,
        names: dict[str, str],
        detectors: tuple[str, ...],
        clean: Callable[[object], bool],
        exact: "Walker | None" = None,
    ) -> None:
        self._names = names
        self._detectors = detectors
        self._members = "credential" in detectors
        self.clean = clean
        self._exact = self if exact is None else exact
        self._cached_name = lru_cache(maxsize=2048)(self._read_name)
        # Records of one run say the same again and again: a prompt, a name, a status.
        self._cached_clean = lru_cache(maxsize=4096)(clean)
        self._cached_mask = lru_cache(maxsize=256)(self._mask_text)

    def findings(
        self, value: object, path: str = "", depth: int = 0, nested: int = NESTED
    ) -> Iterator[Hit]:
        """Hits of a value that stands at `path`."""
        if isinstance(value, str):
            if len(value) >= SHORTEST and not self._clean_text(value):
                yield from self._text_findings(value, path, depth, nested)
        elif isinstance(value, (dict, list, tuple)):
            if self.clean(value):
                return
            if depth > DEEPEST and nested == NESTED:  # opened text was measured before
                yield Hit(path, "too_deep", "nested values")
            elif isinstance(value, dict):
                for name, inner in members(value):
                    yield from self.member_findings(str(name), inner, path, depth, nested)
            else:
                for index, inner in enumerate(value):
                    yield from self.findings(inner, item(path, index), depth + 1, nested)
        elif self._is_card_number(value):
            yield Hit(path, "card", _form(str(value)))

    def member_findings(
        self, name: str, value: object, path: str = "", depth: int = 0, nested: int = NESTED
    ) -> Iterator[Hit]:
        """Hits of one member of the object at `path`: its name, and its value."""
        known = self._name(name)
        place = member(path, known.shown)
        for kind, form in known.hits:
            yield Hit(place, kind, form)
        if known.kind is not None and carries_value(value, nested < NESTED):
            yield Hit(place, known.kind, _form(value), by_key=True)
        elif self._credential(name, value):
            yield Hit(place, "credential", _form(value), by_key=True)
        else:
            yield from self.findings(value, place, depth + 1, nested)

    def mask(self, value: Any, depth: int = 0, nested: int = NESTED) -> Any:
        """The value without its hits; parts without any are shared with the original."""
        if not isinstance(value, (str, dict, list, tuple)):
            return "[REDACTED:card]" if self._is_card_number(value) else value
        if isinstance(value, str):
            if self._clean_text(value):
                return value
            mask = self._cached_mask if len(value) <= _KEPT_TEXT else self._mask_text
            return mask(value, depth, nested)
        if self.clean(value):
            return value
        if depth > DEEPEST and nested == NESTED:
            return "[REDACTED:too_deep]"
        if isinstance(value, dict):
            return self._mask_object(value, depth, nested)
        return [self.mask(inner, depth + 1, nested) for inner in value]

    def shown(self, name: str) -> str:
        """A member name without identifiers."""
        return self._name(name).shown

    def _clean_text(self, text: str) -> bool:
        return self._cached_clean(text) if len(text) <= _KEPT_CLEAN else self.clean(text)

    def _spans(self, text: str) -> list[Span]:
        return spans(text, self._detectors)

    def _credential(self, name: str, value: object) -> bool:
        """Return whether the member's name says that its text is a secret."""
        return self._members and isinstance(value, str) and is_credential(name, value)

    def _name(self, name: str) -> _Name:
        # A hostile record may have long names, and many: those are not worth remembering.
        return self._cached_name(name) if len(name) <= 64 else self._read_name(name)

    def _read_name(self, name: str) -> _Name:
        found = self._spans(name)
        hits = tuple((span.kind, _form(name[span.start : span.end])) for span in found)
        return _Name(self._mask_spans(name), hits, self._names.get(fold_key(name)))

    def _text_findings(self, text: str, path: str, depth: int, nested: int) -> Iterator[Hit]:
        opened = self._opened(text, path, depth, nested)
        hits = {(hit.path, hit.kind, hit.by_key): hit for _, found in opened for hit in found}
        starts = [part.start for part, _ in opened]
        for span in self._spans(text):
            before = bisect_right(starts, span.start) - 1
            if before < 0 or span.end > opened[before][0].end:  # else the opened value tells more
                hits[path, span.kind, False] = Hit(
                    path, span.kind, _form(text[span.start : span.end])
                )
        yield from hits.values()

    def _mask_text(self, text: str, depth: int, nested: int) -> str:
        for _ in range(3):  # a mask may close what stood open
            parts: list[str] = []
            done = 0
            for part, _hits in self._opened(text, "", depth, nested):
                parts += (
                    text[done : part.start],
                    _written(self.mask(part.value, depth + 1, nested - 1)),
                )
                done = part.end
            masked = self._mask_spans("".join((*parts, text[done:])))
            if masked == text:
                return text
            text = masked
        return "[REDACTED]" if any(self._text_findings(text, "", depth, nested)) else text

    def _opened(
        self, text: str, path: str, depth: int, nested: int
    ) -> list[tuple[Embedded, list[Hit]]]:
        """The values in a text that have hits, and those."""
        if not nested:
            return []
        found = []
        for part in embedded(text):
            walker = self._exact if has_repeats(part.value) else self
            hits = list(walker.findings(part.value, path, depth + 1, nested - 1))
            if hits:
                found.append((part, hits))
        return found

    def _mask_spans(self, text: str) -> str:
        for _ in range(3):  # a mask may join what stood apart
            found = self._spans(text)
            if not found:
                return text
            parts: list[str] = []
            done = 0
            for span in found:
                parts += (text[done : span.start], f"[REDACTED:{span.kind}]")
                done = span.end
            text = "".join((*parts, text[done:]))
        return "[REDACTED]" if self._spans(text) else text

    def _mask_object(self, value: dict[Any, Any], depth: int, nested: int) -> dict[str, Any]:
        masked: dict[str, Any] = {}
        for name, inner in value.items():
            known = self._name(str(name))
            unique, copies = known.shown, 1
            while unique in masked:
                copies += 1
                unique = f"{known.shown}#{copies}"
            kind = known.kind or self._name(unique).kind
            if kind is not None and carries_value(inner, nested < NESTED):
                masked[unique] = f"[REDACTED:{kind}]"
            elif self._credential(str(name), inner):
                masked[unique] = "[REDACTED:credential]"
            else:
                masked[unique] = self.mask(inner, depth + 1, nested)
        return masked

    def _is_card_number(self, value: object) -> bool:
        if not isinstance(value, (int, float)) or not 10**12 <= abs(value) < 10**19:
            return False
        digits = str(abs(value)).removesuffix(".0")
        # A round float is an amount; one beyond 2**53 no longer tells its digits.
        told = isinstance(value, int) or (digits.isdigit() and not digits.endswith("0000"))
        return told and "card" in self._detectors and is_card(digits)


def _written(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: only an escape can be stored
        return json.dumps(value)
    return text


def _form(value: object) -> str:
    """What a value looks like: letters as x, digits as 9, at most 40 characters."""
    if not isinstance(value, str):
        words = {dict: "an object", list: "a list", bool: "true or false"}
        return words.get(type(value), "a number")
    shape = re.sub(r"[0-9]", "9", re.sub(r"[^\W\d_]", "x", value[:40]))
    return "".join(c if c.isascii() and c.isprintable() else "·" for c in shape)
