# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of a simulated environment: enough of a world to run an episode with no real system.

Each tool answers by its `responses`, changes the state by its `effects` (JSON Merge Patch,
RFC 7396) when its `preconditions` hold, and fails where `faults` say. State is copied afresh for
each attempt.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from reviewer.suite.fields import EntryPoint, Name, Positive, Shape, Text


class CaseShape(Shape):
    """Answers `value` when every given argument is equal; other arguments are free."""

    arguments: dict[str, Any]
    value: Any


class ResponsesShape(Shape):
    """Exactly one of: `fixed` (always), `match` (the first case that fits, else `otherwise`),
    `sequence` (one per call, the last for all further calls), `state` (an object of these dotted
    paths of the state and their present values)."""

    fixed: Any = None
    match: Annotated[list[CaseShape], Field(min_length=1)] | None = None
    otherwise: Any = None
    sequence: Annotated[list[Any], Field(min_length=1)] | None = None
    state: Annotated[list[Text], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_way_to_answer(self) -> "ResponsesShape":
        ways = self.model_fields_set & {"fixed", "match", "sequence", "state"}
        if len(ways) != 1:
            raise ValueError("must have exactly one of fixed, match, sequence, state")
        if "otherwise" in self.model_fields_set and "match" not in ways:
            raise ValueError("otherwise belongs to match")
        return self


class EffectShape(Shape):
    """Merges `merge` into the state; with `arguments`, only for calls that carry them."""

    merge: Annotated[dict[str, Any], Field(min_length=1)]
    arguments: dict[str, Any] | None = None


class PreconditionShape(Shape):
    """The call errs with `error` unless the state's value at `path` (dotted) equals `equals`."""

    path: Text
    equals: Any
    error: Text


class FaultShape(Shape):
    """Calls of this tool (counted from 1) that go wrong, in all attempts or in those listed.

    A `timeout` and an `error` never reach the tool; a `slow` call does, after `delay_ms`.
    """

    kind: Literal["timeout", "error", "slow"]
    calls: Annotated[list[Positive], Field(min_length=1)]
    attempts: Annotated[list[Positive], Field(min_length=1)] | None = None
    message: str = ""
    delay_ms: Annotated[float, Field(ge=0, le=600_000)] = 0.0


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") != "object":
        raise ValueError('must be a JSON Schema of an object ("type": "object")')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(
        isinstance(part, dict | bool) for part in properties.values()
    ):
        raise ValueError("properties must map each parameter to a schema")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ValueError("required must list names of parameters")
    if unknown := sorted(set(required) - set(properties)):
        raise ValueError(f"required names `{unknown[0]}`, which is no property")
    return schema


class SimulatedToolShape(Shape):
    description: str = ""
    parameters: Annotated[dict[str, Any], AfterValidator(_object_schema)] = {"type": "object"}
    responses: ResponsesShape
    effects: list[EffectShape] = []
    preconditions: list[PreconditionShape] = []
    faults: list[FaultShape] = []


class SimulatorShape(Shape):
    """Simulated `tools`, or a Python `toolkit` ("module:Class") in their place.

    `final_state` is the dotted path of the state's value that a trace gives as its final state;
    without it the final state is the whole state.
    """

    tools: Annotated[dict[Name, SimulatedToolShape], Field(min_length=1)] | None = None
    toolkit: EntryPoint | None = None
    final_state: Text | None = None
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _one_world(self) -> "SimulatorShape":
        if (self.tools is None) == (self.toolkit is None):
            raise ValueError("must have either tools or a toolkit")
        return self
