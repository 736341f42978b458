"""Bookmarks and notes on events as they travel and join, and which one counts.

They are only ever added. A change or a taking back is a new one on the same event, of the same kind
and person, and of those the latest counts.
"""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from reviewer.review.lines import Lines, instant
from reviewer.suite.fields import File, Limits, Name, Positive, Sha256, StoredName
from reviewer.suite.model import Value

MOST_TEXT = 4000
"""Characters of a note."""

# With a fixed number of decimals the text of a time sorts as the time does.
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


class Note(Value, frozen=True, kw_only=True):
    """What one person put on one event, or took back. `at` is RFC 3339 in UTC with six decimals;
    names are those of the store it was made in."""

    SCHEMA: ClassVar[str] = "reviewer/note@1"

    uid: Annotated[
        str,
        File(Sha256 | None, None),
        "sha256 of the RFC 8785 bytes of all other members. Null: it is computed.",
    ] = ""
    suite_id: Annotated[StoredName, "The suite's id."]
    candidate_id: Annotated[StoredName, "The candidate's id."]
    trace_id: Annotated[StoredName, "The trace's id: suite, candidate, episode and attempt."]
    trace_sha256: Annotated[Sha256, "Digest of the trace's record."]
    seq: Annotated[Positive, "The event's number."]
    kind: Annotated[Literal["bookmark", "note"], "A mark, or a text."]
    text: Annotated[
        str, Limits(max_length=MOST_TEXT), "Of a note: its text, masked. Empty: taken back."
    ] = ""
    removed: Annotated[bool, "Whether it takes back the one before it."] = False
    reviewer: Annotated[Name, "Who made it."]
    at: Annotated[str, "When, in UTC, with six decimals."]


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


NOTES = Lines("note", Note, note_problems)
