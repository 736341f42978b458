"""What a judge's reply says: the one JSON object in it, held to the shape its preset asks for.

Nothing is evaluated, guessed or mended. Text around the object is let be, since most models wrap it
in a sentence or a fence; no object, two of them, an unknown winner or a score off its scale is a
reply that says nothing.
"""

import json
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from reviewer.review.judging.judgments import MOST_CLAIMS, Claim, Verdict
from reviewer.suite.errors import ContractError, json_path
from reviewer.suite.rubric import Preset
from reviewer.suite.strict_json import loads

LONGEST = 32_768
MOST_STARTS = 200
"""Braces that begin no object: so many of them are no sentence with an answer in it."""


class NotParsed(Exception):
    """The reply says nothing that can be used; the text says why."""


class UnknownEvent(Exception):
    """A claim is said to be grounded in an event that was not shown."""


class Reply(NamedTuple):
    """What a reply says. `reason` and the claims are the judge's own words, as yet unmasked."""

    answer: Verdict | None = None
    scores: dict[str, float] = {}  # noqa: RUF012 (never changed)
    claims: tuple[Claim, ...] | None = None
    reason: str = ""


def _folded(value: object) -> object:
    return value.strip().casefold() if isinstance(value, str) else value


Reason = Annotated[str, Field(validation_alias=AliasChoices("reason", "reasoning"))]
Winner = Annotated[Literal["left", "right", "tie"], BeforeValidator(_folded)]
Five = Annotated[float, Field(ge=0, le=5)]


class _Said(BaseModel):
    """Members beyond those asked for are passed over: judges add some, and none changes these."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    reason: Reason = ""


class _Pairwise(_Said):
    winner: Winner


class _Three(_Said):
    correctness: Five
    completeness: Five
    relevance: Five


class _Completion(_Said):
    score: Annotated[float, Field(ge=0, le=10)]


class _Claim(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    claim: Annotated[str, Field(min_length=1)]
    grounded: bool
    seq: int | None = None


class _Faithfulness(_Said):
    claims: Annotated[list[_Claim], Field(max_length=MOST_CLAIMS)]


_SHAPES: dict[Preset, type[_Said]] = {
    "pairwise": _Pairwise,
    "correctness-completeness-relevance": _Three,
    "completion": _Completion,
    "faithfulness": _Faithfulness,
}


def read_reply(text: str, preset: Preset, shown: Collection[int] = ()) -> Reply:
    """The reply as a value. `shown` numbers the events a claim may name.

    Raises NotParsed, and UnknownEvent for a claim grounded in nothing that was shown.
    """
    found = _the_object(text)
    try:
        said: Any = _SHAPES[preset].model_validate(found)
    except ValidationError as error:
        fault = error.errors()[0]
        where, why = json_path(fault["loc"]), fault["type"].replace("_", " ")
        raise NotParsed(f"its answer does not fit preset {preset}: {where}: {why}") from None
    if isinstance(said, _Pairwise):
        return Reply(answer=said.winner, reason=said.reason)
    if isinstance(said, _Faithfulness):
        return Reply(claims=tuple(_claim(c, shown) for c in said.claims), reason=said.reason)
    scores: dict[str, float] = said.model_dump(exclude={"reason"})
    return Reply(scores=scores, reason=said.reason)


def _claim(said: _Claim, shown: Collection[int]) -> Claim:
    if said.seq is not None and said.seq not in shown:
        raise UnknownEvent(f"a claim names event {said.seq:.6g}, which it was not shown")
    if said.grounded and said.seq is None:
        raise UnknownEvent("a claim is called grounded, and no event is named for it")
    return Claim(claim=said.claim, grounded=said.grounded, seq=said.seq)


def _the_object(text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise NotParsed(f"its answer is longer than {LONGEST:,} characters")
    found = list(_objects(text))
    if len(found) != 1:
        what = "no JSON object" if not found else f"{len(found)} JSON objects, not one"
        raise NotParsed(f"its answer holds {what}")
    try:
        value = loads(found[0].encode("utf-8", "surrogatepass"), "its answer")
    except ContractError as error:
        raise NotParsed(f"its answer: {error.path}: {error.reason}") from None
    assert isinstance(value, dict)  # it starts with a brace
    return value


def _objects(text: str) -> Iterator[str]:
    """Each outermost JSON object in the text, as it is written."""
    decoder = json.JSONDecoder()
    place, in_vain = text.find("{"), 0
    while place >= 0 and in_vain < MOST_STARTS:
        try:
            end = decoder.raw_decode(text, place)[1]
        except (ValueError, RecursionError):
            end, in_vain = place + 1, in_vain + 1
        else:
            yield text[place:end]
        place = text.find("{", end)
