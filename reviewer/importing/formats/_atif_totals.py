"""What ATIF trajectories say of usage: declared totals against the sum of the steps.

A part's `final_metrics` is a running total of its run, so parts are never added up. It may exceed
the steps (rejected replies, sub-agents told elsewhere).
"""

import math
from typing import Any, NamedTuple

from reviewer.importing.draft import Draft, amount, tokens, whole

TOTAL = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd")
STEP = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")


class Totals(NamedTuple):
    """Tokens and USD of an attempt; None is not measured."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cost_usd: float | None = None

    def usage(self) -> dict[str, Any] | None:
        """The token counts as a record's `usage`."""
        return tokens(input_tokens=self.input, output_tokens=self.output, cached_tokens=self.cached)


class Usage:
    """Usage of one attempt while its documents are told."""

    def __init__(self) -> None:
        self._steps: list[Totals] = []
        self._declared: list[Totals] = []

    def step(self, metrics: dict[str, Any]) -> None:
        """What one model step states, an empty object when it states nothing."""
        self._steps.append(_read(metrics, STEP))

    def declared(self, metrics: dict[str, Any]) -> None:
        """The total of one part of the agent's own trajectory."""
        found = _measured(_read(metrics, TOTAL))
        if any(value is not None for value in found):
            self._declared.append(found)

    def settled(self, draft: Draft) -> Totals:
        """The attempt's usage: the last declared total, else the sum of the steps, noted where
        the two differ."""
        summed, whole_sum = self._summed()
        if not self._declared:
            if summed != whole_sum:
                draft.note("some steps state no usage: their sum is not taken")
            return whole_sum
        last = self._declared[-1]
        if any((one.input or 0) > (last.input or 0) for one in self._declared):
            draft.note("a later part declares less than an earlier one: the steps were added up")
            return whole_sum
        if _differ(last, summed):
            draft.note("declared totals differ from the sum of the steps: the totals are taken")
            draft.source["totals"] = {"declared": last._asdict(), "steps": summed._asdict()}
        return Totals(
            whole_sum.input if last.input is None else last.input,
            whole_sum.output if last.output is None else last.output,
            whole_sum.cached if last.cached is None else last.cached,
            whole_sum.cost_usd if last.cost_usd is None else last.cost_usd,
        )

    def _summed(self) -> tuple[Totals, Totals]:
        """(the sum of what steps state, the same where every step states it)."""
        known = [[value for value in column if value is not None] for column in self._columns()]
        sums = [math.fsum(column) if column else None for column in known]
        full = [
            total if len(column) == len(self._steps) else None
            for total, column in zip(sums, known, strict=True)
        ]
        if full[2] is None:  # steps write cached tokens only where there were some
            full[2] = sums[2]
        return _measured(_totals(sums)), _measured(_totals(full))

    def _columns(self) -> list[list[float | None]]:
        return [[step[n] for step in self._steps] for n in range(len(STEP))]


def _read(metrics: dict[str, Any], names: tuple[str, ...]) -> Totals:
    prompt, completion, cached, cost = (metrics.get(name) for name in names)
    return Totals(whole(prompt), whole(completion), whole(cached), amount(cost))


def _totals(values: list[float | None]) -> Totals:
    return Totals(whole(values[0]), whole(values[1]), whole(values[2]), values[3])


def _measured(found: Totals) -> Totals:
    """Zeros that mean "not measured" as None: a cost of 0, and counts that are all 0."""
    if not any((found.input, found.output, found.cached)):
        found = found._replace(input=None, output=None, cached=None)
    return found._replace(cost_usd=found.cost_usd or None)


def _differ(one: Totals, two: Totals) -> bool:
    """Whether two state the same thing otherwise. Cached tokens are left to the declared total."""
    pairs = ((one.input, two.input), (one.output, two.output), (one.cost_usd, two.cost_usd))
    return any(
        a is not None and b is not None and not math.isclose(a, b, rel_tol=1e-6) for a, b in pairs
    )
