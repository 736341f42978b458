"""The budget gate: inclusive limits on steps and money."""

from collections.abc import Iterator

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import usd


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append findings on steps (the agent's tool calls) and cost above their limits, or an unknown
    cost."""
    budget, cost = contract.episode.budget, acts.record.cost_usd
    limit = budget.max_steps
    listed = contract.names.listed
    if limit is not None and (steps := acts.steps(listed)) > limit:
        seq = acts.made(listed)[limit].seq
        found.append(Finding("budget", "step_budget", "fail", seq, f"{steps} of {limit} steps"))
    if budget.max_cost_usd is not None:
        if cost is None:
            text = f"cost not measured, limit ${usd(budget.max_cost_usd)}"
            found.append(Finding("budget", "cost_not_measured", "not_measured", None, text))
        elif not cost <= budget.max_cost_usd:
            text = f"${usd(cost)} of {usd(budget.max_cost_usd)}"
            found.append(Finding("budget", "cost_budget", "fail", None, text))


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the limits of the contract on steps and cost, with the amounts used."""
    budget, record = contract.episode.budget, acts.record
    made = acts.steps(contract.names.listed)
    steps = f"{made} steps"
    if budget.max_steps is not None:
        steps = f"{made} of {budget.max_steps} steps"
    cost = "cost not measured" if record.cost_usd is None else f"${usd(record.cost_usd)}"
    if budget.max_cost_usd is not None:
        cost += f" of {usd(budget.max_cost_usd)}"
    held = [] if "step_budget" in broken else [steps]
    if broken.isdisjoint(("cost_budget", "cost_not_measured")):
        held.append(cost)
    if held:
        yield Rule((), ", ".join(held))
