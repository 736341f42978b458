# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shapes of the files of a suite (pydantic).

A shape says which members a file has and of which type; what a contract may mean is in `rules`.
All limits are inclusive. Money is in USD, time in milliseconds.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from reviewer.suite.fields import (
    Amount,
    Count,
    Days,
    Id,
    Ids,
    Name,
    Names,
    OptionalGate,
    Positive,
    Rate,
    Repeats,
    Shape,
    Text,
    Wordings,
    once,
)
from reviewer.suite.gates import OPTIONAL
from reviewer.suite.model import Category, Mode, Order, Stopping, TrajectoryMatch
from reviewer.suite.simulator import SimulatorShape

Detector = Literal[
    "email", "card", "iban", "phone", "secret", "ssn", "token", "credential", "ip", "disguised"
]
Detectors = Annotated[
    list[Detector], AfterValidator(once), Field(json_schema_extra={"uniqueItems": True})
]


class ToolsShape(Shape):
    """`allowed` absent allows all that is not forbidden; an empty list allows none. `approvers`
    are the actors whose word in an imported trace approves a call."""

    allowed: Names | None = None
    required: Names = []
    forbidden: Names = []
    order: Order = "any"
    approvals: Names = []
    approvers: Names = []


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Verifiers = Annotated[
    Names,
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Name | Names),
]


def _names_an_object(paths: dict[str, str]) -> dict[str, str]:
    if not paths:
        raise ValueError("names no argument: name those that say which object, or take it out")
    return paths


Objects = Annotated[
    dict[Text, Text],
    AfterValidator(_names_an_object),
    Field(json_schema_extra={"minProperties": 1}),
]


class WriteShape(Shape):
    """A tool that changes the world, and the tool or tools whose later success proves it.

    `on` names the object: arguments that the write and its proof have in common, or paths in the
    arguments of the write → paths in those of the proof."""

    tool: Name
    verified_by: Verifiers
    on: Objects | Annotated[list[Text], Field(min_length=1)] | None = None


def _one_entry_per_tool(writes: list[WriteShape]) -> list[WriteShape]:
    once([write.tool for write in writes])
    return writes


Writes = Annotated[list[WriteShape], AfterValidator(_one_entry_per_tool)]


class ExpectedCallShape(Shape):
    tool: Name
    arguments: dict[str, Any] | None = None


def _names_one(arguments: dict[str, Any]) -> dict[str, Any]:
    if not arguments:
        raise ValueError("names no argument to compare: name one with its value, or take it out")
    return arguments


Arguments = Annotated[
    dict[str, Any], AfterValidator(_names_one), Field(json_schema_extra={"minProperties": 1})
]


class ClaimShape(Shape):
    """What the final message is to say: one of the wordings in `says`, and no denial of it."""

    says: Annotated[Wordings, Field(min_length=1)]
    denials: Wordings = []


class ExpectedShape(Shape):
    """How the attempt must end. `state` maps paths of the final state to values;
    `message_reference` is a good final message, compared with and never required."""

    final_state: Any = None
    state: dict[Text, Any] = {}
    message_contains: Wordings = []
    message_excludes: Wordings = []
    claims: list[ClaimShape] = []
    message_reference: Text | None = None
    trajectory: list[ExpectedCallShape] = []
    trajectory_match: TrajectoryMatch | None = None
    arguments: dict[Name, Arguments] = {}


class BudgetShape(Shape):
    max_steps: Count | None = None
    max_cost_usd: Amount | None = None
    max_latency_ms: Amount | None = None
    max_timeouts: Count | None = None


class DefaultsShape(Shape):
    """What episodes of this suite say where they are silent."""

    tools: ToolsShape = ToolsShape()
    writes: Writes = []
    expected: ExpectedShape = ExpectedShape()
    budget: BudgetShape = BudgetShape()
    category: Category = "task"
    critical: Names = []
    tags: Names = []
    simulator: SimulatorShape | None = None


class EpisodeShape(DefaultsShape):
    """One isolated task: the contract to be met."""

    schema_: Literal["reviewer/episode@1"] = Field(alias="schema")
    episode_id: Id
    title: str = ""
    user_request: str = ""
    initial_state: dict[str, Any] = {}
    optimal_steps: Positive | None = None


class PassHatShape(Shape):
    k: Positive = 3
    min: Rate = 0.95


class JudgePolicyShape(Shape):
    min_accuracy: Rate = 0.90
    max_flip_rate: Rate = 0.05


class RegressionShape(Shape):
    margin: Rate = 0.05


class LabelsShape(Shape):
    min_pairs: Count = 0
    sample_rate: Rate = 0.05


class ApprovalsShape(Shape):
    promote: Positive = 1
    max_days: Days | None = None


class PolicyShape(Shape):
    """When a candidate may be promoted. An absent or null limit sets none.

    In `strict` mode limits are compared with confidence bounds; with `live` stopping, with bounds
    that hold at every look.
    """

    attempts: Positive = 3
    hard_pass_rate: Rate = 1.0
    max_critical_failures: Count = 0
    pass_hat: PassHatShape = PassHatShape()
    max_cpst_usd: Amount | None = None
    latency_p95_ms: Amount | None = None
    completion_min: Rate | None = None
    judge: JudgePolicyShape = JudgePolicyShape()
    regression: RegressionShape = RegressionShape()
    labels: LabelsShape = LabelsShape()
    approvals: ApprovalsShape = ApprovalsShape()
    mode: Mode = "point"
    stopping: Stopping = "fixed"
    gates: dict[OptionalGate, Repeats] = Field(
        default={},
        description="Optional hard gates that are in force, each with its limit. "
        + " ".join(f"`{gate}`: {limit}." for gate, limit in OPTIONAL.items()),
        json_schema_extra={"propertyNames": {"enum": list(OPTIONAL)}},
    )


class RedactionShape(Shape):
    """What must not stand in a trace of this suite, beyond the built-in rules."""

    keys: Names = ["customer_name", "order_id"]
    allow_keys: Names = []
    detectors: Detectors = ["email", "card", "iban", "phone", "secret", "ssn"]


class SuiteShape(Shape):
    """suite.json. `episodes`, when given, names every episode in the order to show them."""

    schema_: Literal["reviewer/suite@1"] = Field(alias="schema")
    suite_id: Id
    title: str = ""
    probe: bool = False
    policy: PolicyShape = PolicyShape()
    redaction: RedactionShape = RedactionShape()
    defaults: DefaultsShape = DefaultsShape()
    episodes: Ids | None = None
    source: dict[str, Any] = {}
