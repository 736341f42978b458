"""Redaction of one suite's traces: is a record suspect, where does it hold identifiers, mask them.

A place is a hit when its member name is sensitive and it carries a value (whatever the value), or
when a detector finds an identifier in its text. Walking every string is slow, so `suspect` reads
the raw bytes first: a record that is not suspect has no hit and may be decoded without looking
back. The walk of a suspect record uses the same filter to step over its clean parts.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from reviewer.trace import prefilter
from reviewer.trace.detectors import spans
from reviewer.trace.paths import item
from reviewer.trace.rules import SENSITIVE_KEYS, Rules, sensitive_names
from reviewer.trace.strictjson import has_repeats, members
from reviewer.trace.walk import Hit, Walker

__all__ = ["Hit", "Redactor", "Rules", "event_seq"]

_BUILT_IN = frozenset(SENSITIVE_KEYS)


def _looks_long(name: str) -> bool:
    """Return whether a name could hold an identifier: none is shorter than 16 letters without a
    digit, and the built-in names hold none. To look into all of them takes as long as starting."""
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
        self._suspicious = prefilter.suspicious(self.rules)
        self._judging = self._walkers(names, self.rules.detectors)
        self._masking = self._walkers(names, self.rules.masking)

    def suspect(self, line: bytes) -> bool:
        """Whether these raw bytes need the slow path: they may hold an identifier, a repeated
        member, a number beyond a double, or nesting the typed decoder should not be trusted with.

        Linear in time. Never False for a record in which `findings` or `mask` finds something.
        """
        return self._suspicious(line)

    def findings(self, value: object, root: str = "") -> list[Hit]:
        """Every hit in a parsed JSON value, in its own order; paths start with `root`."""
        return list(self._judging.exact.findings(value, root))

    def findings_in_record(self, record: object) -> list[tuple[Hit, int | None]]:
        """Hits of a whole trace record, each with the seq of its event.

        Paths are those of finding codes: within an event's arguments relative to them, the final
        message as `message`, everything else by its field (`observation.a`, `final_state`).
        Hits by key come first, then by path, so that two writers of one record agree.
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

    def mask(self, value: Any) -> Any:
        """The value with every hit replaced by `[REDACTED:<kind>]`: all of a sensitive member's
        value, and the characters a detector found, one of those that judge or an added one. The
        result has no findings. Never raises.

        Parts without a hit are shared with the original, not copied.
        """
        return self._masking.of(value).mask(value)

    def judged_masked(self, value: Any) -> Any:
        """As `mask`, by the detectors that judge alone: for a record that is still to be judged."""
        return self._judging.of(value).mask(value)

    def maskable(self, value: object) -> bool:
        """Return whether `mask` changes this value."""
        return any(True for _ in self._masking.of(value).findings(value))

    def masked(self, text: str) -> str:
        """Free text (a path, an error message, a member name) without identifiers."""
        shown: str = self._masking.stepping.mask(text)
        return shown

    def _clean(self, value: object) -> bool:
        try:
            return not self.suspect(msgspec.json.encode(value))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False  # not plain JSON: no bytes to vouch for

    def _walkers(self, names: dict[str, str], detectors: tuple[str, ...]) -> "_Walkers":
        exact = Walker(names, detectors, lambda value: False)
        return _Walkers(exact, Walker(names, detectors, self._clean, exact))


class _Walkers(NamedTuple):
    """One that looks at everything, and one that steps over what the filter vouches for."""

    exact: Walker
    stepping: Walker

    def of(self, value: object) -> Walker:
        # Encoding drops members that were repeated, so the filter cannot vouch for those.
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
    """The event's own seq when it has a usable one, else its position (from 1)."""
    seq = event.get("seq") if isinstance(event, dict) else None
    return seq if type(seq) is int and seq >= 1 else position
