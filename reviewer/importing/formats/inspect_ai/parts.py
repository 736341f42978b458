"""What one sample of a log is made of, however its file holds it, and texts kept elsewhere in it.

Inspect moves long texts into attachments (`attachment://<key>`, in the oldest logs `tc://<key>`)
and repeated model inputs into a pool of messages that events point into.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reviewer.importing.reader import Rejected
from reviewer.importing.split import MAX_RECORD

_SCHEMES = ("attachment://", "tc://")
REFERENCES = "at"
"""The letters that references begin with."""
MISSING = "an attachment is missing in the file: its reference stands in the text's place"


class Parts(NamedTuple):
    """One sample: its members, its events in order, the messages its events point into, and the
    texts kept as attachments."""

    sample: dict[str, Any]
    events: list[Any]
    pool: list[Any]
    attachments: Mapping[str, Any]


def of_one_value(sample: Any) -> Parts:
    """The parts of a sample that stands in one piece. Raises Rejected."""
    if not isinstance(sample, dict):
        raise Rejected("type:sample")
    transcript = mapping(sample.get("transcript"))  # before 0.3.42
    data = mapping(sample.get("events_data"))
    return Parts(
        sample,
        sequence(sample.get("events") or transcript.get("events")),
        sequence(data.get("messages") or sample.get("message_pool")),
        mapping(sample.get("attachments") or transcript.get("content")),
    )


class Texts:
    """Puts attached texts back where they are referred to."""

    def __init__(self, attachments: Mapping[str, Any]) -> None:
        self.attachments = attachments
        self.missing = False
        self._left = MAX_RECORD

    def whole(self, value: Any) -> Any:
        """`value` with every reference resolved. Raises Rejected when the sum of all that was
        resolved is beyond what a record may be: one text may be referred to a million times."""
        if isinstance(value, str):
            return self._text(value) if value.startswith(_SCHEMES) else value
        if isinstance(value, list):
            return [self.whole(one) for one in value]
        if isinstance(value, dict):
            return {name: self.whole(one) for name, one in value.items()}
        return value

    def _text(self, reference: str) -> str:
        text = self.attachments.get(reference.partition("://")[2])
        if not isinstance(text, str):
            self.missing = True
            return reference
        self._left -= len(text)
        if self._left < 0:
            raise Rejected(f"too_large: attachments of over {MAX_RECORD >> 20} MiB")
        return text


def picked(pool: Sequence[Any], refs: Any) -> list[Any]:
    """The items of `pool` that half-open ranges `[[start, end], …]` name, in that order. Raises
    Rejected for ranges that name far more than there is."""
    found: list[Any] = []
    for start, end in ranges(refs, len(pool)):
        found += pool[start:end]
        if len(found) > 100_000 + 10 * len(pool):
            raise Rejected("too_large: message_refs")
    return found


def ranges(refs: Any, size: int) -> list[tuple[int, int]]:
    """Ranges as far as they are ranges within `size` items."""
    return [
        (one[0], min(one[1], size))
        for one in sequence(refs)
        if isinstance(one, list) and len(one) == 2 and all(type(n) is int and n >= 0 for n in one)
    ]


def mapping(value: Any) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """The value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def plain(name: str) -> str:
    """A name out of the file as a note may hold it: nothing in it that means something else."""
    return re.sub(r"[^A-Za-z0-9_./+-]", "?", name[:60])


def text(value: Any) -> str:
    """The value when it is text, else empty."""
    return value if isinstance(value, str) else ""
