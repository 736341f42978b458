"""The kinds of member that every file of ours is made of (pydantic)."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from reviewer.suite.errors import shown
from reviewer.suite.gates import OPTIONAL, gate_problem
from reviewer.suite.names import MAX_ID, MAX_NAME, id_problem, name_problem
from reviewer.suite.wording import wording_problem

T = TypeVar("T", bound=Hashable)


class Shape(BaseModel):
    """Base of every shape: exact types, no unknown members, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def _passes(problem: Callable[[str], str | None]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if (reason := problem(text)) is not None:
            raise ValueError(reason)
        return text

    return check


def once(items: list[T]) -> list[T]:
    """The list itself; ValueError naming what it holds twice."""
    twice = [item for item, count in Counter(items).items() if count > 1]
    if twice:
        raise ValueError("lists " + ", ".join(f"`{shown(str(item))}`" for item in twice) + " twice")
    return items


Id = Annotated[
    str,
    AfterValidator(_passes(id_problem)),
    WithJsonSchema(
        {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": r"^[^./\\][^/\\]*$"}
    ),
]
Name = Annotated[
    str,
    AfterValidator(_passes(name_problem)),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": MAX_NAME}),
]
Text = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})]
Ids = Annotated[list[Id], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})]
Texts = Annotated[list[Text], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})]
Wording = Annotated[
    Text, AfterValidator(_passes(wording_problem)), Field(json_schema_extra={"pattern": r"\S"})
]
Wordings = Annotated[
    list[Wording], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})
]

OptionalGate = Annotated[
    str, AfterValidator(_passes(gate_problem)), WithJsonSchema({"enum": list(OPTIONAL)})
]
Repeats = Annotated[int, Field(ge=2, le=1_000)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Days = Annotated[int, Field(ge=1, le=3_650)]
Amount = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(ge=0, le=1)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
EntryPoint = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$")]
