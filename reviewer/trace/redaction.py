"""Redaction of one suite's traces: which records are suspect, where they hold identifiers, and
masks.

A place is a hit when its member name is sensitive and it carries a value (whatever the value), or
when a detector finds an identifier in its text. Walking every string is slow, so `suspect` reads
the raw bytes first: a record that is not suspect has no hit and may be decoded at once. The walk of
a suspect record uses the same filter to step over its clean parts.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reviewer.trace import prefilter
from reviewer.trace.credentials import is_credential
from reviewer.trace.detectors import SHORTEST, Span, is_card, spans
from reviewer.trace.disguises import fold_key
from reviewer.trace.record import item, member
from reviewer.trace.rules import SENSITIVE_KEYS, Rules, carries_value, sensitive_names
from reviewer.trace.strictjson import MAX_DEPTH, EmbeddedValue, embedded, has_repeats, members

if TYPE_CHECKING:
    from reviewer.suite.model import RedactionRules

# The exact redaction rule applied to a parsed value: find every identifier, or mask it.
#
# Values are walked by member name and by text; JSON within a string (`embedded`) is opened, up to
# NESTED times. Containers more than DEEPEST deep are not looked into but count as one hit, so no
# value, however hostile, exhausts the stack.


_KEPT_CLEAN, _KEPT_TEXT = 256, 8192
"""The longest texts, in characters, of which is remembered that they are clean, or how they are
masked."""
_KEPT_PART, _KEPT_PARTS, _KEPT_DEPTH = 4096, 512, 16
"""The longest containers, in bytes, of which is remembered that they look suspect and hold nothing
(the address of a repository); how many; and how deep they may be in a record."""
NESTED = 3
DEEPEST = 2 * MAX_DEPTH


class Hit(NamedTuple):
    """One place that holds an identifier. `masked` shows its form, never the value."""

    path: str
    kind: str
    masked: str
    by_key: bool = False


class _Name(NamedTuple):
    """A member name by the rules: how it is shown, its own hits, its sensitive kind."""

    shown: str
    hits: tuple[tuple[str, str], ...]
    kind: str | None


class Walker:
    """`names` maps folded sensitive names to kinds; a part whose bytes are not `suspect` is not
    walked: never one with a hit. It may overlook repeated members: opened text that has some is
    given to `exact`, a walker that skips nothing (default: this one).
    """

    def __init__(
        self,
        names: dict[str, str],
        detectors: tuple[str, ...],
        suspect: Callable[[bytes], bool] | None = None,
        exact: "Walker | None" = None,
    ) -> None:
        self._names = names
        self._detectors = detectors
        self._members = "credential" in detectors
        self._suspect = suspect
        self._exact = self if exact is None else exact
        self._cached_name = lru_cache(maxsize=2048)(self._read_name)
        # Records of one run repeat values: a prompt, a name, a status.
        self._cached_clean = lru_cache(maxsize=4096)(self.clean)
        self._cached_mask = lru_cache(maxsize=256)(self._mask_text)
        self._harmless: set[bytes] = set()

    def clean(self, value: object) -> bool:
        """Return whether the filter finds nothing suspect in a value."""
        return self._suspect is not None and self._is_clean(_bytes_of(value))

    def _is_clean(self, raw: bytes) -> bool:
        return bool(raw) and self._suspect is not None and not self._suspect(raw)

    def findings(
        self, value: object, path: str = "", depth: int = 0, nested: int = NESTED
    ) -> Iterator[Hit]:
        """Yield the hits of a value that is at `path`."""
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
        """Yield the hits of one member of the object at `path`: in its name, and in its value."""
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
        """Return the value without its hits; parts without any are shared with the original."""
        if not isinstance(value, (str, dict, list, tuple)):
            return "[REDACTED:card]" if self._is_card_number(value) else value
        if isinstance(value, str):
            if self._clean_text(value):
                return value
            mask = self._cached_mask if len(value) <= _KEPT_TEXT else self._mask_text
            return mask(value, depth, nested)
        if self._suspect is None:
            return self._mask_inside(value, depth, nested)
        raw = _bytes_of(value)
        known = len(raw) <= _KEPT_PART and depth <= _KEPT_DEPTH and nested == NESTED
        if (known and raw in self._harmless) or self._is_clean(raw):
            return value
        masked = self._mask_inside(value, depth, nested)
        if known and raw and _is_flat(raw) and _bytes_of(masked) == raw:
            if len(self._harmless) >= _KEPT_PARTS:
                self._harmless.clear()
            self._harmless.add(raw)
        return masked

    def _mask_inside(self, value: Any, depth: int, nested: int) -> Any:
        if depth > DEEPEST and nested == NESTED:
            return "[REDACTED:too_deep]"
        if isinstance(value, dict):
            return self._mask_object(value, depth, nested)
        return [self.mask(inner, depth + 1, nested) for inner in value]

    def shown(self, name: str) -> str:
        """Return a member name without identifiers."""
        return self._name(name).shown

    def leaves_alone(self, name: str) -> bool:
        """Return whether neither a member name nor what it says of its value is masked."""
        known = self._name(name)
        return known.shown == name and known.kind is None

    def _clean_text(self, text: str) -> bool:
        return self._cached_clean(text) if len(text) <= _KEPT_CLEAN else self.clean(text)

    def _spans(self, text: str) -> list[Span]:
        return spans(text, self._detectors)

    def _credential(self, name: str, value: object) -> bool:
        """Return whether the member's name says that its text is a secret."""
        return self._members and isinstance(value, str) and is_credential(name, value)

    def _name(self, name: str) -> _Name:
        # A hostile record may have many long names: those are not remembered.
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
            if before < 0 or span.end > opened[before][0].end:  # else its path is more exact
                hits[path, span.kind, False] = Hit(
                    path, span.kind, _form(text[span.start : span.end])
                )
        yield from hits.values()

    def _mask_text(self, text: str, depth: int, nested: int) -> str:
        for _ in range(3):  # a mask may close an open value
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
    ) -> list[tuple[EmbeddedValue, list[Hit]]]:
        """Return the values in a text that have hits, and those."""
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
        for _ in range(3):  # a mask may join separate parts
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
        # A round float is an amount; one beyond 2**53 has lost digits.
        told = isinstance(value, int) or (digits.isdigit() and not digits.endswith("0000"))
        return told and "card" in self._detectors and is_card(digits)


def _bytes_of(value: object) -> bytes:
    """Return the bytes of a value as the filter reads them; empty where there are none."""
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""  # not plain JSON: no bytes to filter


def _is_flat(raw: bytes) -> bool:
    """Return whether a container nests so little that no part of it is too deep."""
    return raw.count(b"{") + raw.count(b"[") < DEEPEST - _KEPT_DEPTH


_encode = msgspec.json.Encoder().encode


def _written(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair can be stored as an escape only
        return json.dumps(value)
    return text


def _form(value: object) -> str:
    """Return the form of a value: letters as x, digits as 9, at most 40 characters."""
    if not isinstance(value, str):
        words = {dict: "an object", list: "a list", bool: "true or false"}
        return words.get(type(value), "a number")
    shape = re.sub(r"[0-9]", "9", re.sub(r"[^\W\d_]", "x", value[:40]))
    return "".join(c if c.isascii() and c.isprintable() else "·" for c in shape)


__all__ = ["Hit", "Redactor", "Rules", "event_seq"]

_BUILT_IN = frozenset(SENSITIVE_KEYS)


def _looks_long(name: str) -> bool:
    """Return whether a name could hold an identifier: none is shorter than 16 letters without a
    digit, and the built-in names hold none. To search all of them takes as long as starting."""
    return name not in _BUILT_IN and (
        len(name) >= 16 or not name.isascii() or _DIGIT(name) is not None
    )


_DIGIT = re.compile("[0-9@]").search


class Redactor:
    """The redaction rules of one suite, ready to use. Cheap to share, safe across threads."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = Rules() if rules is None else rules
        names = {
            folded: "key" if _looks_long(shown) and spans(shown, self.rules.masking) else shown
            for folded, shown in sensitive_names(self.rules).items()
        }
        self._written = False
        self._judging = self._walkers(names, self.rules.detectors)
        self._masking = self._walkers(names, self.rules.masking)

    def suspect(self, line: bytes) -> bool:
        """Return whether these raw bytes need the slow path: they may hold an identifier, a
        repeated member, a number beyond a double, or nesting the typed decoder should not be
        trusted with.

        Linear in time. Never False for a record in which `findings` or `mask` finds something.
        """
        return self._suspicious(line)

    def suspect_written(self, raw: bytes) -> bool:
        """Return whether these bytes, which our encoder wrote of a decoded value, may hold an
        identifier, or nest too deep for what `suspect` is not asked about."""
        return self._suspicious_written(raw)

    def reads_written(self) -> None:
        """Look at the parts of values by `suspect_written` from here on, for an import whose
        records our encoder writes. Either filter leaves out none of the hits; making both takes
        longer than reading a small file."""
        self._written = True

    @cached_property
    def _suspicious(self) -> Callable[[bytes], bool]:
        return prefilter.suspicious(self.rules)

    @cached_property
    def _suspicious_written(self) -> Callable[[bytes], bool]:
        return prefilter.suspicious_written(self.rules)

    def findings(self, value: object, root: str = "") -> list[Hit]:
        """Return every hit in a parsed JSON value, in its own order; paths start with `root`."""
        return list(self._judging.exact.findings(value, root))

    def findings_in_record(self, record: object) -> list[tuple[Hit, int | None]]:
        """Return the hits of a whole trace record, each with the seq of its event.

        Paths are those of finding codes: within an event's arguments relative to them, the final
        message as `message`, everything else by its field (`observation.a`, `final_state`). Hits by
        key come first, then by path, so that two writers of one record agree.
        """
        walker = self._judging.of(record)
        if walker.clean(record):
            return []
        if not isinstance(record, dict):
            return [(hit, None) for hit in walker.findings(record)]
        found: list[tuple[Hit, int | None]] = []
        for name, value in members(record):
            if name == "events" and isinstance(value, list):
                for position, event in enumerate(value, 1):
                    seq = event_seq(event, position)
                    where = item("events", position - 1)
                    found += ((hit, seq) for hit in _event_findings(walker, event, where))
            elif name == "final_message":
                found += ((hit, None) for hit in walker.findings(value, "message"))
            else:
                found += ((hit, None) for hit in walker.member_findings(name, value))
        found.sort(key=lambda entry: (not entry[0].by_key, entry[0].path))
        return found

    def mask(self, value: Any, depth: int = 0) -> Any:
        """Return the value with every hit replaced by `[REDACTED:<kind>]`: all of a sensitive
        member's value, and the characters a detector found, one of those that judge or an added
        one. The result has no findings. Never raises. `depth` is how deep it is in its record.

        Parts without a hit are shared with the original, not copied.
        """
        return self._masking.of(value).mask(value, depth)

    def leaves_alone(self, name: str) -> bool:
        """Return whether a member of this name is masked by what it holds alone."""
        return self._masking.stepping.leaves_alone(name)

    def judged_masked(self, value: Any) -> Any:
        """Mask by the detectors that judge alone: for a record that is still to be judged."""
        return self._judging.of(value).mask(value)

    def maskable(self, value: object) -> bool:
        """Return whether `mask` changes this value."""
        return any(True for _ in self._masking.of(value).findings(value))

    def masked(self, text: str) -> str:
        """Return free text (a path, an error message, a member name) without identifiers."""
        shown: str = self._masking.stepping.mask(text)
        return shown

    def _suspects(self, raw: bytes) -> bool:
        return self.suspect_written(raw) if self._written else self.suspect(raw)

    def _walkers(self, names: dict[str, str], detectors: tuple[str, ...]) -> "_Walkers":
        exact = Walker(names, detectors)
        return _Walkers(exact, Walker(names, detectors, self._suspects, exact))


class _Walkers(NamedTuple):
    """One walker that walks everything, and one that skips what the filter declares clean."""

    exact: Walker
    stepping: Walker

    def of(self, value: object) -> Walker:
        # Encoding drops members that were repeated, so the filter cannot see those.
        return self.exact if has_repeats(value) else self.stepping


def _event_findings(walker: Walker, event: object, where: str) -> Iterator[Hit]:
    if walker.clean(event):
        return
    if not isinstance(event, dict):
        yield from walker.findings(event, where)
        return
    for name, value in members(event):
        if name == "arguments" and isinstance(value, (dict, list)):
            yield from walker.findings(value)
        else:
            yield from walker.member_findings(name, value)


def event_seq(event: object, position: int) -> int:
    """Return the event's own seq when it has a usable one, else its position (from 1)."""
    seq = event.get("seq") if isinstance(event, dict) else None
    return seq if type(seq) is int and seq >= 1 else position


def redactor_of(rules: "RedactionRules") -> Redactor:
    """Return the redactor of these rules, in any order. It is made once: making one takes longer
    than judging a small file."""
    return _redactor(
        Rules(
            keys=tuple(sorted(rules.keys)),
            allow_keys=tuple(sorted(rules.allow_keys)),
            detectors=tuple(sorted(rules.detectors)),
        )
    )


_redactor = lru_cache(maxsize=16)(Redactor)
