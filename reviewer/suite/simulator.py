# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""The shape of an episode's simulator: how its tools answer, change the state and fail."""

from collections.abc import Set
from typing import Annotated, Any, ClassVar, Literal

from msgspec import field

from reviewer.suite.fields import Check, EntryPoint, Limits, Name, Positive, Text
from reviewer.suite.value import Value


def _names_a_path(state: dict[str, Any]) -> str | None:
    return None if state else "names no path: name one with its value, or remove it"


State = Annotated[dict[Text, Any], Check(_names_a_path, extra={"minProperties": 1})]
"""Dotted path of the state → the value that must be there."""


class Case(Value, frozen=True):
    """Answers when every given argument is equal and the state is as `when` says; other arguments
    are free. Exactly one of: `value` (always), `sequence` (one per call that the case answers, the
    last for all further ones), `value_at` (the state's present value at this dotted path), `error`
    (the call errs)."""

    arguments: Annotated[dict[str, Any], "Argument → the value that it must equal."]
    when: Annotated[
        State | None,
        "Dotted path of the state → the value that the call must find there. Null: any state.",
    ] = None
    value: Annotated[Any, "What the tool answers then."] = None
    sequence: Annotated[
        Annotated[tuple[Any, ...], Limits(min_length=1)] | None,
        "One answer per call of this case; the last is that of all further ones.",
    ] = None
    value_at: Annotated[
        Text | None, "A dotted path of the state: the answer is its present value."
    ] = None
    error: Annotated[Text | None, "What the call answers, in error."] = None

    def problem(self, given: Set[str]) -> str | None:
        if len(given & {"value", "sequence", "value_at", "error"}) != 1:
            return "must have exactly one of value, sequence, value_at, error"
        return None


class Responses(Value, frozen=True):
    """Exactly one of: `fixed` (always), `match` (the first case that fits, else `otherwise` or what
    `unrecorded` says), `sequence` (one per call, the last for all further calls), `state` (an
    object of these dotted paths of the state and their present values), `value_at` (the present
    value at one dotted path). `unrecorded` alone: no call of the tool was ever recorded."""

    fixed: Annotated[Any, "What the tool answers, always."] = None
    match: Annotated[
        Annotated[tuple[Case, ...], Limits(min_length=1)] | None,
        "Cases, of which the first that fits answers.",
    ] = None
    otherwise: Annotated[Any, "What the tool answers when no case of `match` fits."] = None
    unrecorded: Annotated[
        Literal["error", "spoil"] | None,
        "What becomes of a call that no case of `match` fits; alone: of every call. `error`: it "
        "errs, as the real tool would. `spoil`: what the real tool would answer is not known, so "
        "the attempt ends, and neither passes nor fails.",
    ] = None
    sequence: Annotated[
        Annotated[tuple[Any, ...], Limits(min_length=1)] | None,
        "One answer per call; the last is that of all further calls.",
    ] = None
    state: Annotated[
        Annotated[tuple[Text, ...], Limits(min_length=1)] | None,
        "Dotted paths of the state: the tool answers with their present values.",
    ] = None
    value_at: Annotated[
        Text | None, "A dotted path of the state: the tool answers with its present value."
    ] = None

    def problem(self, given: Set[str]) -> str | None:
        ways = given & {"fixed", "match", "sequence", "state", "value_at"}
        if not ways and "unrecorded" in given and "otherwise" not in given:
            return None  # no call of the tool was ever recorded
        if len(ways) != 1:
            return "must have exactly one of fixed, match, sequence, state, value_at"
        fallbacks = sorted(given & {"otherwise", "unrecorded"})
        if fallbacks and "match" not in ways:
            return f"{fallbacks[0]} belongs to match"
        if len(fallbacks) > 1:
            return "must have one of otherwise and unrecorded"
        return None


class Effect(Value, frozen=True):
    """Merges `merge` into the state; with `arguments`, only for calls that carry them; with `when`,
    only for calls that find the state so."""

    merge: Annotated[
        dict[str, Any], Limits(min_length=1), "What is merged into the state (RFC 7396)."
    ]
    arguments: Annotated[
        dict[str, Any] | None, "Argument → value of the calls that have the effect. Null: all."
    ] = None
    when: Annotated[
        State | None,
        "Dotted path of the state → the value that the call must find there. Null: any state.",
    ] = None


class Precondition(Value, frozen=True):
    """The call errs with `error` unless the state's value at `path` (dotted) equals `equals`."""

    path: Annotated[Text, "A dotted path of the state."]
    equals: Annotated[Any, "The value that must be there."]
    error: Annotated[Text, "What the call answers otherwise."]


class Fault(Value, frozen=True):
    """Calls of this tool (counted from 1) that go wrong, in all attempts or in those listed.

    A `timeout` and an `error` never reach the tool; a `slow` call does, after `delay_ms`.
    """

    kind: Annotated[Literal["timeout", "error", "slow"], "How the call goes wrong."]
    calls: Annotated[
        tuple[Positive, ...], Limits(min_length=1), "The calls that go wrong, counted from 1."
    ]
    attempts: Annotated[
        Annotated[tuple[Positive, ...], Limits(min_length=1)] | None,
        "The attempts in which they do. Null: all.",
    ] = None
    message: Annotated[str, "The instructions that the agent reads."] = ""
    delay_ms: Annotated[
        float, Limits(ge=0, le=600_000), "How long a slow call takes, in milliseconds."
    ] = 0.0


def no_object_schema(schema: dict[str, Any]) -> str | None:
    if schema.get("type") != "object":
        return 'must be a JSON Schema of an object ("type": "object")'
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(
        isinstance(part, dict | bool) for part in properties.values()
    ):
        return "properties must map each parameter to a schema"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "required must list names of parameters"
    if unknown := sorted(set(required) - set(properties)):
        return f"required names `{unknown[0]}`, which is not a property"
    return None


class ToolBehavior(Value, frozen=True, kw_only=True):
    """How a simulated tool answers, changes the state and fails."""

    responses: Annotated[Responses, "What the tool answers."]
    effects: Annotated[tuple[Effect, ...], "How its calls change the state."] = ()
    preconditions: Annotated[tuple[Precondition, ...], "What must hold for a call to succeed."] = ()
    faults: Annotated[tuple[Fault, ...], "Calls that go wrong."] = ()


class SimulatedTool(ToolBehavior, frozen=True, kw_only=True):
    """A simulated tool of one episode. In a suite with toolset.json its description and parameters
    are those of the toolset, and left out here."""

    ORDER: ClassVar[str] = "description parameters"

    description: Annotated[str, "The description of the tool that the agent reads."] = ""
    parameters: Annotated[
        dict[str, Any], Check(no_object_schema), "JSON Schema of the tool's arguments."
    ] = field(default_factory=lambda: {"type": "object"})


class Simulator(Value, frozen=True):
    """Simulated `tools`, or a Python `toolkit` ("module:Class") in their place; in a suite with
    toolset.json only the tools that behave otherwise here than the toolset says.

    `final_state` is the dotted path of the state's value that a trace gives as its final state;
    without it the final state is the whole state.
    """

    tools: Annotated[
        Annotated[dict[Name, SimulatedTool], Limits(min_length=1)] | None,
        "Name → simulated tool.",
    ] = None
    toolkit: Annotated[EntryPoint | None, "A Python class of tools, as `module:Class`."] = None
    final_state: Annotated[
        Text | None, "Dotted path of what a trace gives as its final state. Null: the whole state."
    ] = None
    options: Annotated[dict[str, Any], "What the toolkit is made with."] = {}

    def problem(self, given: Set[str]) -> str | None:
        if self.tools is not None and self.toolkit is not None:
            return "must have either tools or a toolkit"
        return None
