"""The process gate: required tools, their order and arguments, and the proof of every write."""

from collections.abc import Iterator

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, Wanted
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.order import check_order, wrong_arguments
from reviewer.gates.values import clip, show
from reviewer.gates.writes import check_writes


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append what is missing, out of order, called with wrong arguments, or never verified.

    A required tool counts as called when one of the agent's calls of it was not denied.
    """
    missing = contract.required - acts.reached
    for tool in missing:
        name = clip(tool)
        text = f"{name} is required, " + ("only denied" if tool in acts.called else "never called")
        found.append(Finding("process", f"missing:{name}", "fail", None, text))
    if contract.ordered:
        check_order(contract, acts, missing, found)
    for tool, wanted in contract.arguments:
        if tool in acts.reached:
            _check_arguments(tool, wanted, acts, found)
    if contract.verifiers:
        check_writes(contract, acts, found)


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield what the contract says of required calls, their order, arguments and proofs."""
    episode = contract.episode
    first = {call.tool: call.seq for call in reversed(acts.calls) if call.status != "denied"}
    for tool in dict.fromkeys(episode.tools.required):
        name = clip(tool)
        text = f"{name} is required, called"
        yield Rule((f"missing:{name}",), text, first.get(tool))
    if contract.ordered:
        match = episode.expected.trajectory_match or episode.tools.order.replace("_", " ")
        yield Rule(("out_of_order", "missing"), f"order of calls: {match}")
    for tool, wanted in contract.arguments:
        for path, _, value in wanted:
            name = clip(f"{tool}.{path}")
            text = f"{name} is {show(value)}"
            if tool not in acts.reached:
                text += ", not called"
            yield Rule((f"wrong_argument:{name}",), text, first.get(tool))
    proof = next(
        (c.seq for c in reversed(acts.calls) if c.status == "ok" and c.tool in contract.proofs),
        None,
    )
    for tool, verifiers in sorted(contract.verifiers.items()):
        name, by = clip(tool), clip(" or ".join(sorted(verifiers)))
        text = f"{name} is verified by {by}" if tool in acts.reached else f"{name} never wrote"
        yield Rule(("write_not_verified", "no_final_state_evidence"), text, proof)
    if not (contract.required or contract.ordered or contract.arguments or contract.verifiers):
        yield Rule((), "the contract asks for no tool, order or proof")


def _check_arguments(
    tool: str, wanted: tuple[Wanted, ...], acts: Acts, found: list[Finding]
) -> None:
    """One call of the tool must have every wanted value; else the last call says what is wrong."""
    made = [call for call in acts.calls if call.tool == tool and call.status != "denied"]
    for call in made:
        wrong = wrong_arguments(call, wanted)
        if not wrong:
            return
    for (text, _, value), actual in wrong:
        name = clip(f"{tool}.{text}")
        detail = f"{name}: expected {show(value)}, found {show(actual)}"
        found.append(Finding("process", f"wrong_argument:{name}", "fail", made[-1].seq, detail))
