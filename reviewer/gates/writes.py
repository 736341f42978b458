"""The proof of what was written: each write wants a later look at the very thing it changed."""

from collections.abc import Iterable

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract
from reviewer.gates.kin import spelled_as
from reviewer.gates.model import Finding
from reviewer.gates.order import wrong_arguments
from reviewer.gates.values import MISSING, at, named, parse, same
from reviewer.trace.events import Call


def check_writes(contract: Contract, acts: Acts, found: list[Finding]) -> None:
    """Append the writes that nothing proves.

    One that was denied wrote nothing. One whose outcome nobody knows wants a proof, so does one in
    another spelling and one of which only the answer is told.
    """
    writes = written(contract, acts)
    proofs = [call for call in acts.calls if call.tool in contract.proofs and call.status == "ok"]
    for call, tool in writes:
        since = call.seq if call.result_seq is None else max(call.seq, call.result_seq)
        later = [one for one in proofs if one.seq > since and one.tool in contract.verifiers[tool]]
        if not any(_looks_at(contract, tool, call, one) for one in later):
            found.append(_unproven(contract.verifiers[tool], call, since, bool(later)))
    if not proofs:
        either = named(" or ".join(sorted(contract.proofs)))
        text = f"{either} never succeeded: nothing proves the final state"
        found.append(Finding("process", "no_final_state_evidence", "fail", None, text))


def _unproven(verifiers: frozenset[str], call: Call, since: int, later: bool) -> Finding:
    """`since` is the event after which a proof counts; `later` says that there was a call of one,
    which looked at something else."""
    either = named(" or ".join(sorted(verifiers)))
    after = "it" if since == call.seq else f"its result, event {since}"
    text = f"{named(call.tool)} writes, and no successful {either} comes after {after}"
    if later:
        text += " on the same object"
    return Finding("process", "write_not_verified", "fail", call.seq, text)


def written(contract: Contract, acts: Acts) -> list[tuple[Call, str]]:
    """Every write attempted that was not denied, with the tool as the contract lists it."""
    called = acts.called | {call.tool for call in acts.strays} if acts.strays else acts.called
    tools = {name: name for name in contract.verifiers if name in called}
    tools |= spelled_as(contract, called, contract.verifiers)
    if not tools:
        return []
    return [
        (call, tools[call.tool])
        for call in acts.attempted
        if call.tool in tools and call.status != "denied"
    ]


def _looks_at(contract: Contract, tool: str, write: Call, proof: Call) -> bool:
    """Whether a call looks at what a write changed: at the object the contract names, else with the
    same value of every text and number that both name, else with the arguments expected of it."""
    wrote, asked = parse(write.arguments), parse(proof.arguments)
    pairs = contract.objects.get(tool)
    if pairs is not None:
        return all(_equal(at(wrote, mine), at(asked, its)) for mine, its in pairs)
    shared = list(_shared(wrote, asked))
    if shared:
        return all(same(wrote[name], asked[name]) for name in shared)
    return not any(
        wrong_arguments(proof, wanted) for name, wanted in contract.arguments if name == proof.tool
    )


def _equal(mine: object, its: object) -> bool:
    return mine is not MISSING and mine is not None and same(mine, its)


def _shared(wrote: object, asked: object) -> Iterable[str]:
    if not isinstance(wrote, dict) or not isinstance(asked, dict):
        return
    for name in wrote.keys() & asked.keys():
        value = wrote[name]
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name
