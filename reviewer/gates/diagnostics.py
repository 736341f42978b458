"""Diagnostics of one trace: shown beside the gates, never failing anything.

Counts are multisets, so a repeated tool cannot raise a figure above 1. Sources: precision, recall
and F1 as in information retrieval over tool names; order is the length of the longest common
subsequence over the length expected, so an identical trajectory scores 1 and planning steps in
between cost nothing.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from reviewer.gates.acts import Acts, acts_of
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Verdict
from reviewer.gates.process import wrong_arguments
from reviewer.gates.values import parse
from reviewer.gates.verdict import score
from reviewer.suite.json_values import same
from reviewer.trace.events import Call
from reviewer.trace.record import TraceRecord


class Diagnostics(Struct, frozen=True, gc=False):
    """Shares from 0 to 1; None where the contract expects nothing to compare with.

    `efficiency` is None too unless the trace passed, and 0 where calls were due and none was made:
    doing nothing is not efficient.
    """

    tool_precision: float | None = None
    tool_recall: float | None = None
    tool_f1: float | None = None
    order: float | None = None
    efficiency: float | None = None
    argument_accuracy: float | None = None


def diagnose(
    contract: Contract,
    record: TraceRecord,
    verdict: Verdict | None = None,
    *,
    acts: Acts | None = None,
) -> Diagnostics:
    """Compare the agent's calls with the expected trajectory, or else the required tools.

    Required tools are taken in the order in which the contract lists them. Efficiency is min(1,
    optimal steps / steps), where optimal is `optimal_steps`, else the length expected. `verdict`
    says whether the trace passed; without one it is computed. `acts` saves a second reading of the
    events.
    """
    acts = acts_of(record, contract.aliases) if acts is None else acts
    episode = contract.episode
    trajectory = episode.expected.trajectory
    expected: Sequence[str] = (
        [step.tool for step in trajectory] if trajectory else episode.tools.required
    )
    made = acts.tools
    accuracy = None
    if contract.arguments or trajectory:
        accuracy = _argument_accuracy(contract, acts)
    optimal = len(expected) if episode.optimal_steps is None else episode.optimal_steps
    efficiency = None
    if optimal:
        if verdict is None:
            verdict = score(contract, record, acts=acts)
        if verdict.passed:
            efficiency = min(1.0, optimal / len(made)) if made else 0.0
    if not expected:
        return Diagnostics(efficiency=efficiency, argument_accuracy=accuracy)
    if list(expected) == made:
        return Diagnostics(1.0, 1.0, 1.0, 1.0, efficiency, accuracy)
    shared = 0
    for tool in set(expected):
        shared += min(expected.count(tool), made.count(tool))
    return Diagnostics(
        tool_precision=shared / len(made) if made else None,
        tool_recall=shared / len(expected),
        tool_f1=2 * shared / (len(expected) + len(made)),
        order=_lcs()(expected, made) / len(expected),
        efficiency=efficiency,
        argument_accuracy=accuracy,
    )


@cache
def _lcs() -> Callable[[Sequence[str], Sequence[str]], int]:
    from rapidfuzz.distance import LCSseq

    return LCSseq.similarity


def _argument_accuracy(contract: Contract, acts: Acts) -> float | None:
    """Return the mean over the calls whose arguments the contract gives; a call never made counts
    0.

    A trajectory step scores the members equal in both over the members in either, with each call
    used once; `expected.arguments` scores the share of required paths that the best call has.
    """
    shares: list[float] = []
    left = list(acts.calls)
    for step in contract.episode.expected.trajectory:
        if step.arguments is None:
            continue
        best, place = 0.0, None
        for index, call in enumerate(left):
            if call.tool == step.tool:
                share = _overlap(step.arguments, parse(call.arguments))
                if place is None or share > best:
                    best, place = share, index
        if place is not None:
            del left[place]
        shares.append(best)
    for tool, wanted in contract.arguments:
        made: list[Call] = [call for call in acts.calls if call.tool == tool]
        fewest = min((len(wrong_arguments(call, wanted)) for call in made), default=len(wanted))
        if wanted:
            shares.append(1 - fewest / len(wanted))
    return sum(shares) / len(shares) if shares else None


def _overlap(wanted: dict[str, Any], found: Any) -> float:
    if not isinstance(found, dict):
        found = {}
    either = len(wanted.keys() | found.keys())
    equal = sum(key in found and same(value, found[key]) for key, value in wanted.items())
    return equal / either if either else 1.0
