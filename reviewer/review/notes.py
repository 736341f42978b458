"""Bookmarks and notes on events as they travel and join, and which one counts.

They are only ever added. A change or a taking back is a new one on the same event, of the same kind
and person, and of those the latest counts.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from reviewer.review.label_rules import instant
from reviewer.review.lines import Lines
from reviewer.suite.model import Value

if TYPE_CHECKING:
    from reviewer.review.note_shape import NoteShape

MOST_TEXT = 4000
"""Characters of a note."""

# With a fixed number of decimals the text of a time sorts as the time does.
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Note(Value, frozen=True):
    """One act of one person on event `seq` of a trace. `trace_sha256` is the digest of its record,
    in hex; `text` is masked, and empty in a bookmark and where a note is taken back."""

    suite_id: str
    candidate_id: str
    trace_id: str
    trace_sha256: str
    seq: int
    kind: Literal["bookmark", "note"]
    reviewer: str
    at: str
    uid: str = ""
    text: str = ""
    removed: bool = False


def note_problems(note: Note) -> Iterator[tuple[str, str]]:
    """Why this note is refused, whatever the store, as (JSON path, reason)."""
    try:
        instant(note.at)
    except ValueError as error:
        yield "$.at", str(error)
    else:
        if not _AT.fullmatch(note.at):
            yield "$.at", "must have six decimals, such as 2026-01-31T09:02:31.000000Z"
    if not note.trace_id.startswith(f"{note.suite_id}/{note.candidate_id}/"):
        yield "$.trace_id", "is no trace of this suite_id and candidate_id"
    silent = note.kind == "bookmark" or note.removed
    if silent and note.text:
        yield "$.text", "belongs to a note that stands, not to a bookmark or to one taken back"
    if not silent and not note.text:
        yield "$.text", "is missing: a note without words is one taken back, with removed"


def _shape() -> "type[NoteShape]":
    from reviewer.review.note_shape import NoteShape

    return NoteShape


NOTES = Lines("note", Note, _shape, note_problems)
