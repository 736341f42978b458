# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of one line of a file of labels (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from reviewer.review.model import Answer, Kind, Reason, Role, Side, Stratum
from reviewer.suite.fields import Count, Id, Name, Names, Sha256, Shape, Text, once

Reasons = Annotated[
    list[Reason], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})
]


class LabelShape(Shape):
    """What one person said of one showing of one item. `at` is RFC 3339 in UTC, ending in Z."""

    schema_: Literal["reviewer/label@1"] = Field(alias="schema")
    uid: Sha256 | None = None
    item: Sha256
    kind: Kind
    suite_id: Id
    suite_digest: Sha256
    episode_id: Id
    showing: Annotated[int, Field(ge=1, le=2)] = 1
    left: Sha256 | None = None
    right: Sha256 | None = None
    message: Sha256 | None = None
    answer: Answer | None = None
    marks: dict[Id, Annotated[int, Field(ge=1, le=9)]] = {}
    decided: dict[Id, Side] = {}
    skipped: Name | None = None
    withdrawn: bool = False
    flag: bool = False
    note: Annotated[str, Field(max_length=4000)] = ""
    reviewer: Name
    role: Role = "rater"
    rubric_id: Id
    rubric_version: Text
    rubric_digest: Sha256
    at: Text
    duration_ms: Count | None = None
    revises: Sha256 | None = None
    stratum: Stratum | None = None
    reasons: Reasons = []
    pi: Annotated[float, Field(gt=0, le=1)] | None = None
    traces: Names = []


def label_json_schema() -> dict[str, Any]:
    """The published schema of a line; to be registered as `label`."""
    return LabelShape.model_json_schema()
