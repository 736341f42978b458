"""The shape of one line of a file of notes (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reviewer.review.notes import MOST_TEXT
from reviewer.suite.fields import Name, Positive, Sha256, Shape

Named = Annotated[str, Field(min_length=1, max_length=4096)]


class NoteShape(Shape):
    """What one person put on one event, or took back. `at` is RFC 3339 in UTC with six decimals;
    names are those of the store it was made in."""

    schema_: Literal["reviewer/note@1"] = Field(alias="schema")
    uid: Sha256 | None = None
    suite_id: Named
    candidate_id: Named
    trace_id: Named
    trace_sha256: Sha256
    seq: Positive
    kind: Literal["bookmark", "note"]
    text: Annotated[str, Field(max_length=MOST_TEXT)] = ""
    removed: bool = False
    reviewer: Name
    at: str


def note_json_schema() -> dict[str, Any]:
    """The published schema of a line; to be registered as `note`."""
    return NoteShape.model_json_schema()
