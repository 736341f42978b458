"""The shape of one line about leaked episodes (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reviewer.suite.fields import Name, Positive, Sha256, Shape

Named = Annotated[str, Field(min_length=1, max_length=4096)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]


class LeakShape(Shape):
    """One episode whose request was found in the file."""

    episode_id: Named
    kind: Literal["exact", "inside", "near"]
    jaccard: Share
    record: Positive
    pointer: Annotated[str, Field(max_length=4096)]
    times: Positive


class LeakCheckShape(Shape):
    """One look for frozen episodes in one file, or (`withdraws`) the taking back of one."""

    schema_: Literal["reviewer/leak-check@1"] = Field(alias="schema")
    uid: Sha256 | None = None
    suite_id: Named
    suite_digest: Sha256
    candidate_id: Annotated[str, Field(max_length=4096)] = ""
    file: Annotated[str, Field(max_length=4096)] = ""
    sha256: Sha256 | Literal[""] = ""
    records: Count = 0
    unread: Count = 0
    texts: Count = 0
    threshold: Share = 0.0
    missed: Share = 0.0
    compared: Count = 0
    short: Count = 0
    silent: Count = 0
    leaks: list[LeakShape] = Field(default=[], max_length=1_000_000)
    withdraws: Sha256 | Literal[""] = ""
    reason: Annotated[str, Field(max_length=4000)] = ""
    reviewer: Name
    at: str


def leak_json_schema() -> dict[str, Any]:
    """The published schema of a line; to be registered as `leak-check`."""
    return LeakCheckShape.model_json_schema()
