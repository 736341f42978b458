# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of a suite's rubric (pydantic): criteria with scales and anchors, and wording."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from reviewer.suite.errors import shown
from reviewer.suite.fields import Amount, Count, Id, Ids, Shape, Text, Texts, once
from reviewer.suite.model import Scale


class LevelShape(Shape):
    value: Annotated[int, Field(ge=1, le=9)]
    label: Text


class CriterionShape(Shape):
    """One question. Levels: two of `binary`, the anchored ones of `five`, all of `levels`.

    `weight` is shown beside a criterion's figures; nothing is ever summed by it.
    """

    criterion_id: Id
    title: Text
    asks: Text
    scale: Scale
    levels: Annotated[list[LevelShape], Field(min_length=2)]
    weak: str = ""
    strong: str = ""
    required: bool = False
    weight: Amount | None = None

    @model_validator(mode="after")
    def _levels_fit_the_scale(self) -> "CriterionShape":
        values = [level.value for level in self.levels]
        if values != sorted(set(values)):
            raise ValueError("levels must rise, each value once")
        if self.scale == "binary" and values != [1, 2]:
            raise ValueError("a binary criterion has exactly the levels 1 and 2")
        if self.scale == "five" and (values[0] != 1 or values[-1] != 5):
            raise ValueError("a criterion of scale five anchors at least 1 and 5, nothing beyond")
        if self.scale == "levels" and values != list(range(1, len(values) + 1)):
            raise ValueError("named levels are numbered 1, 2, 3 without a gap")
        return self


class WordingShape(Shape):
    """Policy-required wording: what a final message says and what it never says.

    `episodes` absent applies it to every episode of the suite.
    """

    wording_id: Id
    says: Texts = []
    never: Texts = []
    episodes: Annotated[Ids, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> "WordingShape":
        if not self.says and not self.never:
            raise ValueError("asks for nothing; name a phrase in says or in never")
        blank = [text for text in (*self.says, *self.never) if not any(map(str.isalnum, text))]
        if blank:
            raise ValueError(f"`{shown(blank[0])}` has no word to look for")
        if both := sorted(_folded(self.says) & _folded(self.never)):
            raise ValueError(f"`{shown(both[0])}` is both wanted and refused")
        return self


class RubricShape(Shape):
    """How people judge final messages, alone and in blind pairs."""

    schema_: Literal["reviewer/rubric@1"] = Field(alias="schema")
    rubric_id: Id
    version: Text
    criteria: Annotated[list[CriterionShape], Field(min_length=1, max_length=9)]
    final_messages: Count = 0
    both_orders: bool = True
    wording: list[WordingShape] = []

    @model_validator(mode="after")
    def _parts_differ(self) -> "RubricShape":
        once([criterion.criterion_id for criterion in self.criteria])
        once([wording.wording_id for wording in self.wording])
        return self


def _folded(texts: Iterable[str]) -> set[str]:
    return {" ".join(text.casefold().split()) for text in texts}
