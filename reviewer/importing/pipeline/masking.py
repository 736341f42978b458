"""Mask records that a reader wrote, a piece at a time: each event, and the record around them.

Records of one run repeat whole events: a prompt, a list of tools, a request. Results are cached, so
that each event is filtered, parsed and masked once. Only records in exactly the form of our encoder
are handled: their masked pieces joined are the bytes that masking the whole record would give. Any
other record is left to the complete path.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from reviewer.trace.record import Event
from reviewer.trace.redaction import Redactor

_HELD = b'"events":['
_MOST_KEPT = 2 << 20
"""Most bytes of cached events, counted twice (original and masked)."""
_LONGEST = 32 << 10
"""The longest event that is cached."""
_IN_EVENTS = 2
"""The depth of an event in its record."""


class _Record(msgspec.Struct):
    events: list[msgspec.Raw]


_event = msgspec.json.Decoder(Event).decode
_split = msgspec.json.Decoder(_Record).decode
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Masked(NamedTuple):
    """The bytes of a record without its identifiers, and whether it had any. No name is repeated in
    any of its objects. `sound` means that masking repaired nothing: if the masked record is valid,
    so was the record."""

    raw: bytes
    changed: bool
    sound: bool = True


class RecordMasker:
    """Masks records by the rules of one redactor."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        # Event → the event masked, or None where nothing has to be masked.
        self._young: dict[bytes, bytes | None] = {}
        self._old: dict[bytes, bytes | None] = {}
        self._kept = 0
        self._plain = redactor.leaves_alone("events")

    def masked(self, raw: bytes) -> Masked | None:
        """Return a record masked; None for one that is not in our encoder's form, or that cannot be
        processed in pieces."""
        if not self._plain:
            return None
        try:
            events = [bytes(event) for event in _split(raw).events]
        except (msgspec.DecodeError, RecursionError):
            return None
        start = raw.find(_HELD) + len(_HELD)
        body = b",".join(events)
        end = start + len(body)
        if raw[start:end] != body or raw[end : end + 1] != b"]" or raw.count(b"{", 0, start) != 1:
            return None
        rest = raw[:start] + raw[end:]
        known, fresh = self._sorted(events)
        found = self._looked([rest, *fresh])
        if found is None:
            return None
        around = found.pop(0)
        for event, instead in zip(fresh, found, strict=True):
            known[event] = instead
            self._keep(event, instead)
        shown = [known[event] for event in events]
        if around is None and shown.count(None) == len(shown):
            return Masked(raw, False)
        body = b",".join(
            [own if one is None else one for own, one in zip(events, shown, strict=True)]
        )
        if around is None:
            return Masked(raw[:start] + body + raw[end:], True)
        place = around.find(_HELD) + len(_HELD)
        if place < len(_HELD) or around.count(b"{", 0, place) != 1:
            return None
        return Masked(around[:place] + body + around[place:], True, False)

    def _looked(self, pieces: list[bytes]) -> list[bytes | None] | None:
        """Return each of these pieces masked, None for a piece that stays unchanged; None for
        all of them where one is not in our encoder's form. The first is the record around its
        events."""
        together = b"[" + b",".join(pieces) + b"]"
        try:
            values = _decode(together)
            if _encode(values) != together:  # other blanks, escapes or numbers, or a name twice
                return None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        if not self._redactor.suspect_written(together):
            return [None] * len(pieces)
        found: list[bytes | None] = []
        for place, (piece, value) in enumerate(zip(pieces, values, strict=True)):
            try:
                instead: Any = self._redactor.mask(value, _IN_EVENTS if place else 0)
                made = piece if instead is value else _encode(instead)
            except (TypeError, ValueError, RecursionError):
                return None
            if made == piece:
                found.append(None)
                continue
            if place:
                try:
                    _event(piece)
                except msgspec.DecodeError:
                    return None  # masking may repair a name that is too long
            found.append(made)
        return found

    def _sorted(self, events: list[bytes]) -> tuple[dict[bytes, bytes | None], list[bytes]]:
        """Return the cached events with their results, and the other events."""
        known: dict[bytes, bytes | None] = {}
        fresh: list[bytes] = []
        for event in dict.fromkeys(events):
            if event in self._young:
                known[event] = self._young[event]
            elif event in self._old:
                known[event] = self._old.pop(event)
                self._keep(event, known[event])
            else:
                fresh.append(event)
        return known, fresh

    def _keep(self, event: bytes, instead: bytes | None) -> None:
        if len(event) > _LONGEST:
            return
        if self._kept > _MOST_KEPT:
            self._old, self._young, self._kept = self._young, {}, 0
        self._young[event] = instead
        self._kept += len(event) + len(instead or b"")


masker_of = lru_cache(maxsize=4)(RecordMasker)
"""The masker for a redactor, shared by all files of an import with its cache."""
