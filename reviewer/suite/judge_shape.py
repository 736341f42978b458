# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of judge.json (pydantic): what an LLM judge is asked, and on which scale it answers."""

from typing import Literal

from pydantic import Field, model_validator

from reviewer.suite.fields import Amount, Id, Positive, Shape, Text, once
from reviewer.suite.model import Preset

PAIR = ("{user_request}", "{left}", "{right}")
MESSAGE = ("{user_request}", "{message}")
PLACES: dict[Preset, tuple[str, ...]] = {
    "pairwise": PAIR,
    "correctness-completeness-relevance": MESSAGE,
    "completion": MESSAGE,
    "faithfulness": (*MESSAGE, "{observations}"),
}
"""The places that a prompt of each preset must have; {criteria} may stand in any."""

_ALL = tuple(dict.fromkeys(place for places in PLACES.values() for place in places))


def _has_its_places(preset: Preset, prompt: str) -> None:
    wanted = PLACES[preset]
    absent = [place for place in wanted if place not in prompt]
    if absent:
        raise ValueError(f"the prompt has no place for {', '.join(absent)}")
    empty = [place for place in _ALL if place not in wanted and place in prompt]
    if empty:
        raise ValueError(f"nothing is put in place of {', '.join(empty)} by preset `{preset}`")


class AskedShape(Shape):
    """A further thing the judge is asked."""

    preset: Preset
    prompt: Text

    @model_validator(mode="after")
    def _prompt_fits(self) -> "AskedShape":
        _has_its_places(self.preset, self.prompt)
        return self


class JudgeShape(Shape):
    """judge.json: what an LLM judge is asked about final messages.

    `preset` says what `prompt` asks about and on which scale: `pairwise` two messages (left, right
    or tie); of one message `correctness-completeness-relevance` (0 to 5 each), `completion` (0 to
    10; from 7 it is complete) or `faithfulness` (each claim with the event that grounds it).
    """

    schema_: Literal["reviewer/judge@1"] = Field(alias="schema")
    judge_id: Id
    version: Text
    preset: Preset = "pairwise"
    prompt: Text
    also: list[AskedShape] = []
    model: str = ""
    temperature: Amount = 0.0
    max_tokens: Positive = 512

    @model_validator(mode="after")
    def _asks_once(self) -> "JudgeShape":
        _has_its_places(self.preset, self.prompt)
        once([self.preset, *(asked.preset for asked in self.also)])
        return self
