# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of one line of a file of judgments (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reviewer.review.judging.model import Failure, Order, Verdict
from reviewer.review.judging.reply import MOST_CLAIMS
from reviewer.review.model import Kind
from reviewer.suite.fields import Amount, Count, Id, Name, Names, Positive, Sha256, Shape, Text
from reviewer.suite.model import Preset


class ClaimShape(Shape):
    """One claim of a message, and the event whose observation grounds it."""

    claim: Annotated[str, Field(min_length=1, max_length=4000)]
    grounded: bool
    seq: int | None = None


class JudgmentShape(Shape):
    """What a judge answered once. `at` is RFC 3339 in UTC, ending in Z."""

    schema_: Literal["reviewer/judgment@1"] = Field(alias="schema")
    uid: Sha256 | None = None
    item: Sha256
    kind: Kind
    suite_id: Id
    suite_digest: Sha256
    episode_id: Id
    preset: Preset
    order: Order
    repeat: Positive = 1
    left: Sha256 | None = None
    right: Sha256 | None = None
    message: Sha256 | None = None
    trace: Name | None = None
    judge_id: Id
    judge_version: Text
    model: Name
    prompt_digest: Sha256
    rubric_digest: Sha256 | None = None
    request_digest: Sha256
    answer: Verdict | None = None
    scores: dict[Id, Amount] = {}
    claims: Annotated[list[ClaimShape], Field(max_length=MOST_CLAIMS)] | None = None
    error: Failure | None = None
    reason: Annotated[str, Field(max_length=4000)] = ""
    cost_usd: Amount | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    at: Text
    traces: Names = []


def judgment_json_schema() -> dict[str, Any]:
    """The published schema of a line; to be registered as `judgment`."""
    return JudgmentShape.model_json_schema()
