# ruff: noqa: RUF012 (pydantic gives each instance its own copy of a mutable default)
"""The shape of a scripted candidate's script (pydantic)."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from reviewer.suite.fields import Amount, Count, Id, Name, Positive, Rate, Shape, Text
from reviewer.suite.simulator import FaultShape


class ScriptedCallShape(Shape):
    tool: Name
    arguments: dict[str, Any] = {}


class ScriptedTurnShape(Shape):
    """What the candidate does next: `calls`, all at once, and one of `messages`. `latency_ms` is
    the time it takes before it acts; without `cost_usd` the cost is not known."""

    calls: list[ScriptedCallShape] = []
    messages: list[Text] = []
    cost_usd: Amount | None = None
    latency_ms: Amount = 0.0


class PlanShape(Shape):
    """One way to go about an episode, turn by turn; the last turn makes no call.

    `faults` (tool → faults) are what its tools did to it on such a day. An attempt beyond the
    listed ones takes a plan by `weight`.
    """

    turns: Annotated[list[ScriptedTurnShape], Field(min_length=1)]
    weight: Count = 1
    faults: dict[Name, Annotated[list[FaultShape], Field(min_length=1)]] = {}

    @model_validator(mode="after")
    def _ends_once(self) -> "PlanShape":
        silent = [number for number, turn in enumerate(self.turns, 1) if not turn.calls]
        if silent != [len(self.turns)]:
            raise ValueError("the last turn, and no other, makes no call")
        if any(fault.attempts is not None for faults in self.faults.values() for fault in faults):
            raise ValueError("a plan's faults are those of its attempts: leave `attempts` out")
        return self


class ScriptedAttemptShape(Shape):
    """One attempt as it must come out: the plan, and what each of its turns took in place of the
    plan's figures. `message` says which of the last turn's messages is said (from 1)."""

    plan: Name
    costs_usd: list[Amount] | None = None
    latencies_ms: list[Amount] | None = None
    message: Positive | None = None


class ScriptedEpisodeShape(Shape):
    """`attempts` lists attempts 1, 2, 3…; those beyond take one of `plans`, by the run's seed."""

    plans: Annotated[dict[Name, PlanShape], Field(min_length=1)]
    attempts: list[ScriptedAttemptShape] = []

    @model_validator(mode="after")
    def _attempts_fit_their_plans(self) -> "ScriptedEpisodeShape":
        if not any(plan.weight for plan in self.plans.values()):
            raise ValueError("no plan has a weight: none could be taken")
        for number, attempt in enumerate(self.attempts, 1):
            plan = self.plans.get(attempt.plan)
            if plan is None:
                raise ValueError(f"attempt {number} names `{attempt.plan}`, which is no plan")
            for given in (attempt.costs_usd, attempt.latencies_ms):
                if given is not None and len(given) != len(plan.turns):
                    turns = len(plan.turns)
                    raise ValueError(f"attempt {number} must give one figure per turn ({turns})")
            if (attempt.message or 1) > max(1, len(plan.turns[-1].messages)):
                raise ValueError(f"attempt {number} says a message that its plan does not have")
        return self


class ScriptShape(Shape):
    """What a scripted candidate does. `spread` is how far costs and latencies of attempts that are
    not listed lie from their plan's: 0.1 is up to a tenth."""

    schema_: Literal["reviewer/script@1"] = Field(alias="schema")
    spread: Rate = 0.1
    episodes: Annotated[dict[Id, ScriptedEpisodeShape], Field(min_length=1)]
