"""The shape of one line of a file of costs (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reviewer.review.costs import MOST_NOTE, MOST_USD
from reviewer.suite.fields import Amount, Id, Name, Sha256, Shape

Named = Annotated[str, Field(min_length=1, max_length=4096)]


class CostShape(Shape):
    """One amount that a person entered beside what attempts cost, or the correction of one. `at` is
    RFC 3339 in UTC; `entry_id` is the entry's own, once per candidate and suite."""

    schema_: Literal["reviewer/cost@1"] = Field(alias="schema")
    uid: Sha256 | None = None
    suite_id: Named
    candidate_id: Named
    entry_id: Id
    kind: Literal["human", "incident"]
    amount_usd: Annotated[Amount, Field(lt=MOST_USD)]
    currency: Literal["USD"] = "USD"
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    reviewer: Name
    at: str
    corrects: Id | None = None


def cost_json_schema() -> dict[str, Any]:
    """The published schema of a line; to be registered as `cost`."""
    return CostShape.model_json_schema()
