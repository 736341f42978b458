"""The loops gate: one call, with the same arguments, repeated in a row.

Off unless the suite's policy names it: `"gates": {"loops": 3}` fails an attempt that makes the same
call three times in a row. The results of the calls do not matter; any other call between them ends
the row. A listed tool in another spelling is that tool.
"""

from collections.abc import Iterator

from msgspec import Raw

from reviewer.gates.acts import Acts
from reviewer.gates.compiled import Contract, spelled_as
from reviewer.gates.model import Finding, Hits, Rule
from reviewer.gates.values import canonical, named, parse
from reviewer.suite.json_values import UNREADABLE
from reviewer.trace.events import Call


def check(contract: Contract, acts: Acts, hits: Hits, found: list[Finding]) -> None:
    """Append the call with which each row of equal calls reaches the limit."""
    limit = contract.limits["loops"]
    for call in rows(contract, acts, limit)[1]:
        name = named(call.tool)
        text = f"{name} is called {limit} times in a row with the same arguments"
        found.append(Finding("loops", f"looped:{name}", "fail", call.seq, text))


def clauses(contract: Contract, acts: Acts, broken: frozenset[str]) -> Iterator[Rule]:
    """Yield the longest row of equal calls beside the limit."""
    limit = contract.limits["loops"]
    longest = rows(contract, acts, limit)[0]
    yield Rule(("looped",), f"longest row of one call {longest}, fewer than {limit}")


def rows(contract: Contract, acts: Acts, limit: int) -> tuple[int, list[Call]]:
    """Return the length of the longest row of equal calls, and for each row the call with which it
    reaches `limit` calls."""
    spelled = spelled_as(contract, acts.called, contract.names.listed)
    longest = length = 0
    before: tuple[str, bytes] | None = None
    reaching: list[Call] = []
    alone = {call.seq for call in acts.answers}
    for call in acts.made(contract.names.listed):
        if call.seq in alone:
            continue  # what it was called with is not recorded
        this = spelled.get(call.tool, call.tool), _written(call.arguments)
        length = length + 1 if this == before else 1
        before, longest = this, max(longest, length)
        if length == limit:
            reaching.append(call)
    return longest, reaching


def _written(arguments: Raw) -> bytes:
    """Return the form in which arguments are compared: their bytes where they cannot be decoded."""
    return bytes(arguments) if parse(arguments) is UNREADABLE else canonical(arguments)
