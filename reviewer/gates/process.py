"""The process gate: required tools, their order and arguments, and the proof of every write."""

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, Wanted
from reviewer.gates.model import Finding
from reviewer.gates.order import check_order, wrong_arguments
from reviewer.gates.values import clip, show
from reviewer.gates.writes import check_writes


def check_process(contract: Contract, acts: Acts, found: list[Finding]) -> None:
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
