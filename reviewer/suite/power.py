"""The shape of power.json: how often a suite's policy is wrong, by what is known at the freeze.

The file is made by simulation (`reviewer suite power`) and locked with the suite: reports read it
and never simulate. `asked` holds everything that its figures follow from.
"""

from typing import Annotated, ClassVar, Literal

from reviewer.suite.fields import Count, Limits, Positive, Rate, Texts
from reviewer.suite.model import Mode, Stopping
from reviewer.suite.value import Value, learned

PowerGate = Literal["critical", "hard_pass", "completion", "pass_hat", "regression"]
_Chances = dict[PowerGate, Rate]


class PowerAsked(Value, frozen=True, kw_only=True, omit_defaults=True):
    """What the figures follow from: the policy's limits, the size, what is assumed of agents.
    Members with their default are not written, so that a file keeps its bytes when one is added."""

    formulas: Annotated[Positive, "The version of the formulas."]
    seed: Annotated[Count, "The seed of the simulated releases."]
    draws: Annotated[Positive, "Simulated releases behind each figure."]
    episodes: Annotated[Positive, "Episodes of the suite."]
    attempts: Annotated[Positive, "Attempts of each episode."]
    by_person: Annotated[Count, "Episodes whose user a person plays: they are not in pass^k."] = 0
    mode: Annotated[Mode, "The policy's mode."]
    stopping: Annotated[Stopping, "The policy's rule of stopping."]
    hard_pass_rate: Annotated[Rate, "The policy's limit of the same name."]
    completion_min: Annotated[Rate | None, "The policy's limit of the same name."]
    k: Annotated[Positive, "The policy's `pass_hat.k`."]
    pass_hat_min: Annotated[Rate, "The policy's `pass_hat.min`."]
    margin: Annotated[Rate, "The policy's `regression.margin`."]
    true_rate: Annotated[Rate, "The pass rate of the agent that `identical` and `worse` are of."]
    icc: Annotated[
        Rate, "How alike attempts of one episode are assumed to be (intraclass correlation)."
    ]
    icc_range: Annotated[
        tuple[Rate, ...], Limits(min_length=1), "Other values, which the ranges of figures span."
    ]
    critical_rate: Annotated[Rate, "The chance that an attempt fails critically."]
    worse_by: Annotated[tuple[Rate, ...], "How much worse the agents of `worse` are."]


class PowerRow(Value, frozen=True, kw_only=True):
    """An agent of `true_rate`, compared with a baseline that is the same agent."""

    true_rate: Annotated[Rate, "The agent's pass rate."]
    promoted: Annotated[Rate, "The chance that it is promoted."]
    lowest: Annotated[Rate, "The least chance over the values of `icc_range`."]
    highest: Annotated[Rate, "The greatest chance over the values of `icc_range`."]
    gates: Annotated[_Chances, "The chance to pass each gate, by gate."]
    binds: Annotated[PowerGate | None, "The gate that stops it most often. Null: none does."]


class PowerWorse(Value, frozen=True, kw_only=True):
    """An agent that is worse than its baseline, which is of `asked.true_rate`."""

    by: Annotated[Rate, "How much lower its pass rate is."]
    promoted: Annotated[Rate, "The chance that it is promoted all the same."]
    gates: Annotated[_Chances, "The chance to pass each gate, by gate."]


class PowerSize(Value, frozen=True, kw_only=True):
    """The same policy on another number of episodes and attempts."""

    episodes: Annotated[Positive, "Episodes."]
    attempts: Annotated[Positive, "Attempts of each."]
    stopped: Annotated[Rate, "The chance that an identical agent is not promoted."]
    worse: Annotated[tuple[Rate, ...], "The chance that each of `asked.worse_by` is promoted."]


class Power(Value, frozen=True, kw_only=True):
    """How often the policy of a suite is wrong. Chances are rounded to 0.01."""

    SCHEMA: ClassVar[str] = "reviewer/power@1"

    asked: Annotated[PowerAsked, "What the figures follow from."]
    error: Annotated[Rate, "The most by which a simulated chance is off in 95 of 100 cases."]
    stopped: Annotated[
        Rate, "The chance that an agent identical to its baseline, of `true_rate`, is not promoted."
    ]
    rows: Annotated[tuple[PowerRow, ...], "By the agent's pass rate, the best first."]
    worse: Annotated[tuple[PowerWorse, ...], "Agents that are worse than their baseline."]
    sizes: Annotated[tuple[PowerSize, ...], "What other sizes would give, this one first."]
    enough: Annotated[
        Positive | None,
        "The fewest episodes, these or more, with which an identical agent is promoted in 80 of "
        "100 cases. Null: no number up to 400 is enough.",
    ]
    not_modeled: Annotated[
        Texts, "Gates of the policy that the figures leave out, taken as passed."
    ]


learned(Power)
