# ruff: noqa: RUF012 (msgspec gives each instance its own copy of an empty default)
"""A scripted candidate's script: what it does in each episode, as plain values.

Scripts lie beside the lock, in `candidates/scripts/`; the manifest that names one binds it by
digest.
"""

from collections.abc import Set
from typing import Annotated, Any, ClassVar

from reviewer.suite.fields import (
    Amount,
    Count,
    File,
    Id,
    Limits,
    Name,
    Positive,
    Rate,
    Text,
)
from reviewer.suite.simulator import Fault
from reviewer.suite.value import Value, learned
from reviewer.suite.values import converted


class ScriptedCall(Value, frozen=True):
    tool: Annotated[Name, "The tool that is called."]
    arguments: Annotated[dict[str, Any], "Its arguments."] = {}


class ScriptedTurn(Value, frozen=True):
    """What the candidate does next: `calls`, all at once, and one of `messages`. A turn without a
    call is for the user of the episode; where the episode has none, it ends the attempt.
    `latency_ms` is the time it takes before it acts; without `cost_usd` the cost is not known."""

    calls: Annotated[tuple[ScriptedCall, ...], "Calls that are made at once."] = ()
    messages: Annotated[tuple[Text, ...], "Messages, of which one is said."] = ()
    cost_usd: Annotated[Amount | None, "USD. Null: not known."] = None
    latency_ms: Annotated[Amount, "Milliseconds before the candidate acts."] = 0.0


_Faults = Annotated[tuple[Fault, ...], Limits(min_length=1)]


class Plan(Value, frozen=True):
    """One way to go about an episode, turn by turn; the last turn must not make a call.

    `faults` (tool → faults) are what its tools did to it on such a day. An attempt beyond the
    listed ones takes a plan by `weight`.
    """

    turns: Annotated[tuple[ScriptedTurn, ...], Limits(min_length=1), "What it does, in order."]
    weight: Annotated[Count, "How often an attempt that is not listed takes this plan."] = 1
    faults: Annotated[
        dict[str, tuple[dict[str, Any], ...]],
        File(dict[Name, _Faults]),
        "Tool → its faults, as the simulator has them, without `attempts`.",
    ] = {}

    def problem(self, given: Set[str]) -> str | None:
        if self.turns[-1].calls:
            return "the last turn must not make a call"
        if any(not turn.calls and not turn.messages for turn in self.turns[:-1]):
            return "every turn before the last must make a call or say something to the user"
        # The border's model holds faults as values.
        faults: Any = self.faults.values()
        if any(fault.attempts is not None for listed in faults for fault in listed):
            return "a plan's faults are those of its attempts: leave `attempts` out"
        return None


class ScriptedAttempt(Value, frozen=True):
    """One attempt as it must come out: the plan, and what each of its turns took in place of the
    plan's figures. `message` says which of the last turn's messages is said (from 1)."""

    plan: Annotated[Name, "The plan that the attempt takes."]
    costs_usd: Annotated[tuple[Amount, ...] | None, "USD of each turn."] = None
    latencies_ms: Annotated[tuple[Amount, ...] | None, "Milliseconds of each turn."] = None
    message: Annotated[Positive | None, "Which of the last turn's messages is said, from 1."] = None


class ScriptedEpisode(Value, frozen=True):
    """`attempts` lists attempts 1, 2, 3…; those beyond take one of `plans`, by the run's seed."""

    plans: Annotated[
        dict[Name, Plan], Limits(min_length=1), "Name → a way to go about the episode."
    ]
    attempts: Annotated[
        tuple[ScriptedAttempt, ...], "Attempts 1, 2, 3… as they must come out."
    ] = ()

    def problem(self, given: Set[str]) -> str | None:
        if not any(plan.weight for plan in self.plans.values()):
            return "no plan has a weight, so none could be chosen"
        for number, attempt in enumerate(self.attempts, 1):
            plan = self.plans.get(attempt.plan)
            if plan is None:
                return f"attempt {number} names `{attempt.plan}`, which is not a plan"
            for given_figures in (attempt.costs_usd, attempt.latencies_ms):
                if given_figures is not None and len(given_figures) != len(plan.turns):
                    turns = len(plan.turns)
                    return f"attempt {number} must give one figure per turn ({turns})"
            if (attempt.message or 1) > max(1, len(plan.turns[-1].messages)):
                return f"attempt {number} uses a message that its plan does not have"
        return None


class Script(Value, frozen=True, kw_only=True):
    """What a scripted candidate does. `spread` is how far costs and latencies of attempts that are
    not listed lie from their plan's: 0.1 is up to a tenth."""

    SCHEMA: ClassVar[str] = "reviewer/script@1"

    spread: Annotated[
        Rate, "How far costs and latencies of attempts that are not listed lie from the plan's."
    ] = 0.1
    episodes: Annotated[
        dict[Id, ScriptedEpisode], Limits(min_length=1), "Episode id → what is done there."
    ]


learned(Script)


def read_script(data: bytes, file: str = "script.json") -> Script:
    """Return the script as a value. ContractError with every problem found."""
    # Here, so that a caller that only names a script's values costs no pydantic.
    from reviewer.suite.border import read_shape

    return converted(read_shape(data, file, Script), Script, file)
